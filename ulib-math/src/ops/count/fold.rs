//! The fold of a count, and its kernels.

use crate::ops::element::Element;
use crate::ops::launch::Library;
use crate::ops::predicate::Range;
use crate::ops::reduce::{Fold, Form, One, entries, joins};

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
        form.with_packed_rows_of_floats(T::KERNEL)
            .then_some(entries!("count", T::KERNEL, form))
    }

    const JOIN: [&'static str; 2] = joins!("count", "u64");

    fn params(&self) -> [u64; 4] {
        let bits = self.0.for_device();
        [bits.low, bits.high, bits.inside, 0]
    }
}
