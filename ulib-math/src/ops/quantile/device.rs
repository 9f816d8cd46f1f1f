//! quantile on a device: a launch for each digit and its choice, or one launch with a block for each output.
#![allow(unsafe_code, reason = "launches quantile.cu")]

use ulib_core::{Error, Result, bytemuck};
use ulib_device::memory::{Access, Scratch};
use ulib_device::{Device, Stream};

use super::key::{Entries, entries};
use super::rank::Rank;
use crate::memory::zeros;
use crate::ops::axes::DeviceAxes;
use crate::ops::element::Element;
use crate::ops::groups::Groups;
use crate::ops::launch::{self, Library, THREADS};
use crate::view::{View, ViewMut};

static KERNELS: Library = Library::new(include_str!("quantile.ptx"));

/// Bits of a digit (`ULIB_DIGIT_BITS`).
const DIGIT: u64 = 11;

/// Bytes of the counters of both searches, and of `Search` after them.
const COUNTERS: usize = (2 * 8) << DIGIT;
const SEARCH: usize = 40;

/// Bytes of a result.
const RESULT: usize = 8;

/// Groups of so many elements are worth a grid each, if there are no more than the device has multiprocessors.
const LARGE: usize = 1 << 17;

/// Larger groups take a grid each: the counters of a block have 32 bits.
const MOST: usize = 1 << 31;

/// Parts per multiprocessor that a pass should have, and the fewest elements of one.
const PARTS_WANTED: usize = 16;
const LEAST: usize = 1 << 14;

/// `QuantileParams` of `quantile.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: u64,
    dst: u64,
    counters: u64,
    search: u64,
    n: u64,
    work: u64,
    part: u64,
    stride: i64,
    shift: u64,
    width: u64,
    first: u64,
    rank: [u64; 2],
    fraction: f64,
    reduced: DeviceAxes<1>,
    kept: DeviceAxes<1>,
}

const _: () = assert!(
    size_of::<Params>() == 8 * 14 + 2 * size_of::<DeviceAxes<1>>(),
    "mirrors quantile.cu"
);

/// The quantile `ranks[i]` of each group from `i * groups.count` on; `None` where the data is not to be on `device` any more.
pub(super) fn quantiles<T: Element>(
    view: &View<'_, T>,
    groups: &Groups,
    ranks: &[Rank],
    device: &Device,
) -> Result<Option<Vec<f64>>> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let Some(results) = found(view, groups, ranks, device, &stream)? else {
        return Ok(None);
    };
    let mut values = zeros::<f64>(groups.count * ranks.len())?;
    let to = bytemuck::cast_slice_mut(&mut values);
    ulib_device::copy::download(results.bytes()?, 0, to, &stream)?;
    Ok(Some(values))
}

/// One quantile of each group into a view on the same device. Answers false where the data is not to be on `device` any more.
pub(super) fn quantile_into<T: Element>(
    view: &View<'_, T>,
    groups: &Groups,
    rank: Rank,
    out: &mut ViewMut<'_, f64>,
    device: &Device,
) -> Result<bool> {
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let Some(results) = found(view, groups, &[rank], device, &stream)? else {
        return Ok(false);
    };
    // Opened last: what fails before leaves the output as it was.
    crate::ops::copy::unpack(&results, out, &stream)?;
    Ok(true)
}

fn found<T: Element>(
    view: &View<'_, T>,
    groups: &Groups,
    ranks: &[Rank],
    device: &Device,
    stream: &Stream,
) -> Result<Option<Scratch>> {
    let Some(source) = view.block().device_read_if_placed(stream)? else {
        return Ok(None);
    };
    let bytes = (groups.count.checked_mul(ranks.len())).and_then(|n| n.checked_mul(RESULT));
    let bytes = bytes
        .ok_or_else(|| Error::overflow("quantile", format_args!("{} results", groups.count)))?;
    let results = Scratch::take(stream, bytes)?;
    results.use_on(stream, Access::Write)?;
    let search = Selection::new::<T>(source.ptr(), groups, device, stream)?;
    for (i, &rank) in ranks.iter().enumerate() {
        let to = results.ptr() + (i * groups.count * RESULT) as u64;
        search.run(rank, to)?;
    }
    source.finish()?;
    Ok(Some(results))
}

/// The launches for one quantile, whichever.
struct Selection<'a> {
    source: u64,
    bits: u64,
    size: usize,
    entries: Entries,
    groups: &'a Groups,
    device: &'a Device,
    stream: &'a Stream,
    /// Common to all launches.
    params: Params,
    /// Counters and search; none with a block for each output.
    scratch: Option<Scratch>,
}

impl<'a> Selection<'a> {
    fn new<T: Element>(
        source: u64,
        groups: &'a Groups,
        device: &'a Device,
        stream: &'a Stream,
    ) -> Result<Self> {
        let size = size_of::<T>();
        let members = groups.members.clone().scaled([size]);
        let line = members.len.len() <= 1;
        let params = Params {
            src: 0,
            dst: 0,
            counters: 0,
            search: 0,
            n: groups.size as u64,
            work: groups.count as u64,
            part: 0,
            stride: match members.stride.as_slice() {
                &[[stride]] => stride as i64,
                _ => 0,
            },
            shift: 0,
            width: 0,
            first: 0,
            rank: [0; 2],
            fraction: 0.0,
            reduced: if line {
                DeviceAxes::NONE
            } else {
                members.for_device("quantile", u64::from(THREADS))?
            },
            kept: DeviceAxes::NONE,
        };
        let few = groups.count <= device.multiprocessors() as usize;
        let by_grid = groups.size >= MOST || (few && groups.size >= LARGE);
        let scratch = if by_grid || groups.count == 1 {
            let scratch = Scratch::take(stream, COUNTERS + SEARCH)?;
            scratch.use_on(stream, Access::Write)?;
            Some(scratch)
        } else {
            None
        };
        Ok(Self {
            source,
            bits: 8 * size as u64,
            size,
            entries: entries(T::KERNEL),
            groups,
            device,
            stream,
            params,
            scratch,
        })
    }

    fn line(&self) -> bool {
        self.groups.members.len.len() <= 1
    }

    /// One quantile of every group, to `to` and on.
    fn run(&self, rank: Rank, to: u64) -> Result<()> {
        let mut params = self.params;
        params.rank = [rank.low as u64, rank.high as u64];
        params.fraction = rank.fraction;
        let Some(scratch) = &self.scratch else {
            let firsts = self.groups.firsts().scaled([self.size]);
            params.src = self.source.wrapping_add_signed(firsts.start[0] as i64);
            params.dst = to;
            params.kept = firsts.for_device("quantile", 1)?;
            let (line, axes) = (self.entries.block_line, self.entries.block_axes);
            let entry = if self.line() { line } else { axes };
            return self.launch(entry, launch::blocks(self.groups.count as u64), params);
        };
        params.counters = scratch.ptr();
        params.search = scratch.ptr() + COUNTERS as u64;
        let size = self.groups.size;
        let wanted = self.device.multiprocessors() as usize * PARTS_WANTED;
        let part = size.div_ceil(wanted).clamp(LEAST, MOST);
        params.part = part as u64;
        params.work = size.div_ceil(part) as u64;
        for group in 0..self.groups.count {
            let first = self.groups.first(group) * self.size.cast_signed();
            params.src = self.source.wrapping_add_signed(first as i64);
            params.dst = to + (group * RESULT) as u64;
            ulib_device::copy::fill(scratch.bytes()?, 0, COUNTERS + SEARCH, &[0], self.stream)?;
            self.by_grid(params)?;
        }
        Ok(())
    }

    /// One quantile of one group.
    fn by_grid(&self, mut params: Params) -> Result<()> {
        let (line, axes) = (self.entries.pass_line, self.entries.pass_axes);
        let pass = if self.line() { line } else { axes };
        params.shift = self.bits;
        while params.shift > 0 {
            params.first = u64::from(params.shift == self.bits);
            params.width = params.shift.min(DIGIT);
            params.shift -= params.width;
            self.launch(pass, launch::blocks(params.work), params)?;
            self.launch(self.entries.pick, 1, params)?;
        }
        Ok(())
    }

    fn launch(&self, entry: &'static str, blocks: u32, params: Params) -> Result<()> {
        let kernel = KERNELS.kernel(entry)?;
        // SAFETY: `Params` mirrors the struct of every entry of quantile.cu (asserted above). The elements lie in the block by
        // the check of `View::new`, whose guard the caller holds; the results have room for one of each group, the scratch
        // for the counters and the search. All were made to wait for the stream and live until after the launch.
        unsafe { launch::run(kernel, self.stream, blocks, THREADS, params) }
    }
}
