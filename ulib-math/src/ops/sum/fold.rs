//! The fold of a sum, and its kernels.

use std::marker::PhantomData;

use crate::ops::element::{Accumulator, Element, Number};
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One, entries, joins};

static KERNELS: Library = Library::new(include_str!("sum.ptx"));

/// The sum of elements of `T`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum<T>(PhantomData<T>);

impl<T> Sum<T> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<T: Element> Fold for Sum<T> {
    type Value = T;
    type Item = One<T>;
    type Lane = T::Sum;
    type Acc = T::Sum;
    type Out = T::Sum;

    const EMPTY: T::Sum = T::Sum::IDENTITY;

    #[inline(always)]
    fn open(&self, _: One<T>) -> T::Sum {
        T::Sum::IDENTITY
    }

    #[inline(always)]
    fn step(&self, lane: T::Sum, One(x): One<T>) -> T::Sum {
        lane.plus(x.widen())
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

    /// The 16-byte kernels there are: the others would gain nothing that was measured.
    fn entry(form: Form) -> Option<&'static str> {
        let pack = match T::KERNEL {
            Number::F32 => form.line || !form.columns,
            Number::F64 => form.line,
            Number::I64 | Number::U64 => form.line && !form.columns,
            Number::I32 | Number::U32 => false,
        };
        // The low bits of a sum of 64 bits do not depend on signs.
        let number = match T::KERNEL {
            Number::I64 => Number::U64,
            number => number,
        };
        (pack || !form.pack).then_some(entries!("sum", number, form))
    }

    const JOIN: [&'static str; 2] = match <T::Sum as Element>::KERNEL {
        Number::F64 => joins!("sum", "f64"),
        _ => joins!("sum", "u64"),
    };
}
