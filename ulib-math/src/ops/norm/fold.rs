//! The fold of a norm, and its kernels.

use std::marker::PhantomData;

use crate::ops::element::Element;
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One, entries, joins};

static KERNELS: Library = Library::new(include_str!("norm.ptx"));

/// The Euclidean norm of elements of `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norm<T>(PhantomData<T>);

impl<T> Norm<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T: Element> Fold for Norm<T> {
    type Value = T;
    type Item = One<T>;
    type Lane = f64;
    type Acc = f64;
    type Out = f64;

    const EMPTY: f64 = 0.0;

    #[inline(always)]
    fn open(&self, _: One<T>) -> f64 {
        0.0
    }

    #[inline(always)]
    fn step(&self, lane: f64, One(x): One<T>) -> f64 {
        let x = x.to_f64();
        lane + x * x
    }

    #[inline(always)]
    fn close(&self, lane: f64, _: usize) -> f64 {
        lane
    }

    #[inline(always)]
    fn join(left: f64, right: f64) -> f64 {
        left + right
    }

    fn finish(&self, squares: f64) -> f64 {
        squares.sqrt()
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        form.with_packed_rows_of_floats(T::KERNEL)
            .then_some(entries!("norm", T::KERNEL, form))
    }

    const JOIN: [&'static str; 2] = joins!("norm", "f64");
}
