//! One level of the tree on a device: one launch of a kernel made of `ops/reduce.cuh`.
#![allow(unsafe_code, reason = "launches the kernels of reductions")]

use ulib_core::Result;
use ulib_device::{Device, Stream};

use super::fold::{Fold, Form, Item, Second};
use super::plan::{CHUNK, LANES, by_columns};
use crate::ops::axes::{Axes, DeviceAxes, Divisor};
use crate::ops::form::WIDE;
use crate::ops::launch;

/// Blocks per multiprocessor that `columns` should have at least; narrower tiles give more of them.
const BLOCKS_WANTED: usize = 6;

/// `ReduceParams` of `reduce.cuh`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: [u64; 2],
    dst: u64,
    n: u64,
    chunks: Divisor,
    outputs: u64,
    stride: [i64; 2],
    dst_chunk: i64,
    dst_lane: i64,
    tiles: Divisor,
    tile_log2: u64,
    last: u64,
    fold: [u64; 4],
    reduced: DeviceAxes<2>,
    kept: DeviceAxes<3>,
}

const _: () = assert!(
    size_of::<Params>() == 8 * (15 + 6) + size_of::<DeviceAxes<2>>() + size_of::<DeviceAxes<3>>(),
    "mirrors reduce.cuh"
);

/// One level of the tree. Strides in bytes, and for places in elements; operands 0 and 1 of `kept` are the sources.
pub(super) struct Level {
    /// Whether the sources are the views; else they are what chunks of the level before gave.
    pub(super) first: bool,
    /// Bytes of an element of a source.
    pub(super) size: usize,
    pub(super) source: [u64; 2],
    pub(super) kept: Axes<3>,
    pub(super) reduced: Axes<2>,
}

/// Where the results of a level go.
pub(super) struct Target {
    /// The address to which operand 2 of `kept` is relative.
    pub(super) address: u64,
    /// Bytes from a chunk's result to the next chunk's.
    pub(super) between_chunks: usize,
    /// Whether these are the results of the reduction.
    pub(super) last: bool,
}

impl Level {
    pub(super) fn by_columns(&self) -> bool {
        by_columns(&self.reduced, &self.kept)
    }

    fn line(&self) -> bool {
        self.reduced.len.len() <= 1
    }

    /// The bytes from element to element of a line.
    fn stride(&self, k: usize) -> isize {
        match self.reduced.stride.as_slice() {
            [stride] => stride[k],
            _ => 0,
        }
    }

    /// Whether source `k` can be read 16 bytes at a time.
    fn packs(&self, k: usize, source: u64) -> bool {
        let aligned = |stride: isize| stride.unsigned_abs().is_multiple_of(WIDE);
        if self.by_columns() {
            return self.kept.holds_units(k, source, self.size, WIDE)
                && self.reduced.stride.iter().all(|stride| aligned(stride[k]));
        }
        let packed = if self.line() {
            self.stride(k) == self.size.cast_signed() && source.is_multiple_of(WIDE as u64)
        } else {
            self.reduced.holds_units(k, source, self.size, WIDE)
        };
        packed && self.kept.stride.iter().all(|stride| aligned(stride[k]))
    }

    /// Writes what chunk `c` of each result gives to where `target` and operand 2 of `kept` say.
    pub(super) fn launch<F: Fold>(
        &self,
        fold: &F,
        target: &Target,
        device: &Device,
        stream: &Stream,
    ) -> Result<()> {
        let chunks = self.reduced.count().div_ceil(CHUNK);
        let columns = self.by_columns();
        let at = |k: usize| self.source[k].wrapping_add_signed(self.kept.start[k] as i64);
        let src = [at(0), at(1)];
        let form = |pack: bool| Form {
            columns,
            pack,
            line: self.line(),
        };
        let pack = self.first.then(|| F::entry(form(true))).flatten();
        let pack = pack.filter(|_| {
            self.packs(0, src[0]) && (F::Item::SECOND != Second::Values || self.packs(1, src[1]))
        });
        let lanes = if pack.is_some() { WIDE / self.size } else { 1 };
        let entry = match pack {
            Some(entry) => entry,
            None if self.first => F::entry(form(false)).unwrap_or_default(),
            None => F::JOIN[usize::from(columns)],
        };
        let mut params = Params {
            src,
            dst: target
                .address
                .wrapping_add_signed(self.kept.start[2] as i64),
            n: self.reduced.count() as u64,
            chunks: Divisor::new(chunks as u64),
            outputs: 0,
            stride: [self.stride(0) as i64, self.stride(1) as i64],
            dst_chunk: target.between_chunks as i64,
            dst_lane: 0,
            tiles: Divisor::new(1),
            tile_log2: 0,
            last: u64::from(target.last),
            fold: fold.params(),
            reduced: DeviceAxes::NONE,
            kept: DeviceAxes::NONE,
        };
        let (blocks, threads) = if columns {
            params.dst_lane = self.kept.stride.last().map_or(0, |stride| stride[2]) as i64;
            let units = self.kept.clone().in_units(lanes);
            params.kept = units.for_device("reduce", 1)?;
            if !self.line() {
                params.reduced = self.reduced.for_device("reduce", 1)?;
            }
            let units = units.count();
            let wanted = device.multiprocessors() as usize * BLOCKS_WANTED;
            let tile_log2 = (3..=5)
                .rev()
                .find(|log2| units.div_ceil(1 << log2) * chunks >= wanted)
                .unwrap_or(2);
            let tiles = units.div_ceil(1 << tile_log2);
            (params.outputs, params.tile_log2, params.tiles) =
                (units as u64, tile_log2, Divisor::new(tiles as u64));
            (tiles * chunks, LANES)
        } else {
            params.outputs = self.kept.count() as u64;
            params.kept = self.kept.for_device("reduce", 1)?;
            if !self.line() {
                let units = self.reduced.clone().in_units(lanes);
                params.reduced = units.for_device("reduce", (LANES / lanes) as u64)?;
            }
            (self.kept.count() * chunks, LANES / lanes)
        };
        let kernel = F::kernels().kernel(entry)?;
        // SAFETY: `Params` mirrors the struct of every kernel of reduce.cuh (asserted above). The sources' elements lie in
        // their blocks by the check of `View::new`, or in the scratch of the level before; the results lie in the scratch,
        // the results or the output view that the callers of `levels` sized by the same axes. All have made the stream
        // wait and live until after the launch.
        unsafe {
            launch::run(
                kernel,
                stream,
                launch::blocks(blocks as u64),
                threads as u32,
                params,
            )
        }
    }
}
