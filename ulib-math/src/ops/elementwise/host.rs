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
const GROUP: usize = 16;

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
            return unsafe { tiles_avx2(out, &run, a, b, c, f) };
        }
        tiles(out, &run, a, b, c, f);
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tiles_avx2<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
    a: Source<'_, T>,
    b: Source<'_, B>,
    c: Source<'_, T>,
    f: &impl Fn(T, B, T) -> T,
) {
    tiles(out, run, a, b, c, f);
}

#[inline(always)]
fn tiles<T: Element, B: DeviceStorable + Copy + Default>(
    out: &mut [T],
    run: &Run<4>,
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
    let from_scalar = matches!(a, Source::Scalar(_));
    let stride = run.stride[3].unsigned_abs();
    for first in (0..run.len).step_by(TILE) {
        let count = TILE.min(run.len - first);
        let own = &mut out[first * stride..];
        let at = |k: usize| {
            (
                run.start[k] + first.cast_signed() * run.stride[k],
                run.stride[k],
            )
        };
        match a {
            Source::Scalar(number) if first > 0 && from_scalar => tiles.0 = [number; TILE],
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
