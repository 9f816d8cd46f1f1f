//! The inner loops of a reduction on the host, for distances known when this is compiled, and for AVX2 where the processor
//! has it.
#![allow(
    unsafe_code,
    reason = "calls functions compiled for AVX2 where there is AVX2, and prefetches"
)]

use super::fold::{Fold, Item, Row, Second};
use super::plan::{CHUNK, LANES};

/// The result of a whole chunk of items `S` apart: item `i` goes to lane `i % LANES`, in the order of `i`.
pub(super) fn whole_chunk<F: Fold, const S: usize>(fold: &F, row: &Row<'_, F::Value>) -> F::Acc {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for: checked in the line above.
        return unsafe { whole_chunk_avx2::<F, S>(fold, row) };
    }
    if size_of::<F::Lane>() <= 8 {
        groups::<F, S, 16>(fold, row)
    } else {
        groups::<F, S, 4>(fold, row)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn whole_chunk_avx2<F: Fold, const S: usize>(fold: &F, row: &Row<'_, F::Value>) -> F::Acc {
    if size_of::<F::Lane>() <= 8 {
        groups::<F, S, 32>(fold, row)
    } else {
        groups::<F, S, 8>(fold, row)
    }
}

/// `GROUP` lanes at a time, as many as the registers hold. No lane depends on another, so the bits are the same for any.
#[inline(always)]
fn groups<F: Fold, const S: usize, const GROUP: usize>(
    fold: &F,
    row: &Row<'_, F::Value>,
) -> F::Acc {
    let mut accs = [F::EMPTY; LANES];
    for (group, accs) in accs.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let first = row.part::<F::Item, S>(group * GROUP, GROUP);
        let mut held = [fold.open(F::Item::read::<S>(&first, 0)); GROUP];
        for (i, lane) in held.iter_mut().enumerate() {
            *lane = fold.open(F::Item::read::<S>(&first, i));
        }
        for down in 0..CHUNK / LANES {
            let row = row.part::<F::Item, S>(down * LANES + group * GROUP, GROUP);
            prefetch::<F, S, GROUP>(&row);
            for (i, lane) in held.iter_mut().enumerate() {
                *lane = fold.step(*lane, F::Item::read::<S>(&row, i));
            }
        }
        for (acc, &lane) in accs.iter_mut().zip(&held) {
            *acc = fold.close(lane, CHUNK / LANES);
        }
    }
    tree::<F>(&mut accs, LANES)
}

/// The adjacent pairwise tree over the lanes. Lanes beyond `count` are empty and need not be joined.
#[inline(always)]
pub(super) fn tree<F: Fold>(lanes: &mut [F::Acc; LANES], count: usize) -> F::Acc {
    let mut width = count.min(LANES).next_power_of_two();
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = F::join(lanes[2 * i], lanes[2 * i + 1]);
        }
    }
    lanes[0]
}

/// Asks for what the same rows are in the chunk after this one: going down the rows of a chunk is no order that a processor
/// foresees (measured: 40 % more from memory).
#[inline(always)]
fn prefetch<F: Fold, const S: usize, const GROUP: usize>(row: &Row<'_, F::Value>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let views = if F::Item::SECOND == Second::Values {
            2
        } else {
            1
        };
        for first in &row.pointers()[..views] {
            let next = first.wrapping_add(CHUNK * S).cast::<i8>();
            for line in 0..(GROUP * S * size_of::<F::Value>()).div_ceil(LINE) {
                #[allow(unused_unsafe, reason = "the function is safe in newer compilers")]
                // SAFETY: a hint; it may name any address, and reads nothing that the program sees.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(line * LINE));
                }
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Results that are done side by side.
pub(super) const TILE: usize = 128;

/// Adds item `i` of a row of `TILE` items `S` apart to lane `i`, which it is the first of if `first`.
pub(super) fn tile<F: Fold, const S: usize>(
    fold: &F,
    lanes: &mut [F::Lane; TILE],
    row: &Row<'_, F::Value>,
    first: bool,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for: checked in the line above.
        return unsafe { tile_avx2::<F, S>(fold, lanes, row, first) };
    }
    each::<F, S>(fold, lanes, row, first);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2<F: Fold, const S: usize>(
    fold: &F,
    lanes: &mut [F::Lane; TILE],
    row: &Row<'_, F::Value>,
    first: bool,
) {
    each::<F, S>(fold, lanes, row, first);
}

/// Adds item `i` of a row of as many items as `lanes` to lane `i`, which it is the first of if `first`. The strides are `S`
/// unless that is 0.
#[inline(always)]
pub(super) fn each<F: Fold, const S: usize>(
    fold: &F,
    lanes: &mut [F::Lane],
    row: &Row<'_, F::Value>,
    first: bool,
) {
    let row = row.part::<F::Item, S>(0, lanes.len());
    if first {
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = fold.open(F::Item::read::<S>(&row, i));
        }
    }
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = fold.step(*lane, F::Item::read::<S>(&row, i));
    }
}
