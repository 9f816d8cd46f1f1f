//! Which order statistics a quantile is made of, and how.

/// `x[low] + (x[high] - x[low]) * fraction` of a sequence in ascending order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    pub(super) low: usize,
    pub(super) high: usize,
    pub(super) fraction: f64,
}

impl Rank {
    /// The quantile `q`, from 0 to 1, of `n` numbers, at least one.
    pub(super) fn new(n: usize, q: f64) -> Self {
        let last = n - 1;
        let at = last as f64 * q;
        let low = (at as usize).min(last);
        Self {
            low,
            high: (low + 1).min(last),
            fraction: at - at.floor(),
        }
    }

    pub(super) fn between(self, low: f64, high: f64) -> f64 {
        if low == high || self.fraction == 0.0 {
            low
        } else {
            low + (high - low) * self.fraction
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rank;

    #[test]
    fn the_ends_and_the_middle() {
        let rank = |low, high, fraction| Rank {
            low,
            high,
            fraction,
        };
        assert_eq!(Rank::new(1, 0.3), rank(0, 0, 0.0));
        assert_eq!(Rank::new(5, 0.0), rank(0, 1, 0.0));
        assert_eq!(Rank::new(5, 1.0), rank(4, 4, 0.0));
        assert_eq!(Rank::new(4, 0.5), rank(1, 2, 0.5));
        assert_eq!(Rank::new(5, 0.5), rank(2, 3, 0.0));
    }
}
