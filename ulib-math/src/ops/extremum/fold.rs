//! The folds of extreme values and of their places, and the kernels.

use std::marker::PhantomData;

use crate::ops::element::{Element, Number};
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One, Placed, entry, joins};

static KERNELS: Library = Library::new(include_str!("extremum.ptx"));

/// The smallest element of `T`, or the largest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extreme<T, const LARGEST: bool>(PhantomData<T>);

/// Where the first such element is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<T, const LARGEST: bool>(PhantomData<T>);

impl<T, const LARGEST: bool> Extreme<T, LARGEST> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T, const LARGEST: bool> Place<T, LARGEST> {
    pub(super) const NEW: Self = Self(PhantomData);
}

/// Whether the elements are words of 4 bytes.
fn narrow(number: Number) -> bool {
    match number {
        Number::F32 | Number::I32 | Number::U32 => true,
        Number::F64 | Number::I64 | Number::U64 => false,
    }
}

/// The 16-byte kernels there are.
fn packs(form: Form) -> bool {
    form.line && !form.columns
}

impl<T: Element, const LARGEST: bool> Fold for Extreme<T, LARGEST> {
    type Value = T;
    type Item = One<T>;
    type Lane = T::Key;
    type Acc = u64;
    type Out = T;

    const EMPTY: u64 = u64::MAX;

    #[inline(always)]
    fn open(&self, One(first): One<T>) -> T::Key {
        first.key::<LARGEST>()
    }

    #[inline(always)]
    fn step(&self, lane: T::Key, One(x): One<T>) -> T::Key {
        lane.min(x.key::<LARGEST>())
    }

    #[inline(always)]
    fn close(&self, lane: T::Key, _: usize) -> u64 {
        T::wide(lane)
    }

    #[inline(always)]
    fn join(left: u64, right: u64) -> u64 {
        left.min(right)
    }

    fn finish(&self, key: u64) -> T {
        T::with_key::<LARGEST>(key)
    }

    fn nothing(&self) -> Option<T> {
        None
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        (packs(form) || !form.pack).then_some(if narrow(T::KERNEL) {
            entry!("extremum", "u32", form)
        } else {
            entry!("extremum", "u64", form)
        })
    }

    const JOIN: [&'static str; 2] = if size_of::<T>() == 4 {
        joins!("extremum", "u32")
    } else {
        joins!("extremum", "u64")
    };

    fn params(&self) -> [u64; 4] {
        T::params::<LARGEST>()
    }
}

impl<T: Element, const LARGEST: bool> Fold for Place<T, LARGEST> {
    type Value = T;
    type Item = Placed<T>;
    type Lane = (T::Key, u64);
    /// The key and the place.
    type Acc = [u64; 2];
    type Out = u64;

    const EMPTY: [u64; 2] = [u64::MAX; 2];

    #[inline(always)]
    fn open(&self, Placed(first, place): Placed<T>) -> Self::Lane {
        (first.key::<LARGEST>(), place)
    }

    #[inline(always)]
    fn step(&self, lane: Self::Lane, Placed(x, place): Placed<T>) -> Self::Lane {
        lane.min((x.key::<LARGEST>(), place))
    }

    #[inline(always)]
    fn close(&self, (key, place): Self::Lane, _: usize) -> [u64; 2] {
        [T::wide(key), place]
    }

    #[inline(always)]
    fn join(left: [u64; 2], right: [u64; 2]) -> [u64; 2] {
        left.min(right)
    }

    fn finish(&self, [_, place]: [u64; 2]) -> u64 {
        place
    }

    fn nothing(&self) -> Option<u64> {
        None
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        (packs(form) || !form.pack).then_some(if narrow(T::KERNEL) {
            entry!("extremum_place", "u32", form)
        } else {
            entry!("extremum_place", "u64", form)
        })
    }

    const JOIN: [&'static str; 2] = joins!("extremum_place", "found");

    fn params(&self) -> [u64; 4] {
        T::params::<LARGEST>()
    }
}
