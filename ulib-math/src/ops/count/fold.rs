//! The fold of a count, and its kernels.

use crate::ops::element::{Element, Number};
use crate::ops::launch::Library;
use crate::ops::predicate::Range;
use crate::ops::reduce::{Fold, Form, One, entries};

static KERNELS: Library = Library::new(include_str!("count.ptx"));

/// How many elements of `T` are in a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count<T>(pub(super) Range<T>);

impl<T: Element> Fold for Count<T> {
    type Value = T;
    type Item = One<T>;
    type Lane = u32;
    type Acc = u64;
    type Out = u64;

    const EMPTY: u64 = 0;

    #[inline(always)]
    fn open(&self, _: One<T>) -> u32 {
        0
    }

    #[inline(always)]
    fn step(&self, lane: u32, One(x): One<T>) -> u32 {
        lane + u32::from(self.0.holds(x))
    }

    #[inline(always)]
    fn close(&self, lane: u32, _: usize) -> u64 {
        u64::from(lane)
    }

    #[inline(always)]
    fn join(left: u64, right: u64) -> u64 {
        left + right
    }

    fn finish(&self, acc: u64) -> u64 {
        acc
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        let pack = match T::KERNEL {
            Number::F32 | Number::F64 => form.line && !form.columns,
            _ => false,
        };
        (pack || !form.pack).then_some(match T::KERNEL {
            Number::F32 => entries!("count", "f32", form),
            Number::F64 => entries!("count", "f64", form),
            Number::I32 => entries!("count", "i32", form),
            Number::U32 => entries!("count", "u32", form),
            Number::I64 => entries!("count", "i64", form),
            Number::U64 => entries!("count", "u64", form),
        })
    }

    const JOIN: [&'static str; 2] = ["ulib_count_rows_join_u64", "ulib_count_columns_join_u64"];

    fn params(&self) -> [u64; 4] {
        let bits = self.0.for_device();
        [bits.low, bits.high, bits.inside, 0]
    }
}
