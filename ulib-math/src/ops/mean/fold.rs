//! The fold of a mean: that of the sum, divided at its end by the sum's own kernels.

use crate::ops::element::{Element, Number};
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One};
use crate::ops::sum::Sum;

/// The mean of `count` elements of `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean<T> {
    sum: Sum<T>,
    count: usize,
}

impl<T> Mean<T> {
    pub(super) fn of(count: usize) -> Self {
        Self {
            sum: Sum::NEW,
            count,
        }
    }
}

impl<T: Element> Fold for Mean<T> {
    type Value = T;
    type Item = One<T>;
    type Lane = T::Sum;
    type Acc = T::Sum;
    type Out = f64;

    const EMPTY: T::Sum = Sum::<T>::EMPTY;

    #[inline(always)]
    fn open(&self, first: One<T>) -> T::Sum {
        self.sum.open(first)
    }

    #[inline(always)]
    fn step(&self, lane: T::Sum, item: One<T>) -> T::Sum {
        self.sum.step(lane, item)
    }

    #[inline(always)]
    fn close(&self, lane: T::Sum, count: usize) -> T::Sum {
        self.sum.close(lane, count)
    }

    #[inline(always)]
    fn join(left: T::Sum, right: T::Sum) -> T::Sum {
        Sum::<T>::join(left, right)
    }

    fn finish(&self, sum: T::Sum) -> f64 {
        sum.to_f64() / self.count as f64
    }

    fn nothing(&self) -> Option<f64> {
        Some(f64::NAN)
    }

    fn kernels() -> &'static Library {
        Sum::<T>::kernels()
    }

    fn entry(form: Form) -> Option<&'static str> {
        Sum::<T>::entry(form)
    }

    const JOIN: [&'static str; 2] = Sum::<T>::JOIN;

    fn params(&self) -> [u64; 4] {
        let signed = <T::Sum as Element>::KERNEL == Number::I64;
        [if signed { 2 } else { 1 }, self.count as u64, 0, 0]
    }
}
