//! What a sum goes over: the kept axes, the reduced axes, and which of the two is the faster one in memory.

use ulib_core::{Layout, Result};

use crate::ops::axes::Axes;

/// Elements of a chunk.
pub(super) const CHUNK: usize = 4096;

/// Lanes of a chunk.
pub(super) const LANES: usize = 256;

/// Sums of fewer elements than this, when there are many, are better done one by each thread than one by each block.
const SHORT: usize = 64;
const MANY: usize = 4096;

/// The index spaces of a sum.
#[derive(Debug)]
pub(super) struct Plan {
    /// Operand 0 is the source, operand 1 the output; sorted by the source.
    pub(super) kept: Axes<2>,
    /// The elements of one sum, relative to its first, in the order in which they are added.
    pub(super) reduced: Axes<1>,
}

impl Plan {
    /// For the reduced `axes` and the `kept` ones of a source, and an output with the shape of the kept ones.
    pub(super) fn new(
        layout: &Layout,
        axes: &[usize],
        kept: &[usize],
        out: &Layout,
    ) -> Result<Self> {
        let mut reduced = Axes::new([&layout.select_axes(axes)?], 0);
        let mut kept = Axes::new([&layout.select_axes(kept)?, out], 0);
        // Turning a reduced axis around moves its start, which is the same for every output.
        kept.start[0] += reduced.start[0] - layout.offset().cast_signed();
        reduced.start = [0];
        Ok(Self { kept, reduced })
    }

    /// Whether an output is the sum of one chunk.
    pub(super) fn chunks(&self) -> usize {
        self.reduced.count().div_ceil(CHUNK)
    }

    /// Whether neighbours in memory belong to different sums.
    pub(super) fn by_columns(&self) -> bool {
        by_columns(
            self.reduced.count(),
            self.kept.count(),
            self.reduced.stride.last().map(|s| s[0]),
            self.kept.stride.last().map(|s| s[0]),
        )
    }
}

/// Whether to go along the kept axes, for sums of `n` elements and fastest strides of both kinds.
pub(super) fn by_columns(
    n: usize,
    outputs: usize,
    reduced: Option<isize>,
    kept: Option<isize>,
) -> bool {
    let kept_is_faster = match (reduced, kept) {
        (Some(reduced), Some(kept)) => kept < reduced,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    kept_is_faster || (n < SHORT && outputs > MANY)
}
