//! Numbers as unsigned words in the order that is looked for: the key of the wanted element is the smallest.

/// A number whose bits become keys: `bits ^ (sign & TURN) ^ ORDER`, turned over when the largest number is wanted, and 0 for a
/// NaN. `-0.0` comes before `0.0`.
pub trait Ranked: Copy {
    /// Keys.
    type Key: Copy + Ord + Send + Sync + 'static;

    /// The key.
    fn key<const LARGEST: bool>(self) -> Self::Key;

    /// A key as a number that has the same order.
    fn wide(key: Self::Key) -> u64;

    /// The number with this [`wide`](Self::wide) key.
    fn with_key<const LARGEST: bool>(key: u64) -> Self;

    /// `fold` of the kernels.
    fn params<const LARGEST: bool>() -> [u64; 4];
}

macro_rules! ranked {
    ($number:ty, $word:ty, turn: $turn:expr, order: $order:expr, nan_above: $nan_above:expr, nan: $nan:expr,
        |$x:ident| $bits:expr, |$y:ident| $from:expr) => {
        impl Ranked for $number {
            type Key = $word;

            #[inline(always)]
            fn key<const LARGEST: bool>(self) -> $word {
                let $x = self;
                let bits: $word = $bits;
                let sign = (bits.cast_signed() >> (<$word>::BITS - 1)).cast_unsigned();
                let order: $word = if LARGEST { !$order } else { $order };
                let key = bits ^ (sign & $turn) ^ order;
                let magnitude = bits & (<$word>::MAX >> 1);
                if magnitude > $nan_above { 0 } else { key }
            }

            fn wide(key: $word) -> u64 {
                u64::from(key)
            }

            fn with_key<const LARGEST: bool>(key: u64) -> Self {
                let nan: $word = $nan;
                let order: $word = if LARGEST { !$order } else { $order };
                let bits = if key == 0 && nan != 0 {
                    nan
                } else {
                    let bits = key as $word ^ order;
                    let sign = (bits.cast_signed() >> (<$word>::BITS - 1)).cast_unsigned();
                    bits ^ (sign & $turn)
                };
                let $y = bits;
                $from
            }

            fn params<const LARGEST: bool>() -> [u64; 4] {
                let [turn, nan_above, nan]: [$word; 3] = [$turn, $nan_above, $nan];
                let order: $word = if LARGEST { !$order } else { $order };
                [turn, order, nan_above, nan].map(u64::from)
            }
        }
    };
}

ranked!(f32, u32, turn: u32::MAX >> 1, order: 1 << 31, nan_above: f32::INFINITY.to_bits(), nan: f32::NAN.to_bits(),
    |x| x.to_bits(), |y| f32::from_bits(y));
ranked!(f64, u64, turn: u64::MAX >> 1, order: 1 << 63, nan_above: f64::INFINITY.to_bits(), nan: f64::NAN.to_bits(),
    |x| x.to_bits(), |y| f64::from_bits(y));
ranked!(i32, u32, turn: 0, order: 1 << 31, nan_above: u32::MAX >> 1, nan: 0, |x| x.cast_unsigned(), |y| y.cast_signed());
ranked!(u32, u32, turn: 0, order: 0, nan_above: u32::MAX >> 1, nan: 0, |x| x, |y| y);
ranked!(i64, u64, turn: 0, order: 1 << 63, nan_above: u64::MAX >> 1, nan: 0, |x| x.cast_unsigned(), |y| y.cast_signed());
ranked!(u64, u64, turn: 0, order: 0, nan_above: u64::MAX >> 1, nan: 0, |x| x, |y| y);

#[cfg(test)]
mod tests {
    use super::Ranked;

    /// `ascending` in the order of the type.
    fn check<T: Ranked + PartialEq + std::fmt::Debug>(ascending: &[T]) {
        for pair in ascending.windows(2) {
            assert!(pair[0].key::<false>() < pair[1].key::<false>(), "{pair:?}");
            assert!(pair[0].key::<true>() > pair[1].key::<true>(), "{pair:?}");
        }
        for &x in ascending {
            assert_eq!(T::with_key::<false>(T::wide(x.key::<false>())), x);
            assert_eq!(T::with_key::<true>(T::wide(x.key::<true>())), x);
        }
    }

    #[test]
    fn keys_have_the_order_of_the_numbers() {
        check(&[
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -0.0,
            0.0,
            f32::from_bits(1),
            1.0,
            f32::INFINITY,
        ]);
        check(&[
            f64::NEG_INFINITY,
            -2.0,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            3.0,
            f64::INFINITY,
        ]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[0, 1, u32::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[0, 1 << 63, u64::MAX]);
    }

    #[test]
    fn nan_comes_first_and_signs_of_zeros_stay() {
        for nan in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)] {
            assert_eq!((nan.key::<false>(), nan.key::<true>()), (0, 0));
        }
        assert!(f64::with_key::<true>(0).is_nan());
        let zero = f32::with_key::<false>(f32::wide((-0.0_f32).key::<false>()));
        assert_eq!(zero.to_bits(), 1 << 31);
    }
}
