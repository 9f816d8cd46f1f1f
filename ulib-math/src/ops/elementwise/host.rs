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
        visit(out, &run, a, b, c, f);
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
    visit(out, run, a, b, c, f);
}

/// One run: what is adjacent in place, the rest by way of tiles.
#[inline(always)]
fn visit<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) {
    let [at, bt, ct, own] = run.stride;
    let done = match (
        Groups::of(a, run.start[0], at),
        Groups::of(b, run.start[1], bt),
        Groups::of(c, run.start[2], ct),
    ) {
        (Some(a), Some(b), Some(c)) if own == 1 => groups(out, a, b, c, f),
        _ => 0,
    };
    if done < run.len {
        tiles(out, run, done, a, b, c, f);
    }
}

/// The elements of an input whose elements are adjacent, in groups.
#[derive(Clone, Copy)]
enum Groups<'a, T> {
    Same([T; GROUP]),
    Slice(&'a [[T; GROUP]]),
    Output,
}

impl<'a, T: Copy> Groups<'a, T> {
    /// `None` where they are not adjacent.
    #[inline(always)]
    fn of(source: Source<'a, T>, start: isize, stride: isize) -> Option<Self> {
        match source {
            Source::Scalar(number) => Some(Self::Same([number; GROUP])),
            Source::Slice(slice) => {
                (stride == 1).then(|| Self::Slice(slice[start.unsigned_abs()..].as_chunks().0))
            }
            Source::Output => Some(Self::Output),
        }
    }

    /// The number of groups, where there is an end to them.
    #[inline(always)]
    fn len(&self) -> Option<usize> {
        match self {
            Self::Slice(groups) => Some(groups.len()),
            Self::Same(_) | Self::Output => None,
        }
    }

    #[inline(always)]
    fn group(&self, index: usize, output: impl FnOnce() -> [T; GROUP]) -> [T; GROUP] {
        match self {
            Self::Same(group) => *group,
            Self::Slice(groups) => groups[index],
            Self::Output => output(),
        }
    }
}

/// Whole groups from the first element on, and how many elements they are.
#[inline(always)]
fn groups<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    a: Groups<'_, T>,
    b: Groups<'_, B>,
    c: Groups<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) -> usize {
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let whole = [a.len(), b.len(), c.len()]
        .into_iter()
        .flatten()
        .fold(out.len(), usize::min);
    for (index, out) in out.iter_mut().enumerate().take(whole) {
        let (x, z) = (a.group(index, || *out), c.group(index, || *out));
        let y = b.group(index, || {
            // Then it is of the output's type.
            let mut own = [B::default(); GROUP];
            if let Ok(out) = bytemuck::try_cast_slice::<T, B>(out) {
                own.copy_from_slice(out);
            }
            own
        });
        for i in 0..GROUP {
            out[i] = f(x[i], y[i], z[i]);
        }
    }
    whole * GROUP
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
        // A voxel of two words: the distance is a constant, so the loop is unrolled.
        2 => {
            let last = first + 2 * (tile.len() - 1);
            let pairs = slice[first..=last].chunks(2);
            tile.iter_mut()
                .zip(pairs)
                .for_each(|(to, pair)| *to = pair[0]);
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
            let pairs = out.chunks_mut(2);
            tile.iter()
                .zip(pairs)
                .for_each(|(&from, pair)| pair[0] = from);
        }
        _ => {
            let places = out.iter_mut().step_by(stride.max(1));
            tile.iter().zip(places).for_each(|(&from, to)| *to = from);
        }
    }
}
