//! Numbers as unsigned keys in the same order.

use crate::ops::element::{Element, Number};

/// The kernels of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) pass_line: &'static str,
    pub(super) pass_axes: &'static str,
    pub(super) block_line: &'static str,
    pub(super) block_axes: &'static str,
    pub(super) pick: &'static str,
}

macro_rules! entries {
    ($name:literal) => {
        Entries {
            pass_line: concat!("ulib_quantile_pass_", $name, "_line"),
            pass_axes: concat!("ulib_quantile_pass_", $name, "_axes"),
            block_line: concat!("ulib_quantile_block_", $name, "_line"),
            block_axes: concat!("ulib_quantile_block_", $name, "_axes"),
            pick: concat!("ulib_quantile_pick_", $name),
        }
    };
}

pub(super) fn entries(number: Number) -> Entries {
    match number {
        Number::F32 => entries!("f32"),
        Number::F64 => entries!("f64"),
        Number::I32 => entries!("i32"),
        Number::U32 => entries!("u32"),
        Number::I64 => entries!("i64"),
        Number::U64 => entries!("u64"),
    }
}

const TOP_32: u64 = 1 << 31;
const TOP_64: u64 = 1 << 63;

/// The key of a number: the bits of negative floats all turned, the sign of all others. -0.0 comes before 0.0.
#[inline(always)]
pub(super) fn key_of<T: Element>(x: T) -> u64 {
    let bits = x.bits();
    match T::KERNEL {
        Number::F32 if bits & TOP_32 != 0 => bits ^ u64::from(u32::MAX),
        Number::F64 if bits & TOP_64 != 0 => !bits,
        Number::F32 | Number::I32 => bits ^ TOP_32,
        Number::F64 | Number::I64 => bits ^ TOP_64,
        Number::U32 | Number::U64 => bits,
    }
}

/// The number of a key, to the nearest `f64`.
pub(super) fn number_of(number: Number, key: u64) -> f64 {
    let low = key as u32;
    match number {
        Number::F32 if key & TOP_32 == 0 => f64::from(f32::from_bits(!low)),
        Number::F32 => f64::from(f32::from_bits(low ^ TOP_32 as u32)),
        Number::F64 if key & TOP_64 == 0 => f64::from_bits(!key),
        Number::F64 => f64::from_bits(key ^ TOP_64),
        Number::I32 => f64::from((low ^ TOP_32 as u32).cast_signed()),
        Number::U32 => f64::from(low),
        Number::I64 => (key ^ TOP_64).cast_signed() as f64,
        Number::U64 => key as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::{key_of, number_of};
    use crate::ops::element::Element;

    fn ascend<T: Element>(values: &[T], as_f64: fn(T) -> f64) {
        for pair in values.windows(2) {
            assert!(key_of(pair[0]) < key_of(pair[1]), "{pair:?}");
        }
        for &x in values {
            let back = number_of(T::KERNEL, key_of(x));
            assert_eq!(back.to_bits(), as_f64(x).to_bits(), "{x}");
        }
    }

    #[test]
    fn keys_are_in_the_order_of_the_numbers() {
        let floats = [
            f64::NEG_INFINITY,
            -2.5,
            -1e-310,
            -0.0,
            0.0,
            1e-310,
            7.0,
            f64::INFINITY,
        ];
        ascend(&floats, |x| x);
        let singles = [
            f32::NEG_INFINITY,
            -2.5,
            -1e-40,
            -0.0,
            0.0,
            1e-40,
            7.0,
            f32::INFINITY,
        ];
        ascend(&singles, f64::from);
        ascend(&[i32::MIN, -1, 0, 1, i32::MAX], f64::from);
        ascend(&[0_u32, 1, u32::MAX], f64::from);
        ascend(&[i64::MIN, -1, 0, 1, i64::MAX], |x| x as f64);
        ascend(&[0_u64, 1, u64::MAX], |x| x as f64);
    }
}
