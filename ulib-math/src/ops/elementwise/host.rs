//! Elementwise operations on the host: `f` decides the result, this only brings it the elements.
#![allow(
    unsafe_code,
    reason = "calls a function compiled for AVX2 and FMA where the processor has them"
)]

use ulib_core::{DeviceStorable, bytemuck};

use super::Input;
use crate::ops::axes::Axes;
use crate::ops::element::Element;
use crate::ops::runs::{Run, for_each_run};

/// Elements that are brought to one place, computed with, and taken back.
const TILE: usize = 128;

/// Elements that are computed together.
const GROUP: usize = 32;

/// Where the elements of an input are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a, T> {
    Scalar(T),
    Slice(&'a [T]),
    Output,
}

impl<'a, T: Copy> Source<'a, T> {
    /// The input, whose elements are `slice` if it is a view.
    pub(super) fn of(input: &Input<'_, T>, slice: Option<&'a [T]>) -> Self {
        match (input, slice) {
            (Input::Scalar(number), _) => Self::Scalar(*number),
            (Input::View(_), slice) => Self::Slice(slice.unwrap_or_default()),
            (Input::Output, _) => Self::Output,
        }
    }
}

/// `out[i] = f(a[i], b[i], c[i])`; operands 0, 1, 2 of `axes` are the inputs, operand 3 is the output.
pub(super) fn map<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    axes: &Axes<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &(impl Fn(T, B, T) -> T + Sync),
) {
    for_each_run(out, axes, &|out: &mut [T], run: Run<4>| {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: the processor has what the function was compiled for: checked in the line above.
            return unsafe { visit_avx2(out, &run, a, b, c, f) };
        }
        visit::<{ cfg!(not(target_arch = "x86_64")) }, _, _>(out, &run, a, b, c, f);
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn visit_avx2<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) {
    visit::<true, _, _>(out, run, a, b, c, f);
}

/// One run: in place where all that is read lies as the output does, packed or in every second place, by way of tiles
/// elsewhere. Without `LOOPS` everything goes by way of tiles: the loops are not compiled for processors that are hardly left.
#[inline(always)]
fn visit<const LOOPS: bool, T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) {
    let done = match run.stride[3] {
        1 if LOOPS => in_place::<1, _, _>(out, run, a, b, c, f),
        2 if LOOPS => in_place::<2, _, _>(out, run, a, b, c, f),
        _ => 0,
    };
    if done < run.len {
        tiles(out, run, done, a, b, c, f);
    }
}

/// The elements from the first on that need no tiles in the most frequent cases, `STEP` apart, and how many they are.
///
/// The loops are this plain, and write what is between elements as it was, to be compiled to vector instructions: a closure
/// given to an iterator would be compiled without those that only some processors have.
#[inline(always)]
fn in_place<const STEP: usize, T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) -> usize {
    let alike = |k: usize| run.stride[k] == run.stride[3];
    let start = |k: usize| run.start[k].unsigned_abs();
    let out = out.as_chunks_mut::<STEP>().0;
    match (a, b, c) {
        (Source::Output, Source::Scalar(b), Source::Scalar(c)) => {
            for out in &mut *out {
                *out = with_first(f(out[0], b, c), out);
            }
            out.len()
        }
        (Source::Slice(a), Source::Scalar(b), Source::Scalar(c)) if alike(0) => {
            let a = a[start(0)..].as_chunks::<STEP>().0;
            for (out, a) in out.iter_mut().zip(a) {
                *out = with_first(f(a[0], b, c), out);
            }
            out.len().min(a.len())
        }
        (Source::Output, Source::Slice(b), Source::Scalar(c)) if alike(1) => {
            let b = b[start(1)..].as_chunks::<STEP>().0;
            for (out, b) in out.iter_mut().zip(b) {
                *out = with_first(f(out[0], b[0], c), out);
            }
            out.len().min(b.len())
        }
        (Source::Slice(a), Source::Slice(b), Source::Scalar(c)) if alike(0) && alike(1) => {
            let a = a[start(0)..].as_chunks::<STEP>().0;
            let b = b[start(1)..].as_chunks::<STEP>().0;
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = with_first(f(a[0], b[0], c), out);
            }
            out.len().min(a.len()).min(b.len())
        }
        // A multiple of another added in place.
        (Source::Slice(a), Source::Scalar(b), Source::Output) if alike(0) => {
            let a = a[start(0)..].as_chunks::<STEP>().0;
            for (out, a) in out.iter_mut().zip(a) {
                *out = with_first(f(a[0], b, out[0]), out);
            }
            out.len().min(a.len())
        }
        _ => 0,
    }
}

/// The array with another first element.
#[inline(always)]
pub(crate) fn with_first<T: Copy, const STEP: usize>(first: T, array: &[T; STEP]) -> [T; STEP] {
    let mut array = *array;
    array[0] = first;
    array
}

/// What is left of a run from element `done` on, brought to one place and taken back.
#[inline(always)]
fn tiles<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    done: usize,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) {
    let mut tiles = (
        [T::default(); TILE],
        [B::default(); TILE],
        [T::default(); TILE],
    );
    if let Source::Scalar(number) = a {
        tiles.0 = [number; TILE];
    }
    if let Source::Scalar(number) = b {
        tiles.1 = [number; TILE];
    }
    if let Source::Scalar(number) = c {
        tiles.2 = [number; TILE];
    }
    let stride = run.stride[3].unsigned_abs();
    for first in (done..run.len).step_by(TILE) {
        let count = TILE.min(run.len - first);
        let own = &mut out[first * stride..];
        let at = |k: usize| {
            (
                run.start[k] + first.cast_signed() * run.stride[k],
                run.stride[k],
            )
        };
        match a {
            Source::Scalar(number) if first > done => tiles.0 = [number; TILE],
            Source::Scalar(_) => {}
            Source::Slice(slice) => gather(&mut tiles.0[..count], slice, at(0)),
            Source::Output => gather(&mut tiles.0[..count], own, (0, run.stride[3])),
        }
        match b {
            Source::Scalar(_) => {}
            Source::Slice(slice) => gather(&mut tiles.1[..count], slice, at(1)),
            // Then it is of the output's type.
            Source::Output => {
                if let Ok(own) = bytemuck::try_cast_slice::<T, B>(own) {
                    gather(&mut tiles.1[..count], own, (0, run.stride[3]));
                }
            }
        }
        match c {
            Source::Scalar(_) => {}
            Source::Slice(slice) => gather(&mut tiles.2[..count], slice, at(2)),
            Source::Output => gather(&mut tiles.2[..count], own, (0, run.stride[3])),
        }
        let groups = count.div_ceil(GROUP);
        let (a, _) = tiles.0.as_chunks_mut::<GROUP>();
        let (b, _) = tiles.1.as_chunks::<GROUP>();
        let (c, _) = tiles.2.as_chunks::<GROUP>();
        for ((a, b), c) in a.iter_mut().zip(b).zip(c).take(groups) {
            for i in 0..GROUP {
                a[i] = f(a[i], b[i], c[i]);
            }
        }
        scatter(&tiles.0[..count], own, stride);
    }
}

/// `tile[i] = slice[start + i * stride]`.
#[inline(always)]
fn gather<T: Copy>(tile: &mut [T], slice: &[T], (start, stride): (isize, isize)) {
    let first = start.unsigned_abs();
    match stride {
        1 => tile.copy_from_slice(&slice[first..first + tile.len()]),
        // A voxel of two words: pairs are compiled to vector instructions.
        2 => {
            let pairs = slice[first..].as_chunks::<2>().0;
            let paired = pairs.len().min(tile.len());
            for (to, pair) in tile.iter_mut().zip(pairs) {
                *to = pair[0];
            }
            for (i, to) in tile.iter_mut().enumerate().skip(paired) {
                *to = slice[first + 2 * i];
            }
        }
        _ => {
            let mut at = start;
            for to in tile {
                *to = slice[at.unsigned_abs()];
                at += stride;
            }
        }
    }
}

/// `out[i * stride] = tile[i]`.
#[inline(always)]
fn scatter<T: Copy>(tile: &[T], out: &mut [T], stride: usize) {
    match stride {
        1 => out[..tile.len()].copy_from_slice(tile),
        2 => {
            let pairs = out.as_chunks_mut::<2>().0;
            let paired = pairs.len().min(tile.len());
            for (pair, &from) in pairs.iter_mut().zip(tile) {
                *pair = [from, pair[1]];
            }
            for (i, &from) in tile.iter().enumerate().skip(paired) {
                out[2 * i] = from;
            }
        }
        _ => {
            for (&from, to) in tile.iter().zip(out.iter_mut().step_by(stride.max(1))) {
                *to = from;
            }
        }
    }
}
