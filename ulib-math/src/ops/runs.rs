//! Host traversal: every run of an index space, in parallel where the memory of the written operand can be divided.

use super::axes::Axes;
use super::parallel;

/// Elements that are worth a task of their own.
pub(crate) const GRAIN: usize = 1 << 15;

/// Tasks of a traversal for each thread: enough to even out what threads are slow, and few, since a thread reads and
/// writes long stretches faster.
const TASKS: usize = 8;

/// A run: `len` elements, `stride[k]` apart in operand `k`, of which the first is element `start[k]`.
pub(crate) struct Run<const K: usize> {
    pub(crate) len: usize,
    pub(crate) stride: [isize; K],
    pub(crate) start: [isize; K],
}

/// Calls `visit` for runs that make up the index space, each index once. It gets, of the last operand, the elements from
/// the run's first to its last.
///
/// `data` holds the last operand, whose strides are positive and by which the axes are sorted. Which runs there are and in
/// which order they come depends on the number of threads: `visit` must not mind.
pub(crate) fn for_each_run<T, F, const K: usize>(data: &mut [T], axes: &Axes<K>, visit: &F)
where
    T: Send,
    F: Fn(&mut [T], Run<K>) + Sync,
{
    let (Some(own), count) = (K.checked_sub(1), axes.count()) else {
        return;
    };
    if count == 0 {
        return;
    }
    let first = axes.start[own].unsigned_abs();
    let parallel = count > GRAIN && parallel::available();
    let grain = if parallel {
        GRAIN.max(count / (TASKS * rayon::current_num_threads()))
    } else {
        count
    };
    let space = Space {
        axes,
        own,
        grain,
        visit,
    };
    match axes.len.first() {
        None => space.leaf(&mut data[first..=first], 1, [1; K], axes.start),
        Some(&outer) => space.split(&mut data[first..], 0, outer, count, axes.start),
    }
}

struct Space<'a, F, const K: usize> {
    axes: &'a Axes<K>,
    own: usize,
    /// Indices up to which the work is not shared any more; all of them where there is nobody to share it with.
    grain: usize,
    visit: &'a F,
}

impl<F, const K: usize> Space<'_, F, K> {
    fn leaf<T>(&self, data: &mut [T], len: usize, stride: [isize; K], start: [isize; K])
    where
        F: Fn(&mut [T], Run<K>),
    {
        let last = (len - 1) * stride[self.own].unsigned_abs();
        (self.visit)(&mut data[..=last], Run { len, stride, start });
    }

    /// The indices with `len` of axis `axis` and all of the faster ones, `count` in all, `data` from their first on.
    fn split<T>(&self, data: &mut [T], axis: usize, len: usize, count: usize, start: [isize; K])
    where
        T: Send,
        F: Fn(&mut [T], Run<K>) + Sync,
    {
        let stride = self.axes.stride[axis];
        let own = stride[self.own].unsigned_abs();
        let innermost = axis + 1 == self.axes.len.len();
        if innermost && count <= self.grain {
            return self.leaf(data, len, stride, start);
        }
        let moved = |by: usize| {
            let mut start = start;
            for (start, stride) in start.iter_mut().zip(stride) {
                *start += by.cast_signed() * stride;
            }
            start
        };
        // Halves can be told apart in memory if a step of this axis passes over everything inside it.
        let inside: usize = (axis + 1..self.axes.len.len())
            .map(|inner| {
                (self.axes.len[inner] - 1) * self.axes.stride[inner][self.own].unsigned_abs()
            })
            .sum();
        if len > 1 && count > self.grain && own > inside {
            let half = len / 2;
            let (left, right) = data.split_at_mut(half * own);
            let left_count = count / len * half;
            rayon::join(
                || self.split(left, axis, half, left_count, start),
                || self.split(right, axis, len - half, count - left_count, moved(half)),
            );
        } else if innermost {
            self.leaf(data, len, stride, start);
        } else {
            for i in 0..len {
                self.split(
                    &mut data[i * own..],
                    axis + 1,
                    self.axes.len[axis + 1],
                    count / len,
                    moved(i),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
