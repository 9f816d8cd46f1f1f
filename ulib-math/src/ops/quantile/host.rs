//! quantile on the host: the definition of the result, see [`quantile`](super::quantile()).

use std::ops::Range;

use rayon::prelude::*;
use ulib_core::Result;

use super::key::{key_of, number_of};
use super::rank::Rank;
use crate::memory::{room, zeros};
use crate::ops::element::Element;
use crate::ops::groups::Groups;
use crate::ops::parallel;
use crate::ops::runs::GRAIN;

/// Bits of a digit, and how many there are.
const DIGIT: u32 = 11;
const DIGITS: usize = 1 << DIGIT;

/// Groups no larger than this are copied and partly sorted.
const SORTED: usize = 1 << 14;

/// The quantiles `ranks` of each group: those of a group side by side.
pub(super) fn quantiles<T: Element>(
    data: &[T],
    groups: &Groups,
    ranks: &[Rank],
) -> Result<Vec<f64>> {
    let threads = groups.count.saturating_mul(groups.size) > GRAIN && parallel::available();
    let mut values = zeros::<f64>(groups.count.saturating_mul(ranks.len()))?;
    let each = ranks.len().max(1);
    if groups.size > SORTED {
        for (group, values) in values.chunks_mut(each).enumerate() {
            let first = groups.first(group);
            for (value, &rank) in values.iter_mut().zip(ranks) {
                *value = search(data, groups, first, rank, threads);
            }
        }
        return Ok(values);
    }
    let one = |(group, values): (usize, &mut [f64])| {
        sorted(data, groups, groups.first(group), ranks, values)
    };
    if threads {
        values.par_chunks_mut(each).enumerate().try_for_each(one)?;
    } else {
        values.chunks_mut(each).enumerate().try_for_each(one)?;
    }
    Ok(values)
}

/// One group into `values`, by sorting a copy as far as needed.
fn sorted<T: Element>(
    data: &[T],
    groups: &Groups,
    first: isize,
    ranks: &[Rank],
    values: &mut [f64],
) -> Result<()> {
    let mut keys = room(groups.size)?;
    let mut nan = false;
    groups.for_each(data, first, 0..groups.size, |x| {
        nan |= is_nan(x);
        keys.push(key_of(x));
    });
    let mut one = |rank: &Rank| {
        if nan {
            return f64::NAN;
        }
        let (_, &mut low, above) = keys.select_nth_unstable(rank.low);
        let high = if rank.high == rank.low {
            low
        } else {
            above.iter().copied().min().unwrap_or(low)
        };
        rank.between(number_of(T::KERNEL, low), number_of(T::KERNEL, high))
    };
    for (value, rank) in values.iter_mut().zip(ranks) {
        *value = one(rank);
    }
    Ok(())
}

#[allow(clippy::eq_op, reason = "what makes NaN what it is")]
fn is_nan<T: Element>(x: T) -> bool {
    x != x
}

/// What is known of both keys searched: their leading bits, and their ranks among the keys that have these.
#[derive(Clone, Copy, Default)]
struct Search {
    prefix: [u64; 2],
    rank: [usize; 2],
}

/// How often each next digit comes after either prefix, and whether there is a NaN.
struct Digits {
    counts: Vec<[u64; DIGITS]>,
    nan: bool,
}

/// Digit by digit from the top, counting the digits of the keys that begin with what is known.
fn search<T: Element>(data: &[T], groups: &Groups, first: isize, rank: Rank, threads: bool) -> f64 {
    let mut known = Search {
        prefix: [0; 2],
        rank: [rank.low, rank.high],
    };
    let mut shift = 8 * size_of::<T>() as u32;
    while shift > 0 {
        let width = shift.min(DIGIT);
        shift -= width;
        let count = |range| digits(data, groups, first, range, known.prefix, shift, width);
        let found = if threads {
            let pieces = (groups.size / GRAIN).clamp(1, 4 * rayon::current_num_threads());
            let piece = groups.size.div_ceil(pieces);
            (0..pieces)
                .into_par_iter()
                .map(|i| count((i * piece).min(groups.size)..((i + 1) * piece).min(groups.size)))
                .reduce_with(merged)
                .unwrap_or_else(|| count(0..0))
        } else {
            count(0..groups.size)
        };
        if found.nan {
            return f64::NAN;
        }
        let apart = usize::from(known.prefix[0] != known.prefix[1]);
        for s in 0..2 {
            let mut digit = 0;
            let counts = &found.counts[s * apart];
            while digit + 1 < DIGITS && known.rank[s] as u64 >= counts[digit] {
                known.rank[s] -= counts[digit] as usize;
                digit += 1;
            }
            known.prefix[s] = known.prefix[s] << width | digit as u64;
        }
    }
    let [low, high] = known.prefix.map(|key| number_of(T::KERNEL, key));
    rank.between(low, high)
}

fn merged(mut one: Digits, other: Digits) -> Digits {
    for (one, other) in one.counts.iter_mut().zip(&other.counts) {
        one.iter_mut()
            .zip(other)
            .for_each(|(one, other)| *one += other);
    }
    one.nan |= other.nan;
    one
}

fn digits<T: Element>(
    data: &[T],
    groups: &Groups,
    first: isize,
    range: Range<usize>,
    prefix: [u64; 2],
    shift: u32,
    width: u32,
) -> Digits {
    let apart = prefix[0] != prefix[1];
    let mut found = Digits {
        counts: vec![[0; DIGITS]; if apart { 2 } else { 1 }],
        nan: false,
    };
    let mask = (1_u64 << width) - 1;
    groups.for_each(data, first, range, |x| {
        found.nan |= is_nan(x);
        let key = key_of(x);
        let digit = (key >> shift & mask) as usize;
        let begins = (key >> shift) >> width;
        if begins == prefix[0] {
            found.counts[0][digit] += 1;
        } else if apart && begins == prefix[1] {
            found.counts[1][digit] += 1;
        }
    });
    found
}
