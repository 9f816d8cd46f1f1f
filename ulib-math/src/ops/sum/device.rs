//! sum on a device: one launch for each level of the tree.
#![allow(unsafe_code, reason = "launches sum.cu")]

use ulib_core::{Result, bytemuck};
use ulib_device::memory::{Access, Scratch};
use ulib_device::{Device, Stream};

use super::plan::{CHUNK, LANES, Plan, by_columns};
use crate::memory::zeros;
use crate::ops::axes::{Axes, DeviceAxes, Divisor};
use crate::ops::element::{Element, Number};
use crate::ops::form::WIDE;
use crate::ops::launch::{self, Library};
use crate::view::{View, ViewMut};

static KERNELS: Library = Library::new(include_str!("sum.ptx"));

/// Bytes of an accumulator.
const SUM: usize = 8;

/// Blocks per multiprocessor that `columns` should have at least; narrower tiles give more of them.
const BLOCKS_WANTED: usize = 6;

/// `SumParams` of `sum.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: u64,
    dst: u64,
    n: u64,
    chunks: Divisor,
    outputs: u64,
    stride: i64,
    dst_chunk: i64,
    dst_lane: i64,
    tiles: Divisor,
    tile_log2: u64,
    reduced: DeviceAxes<1>,
    kept: DeviceAxes<2>,
}

const _: () = assert!(
    size_of::<Params>() == 8 * (8 + 6) + size_of::<DeviceAxes<1>>() + size_of::<DeviceAxes<2>>(),
    "mirrors sum.cu"
);

/// The kernel for a number; `pack` where there is one.
fn entry(number: Number, columns: bool, pack: bool, line: bool) -> &'static str {
    macro_rules! entries {
        ($name:literal) => {
            match (columns, line) {
                (false, true) => concat!("ulib_sum_rows_", $name, "_line"),
                (false, false) => concat!("ulib_sum_rows_", $name, "_axes"),
                (true, true) => concat!("ulib_sum_columns_", $name, "_line"),
                (true, false) => concat!("ulib_sum_columns_", $name, "_axes"),
            }
        };
    }
    match (number, pack) {
        (Number::F32, true) => entries!("f32_pack"),
        (Number::F64, true) => entries!("f64_pack"),
        (Number::I64 | Number::U64, true) => entries!("u64_pack"),
        (Number::F32, false) => entries!("f32_one"),
        (Number::F64, false) => entries!("f64_one"),
        (Number::I32, _) => entries!("i32_one"),
        (Number::U32, _) => entries!("u32_one"),
        (Number::I64 | Number::U64, false) => entries!("u64_one"),
    }
}

/// The 16-byte kernels there are: the others would gain nothing that was measured.
fn has_pack(number: Number, columns: bool, line: bool) -> bool {
    match number {
        Number::F32 => line || !columns,
        Number::F64 => line,
        Number::I64 | Number::U64 => line && !columns,
        Number::I32 | Number::U32 => false,
    }
}

/// The sums, in the order of the plan's kept axes; `None` where the data is not to be on `device` any more.
pub(super) fn sum<T: Element>(
    view: &View<'_, T>,
    plan: &Plan,
    device: &Device,
) -> Result<Option<Vec<T::Sum>>> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let outputs = plan.kept.count();
    // One piece of memory: the results, and after them the levels of the tree.
    let levels = (outputs * SUM).next_multiple_of(WIDE);
    let results = Scratch::take(&stream, levels + scratch_bytes(plan))?;
    let Some(source) = view.block().device_read_if_placed(&stream)? else {
        return Ok(None);
    };
    results.use_on(&stream, Access::Write)?;
    let kept = contiguous(&plan.kept, SUM);
    let scratch = results.ptr() + levels as u64;
    run::<T>(
        source.ptr(),
        results.ptr(),
        scratch,
        kept,
        plan,
        device,
        &stream,
    )?;
    source.finish()?;
    let mut values = zeros::<T::Sum>(outputs)?;
    let to = bytemuck::cast_slice_mut(&mut values);
    ulib_device::copy::download(results.bytes()?, 0, to, &stream)?;
    Ok(Some(values))
}

/// The sums into a view on the same device. Answers false where the data is not to be on `device` any more.
pub(super) fn sum_into<T: Element>(
    view: &View<'_, T>,
    plan: &Plan,
    out: &mut ViewMut<'_, T::Sum>,
    device: &Device,
) -> Result<bool> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let whole = out.is_whole();
    let scratch = Scratch::take(&stream, scratch_bytes(plan))?;
    scratch.use_on(&stream, Access::Write)?;
    let Some(source) = view.block().device_read_if_placed(&stream)? else {
        return Ok(false);
    };
    // Opened last: what fails before, or fails to be launched, leaves the output as it was.
    let block = out.block_mut();
    let target = if whole {
        block.device_overwrite(&stream)?
    } else {
        block.device_write(&stream)?
    };
    let kept = plan.kept.clone().scaled([1, SUM]);
    run::<T>(
        source.ptr(),
        target.ptr(),
        scratch.ptr(),
        kept,
        plan,
        device,
        &stream,
    )?;
    source.finish()?;
    target.finish()?;
    Ok(true)
}

/// Bytes for the results of all levels but the last, each level at a multiple of 16.
fn scratch_bytes(plan: &Plan) -> usize {
    let (mut bytes, mut chunks) = (0, plan.chunks());
    while chunks > 1 {
        bytes += (plan.kept.count() * chunks * SUM).next_multiple_of(WIDE);
        chunks = chunks.div_ceil(CHUNK);
    }
    bytes
}

/// Kept axes whose results lie `step` bytes apart in the order of the axes.
fn contiguous(kept: &Axes<2>, step: usize) -> Axes<2> {
    let mut out = kept.clone();
    out.start[1] = 0;
    let mut next = step.cast_signed();
    for (len, stride) in out.len.iter().zip(&mut out.stride).rev() {
        stride[1] = next;
        next *= len.cast_signed();
    }
    out
}

/// All levels: from `source` to results where operand 1 of `kept` (in bytes; operand 0 in elements) says, from `target`
/// on. At `scratch` are [`scratch_bytes`].
fn run<T: Element>(
    source: u64,
    target: u64,
    mut scratch: u64,
    kept: Axes<2>,
    plan: &Plan,
    device: &Device,
    stream: &Stream,
) -> Result<()> {
    let size = size_of::<T>();
    let last = kept.scaled([size, 1]);
    let mut level = Level {
        number: T::KERNEL,
        size,
        source,
        kept: last.clone(),
        reduced: plan.reduced.clone().scaled([size]),
    };
    loop {
        let outputs = level.kept.count();
        let chunks = level.reduced.count().div_ceil(CHUNK);
        if chunks == 1 {
            let mut to = last;
            to.start[0] = level.kept.start[0];
            to.stride
                .iter_mut()
                .zip(&level.kept.stride)
                .for_each(|(to, from)| to[0] = from[0]);
            return level.launch(target, &to, 0, device, stream);
        }
        // Rows leave the chunks of a sum side by side; columns leave the sums of a chunk side by side.
        let (between_outputs, between_chunks) = if level.by_columns() {
            (SUM, outputs * SUM)
        } else {
            (chunks * SUM, SUM)
        };
        let to = contiguous(&level.kept, between_outputs);
        level.launch(scratch, &to, between_chunks, device, stream)?;
        let mut kept = to;
        kept.start[0] = 0;
        kept.stride
            .iter_mut()
            .for_each(|stride| stride[0] = stride[1]);
        let reduced = Axes {
            len: vec![chunks],
            stride: vec![[between_chunks.cast_signed()]],
            start: [0],
        };
        level = Level {
            number: <T::Sum as Element>::KERNEL,
            size: SUM,
            source: scratch,
            kept,
            reduced,
        };
        scratch += (outputs * chunks * SUM).next_multiple_of(WIDE) as u64;
    }
}

/// One level of the tree. Strides in bytes; operand 0 of `kept` is the source.
struct Level {
    number: Number,
    size: usize,
    source: u64,
    kept: Axes<2>,
    reduced: Axes<1>,
}

impl Level {
    fn by_columns(&self) -> bool {
        let reduced = self.reduced.stride.last().map(|stride| stride[0]);
        let kept = self.kept.stride.last().map(|stride| stride[0]);
        by_columns(self.reduced.count(), self.kept.count(), reduced, kept)
    }

    /// Writes the result of chunk `c` of each sum to where `to` (which has the source's strides, too) says, plus `c`
    /// times `between_chunks`, from `target` on.
    fn launch(
        &self,
        target: u64,
        to: &Axes<2>,
        between_chunks: usize,
        device: &Device,
        stream: &Stream,
    ) -> Result<()> {
        let n = self.reduced.count();
        let chunks = n.div_ceil(CHUNK);
        let src = self.source.wrapping_add_signed(to.start[0] as i64);
        let line = self.reduced.len.len() <= 1;
        let columns = self.by_columns();
        let stride = if line {
            self.reduced.stride.last().map_or(0, |stride| stride[0])
        } else {
            0
        };
        let aligned = |stride: isize| stride.unsigned_abs().is_multiple_of(WIDE);
        let pack = has_pack(self.number, columns, line)
            && if columns {
                to.holds_units(0, src, self.size, WIDE)
                    && self.reduced.stride.iter().all(|stride| aligned(stride[0]))
            } else {
                let packed = if line {
                    stride == self.size.cast_signed() && src.is_multiple_of(WIDE as u64)
                } else {
                    self.reduced.holds_units(0, src, self.size, WIDE)
                };
                packed && to.stride.iter().all(|stride| aligned(stride[0]))
            };
        let lanes = if pack { WIDE / self.size } else { 1 };
        let mut params = Params {
            src,
            dst: target.wrapping_add_signed(to.start[1] as i64),
            n: n as u64,
            chunks: Divisor::new(chunks as u64),
            outputs: 0,
            stride: stride as i64,
            dst_chunk: between_chunks as i64,
            dst_lane: 0,
            tiles: Divisor::new(1),
            tile_log2: 0,
            reduced: DeviceAxes::NONE,
            kept: DeviceAxes::NONE,
        };
        let (blocks, threads) = if columns {
            params.dst_lane = to.stride.last().map_or(0, |stride| stride[1]) as i64;
            let units = to.clone().in_units(lanes);
            params.kept = units.for_device("sum", 1)?;
            if !line {
                params.reduced = self.reduced.for_device("sum", 1)?;
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
            params.outputs = to.count() as u64;
            params.kept = to.for_device("sum", 1)?;
            if !line {
                params.reduced = self
                    .reduced
                    .clone()
                    .in_units(lanes)
                    .for_device("sum", (LANES / lanes) as u64)?;
            }
            (to.count() * chunks, LANES / lanes)
        };
        let kernel = KERNELS.kernel(entry(self.number, columns, pack, line))?;
        // SAFETY: `Params` mirrors the struct of every entry of sum.cu (asserted above). The source's elements lie in the
        // block by the check of `View::new`, or in the scratch of the level before; the results lie in the scratch, the
        // results or the output view that `run`'s callers sized by the same axes. All have made the stream wait and
        // live until after the launch.
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
