//! [`Scale`]: a range of numbers with nice places in it.

/// A range of numbers and where it is marked.
#[derive(Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// The scale of numbers from `low` to `high`, with `margin` of the span at both ends and about `wanted` ticks.
    pub(super) fn new(range: Option<(f64, f64)>, margin: f64, wanted: usize) -> Self {
        let (mut low, mut high) = range.unwrap_or((0.0, 1.0));
        let size = low.abs().max(high.abs());
        if high - low <= size * 1e-12 || high - low < 1e-290 {
            // A constant, but for rounding.
            let half = if size < 1e-280 { 0.5 } else { size * 0.25 };
            (low, high) = (low - half, high + half);
        }
        let more = (high - low) * margin;
        (low, high) = (low - more, high + more);
        Scale {
            low,
            high,
            ticks: ticks(low, high, wanted.max(1)),
        }
    }

    /// Where a number lies: 0 at the low end, 1 at the high one.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted as f64;
    let mut exponent = rough.log10().floor() as i32;
    let digit = rough / 10_f64.powi(exponent);
    let mut digit = match digit {
        _ if digit <= 1.0 => 1,
        _ if digit <= 2.0 => 2,
        _ if digit <= 5.0 => 5,
        _ => 10,
    };
    if digit == 10 {
        (digit, exponent) = (1, exponent + 1);
    }
    // Powers below one are divided by: 3 / 10 is nearer to 0.3 than 3 * 0.1.
    let unit = |count: f64| {
        let count = count * f64::from(digit);
        if exponent < 0 {
            count / 10_f64.powi(-exponent)
        } else {
            count * 10_f64.powi(exponent)
        }
    };
    let first = (low / unit(1.0)).ceil();
    let values: Vec<f64> = (0..2 * wanted + 2)
        .map(|i| unit(first + i as f64))
        .take_while(|&value| value <= high)
        .collect();
    let largest = values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    values
        .into_iter()
        .map(|value| (value, label(value, largest, exponent)))
        .collect()
}

/// A number as a multiple of ten to the power `exponent`, beside numbers up to `largest`.
fn label(value: f64, largest: f64, exponent: i32) -> String {
    let magnitude = if largest > 0.0 {
        largest.log10().floor() as i32
    } else {
        0
    };
    if value == 0.0 {
        "0".to_owned()
    } else if !(-4..=5).contains(&magnitude) {
        let own = value.abs().log10().floor() as i32;
        format!("{value:.*e}", usize::try_from(own - exponent).unwrap_or(0))
    } else {
        format!("{value:.*}", usize::try_from(-exponent).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    fn labels(low: f64, high: f64) -> Vec<String> {
        let scale = Scale::new(Some((low, high)), 0.0, 5);
        scale.ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn nice_numbers() {
        assert_eq!(labels(0.0, 10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(-1.0, 1.0), ["-1.0", "-0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(0.0, 0.3), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(997.0, 1003.0), ["998", "1000", "1002"]);
        assert_eq!(labels(0.0, 3.2e7), ["0", "1e7", "2e7", "3e7"]);
        assert_eq!(
            labels(0.0, 2.4e-6),
            ["0", "5e-7", "1.0e-6", "1.5e-6", "2.0e-6"]
        );
        // A constant is in the middle.
        assert_eq!(labels(4.0, 4.0), ["3.0", "3.5", "4.0", "4.5", "5.0"]);
        assert_eq!(labels(0.0, 0.0), ["-0.4", "-0.2", "0", "0.2", "0.4"]);
    }

    #[test]
    fn numbers_at_the_ends_of_the_type() {
        for (low, high) in [
            (-8e307, 8e307),
            (0.0, 5e-324),
            (1.0, 1.0 + 1e-15),
            (-1e-300, 1e-300),
        ] {
            let scale = Scale::new(Some((low, high)), 0.04, 5);
            assert!(scale.low < scale.high && (scale.high - scale.low).is_finite());
            assert!((0.0..=1.0).contains(&scale.place(low)), "{scale:?}");
            assert!((0.0..=1.0).contains(&scale.place(high)), "{scale:?}");
            assert!(scale.ticks.len() <= 12, "{scale:?}");
        }
    }
}
