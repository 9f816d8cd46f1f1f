//! Reductions, quantiles and histograms on layouts and numbers that look random.

use ndarray::ArrayD;
use ulib_core::{Error, ErrorKind, Layout, Result};
use ulib_math::ops::{self, Bins, Countable};
use ulib_math::view::{Element, View, ViewMut};

use super::{Dice, gathered, sides, with_seeds};
use crate::elementwise::{Special, assert_same};
use crate::support::{contents, on_host};

/// The bits, of every NaN the same.
fn bits<T: Element>(values: impl IntoIterator<Item = T>) -> Vec<u64> {
    let values = values.into_iter();
    values
        .map(|x| if x == x { x.bits() } else { u64::MAX - 7 })
        .collect()
}

/// The views of a reduction: memories, layouts, and the axes in any order.
struct Reduced<T> {
    what: String,
    elements: [Vec<T>; 2],
    layouts: [Layout; 2],
    axes: Vec<usize>,
    out: (usize, Layout),
}

impl<T: Special> Reduced<T> {
    fn new(
        dice: &mut Dice,
        what: &str,
        mut values: impl FnMut(&mut Dice, usize) -> Vec<T>,
    ) -> Self {
        let shape = dice.shape();
        let places = [dice.place(&shape, true), dice.place(&shape, true)];
        let mut axes = dice.order(shape.len());
        axes.truncate(dice.below(shape.len() + 1));
        let kept: Vec<usize> = (0..shape.len())
            .filter(|axis| !axes.contains(axis))
            .collect();
        let left: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
        let elements = [0, 1].map(|k: usize| values(dice, places[k].0));
        let out = dice.place(&left, false);
        let layouts = places.map(|place| place.1);
        let what = format!("{what}: {layouts:?} over {axes:?} to {out:?}");
        Self {
            what,
            elements,
            layouts,
            axes,
            out,
        }
    }

    /// The elements of each result in C order.
    fn groups(&self) -> Vec<Vec<T>> {
        let layout = &self.layouts[0];
        let mut axes = self.axes.clone();
        axes.sort_unstable();
        let kept = (0..layout.ndim()).filter(|axis| !axes.contains(axis));
        let order: Vec<usize> = kept.chain(axes.iter().copied()).collect();
        let size: usize = axes.iter().map(|&axis| layout.shape()[axis]).product();
        let all = gathered(&self.elements[0], &layout.permute(&order).unwrap());
        if size == 0 {
            return vec![Vec::new(); self.out.1.len()];
        }
        all.chunks(size).map(<[T]>::to_vec).collect()
    }

    /// Tries a reduction in both forms, from either side and into either; `expected` is the test's own idea of it.
    fn check<O: Special>(
        &self,
        name: &str,
        new: impl Fn(&View<'_, T>, &View<'_, T>, &[usize]) -> Result<ArrayD<O>>,
        into: impl Fn(&View<'_, T>, &View<'_, T>, &[usize], ViewMut<'_, O>) -> Result<()>,
        expected: Option<&dyn Fn(&[T]) -> O>,
    ) {
        let what = format!("{name}, {}", self.what);
        let mut wanted: Option<Vec<u64>> = None;
        let expected = expected.map(|of| bits(self.groups().iter().map(|group| of(group))));
        let shape = self.out.1.shape();
        let refused = |error: &Error| {
            let many = *error.kind() == ErrorKind::Layout && self.layouts[0].ndim() > 8;
            let empty = *error.kind() == ErrorKind::InvalidArgument && self.layouts[0].is_empty();
            assert!(many || empty, "{what}: {error}");
        };
        let blank: Vec<O> = (0..self.out.0).map(|i| O::sample(i as u64)).collect();
        for (side, make) in sides::<T>() {
            let blocks = [make(&self.elements[0]), make(&self.elements[1])];
            let [a, b]: [View<'_, T>; 2] =
                std::array::from_fn(|k| View::new(&blocks[k], self.layouts[k].clone()).unwrap());
            match new(&a, &b, &self.axes) {
                Err(error) => refused(&error),
                Ok(values) => {
                    assert_eq!(values.shape(), shape, "{side}, {what}");
                    let found = bits(values);
                    if let Some(expected) = &expected {
                        assert_eq!(&found, expected, "{side}, {what}");
                    }
                    assert_eq!(
                        &found,
                        wanted.get_or_insert(found.clone()),
                        "{side}, {what}"
                    );
                }
            }
            for (to, make) in sides::<O>() {
                let mut out = make(&blank);
                let view = ViewMut::new(&mut out, self.out.1.clone()).unwrap();
                let done = into(&a, &b, &self.axes, view);
                let mut left = blank.clone();
                match done {
                    Err(error) => refused(&error),
                    Ok(()) => {
                        let found = gathered(&contents::<O>(&out), &self.out.1);
                        let found = bits(found);
                        let wanted = wanted.get_or_insert_with(|| found.clone());
                        assert_eq!(&found, wanted, "{side} to {to}, {what}");
                        for at in self.out.1.offsets() {
                            left[at] = contents::<O>(&out)[at];
                        }
                    }
                }
                assert_same(&contents::<O>(&out), &left, |_| {
                    format!("{side} to {to}, {what}")
                });
            }
        }
    }
}

/// The first of the elements that none is before: NaN, then in order, -0.0 below 0.0.
fn least<T: Special>(values: &[T], largest: bool) -> usize {
    let before = |x: T, y: T| {
        if y != y {
            return false;
        }
        let (low, high) = if largest { (y, x) } else { (x, y) };
        // Of zeros the one with more bits is the negative one.
        x != x || low < high || low == high && low.bits() > high.bits()
    };
    (0..values.len()).fold(0, |least, i| {
        if before(values[i], values[least]) {
            i
        } else {
            least
        }
    })
}

fn any_reduction<T: Special>(dice: &mut Dice, what: &str)
where
    T::Sum: Special,
{
    let of = Reduced::<T>::new(dice, what, Dice::values);
    let condition = dice.predicate::<T>();
    let ddof = dice.below(4);
    let q = [0.0, 1.0, 0.5, -0.0, 0.317, 1.0 - f64::EPSILON][dice.below(6)];
    match dice.below(12) {
        0 => of.check(
            "sum",
            |a, _, axes| ops::sum(a, axes),
            |a, _, axes, out| ops::sum_into(a, axes, out),
            None,
        ),
        1 => of.check(
            "mean",
            |a, _, axes| ops::mean(a, axes),
            |a, _, axes, out| ops::mean_into(a, axes, out),
            None,
        ),
        2 => of.check(
            "norm",
            |a, _, axes| ops::norm(a, axes),
            |a, _, axes, out| ops::norm_into(a, axes, out),
            None,
        ),
        3 => of.check("dot", ops::dot, ops::dot_into, None),
        4 => of.check(
            &format!("variance {ddof}"),
            |a, _, axes| ops::variance(a, ddof, axes),
            |a, _, axes, out| ops::variance_into(a, ddof, axes, out),
            None,
        ),
        5 => of.check(
            &format!("standard_deviation {ddof}"),
            |a, _, axes| ops::standard_deviation(a, ddof, axes),
            |a, _, axes, out| ops::standard_deviation_into(a, ddof, axes, out),
            None,
        ),
        6 => of.check(
            "min",
            |a, _, axes| ops::min(a, axes),
            |a, _, axes, out| ops::min_into(a, axes, out),
            (!of.layouts[0].is_empty()).then_some(&|x: &[T]| x[least(x, false)]),
        ),
        7 => of.check(
            "max",
            |a, _, axes| ops::max(a, axes),
            |a, _, axes, out| ops::max_into(a, axes, out),
            (!of.layouts[0].is_empty()).then_some(&|x: &[T]| x[least(x, true)]),
        ),
        8 => of.check(
            "argmin",
            |a, _, axes| ops::argmin(a, axes),
            |a, _, axes, out| ops::argmin_into(a, axes, out),
            Some(&|x: &[T]| least(x, false) as u64),
        ),
        9 => of.check(
            "argmax",
            |a, _, axes| ops::argmax(a, axes),
            |a, _, axes, out| ops::argmax_into(a, axes, out),
            Some(&|x: &[T]| least(x, true) as u64),
        ),
        10 => of.check(
            &format!("count {condition:?}"),
            |a, _, axes| ops::count(a, condition, axes),
            |a, _, axes, out| ops::count_into(a, condition, axes, out),
            Some(&|x: &[T]| x.iter().filter(|x| condition.matches(**x)).count() as u64),
        ),
        _ => of.check(
            &format!("quantile {q}"),
            |a, _, axes| ops::quantile(a, axes, q),
            |a, _, axes, out| ops::quantile_into(a, axes, q, out),
            None,
        ),
    }
}

#[test]
fn reductions() {
    with_seeds(6, |dice, what| match dice.below(6) {
        0 => any_reduction::<i32>(dice, &format!("{what}, i32")),
        1 => any_reduction::<u32>(dice, &format!("{what}, u32")),
        2 => any_reduction::<i64>(dice, &format!("{what}, i64")),
        3 => any_reduction::<u64>(dice, &format!("{what}, u64")),
        4 => any_reduction::<f32>(dice, &format!("{what}, f32")),
        _ => any_reduction::<f64>(dice, &format!("{what}, f64")),
    });
}

/// Bins near the numbers, of any width, many or few, or edges that are numbers of the view.
fn bins<T: Countable>(dice: &mut Dice, elements: &[T]) -> Bins {
    let finite = |x: &f64| x.is_finite();
    let mut numbers: Vec<f64> = elements
        .iter()
        .map(|x| x.value())
        .filter(finite)
        .take(40)
        .collect();
    numbers.extend([0.0, 1.0]);
    let (a, b) = (
        numbers[dice.below(numbers.len())],
        numbers[dice.below(numbers.len())],
    );
    let n = [1, 2, 7, 64, 4097][dice.below(5)];
    let uniform = match dice.below(5) {
        0 => Bins::uniform(0.0, 5e-324 * n as f64, n),
        1 => Bins::uniform(a.min(b), a.max(b), n),
        2 => Bins::uniform(-1.0, 1.0, n),
        3 => Bins::uniform(-f64::MAX / 2.0, f64::MAX / 2.0, n),
        _ => Bins::edges({
            numbers.sort_by(f64::total_cmp);
            numbers.dedup_by(|a, b| *a == *b);
            numbers
        }),
    };
    uniform.unwrap_or_else(|_| Bins::uniform(0.0, 100.0, n).unwrap())
}

fn any_histogram<T: Special + Countable>(dice: &mut Dice, what: &str) {
    let mut of = Reduced::<T>::new(dice, what, Dice::values);
    let bins = bins(dice, &of.elements[0]);
    let edges = bins.as_slice();
    if of.out.1.len() * bins.len() > 40_000 {
        return;
    }
    let mut expected: Vec<u64> = Vec::new();
    for group in of.groups() {
        let at = expected.len();
        expected.resize(at + bins.len(), 0);
        for x in group.iter().map(|x| x.value()) {
            let last = bins.len() - 1;
            if x >= edges[0] && x <= edges[last + 1] {
                expected[at + (edges.partition_point(|edge| *edge <= x) - 1).min(last)] += 1;
            }
        }
    }
    let mut shape = of.out.1.shape().to_vec();
    shape.push(bins.len());
    of.out = dice.place(&shape, false);
    let what = format!("{}, {} bins from {:?}", of.what, bins.len(), &edges[..2]);
    of.check(
        &what,
        |a, _, axes| ops::histogram_axes(a, axes, &bins),
        |a, _, axes, out| ops::histogram_into(a, axes, &bins, out),
        None,
    );
    let block = on_host(&of.elements[0]);
    let view = View::<T>::new(&block, of.layouts[0].clone()).unwrap();
    let found = ops::histogram_axes(&view, &of.axes, &bins).unwrap();
    assert!(found.iter().eq(&expected), "{what}");
}

#[test]
fn histograms() {
    with_seeds(3, |dice, what| match dice.below(6) {
        0 => any_histogram::<i32>(dice, &format!("{what}, i32")),
        1 => any_histogram::<u32>(dice, &format!("{what}, u32")),
        2 => any_histogram::<i64>(dice, &format!("{what}, i64")),
        3 => any_histogram::<u64>(dice, &format!("{what}, u64")),
        4 => any_histogram::<f32>(dice, &format!("{what}, f32")),
        _ => any_histogram::<f64>(dice, &format!("{what}, f64")),
    });
}
