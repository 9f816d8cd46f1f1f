//! The index space of an operation: axes shared by its operands, merged, in memory order; and its form for kernels.

use ulib_core::{Error, Layout, Result};

/// Axes that `K` operands share, the slowest first, each longer than 1. Strides and starts are in elements of each
/// operand until [`scaled`](Self::scaled), in bytes after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes<const K: usize> {
    pub(crate) len: Vec<usize>,
    pub(crate) stride: Vec<[isize; K]>,
    /// Where each operand's first element is.
    pub(crate) start: [isize; K],
}

impl<const K: usize> Axes<K> {
    /// The common axes of layouts of one shape: axes of length 1 dropped, axes on which operand `lead` runs backwards
    /// turned around for all, sorted by its descending stride, neighbours merged where one continues the other for all.
    ///
    /// For one operand this is [`Layout::memory_order`].
    pub(crate) fn new(layouts: [&Layout; K], lead: usize) -> Self {
        let mut start = layouts.map(|layout| layout.offset().cast_signed());
        let mut axes: Vec<(usize, [isize; K])> = Vec::new();
        for (axis, &len) in layouts[lead].shape().iter().enumerate() {
            if len == 1 {
                continue;
            }
            let mut stride = layouts.map(|layout| layout.strides().get(axis).copied().unwrap_or(0));
            if stride[lead] < 0 && len > 1 {
                for (start, stride) in start.iter_mut().zip(&mut stride) {
                    *start += *stride * (len - 1).cast_signed();
                    *stride = -*stride;
                }
            }
            axes.push((len, stride));
        }
        axes.sort_by_key(|(_, stride)| std::cmp::Reverse(stride[lead]));
        let mut out = Self {
            len: Vec::new(),
            stride: Vec::new(),
            start,
        };
        for (len, stride) in axes {
            out.push_fastest(len, stride);
        }
        out
    }

    /// One more axis inside all others, merged with the one before where it continues it.
    pub(crate) fn push_fastest(&mut self, len: usize, stride: [isize; K]) {
        if let (Some(outer_len), Some(outer)) = (self.len.last_mut(), self.stride.last_mut()) {
            let continues = |k: usize| stride[k].checked_mul(len.cast_signed()) == Some(outer[k]);
            if (0..K).all(continues) {
                *outer_len *= len;
                *outer = stride;
                return;
            }
        }
        self.len.push(len);
        self.stride.push(stride);
    }

    /// The number of indices.
    pub(crate) fn count(&self) -> usize {
        self.len.iter().product()
    }

    /// The same axes with operand `k` counted in units of `1 / size[k]`.
    pub(crate) fn scaled(mut self, size: [usize; K]) -> Self {
        for k in 0..K {
            let size = size[k].cast_signed();
            self.start[k] *= size;
            for stride in &mut self.stride {
                stride[k] *= size;
            }
        }
        self
    }

    /// Where index `i` (the last axis fastest) is in each operand.
    pub(crate) fn offsets(&self, mut i: usize) -> [isize; K] {
        let mut offset = self.start;
        for (&len, stride) in self.len.iter().zip(&self.stride).rev() {
            let at = (i % len).cast_signed();
            i /= len;
            for k in 0..K {
                offset[k] += at * stride[k];
            }
        }
        offset
    }

    /// Whether every axis but the fastest moves operand `k` by multiples of `bytes`, and the fastest holds whole units of
    /// `bytes / size` elements, adjacent in operand `k`, which starts at address `base`.
    pub(crate) fn holds_units(&self, k: usize, base: u64, size: usize, bytes: usize) -> bool {
        let (Some((&len, outer_len)), Some((inner, outer))) =
            (self.len.split_last(), self.stride.split_last())
        else {
            return false;
        };
        debug_assert_eq!(outer_len.len(), outer.len(), "one stride for each axis");
        base.is_multiple_of(bytes as u64)
            && inner[k] == size.cast_signed()
            && len.is_multiple_of(bytes / size)
            && outer
                .iter()
                .all(|stride| stride[k].unsigned_abs().is_multiple_of(bytes))
    }

    /// The fastest axis in units of `count` elements, dropped if it is a single one.
    pub(crate) fn in_units(mut self, count: usize) -> Self {
        if let (Some(len), Some(stride)) = (self.len.last_mut(), self.stride.last_mut()) {
            *len /= count;
            for stride in stride {
                *stride *= count.cast_signed();
            }
        }
        self.len
            .pop_if(|len| *len == 1)
            .and_then(|_| self.stride.pop());
        self
    }

    /// The same indices as pieces with no more axes than a device takes: the same axes in each, from another start on.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Self> {
        let few = self.len.len() <= MAX_AXES;
        let (whole, parts) = if few {
            (Some(self), None)
        } else {
            (None, Some(self.parts()))
        };
        whole.into_iter().chain(parts.into_iter().flatten())
    }

    fn parts(self) -> impl Iterator<Item = Self> {
        let extra = self.len.len().saturating_sub(MAX_AXES);
        let outer = Self {
            len: self.len[..extra].to_vec(),
            stride: self.stride[..extra].to_vec(),
            start: self.start,
        };
        let count = outer.count();
        let piece = move |i| Self {
            len: self.len[extra..].to_vec(),
            stride: self.stride[extra..].to_vec(),
            start: outer.offsets(i),
        };
        (0..count).map(piece)
    }

    /// The form that kernels read, for a walk by `step` indices at a time.
    ///
    /// # Errors
    /// Kind `Layout` when more than [`MAX_AXES`] are left.
    pub(crate) fn for_device(&self, op: &'static str, step: u64) -> Result<DeviceAxes<K>> {
        let count = self.len.len();
        if count > MAX_AXES {
            return Err(Error::layout(
                op,
                format!("{count} axes that cannot be merged; a device takes at most {MAX_AXES}"),
            ));
        }
        let mut out = DeviceAxes::NONE;
        out.count = count as u64;
        for (d, (&len, stride)) in self.len.iter().zip(&self.stride).rev().enumerate() {
            out.len[d] = Divisor::new(len as u64);
            for (out, &stride) in out.stride.iter_mut().zip(stride) {
                out[d] = stride as i64;
            }
        }
        let mut rest = step;
        for d in 0..count {
            let last = d + 1 == count;
            out.digit[d] = if last { rest } else { rest % out.len[d].by };
            rest /= out.len[d].by;
            for k in 0..K {
                // Wraps where the walk leaves the index space; the kernel does not look there.
                let moved = out.digit[d].cast_signed().wrapping_mul(out.stride[k][d]);
                out.advance[k] = out.advance[k].wrapping_add(moved);
                if !last {
                    out.wrap[k][d] =
                        out.stride[k][d + 1] - out.len[d].by.cast_signed() * out.stride[k][d];
                }
            }
        }
        Ok(out)
    }
}

/// The most axes a kernel takes.
pub(crate) const MAX_AXES: usize = 8;

/// `Divisor` of `common.cuh`: division by a number that is known before the launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Divisor {
    pub(crate) by: u64,
    magic: u64,
    shift: u64,
}

impl Divisor {
    const NONE: Self = Self {
        by: 1,
        magic: 0,
        shift: 0,
    };

    /// For dividends below 2^63. With l = ceil(log2 by), magic = floor(2^(63 + l) / by) + 1 exceeds 2^(63 + l) / by by at
    /// most 1, so n * magic / 2^(63 + l) exceeds n / by by less than 1 / by: the integer part is the same.
    pub(crate) fn new(by: u64) -> Self {
        if by <= 1 {
            return Self::NONE;
        }
        let log = u64::from(u64::BITS - (by - 1).leading_zeros());
        // At most 2^64 - 1: 2^(log - 1) < by.
        let magic = ((1_u128 << (63 + log)) / u128::from(by) + 1) as u64;
        Self {
            by,
            magic,
            shift: log - 1,
        }
    }
}

/// `Axes<K>` of `common.cuh`: the fastest axis first, strides in bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DeviceAxes<const K: usize> {
    count: u64,
    len: [Divisor; MAX_AXES],
    digit: [u64; MAX_AXES],
    stride: [[i64; MAX_AXES]; K],
    wrap: [[i64; MAX_AXES]; K],
    advance: [i64; K],
}

const _: () = assert!(
    size_of::<DeviceAxes<1>>() == 8 * (1 + 24 + 8 + 17),
    "mirrors common.cuh"
);
const _: () = assert!(
    size_of::<DeviceAxes<2>>() == 8 * (1 + 24 + 8 + 34),
    "mirrors common.cuh"
);

impl<const K: usize> DeviceAxes<K> {
    /// No axes: one index, at the start.
    pub(crate) const NONE: Self = Self {
        count: 0,
        len: [Divisor::NONE; MAX_AXES],
        digit: [0; MAX_AXES],
        stride: [[0; MAX_AXES]; K],
        wrap: [[0; MAX_AXES]; K],
        advance: [0; K],
    };
}

#[cfg(test)]
mod tests;
