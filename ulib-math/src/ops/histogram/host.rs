//! histogram on the host: the definition of the result, see [`histogram`](super::histogram()).

use rayon::prelude::*;
use ulib_core::Result;

use super::bins::Bins;
use super::value::Countable;
use crate::memory::zeros;
use crate::ops::groups::Groups;
use crate::ops::parallel;
use crate::ops::runs::GRAIN;

/// The counts: the bins of a group side by side.
pub(super) fn histogram<T: Countable>(
    data: &[T],
    groups: &Groups,
    bins: &Bins,
    total: usize,
) -> Result<Vec<u64>> {
    let mut counts = zeros::<u64>(total)?;
    let each = bins.len();
    let threads = groups.count.saturating_mul(groups.size) > GRAIN && parallel::available();
    let pieces = groups.size / GRAIN.max(each);
    if threads && pieces > 1 {
        for (group, counts) in counts.chunks_mut(each).enumerate() {
            divided(data, groups, groups.first(group), bins, pieces, counts)?;
        }
        return Ok(counts);
    }
    let one = |(group, counts): (usize, &mut [u64])| {
        count(
            data,
            groups,
            groups.first(group),
            0..groups.size,
            bins,
            counts,
        );
    };
    if threads {
        counts.par_chunks_mut(each).enumerate().for_each(one);
    } else {
        counts.chunks_mut(each).enumerate().for_each(one);
    }
    Ok(counts)
}

/// One group, each piece of it into counters of its own.
fn divided<T: Countable>(
    data: &[T],
    groups: &Groups,
    first: isize,
    bins: &Bins,
    pieces: usize,
    counts: &mut [u64],
) -> Result<()> {
    let pieces = pieces.min(4 * rayon::current_num_threads());
    let piece = groups.size.div_ceil(pieces);
    let own = |i: usize| -> Result<Vec<u64>> {
        let range = (i * piece).min(groups.size)..((i + 1) * piece).min(groups.size);
        let mut own = zeros::<u64>(bins.len())?;
        count(data, groups, first, range, bins, &mut own);
        Ok(own)
    };
    let merge = |mut one: Vec<u64>, other: Vec<u64>| {
        one.iter_mut()
            .zip(other)
            .for_each(|(one, other)| *one += other);
        one
    };
    let sum = (0..pieces)
        .into_par_iter()
        .map(own)
        .try_reduce_with(|one, other| Ok(merge(one, other)))
        .transpose()?;
    counts
        .iter_mut()
        .zip(sum.into_iter().flatten())
        .for_each(|(count, sum)| *count = sum);
    Ok(())
}

fn count<T: Countable>(
    data: &[T],
    groups: &Groups,
    first: isize,
    range: std::ops::Range<usize>,
    bins: &Bins,
    counts: &mut [u64],
) {
    groups.for_each(data, first, range, |x| {
        if let Some(bin) = bins.find(x.value()) {
            counts[bin] += 1;
        }
    });
}
