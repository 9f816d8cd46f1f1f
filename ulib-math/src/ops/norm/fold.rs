//! The fold of a norm, and its kernels.

use std::marker::PhantomData;

use crate::ops::element::{Element, Number};
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One, entries};

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
        let pack = match T::KERNEL {
            Number::F32 | Number::F64 => form.line && !form.columns,
            _ => false,
        };
        (pack || !form.pack).then_some(match T::KERNEL {
            Number::F32 => entries!("norm", "f32", form),
            Number::F64 => entries!("norm", "f64", form),
            Number::I32 => entries!("norm", "i32", form),
            Number::U32 => entries!("norm", "u32", form),
            Number::I64 => entries!("norm", "i64", form),
            Number::U64 => entries!("norm", "u64", form),
        })
    }

    const JOIN: [&'static str; 2] = ["ulib_norm_rows_join_f64", "ulib_norm_columns_join_f64"];
}
