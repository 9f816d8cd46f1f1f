//! What a reduction goes over: the kept axes, the reduced axes, and which of the two is the faster one in memory.

use ulib_core::{Layout, Result};

use crate::ops::axes::Axes;

/// Elements of a chunk.
pub(super) const CHUNK: usize = 4096;

/// Lanes of a chunk.
pub(super) const LANES: usize = 256;

/// Results of fewer elements than this, when there are many, are better done one by each thread than one by each block.
const SHORT: usize = 64;
const MANY: usize = 4096;

/// The index spaces of a reduction.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Operands 0 and 1 are what is read, operand 2 is the output; sorted by operand 0.
    pub(super) kept: Axes<3>,
    /// The elements of one result, relative to its first, in the order in which they are taken.
    pub(super) reduced: Axes<2>,
}

impl Plan {
    /// For the reduced `axes` and the `kept` ones of two sources of one shape, and an output with the shape of the kept
    /// ones. Where there is one source only, it is named twice.
    pub(super) fn new(
        sources: [&Layout; 2],
        axes: &[usize],
        kept: &[usize],
        out: &Layout,
    ) -> Result<Self> {
        let [first, second] = sources;
        let reduced = [first.select_axes(axes)?, second.select_axes(axes)?];
        let kept = [first.select_axes(kept)?, second.select_axes(kept)?];
        Ok(Self::of(
            reduced.each_ref(),
            [&kept[0], &kept[1], out],
            [first.offset(), second.offset()],
        ))
    }

    /// For a source, and as operand 1 what an element's place is in the C order of the reduced axes, which are in ascending
    /// order.
    pub(super) fn with_places(
        source: &Layout,
        axes: &[usize],
        kept: &[usize],
        out: &Layout,
    ) -> Result<Self> {
        let reduced = source.select_axes(axes)?;
        let places = Layout::contiguous(reduced.shape())?;
        let kept = source.select_axes(kept)?;
        let nowhere = Layout::new(kept.shape().to_vec(), vec![0; kept.ndim()], 0)?;
        Ok(Self::of(
            [&reduced, &places],
            [&kept, &nowhere, out],
            [source.offset(), 0],
        ))
    }

    fn of(reduced: [&Layout; 2], kept: [&Layout; 3], offset: [usize; 2]) -> Self {
        let mut reduced = Axes::new(reduced, 0);
        let mut kept = Axes::new(kept, 0);
        // Turning a reduced axis around moves its start, which is the same for every output.
        for (kept, (reduced, offset)) in kept.start.iter_mut().zip(reduced.start.iter().zip(offset))
        {
            *kept += reduced - offset.cast_signed();
        }
        reduced.start = [0; 2];
        Self { kept, reduced }
    }

    /// How many chunks an output is the result of.
    pub(super) fn chunks(&self) -> usize {
        self.reduced.count().div_ceil(CHUNK)
    }

    /// Whether neighbours in memory belong to different results.
    pub(super) fn by_columns(&self) -> bool {
        by_columns(&self.reduced, &self.kept)
    }

    /// The reduced axes; a single one in the direction in which places ascend.
    pub(super) fn reduced_by_place(&self) -> (Axes<2>, [isize; 2]) {
        let mut reduced = self.reduced.clone();
        let mut start = [0; 2];
        if let (&[len], [stride]) = (reduced.len.as_slice(), reduced.stride.as_mut_slice())
            && stride[1] < 0
        {
            for (start, stride) in start.iter_mut().zip(stride) {
                *start = (len - 1).cast_signed() * *stride;
                *stride = -*stride;
            }
        }
        (reduced, start)
    }

    /// The values, which come in the order of the kept axes, to where the output has them.
    pub(super) fn spread<A: Copy>(&self, values: &[A], to: &mut [A]) {
        for (i, &value) in values.iter().enumerate() {
            to[self.kept.offsets(i)[2].unsigned_abs()] = value;
        }
    }
}

/// Whether to go along the kept axes.
pub(super) fn by_columns(reduced: &Axes<2>, kept: &Axes<3>) -> bool {
    let fastest = (
        reduced.stride.last().map(|stride| stride[0].unsigned_abs()),
        kept.stride.last().map(|stride| stride[0].unsigned_abs()),
    );
    let kept_is_faster = match fastest {
        (Some(reduced), Some(kept)) => kept < reduced,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    kept_is_faster || (reduced.count() < SHORT && kept.count() > MANY)
}
