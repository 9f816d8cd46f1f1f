//! Reductions on the host: the definition of the results, see [`sum`](crate::ops::sum()).

use rayon::prelude::*;
use ulib_core::Result;

use super::fold::{Data, Fold, Row};
use super::lanes::{TILE, each, tile, tree, whole_chunk};
use super::plan::{CHUNK, LANES, Plan};
use crate::memory::{room, zeros};
use crate::ops::axes::Axes;
use crate::ops::parallel;
use crate::ops::runs::GRAIN;

/// Levels of the tree over the lanes.
const LEVELS: usize = LANES.trailing_zeros() as usize;

/// The results, in the order of the plan's kept axes.
pub(super) fn reduce<F: Fold>(
    fold: &F,
    data: Data<'_, F::Value>,
    plan: &Plan,
) -> Result<Vec<F::Out>> {
    let parts = if plan.by_columns() {
        by_columns(fold, data, plan)?
    } else {
        by_rows(fold, data, plan)?
    };
    let (outputs, chunks) = (plan.kept.count(), plan.chunks());
    // Rows leave the chunks of a result side by side, columns the results of a chunk.
    map(outputs, chunks, |i| {
        fold.finish(if plan.by_columns() {
            levels::<F>(&parts[i..], outputs)
        } else {
            levels::<F>(&parts[i * chunks..][..chunks], 1)
        })
    })
}

/// One result after the other, each from memory that is contiguous or nearly so: what each chunk of each gives.
fn by_rows<F: Fold>(fold: &F, data: Data<'_, F::Value>, plan: &Plan) -> Result<Vec<F::Acc>> {
    let (n, outputs, chunks) = (plan.reduced.count(), plan.kept.count(), plan.chunks());
    map(outputs * chunks, n.min(CHUNK), |i| {
        let first = sources(plan.kept.offsets(i / chunks));
        let begin = i % chunks * CHUNK;
        row_chunk(
            fold,
            data,
            first,
            &plan.reduced,
            begin,
            CHUNK.min(n - begin),
        )
    })
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

/// The offsets of what is read.
fn sources([first, second, _]: [isize; 3]) -> [isize; 2] {
    [first, second]
}

/// `at` moved by the first by so many strides.
fn moved(at: [isize; 2], by: usize, stride: [isize; 2]) -> [isize; 2] {
    let by = by.cast_signed();
    [at[0] + by * stride[0], at[1] + by * stride[1]]
}

/// The result of one chunk of `count` elements from element `begin` of a result on.
fn row_chunk<F: Fold>(
    fold: &F,
    data: Data<'_, F::Value>,
    first: [isize; 2],
    reduced: &Axes<2>,
    begin: usize,
    count: usize,
) -> F::Acc {
    use super::fold::Item;
    if let &[stride] = reduced.stride.as_slice()
        && count == CHUNK
    {
        let row = Row::new::<F::Item>(data, moved(first, begin, stride), stride, count);
        match row.known::<F::Item>() {
            1 => return whole_chunk::<F, 1>(fold, &row),
            2 => return whole_chunk::<F, 2>(fold, &row),
            _ => {}
        }
    }
    let row = Row::new::<F::Item>(data, moved_to(first, reduced, begin), [0; 2], 1);
    let mut lanes = [fold.open(F::Item::read::<0>(&row, 0)); LANES];
    match reduced.stride.as_slice() {
        [] => lanes[0] = fold.step(lanes[0], F::Item::read::<0>(&row, 0)),
        &[stride] => {
            let row = Row::new::<F::Item>(data, moved(first, begin, stride), stride, count);
            for at in (0..count).step_by(LANES) {
                let len = LANES.min(count - at);
                add(fold, &mut lanes[..len], &row, at, at == 0);
            }
        }
        _ => add_runs(fold, &mut lanes, data, first, reduced, begin, count),
    }
    let mut accs = [F::EMPTY; LANES];
    for (lane, acc) in accs.iter_mut().enumerate().take(count) {
        *acc = fold.close(lanes[lane], (count - lane).div_ceil(LANES));
    }
    tree::<F>(&mut accs, count)
}

/// Where element `i` of a result is whose element 0 is at `first`.
fn moved_to(first: [isize; 2], reduced: &Axes<2>, i: usize) -> [isize; 2] {
    let [a, b] = reduced.offsets(i);
    [first[0] + a, first[1] + b]
}

/// Adds the items of a row from item `at` on to one lane each.
fn add<F: Fold>(fold: &F, lanes: &mut [F::Lane], row: &Row<'_, F::Value>, at: usize, first: bool) {
    let len = lanes.len();
    match row.known::<F::Item>() {
        1 => each::<F, 1>(fold, lanes, &row.part::<F::Item, 1>(at, len), first),
        2 => each::<F, 2>(fold, lanes, &row.part::<F::Item, 2>(at, len), first),
        _ => each::<F, 0>(fold, lanes, &row.part::<F::Item, 0>(at, len), first),
    }
}

/// Adds element `i` of `count` elements of several axes, from element `begin` on, to lane `i % LANES`: along the fastest
/// axis, up to where it or the lanes end.
fn add_runs<F: Fold>(
    fold: &F,
    lanes: &mut [F::Lane; LANES],
    data: Data<'_, F::Value>,
    first: [isize; 2],
    reduced: &Axes<2>,
    begin: usize,
    count: usize,
) {
    let (Some(&inner), Some(&stride)) = (reduced.len.last(), reduced.stride.last()) else {
        return;
    };
    let mut at = 0;
    while at < count {
        let run = (inner - (begin + at) % inner).min(count - at);
        let start = moved_to(first, reduced, begin + at);
        let row = Row::new::<F::Item>(data, start, stride, run);
        let mut done = 0;
        while done < run {
            let lane = (at + done) % LANES;
            let len = (LANES - lane).min(run - done);
            add(
                fold,
                &mut lanes[lane..lane + len],
                &row,
                done,
                at + done < LANES,
            );
            done += len;
        }
        at += run;
    }
}

/// The levels above the first, over results of chunks that lie `stride` apart.
fn levels<F: Fold>(parts: &[F::Acc], stride: usize) -> F::Acc {
    let count = parts.len().div_ceil(stride);
    if count == 1 {
        return parts[0];
    }
    let mut span = 1;
    while count.div_ceil(span) > CHUNK {
        span *= CHUNK;
    }
    join::<F>(parts, stride, span)
}

/// The last level over these results, each of whose elements is the last level over `span` of them.
fn join<F: Fold>(parts: &[F::Acc], stride: usize, span: usize) -> F::Acc {
    let count = parts.len().div_ceil(stride);
    let mut lanes = [F::EMPTY; LANES];
    for (i, part) in parts.chunks(span * stride).enumerate() {
        let part = if span == 1 {
            part[0]
        } else {
            join::<F>(part, stride, span / CHUNK)
        };
        lanes[i % LANES] = F::join(lanes[i % LANES], part);
    }
    tree::<F>(&mut lanes, count.div_ceil(span))
}

/// Many results side by side, along the fastest kept axis: what each chunk of each gives.
fn by_columns<F: Fold>(fold: &F, data: Data<'_, F::Value>, plan: &Plan) -> Result<Vec<F::Acc>> {
    let (n, outputs, chunks) = (plan.reduced.count(), plan.kept.count(), plan.chunks());
    let (width, stride) = match (plan.kept.len.last(), plan.kept.stride.last()) {
        (Some(&len), Some(&stride)) => (len, sources(stride)),
        _ => (1, [1; 2]),
    };
    // Chunks after chunks, in each the rows of the fastest kept axis, in each the tiles.
    let rows = outputs / width;
    let tile = |row: usize, tile: usize, out: &mut [F::Acc]| {
        let first = sources(plan.kept.offsets(row % rows * width + tile * TILE));
        let begin = row / rows * CHUNK;
        let columns = Columns {
            first,
            stride,
            begin,
            count: CHUNK.min(n - begin),
        };
        column_chunk(fold, data, &plan.reduced, &columns, out);
    };
    let mut parts = zeros::<F::Acc>(outputs * chunks)?;
    let grain = GRAIN.div_ceil(n.min(CHUNK) * width.min(TILE));
    let tiles = width.div_ceil(TILE);
    if tiles * rows * chunks <= grain || !parallel::available() {
        for (row, out) in parts.chunks_mut(width).enumerate() {
            for (i, out) in out.chunks_mut(TILE).enumerate() {
                tile(row, i, out);
            }
        }
    } else {
        let row = |(row, out): (usize, &mut [F::Acc])| {
            out.par_chunks_mut(TILE)
                .with_min_len(grain)
                .enumerate()
                .for_each(|(i, out)| tile(row, i, out));
        };
        parts
            .par_chunks_mut(width)
            .with_min_len(grain.div_ceil(tiles))
            .enumerate()
            .for_each(row);
    }
    Ok(parts)
}

/// A chunk of several results: the first element of the first of them, how far apart they are, and the chunk's elements.
struct Columns {
    first: [isize; 2],
    stride: [isize; 2],
    begin: usize,
    count: usize,
}

/// [`row_chunk`] for as many results at once as there are `out`.
fn column_chunk<F: Fold>(
    fold: &F,
    data: Data<'_, F::Value>,
    reduced: &Axes<2>,
    chunk: &Columns,
    out: &mut [F::Acc],
) {
    use super::fold::Item;
    let columns = out.len();
    let row = |element: usize| {
        let start = moved_to(chunk.first, reduced, chunk.begin + element);
        Row::new::<F::Item>(data, start, chunk.stride, columns)
    };
    let mut held = [fold.open(F::Item::read::<0>(&row(0), 0)); TILE];
    // stack[level] is what 2^level lanes gave and waits for its right neighbour.
    let mut stack = [[F::EMPTY; TILE]; LEVELS + 1];
    let lanes = chunk.count.min(LANES);
    for lane in 0..lanes {
        for element in (lane..chunk.count).step_by(LANES) {
            let row = row(element);
            let first = element == lane;
            match row.known::<F::Item>() {
                1 if columns == TILE => tile::<F, 1>(fold, &mut held, &row, first),
                2 if columns == TILE => tile::<F, 2>(fold, &mut held, &row, first),
                _ => add(fold, &mut held[..columns], &row, 0, first),
            }
        }
        let count = (chunk.count - lane).div_ceil(LANES);
        let mut accs = [F::EMPTY; TILE];
        for (acc, &lane) in accs.iter_mut().zip(&held[..columns]) {
            *acc = fold.close(lane, count);
        }
        let level = lane.trailing_ones() as usize;
        for waiting in &stack[..level] {
            accs.iter_mut()
                .zip(waiting)
                .for_each(|(acc, &left)| *acc = F::join(left, *acc));
        }
        stack[level] = accs;
    }
    // The right neighbours still missing are empty: what waits is joined from the smallest, the last, upwards.
    let mut waiting = (0..=LEVELS).filter(|level| lanes >> level & 1 == 1);
    let mut accs = waiting
        .next()
        .map_or([F::EMPTY; TILE], |level| stack[level]);
    for level in waiting {
        accs.iter_mut()
            .zip(&stack[level])
            .for_each(|(acc, &left)| *acc = F::join(left, *acc));
    }
    out.copy_from_slice(&accs[..columns]);
}
