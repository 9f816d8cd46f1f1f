//! The inner loops of a sum on the host, for distances known when this is compiled, and for AVX2 where the processor has it.
#![allow(
    unsafe_code,
    reason = "calls functions compiled for AVX2 where there is AVX2, and prefetches"
)]

use super::plan::{CHUNK, LANES};
use crate::ops::element::Element;

/// Adds element `i` of a whole chunk of elements `STRIDE` apart to lane `i % LANES`, in the order of `i`. `elements` are those
/// from the first to the last.
pub(super) fn add_chunk<T: Element, const STRIDE: usize>(
    lanes: &mut [T::Sum; LANES],
    elements: &[T],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for: checked in the line above.
        return unsafe { add_chunk_avx2::<T, STRIDE>(lanes, elements) };
    }
    add_groups::<T, STRIDE, 16>(lanes, elements);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_chunk_avx2<T: Element, const STRIDE: usize>(lanes: &mut [T::Sum; LANES], elements: &[T]) {
    add_groups::<T, STRIDE, 32>(lanes, elements);
}

/// `GROUP` lanes at a time, as many as the registers hold. No lane depends on another, so the bits are the same for any.
#[inline(always)]
fn add_groups<T: Element, const STRIDE: usize, const GROUP: usize>(
    lanes: &mut [T::Sum; LANES],
    elements: &[T],
) {
    for (group, lanes) in lanes.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let mut sums = *lanes;
        for row in 0..CHUNK / LANES {
            let first = (row * LANES + group * GROUP) * STRIDE;
            let row = &elements[first..=first + (GROUP - 1) * STRIDE];
            prefetch::<T, STRIDE, GROUP>(row);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(row[i * STRIDE].widen());
            }
        }
        *lanes = sums;
    }
}

/// Asks for what the same rows are in the chunk after this one: going down the rows of a chunk is no order that a processor
/// foresees (measured: 40 % more from memory).
#[inline(always)]
fn prefetch<T, const STRIDE: usize, const GROUP: usize>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let next = row.as_ptr().wrapping_add(CHUNK * STRIDE).cast::<i8>();
        for line in 0..(GROUP * STRIDE * size_of::<T>()).div_ceil(LINE) {
            #[allow(unused_unsafe, reason = "the function is safe in newer compilers")]
            // SAFETY: a hint; it may name any address, and reads nothing that the program sees.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(line * LINE));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Sums that are done side by side.
pub(super) const TILE: usize = 128;

/// Adds element `i` of `TILE` elements `STRIDE` apart to sum `i`. `elements` are those from the first to the last.
pub(super) fn add_tile<T: Element, const STRIDE: usize>(sums: &mut [T::Sum; TILE], elements: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for: checked in the line above.
        return unsafe { add_tile_avx2::<T, STRIDE>(sums, elements) };
    }
    add_each::<T, STRIDE>(sums, elements);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_tile_avx2<T: Element, const STRIDE: usize>(sums: &mut [T::Sum; TILE], elements: &[T]) {
    add_each::<T, STRIDE>(sums, elements);
}

#[inline(always)]
fn add_each<T: Element, const STRIDE: usize>(sums: &mut [T::Sum; TILE], elements: &[T]) {
    let elements = &elements[..=(TILE - 1) * STRIDE];
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = sum.plus(elements[i * STRIDE].widen());
    }
}
