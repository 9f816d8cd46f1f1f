//! The fold of a variance, and its kernels.

use std::marker::PhantomData;

use crate::ops::element::Element;
use crate::ops::launch::Library;
use crate::ops::reduce::{Fold, Form, One, entries, joins};

static KERNELS: Library = Library::new(include_str!("variance.ptx"));

/// The variance of elements of `T`, or its square root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variance<T> {
    pub(super) ddof: usize,
    pub(super) root: bool,
    element: PhantomData<T>,
}

impl<T> Variance<T> {
    pub(super) fn new(ddof: usize, root: bool) -> Self {
        Self {
            ddof,
            root,
            element: PhantomData,
        }
    }
}

/// A lane: its first element, and the sum and the sum of squares of what the elements differ from it by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivot {
    pivot: f64,
    sum: f64,
    squares: f64,
}

impl<T: Element> Fold for Variance<T> {
    type Value = T;
    type Item = One<T>;
    type Lane = Pivot;
    /// The number of elements, their mean, and the sum of squares of what they differ from it by.
    type Acc = [f64; 3];
    type Out = f64;

    const EMPTY: [f64; 3] = [0.0; 3];

    #[inline(always)]
    fn open(&self, One(first): One<T>) -> Pivot {
        Pivot {
            pivot: first.to_f64(),
            sum: 0.0,
            squares: 0.0,
        }
    }

    #[inline(always)]
    fn step(&self, lane: Pivot, One(x): One<T>) -> Pivot {
        let d = x.to_f64() - lane.pivot;
        Pivot {
            pivot: lane.pivot,
            sum: lane.sum + d,
            squares: lane.squares + d * d,
        }
    }

    #[inline(always)]
    fn close(&self, lane: Pivot, count: usize) -> [f64; 3] {
        let n = count as f64;
        let shift = lane.sum / n;
        [n, lane.pivot + shift, lane.squares - lane.sum * shift]
    }

    #[inline(always)]
    fn join(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        let ([na, mean_a, m2_a], [nb, mean_b, m2_b]) = (a, b);
        if nb == 0.0 {
            return a;
        }
        if na == 0.0 {
            return b;
        }
        let n = na + nb;
        let r = nb / n;
        let d = mean_b - mean_a;
        [n, mean_a + d * r, (m2_a + m2_b) + d * d * na * r]
    }

    fn finish(&self, [n, _, m2]: [f64; 3]) -> f64 {
        let ddof = self.ddof as f64;
        if n <= ddof {
            return f64::NAN;
        }
        let variance = m2 / (n - ddof);
        if self.root { variance.sqrt() } else { variance }
    }

    fn kernels() -> &'static Library {
        &KERNELS
    }

    fn entry(form: Form) -> Option<&'static str> {
        form.with_packed_rows_of_floats(T::KERNEL)
            .then_some(entries!("variance", T::KERNEL, form))
    }

    const JOIN: [&'static str; 2] = joins!("variance", "moments");

    fn params(&self) -> [u64; 4] {
        [self.ddof as u64, u64::from(self.root), 0, 0]
    }
}
