//! The numbered conditions of [`Layout`](super::Layout), one function each.

use super::Layout;
use crate::error::{Error, Result};
use crate::words::counted;

/// How many branches the search of condition 5 may take before it gives up.
const SEARCH_LIMIT: u32 = 100_000;

/// Condition 1: one stride for each axis.
pub(super) fn rank(shape: &[usize], strides: &[isize]) -> Result<()> {
    if shape.len() == strides.len() {
        return Ok(());
    }
    Err(Error::layout(
        "layout",
        format!(
            "{} for a shape of {}",
            counted(strides.len(), "stride"),
            counted(shape.len(), "axis")
        ),
    ))
}

/// Condition 2: the product of the lengths that are not 0 fits `isize`. Answers the number of elements.
pub(super) fn element_count(shape: &[usize]) -> Result<usize> {
    let nonzero = shape
        .iter()
        .filter(|&&len| len != 0)
        .try_fold(1_usize, |product, &len| product.checked_mul(len))
        .filter(|&product| isize::try_from(product).is_ok())
        .ok_or_else(|| Error::overflow("layout", format!("the number of elements of {shape:?}")))?;
    Ok(if shape.contains(&0) { 0 } else { nonzero })
}

/// The strides without gaps, the last axis fastest. `shape` keeps condition 2.
pub(super) fn contiguous_strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1_isize; shape.len()];
    let mut step = 1_isize;
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        // Condition 2 bounds this product.
        step *= len.max(1).cast_signed();
    }
    strides
}

/// Condition 3: the smallest and the largest element number reached; `None` when nothing is reached.
pub(super) fn span(
    shape: &[usize],
    strides: &[isize],
    offset: usize,
) -> Result<Option<(usize, usize)>> {
    let too_large = || {
        Error::overflow(
            "layout",
            format!("the span of shape {shape:?}, strides {strides:?}, offset {offset}"),
        )
    };
    let start = isize::try_from(offset).map_err(|_| too_large())?;
    if shape.contains(&0) {
        return Ok(None);
    }
    // Condition 3a: what the negative strides reach.
    // Condition 3b: what the positive strides reach.
    let mut below = 0_isize;
    let mut above = 0_isize;
    for (&len, &stride) in shape.iter().zip(strides) {
        let steps = isize::try_from(len - 1).map_err(|_| too_large())?;
        let reach = steps.checked_mul(stride).ok_or_else(too_large)?;
        let side = if reach < 0 { &mut below } else { &mut above };
        *side = side.checked_add(reach).ok_or_else(too_large)?;
    }
    let last = start.checked_add(above).ok_or_else(too_large)?;
    let first = start.checked_add(below).filter(|&first| first >= 0);
    let Some(first) = first else {
        return Err(Error::layout(
            "layout",
            format!(
                "shape {shape:?} with strides {strides:?} reaches below element 0 from offset {offset}"
            ),
        ));
    };
    Ok(Some((first.cast_unsigned(), last.cast_unsigned())))
}

/// Condition 4: the largest element number reached is smaller than `len_elems`.
pub(super) fn within(layout: &Layout, len_elems: usize) -> Result<()> {
    match layout.span() {
        Some((_, last)) if last >= len_elems => Err(Error::layout(
            "layout",
            format!("reaches element {last} of a memory of {len_elems} elements"),
        )),
        _ => Ok(()),
    }
}

/// Condition 5: no two different indices reach the same element.
pub(super) fn unaliased(layout: &Layout) -> Result<()> {
    if is_unaliased(layout.shape(), layout.strides()) {
        return Ok(());
    }
    Err(Error::layout(
        "layout",
        format!(
            "shape {:?} with strides {:?} reaches an element by more than one index",
            layout.shape(),
            layout.strides()
        ),
    ))
}

/// Two indices meet exactly when their difference `k` is not zero and `sum(k[a] * strides[a]) == 0`, with
/// `|k[a]| < shape[a]`. The signs of the strides do not matter.
fn is_unaliased(shape: &[usize], strides: &[isize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut axes: Vec<Axis> = shape
        .iter()
        .zip(strides)
        .filter(|&(&len, _)| len > 1)
        .map(|(&len, stride)| Axis {
            most: (len - 1) as u64,
            stride: stride.unsigned_abs() as u64,
        })
        .collect();
    // Condition 5a: an axis that does not move meets itself.
    if axes.iter().any(|axis| axis.stride == 0) {
        return false;
    }
    axes.sort_unstable_by_key(|axis| axis.stride);
    // Condition 5b, the fast way: every axis steps over all that the smaller ones reach together.
    if steps_over_smaller(&axes) {
        return true;
    }
    // Condition 5c, the exact way: no difference of indices cancels out.
    axes.reverse();
    !Search::new(&axes).meets()
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The largest difference of two indices on this axis; at least 1.
    most: u64,
    /// The magnitude of the stride; at least 1 once condition 5a holds.
    stride: u64,
}

/// `axes` sorted by ascending stride.
fn steps_over_smaller(axes: &[Axis]) -> bool {
    let mut reach = 0_u64;
    axes.iter().all(|axis| {
        let over = axis.stride > reach;
        // Condition 3 bounds the sum of all reaches.
        reach += axis.most * axis.stride;
        over
    })
}

/// A depth-first search for a difference that cancels out, largest stride first.
struct Search<'a> {
    axes: &'a [Axis],
    /// What the axes from each number on reach together.
    reach: Vec<i64>,
    /// The greatest common divisor of the strides from each number on.
    divisor: Vec<i64>,
    left: u32,
}

impl<'a> Search<'a> {
    fn new(axes: &'a [Axis]) -> Self {
        let mut reach = vec![0; axes.len() + 1];
        let mut divisor = vec![0; axes.len() + 1];
        for (at, axis) in axes.iter().enumerate().rev() {
            // Condition 3 bounds both by isize::MAX.
            reach[at] = reach[at + 1] + (axis.most * axis.stride).cast_signed();
            divisor[at] = gcd(axis.stride.cast_signed(), divisor[at + 1]);
        }
        Self {
            axes,
            reach,
            divisor,
            left: SEARCH_LIMIT,
        }
    }

    /// True when a difference that is not zero cancels out, or when the search gave up.
    fn meets(&mut self) -> bool {
        // The first axis with a difference has a positive one, without loss of generality.
        (0..self.axes.len()).any(|first| self.branch(first, 0, 1))
    }

    /// Can the axes from `at` on add up to `-sum`, when axis `at` moves by at least `lowest`?
    fn branch(&mut self, at: usize, sum: i64, lowest: i64) -> bool {
        let Some(axis) = self.axes.get(at) else {
            return sum == 0;
        };
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        // What is left over must be a multiple of the strides that follow: this fixes k up to a step, and
        // leaves nothing to try in vain when only one axis follows.
        let Some((residue, step)) = solve(axis.stride.cast_signed(), -sum, self.divisor[at + 1])
        else {
            return false;
        };
        // |sum + k * stride| must stay within reach of the remaining axes.
        let rest = self.reach[at + 1];
        let stride = axis.stride.cast_signed();
        let most = axis.most.cast_signed();
        let low = div_ceil(-rest - sum, stride).max(lowest).max(-most);
        let high = (rest - sum).div_euclid(stride).min(most);
        let mut next = low.checked_add((residue - low).rem_euclid(step));
        while let Some(k) = next.filter(|&k| k <= high) {
            if self.branch(at + 1, sum + k * stride, -i64::MAX) {
                return true;
            }
            next = k.checked_add(step);
        }
        false
    }
}

/// The `k` with `factor * k = value` modulo `modulus`: one of them and the step to the next, or `None`. The
/// modulus 0 asks for equality, which has at most one solution, and the step is then the largest there is.
fn solve(factor: i64, value: i64, modulus: i64) -> Option<(i64, i64)> {
    if modulus == 0 {
        return (value % factor == 0).then(|| (value / factor, i64::MAX));
    }
    let (divisor, inverse) = extended_gcd(factor, modulus);
    if value % divisor != 0 {
        return None;
    }
    let step = modulus / divisor;
    let product = i128::from(value / divisor) * i128::from(inverse);
    let residue = product.rem_euclid(i128::from(step));
    Some((i64::try_from(residue).ok()?, step))
}

/// The greatest common divisor `d` of two positive numbers, and `x` with `a * x = d` modulo `b`.
fn extended_gcd(a: i64, b: i64) -> (i64, i64) {
    let (mut old_rest, mut rest) = (a, b);
    let (mut old_x, mut x) = (1_i64, 0_i64);
    while rest != 0 {
        let quotient = old_rest / rest;
        (old_rest, rest) = (rest, old_rest - quotient * rest);
        // The coefficients never exceed the inputs in magnitude.
        (old_x, x) = (x, old_x - quotient * x);
    }
    (old_rest, old_x)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `divisor` is positive.
fn div_ceil(value: i64, divisor: i64) -> i64 {
    -(-value).div_euclid(divisor)
}
