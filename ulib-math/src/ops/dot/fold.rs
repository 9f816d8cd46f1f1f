//! The fold of a scalar product, and its kernels.

use std::marker::PhantomData;

use crate::ops::element::{Accumulator, Element, Number};
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, Two, entries, joins};

static KERNELS: Library = Library::new(include_str!("dot.ptx"));

/// The scalar product of elements of `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot<T>(PhantomData<T>);

impl<T> Dot<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T: Element> Fold for Dot<T> {
    type Value = T;
    type Item = Two<T>;
    type Lane = T::Sum;
    type Acc = T::Sum;
    type Out = T::Sum;

    const EMPTY: T::Sum = T::Sum::IDENTITY;

    #[inline(always)]
    fn open(&self, _: Two<T>) -> T::Sum {
        T::Sum::IDENTITY
    }

    #[inline(always)]
    fn step(&self, lane: T::Sum, Two(a, b): Two<T>) -> T::Sum {
        lane.plus(a.widen().times(b.widen()))
    }

    #[inline(always)]
    fn close(&self, lane: T::Sum, _: usize) -> T::Sum {
        lane
    }

    #[inline(always)]
    fn join(left: T::Sum, right: T::Sum) -> T::Sum {
        left.plus(right)
    }

    fn finish(&self, acc: T::Sum) -> T::Sum {
        acc
    }

    fn nothing(&self) -> Option<T::Sum> {
        Some(T::Sum::default())
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        // The low bits of a product of 64 bits do not depend on signs.
        let number = match T::KERNEL {
            Number::I64 => Number::U64,
            number => number,
        };
        form.with_packed_rows_of_floats(number)
            .then_some(entries!("dot", number, form))
    }

    const JOIN: [&'static str; 2] = match <T::Sum as Element>::KERNEL {
        Number::F64 => joins!("dot", "f64"),
        _ => joins!("dot", "u64"),
    };
}
