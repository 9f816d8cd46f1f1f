//! sum on the host: the definition of the result, see [`sum`](super::sum()).

use rayon::prelude::*;
use ulib_core::Result;

use super::lanes::{TILE, add_chunk, add_tile};
use super::plan::{CHUNK, LANES, Plan};
use crate::memory::{room, zeros};
use crate::ops::axes::Axes;
use crate::ops::element::{Accumulator, Element};
use crate::ops::parallel;
use crate::ops::runs::GRAIN;

/// Levels of the tree over the lanes.
const LEVELS: usize = LANES.trailing_zeros() as usize;

/// The sums, in the order of the plan's kept axes.
pub(super) fn sum<T: Element>(data: &[T], plan: &Plan) -> Result<Vec<T::Sum>> {
    if plan.by_columns() {
        by_columns(data, plan)
    } else {
        by_rows(data, plan)
    }
}

/// One sum after the other, each from memory that is contiguous or nearly so.
fn by_rows<T: Element>(data: &[T], plan: &Plan) -> Result<Vec<T::Sum>> {
    let (n, outputs, chunks) = (plan.reduced.count(), plan.kept.count(), plan.chunks());
    let chunk = |i: usize| {
        let first = plan.kept.offsets(i / chunks)[0];
        let begin = i % chunks * CHUNK;
        row_chunk(data, first, &plan.reduced, begin, CHUNK.min(n - begin))
    };
    let parts = map(outputs * chunks, n.min(CHUNK), chunk)?;
    if chunks == 1 {
        return Ok(parts);
    }
    let sum = |i: usize| levels(&parts[i * chunks..][..chunks], 1);
    map(outputs, chunks, sum)
}

/// The values of `each` for `0 .. count`, each worth `work` elements, in parallel when that is worth it.
fn map<A: Send>(
    count: usize,
    work: usize,
    each: impl Fn(usize) -> A + Send + Sync,
) -> Result<Vec<A>> {
    let mut values = room(count)?;
    let grain = GRAIN.div_ceil(work.max(1));
    if count <= grain || !parallel::available() {
        values.extend((0..count).map(each));
    } else {
        // Within the room that there is.
        (0..count)
            .into_par_iter()
            .with_min_len(grain)
            .map(each)
            .collect_into_vec(&mut values);
    }
    Ok(values)
}

/// The result of one chunk of `count` elements from element `begin` of a sum on.
fn row_chunk<T: Element>(
    data: &[T],
    first: isize,
    reduced: &Axes<1>,
    begin: usize,
    count: usize,
) -> T::Sum {
    let mut lanes = [T::Sum::IDENTITY; LANES];
    match reduced.stride.as_slice() {
        [] => lanes[0] = lanes[0].plus(data[first.unsigned_abs()].widen()),
        &[[stride]] => {
            let start = (first + begin.cast_signed() * stride).unsigned_abs();
            let stride = stride.unsigned_abs();
            add_rows(
                &mut lanes,
                &data[start..=start + (count - 1) * stride],
                stride,
                count,
            );
        }
        _ => add_runs(&mut lanes, data, first, reduced, begin, count),
    }
    tree(&mut lanes, count)
}

/// Adds element `i` of `count` elements `stride` apart to lane `i % LANES`.
fn add_rows<T: Element>(lanes: &mut [T::Sum; LANES], elements: &[T], stride: usize, count: usize) {
    match stride {
        1 if count == CHUNK => add_chunk::<T, 1>(lanes, elements),
        2 if count == CHUNK => add_chunk::<T, 2>(lanes, elements),
        0 => (0..count).for_each(|i| lanes[i % LANES] = lanes[i % LANES].plus(elements[0].widen())),
        _ => elements
            .chunks(stride * LANES)
            .for_each(|row| add_row(lanes, row, stride)),
    }
}

/// Adds elements `stride` apart to one lane each.
fn add_row<T: Element>(lanes: &mut [T::Sum], elements: &[T], stride: usize) {
    match stride {
        0 => lanes
            .iter_mut()
            .for_each(|lane| *lane = lane.plus(elements[0].widen())),
        1 => lanes
            .iter_mut()
            .zip(elements)
            .for_each(|(lane, element)| *lane = lane.plus(element.widen())),
        2 => lanes
            .iter_mut()
            .zip(elements.chunks(2))
            .for_each(|(lane, pair)| *lane = lane.plus(pair[0].widen())),
        _ => {
            let elements = elements.iter().step_by(stride);
            lanes
                .iter_mut()
                .zip(elements)
                .for_each(|(lane, element)| *lane = lane.plus(element.widen()));
        }
    }
}

/// [`add_rows`] for `count` elements from element `begin` of several axes on: along the fastest axis, up to where it or the
/// lanes end.
fn add_runs<T: Element>(
    lanes: &mut [T::Sum; LANES],
    data: &[T],
    first: isize,
    reduced: &Axes<1>,
    begin: usize,
    count: usize,
) {
    let (Some(&inner), Some(&[stride])) = (reduced.len.last(), reduced.stride.last()) else {
        return;
    };
    let stride = stride.unsigned_abs();
    let mut at = 0;
    while at < count {
        let start = (first + reduced.offsets(begin + at)[0]).unsigned_abs();
        let run = (inner - (begin + at) % inner).min(count - at);
        let mut done = 0;
        while done < run {
            let lane = (at + done) % LANES;
            let len = (LANES - lane).min(run - done);
            let from = start + done * stride;
            add_row(
                &mut lanes[lane..lane + len],
                &data[from..=from + (len - 1) * stride],
                stride,
            );
            done += len;
        }
        at += run;
    }
}

/// The adjacent pairwise tree over the lanes. Lanes beyond `count` hold the identity and need not be joined.
fn tree<A: Accumulator>(lanes: &mut [A; LANES], count: usize) -> A {
    let mut width = count.min(LANES).next_power_of_two();
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = lanes[2 * i].plus(lanes[2 * i + 1]);
        }
    }
    lanes[0]
}

/// The levels above the first, over results of chunks that lie `stride` apart.
fn levels<A: Accumulator>(parts: &[A], stride: usize) -> A {
    let count = parts.len().div_ceil(stride);
    let mut span = 1;
    while count.div_ceil(span) > CHUNK {
        span *= CHUNK;
    }
    join(parts, stride, span)
}

/// The last level over these results, each of whose elements is the last level over `span` of them.
fn join<A: Accumulator>(parts: &[A], stride: usize, span: usize) -> A {
    let count = parts.len().div_ceil(stride);
    let mut lanes = [A::IDENTITY; LANES];
    if span == 1 {
        add_rows(&mut lanes, parts, stride, count);
    } else {
        for (i, part) in parts.chunks(span * stride).enumerate() {
            let lane = &mut lanes[i % LANES];
            *lane = lane.plus(join(part, stride, span / CHUNK));
        }
    }
    tree(&mut lanes, count.div_ceil(span))
}

/// Many sums side by side, along the fastest kept axis.
fn by_columns<T: Element>(data: &[T], plan: &Plan) -> Result<Vec<T::Sum>> {
    let (n, outputs, chunks) = (plan.reduced.count(), plan.kept.count(), plan.chunks());
    let (width, stride) = match (plan.kept.len.last(), plan.kept.stride.last()) {
        (Some(&len), Some(&[stride, _])) => (len, stride.unsigned_abs()),
        _ => (1, 1),
    };
    // Chunks after chunks, in each the rows of the fastest kept axis, in each the tiles.
    let rows = outputs / width;
    let tile = |row: usize, tile: usize, sums: &mut [T::Sum]| {
        let first = plan.kept.offsets(row % rows * width + tile * TILE)[0];
        let begin = row / rows * CHUNK;
        let count = CHUNK.min(n - begin);
        column_chunk(data, first, stride, &plan.reduced, begin, count, sums);
    };
    let mut parts = zeros::<T::Sum>(outputs * chunks)?;
    let grain = GRAIN.div_ceil(n.min(CHUNK) * width.min(TILE));
    let tiles = width.div_ceil(TILE);
    if tiles * rows * chunks <= grain || !parallel::available() {
        for (row, sums) in parts.chunks_mut(width).enumerate() {
            for (i, sums) in sums.chunks_mut(TILE).enumerate() {
                tile(row, i, sums);
            }
        }
    } else {
        let row = |(row, sums): (usize, &mut [T::Sum])| {
            sums.par_chunks_mut(TILE)
                .with_min_len(grain)
                .enumerate()
                .for_each(|(i, sums)| tile(row, i, sums));
        };
        parts
            .par_chunks_mut(width)
            .with_min_len(grain.div_ceil(tiles))
            .enumerate()
            .for_each(row);
    }
    if chunks == 1 {
        return Ok(parts);
    }
    map(outputs, chunks, |i| levels(&parts[i..], outputs))
}

/// [`row_chunk`] for as many sums at once as there are `out`, whose elements lie `stride` apart.
fn column_chunk<T: Element>(
    data: &[T],
    first: isize,
    stride: usize,
    reduced: &Axes<1>,
    begin: usize,
    count: usize,
    out: &mut [T::Sum],
) {
    let columns = out.len();
    // stack[level] is the sum of 2^level lanes that waits for its right neighbour.
    let mut stack = [[T::Sum::IDENTITY; TILE]; LEVELS + 1];
    let lanes = count.min(LANES);
    for lane in 0..lanes {
        let mut sums = [T::Sum::IDENTITY; TILE];
        for element in (lane..count).step_by(LANES) {
            let start = (first + reduced.offsets(begin + element)[0]).unsigned_abs();
            let row = &data[start..=start + (columns - 1) * stride];
            match stride {
                1 if columns == TILE => add_tile::<T, 1>(&mut sums, row),
                2 if columns == TILE => add_tile::<T, 2>(&mut sums, row),
                _ => add_row(&mut sums[..columns], row, stride),
            }
        }
        let level = lane.trailing_ones() as usize;
        for waiting in &stack[..level] {
            sums.iter_mut()
                .zip(waiting)
                .for_each(|(sum, left)| *sum = left.plus(*sum));
        }
        stack[level] = sums;
    }
    // The right neighbours still missing hold the identity: what waits is joined from the smallest, the last, upwards.
    let mut waiting = (0..=LEVELS).filter(|level| lanes >> level & 1 == 1);
    let mut sums = waiting
        .next()
        .map_or([T::Sum::IDENTITY; TILE], |level| stack[level]);
    for level in waiting {
        sums.iter_mut()
            .zip(&stack[level])
            .for_each(|(sum, left)| *sum = left.plus(*sum));
    }
    out.copy_from_slice(&sums[..columns]);
}
