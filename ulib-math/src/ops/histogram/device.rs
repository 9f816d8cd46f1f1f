//! histogram on a device: one launch, which adds to zeros.
#![allow(unsafe_code, reason = "launches histogram.cu")]

use ulib_core::{Error, Result, bytemuck};
use ulib_device::memory::{Access, Scratch};
use ulib_device::{Device, Stream};

use super::bins::{Bins, Uniform};
use super::value::Countable;
use crate::memory::{room, zeros};
use crate::ops::axes::{DeviceAxes, Divisor};
use crate::ops::form::WIDE;
use crate::ops::groups::Groups;
use crate::ops::launch::{self, Library, THREADS};
use crate::view::{View, ViewMut};

static KERNELS: Library = Library::new(include_str!("histogram.ptx"));

/// Bytes of a count.
const COUNT: usize = 8;

/// Counters in a block's shared memory (`ULIB_COUNTERS`), and lanes of a warp, which may have copies of their own.
const COUNTERS: usize = 4096;
const LANES: usize = 32;

/// Parts per multiprocessor that a launch should have, and the fewest elements of one, which pay for adding up its counters.
const PARTS_WANTED: usize = 16;
const LEAST: usize = 1 << 14;

/// The most elements of a part: its counters have 32 bits.
const MOST: usize = 1 << 31;

/// More bins than this are settled by their edges alone: a guess in `f32` cannot be sure.
const MOST_GUESSED: usize = 1 << 20;

/// `HistogramParams` of `histogram.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: u64,
    dst: u64,
    n: u64,
    outputs: u64,
    parts: Divisor,
    part: u64,
    stride: i64,
    bins: u64,
    copies: u64,
    edges: u64,
    low: f64,
    width: f64,
    inverse: f64,
    first: f64,
    last: f64,
    origin: f64,
    scale: f64,
    slack: f64,
    reduced: DeviceAxes<1>,
    kept: DeviceAxes<1>,
}

const _: () = assert!(
    size_of::<Params>() == 8 * (17 + 3) + 2 * size_of::<DeviceAxes<1>>(),
    "mirrors histogram.cu"
);

/// The counts, the bins of a group side by side; `None` where the data is not to be on `device` any more.
pub(super) fn histogram<T: Countable>(
    view: &View<'_, T>,
    groups: &Groups,
    bins: &Bins,
    total: usize,
    device: &Device,
) -> Result<Option<Vec<u64>>> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let Some(counts) = counted(view, groups, bins, total, device, &stream)? else {
        return Ok(None);
    };
    let mut values = zeros::<u64>(total)?;
    ulib_device::copy::download(
        counts.bytes()?,
        0,
        bytemuck::cast_slice_mut(&mut values),
        &stream,
    )?;
    Ok(Some(values))
}

/// The counts into a view on the same device. Answers false where the data is not to be on `device` any more.
pub(super) fn histogram_into<T: Countable>(
    view: &View<'_, T>,
    groups: &Groups,
    bins: &Bins,
    out: &mut ViewMut<'_, u64>,
    device: &Device,
) -> Result<bool> {
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let Some(counts) = counted(view, groups, bins, out.len(), device, &stream)? else {
        return Ok(false);
    };
    // Opened last: what fails before leaves the output as it was.
    crate::ops::copy::unpack(&counts, out, &stream)?;
    Ok(true)
}

fn counted<T: Countable>(
    view: &View<'_, T>,
    groups: &Groups,
    bins: &Bins,
    total: usize,
    device: &Device,
    stream: &Stream,
) -> Result<Option<Scratch>> {
    let Some(source) = view.block().device_read_if_placed(stream)? else {
        return Ok(None);
    };
    let bytes = total.checked_mul(COUNT);
    let bytes =
        bytes.ok_or_else(|| Error::overflow("histogram", format_args!("{total} counts")))?;
    let counts = Scratch::take(stream, bytes)?;
    ulib_device::copy::fill(counts.bytes()?, 0, bytes, &[0], stream)?;
    let table = match bins.spacing() {
        Some(_) => None,
        None => Some(table::<T>(bins, stream)?),
    };
    counts.use_on(stream, Access::Write)?;
    let edges = table.as_ref().map_or(0, Scratch::ptr);
    launch::<T>(
        source.ptr(),
        counts.ptr(),
        edges,
        groups,
        bins,
        device,
        stream,
    )?;
    source.finish()?;
    Ok(Some(counts))
}

/// The edges as the kernel compares them.
fn table<T: Countable>(bins: &Bins, stream: &Stream) -> Result<Scratch> {
    let edges = bins.as_slice();
    let mut singles = room::<f32>(edges.len())?;
    let bytes: &[u8] = if T::KERNEL.single {
        singles.extend(edges.iter().map(|&edge| not_below(edge)));
        bytemuck::cast_slice(&singles)
    } else {
        bytemuck::cast_slice(edges)
    };
    let table = Scratch::take(stream, bytes.len())?;
    ulib_device::copy::upload(table.bytes()?, 0, bytes, stream)?;
    Ok(table)
}

/// The smallest `f32` that is not below `x`.
fn not_below(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x {
        near.next_up()
    } else {
        near
    }
}

/// The largest `f32` that is not above `x`.
fn not_above(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x {
        near.next_down()
    } else {
        near
    }
}

/// How a kernel guesses bins: the origin and the scale it uses, and by how many bins it may be wrong.
struct Guess {
    origin: f64,
    scale: f64,
    slack: f64,
}

impl Guess {
    const NONE: Self = Self {
        origin: 0.0,
        scale: 0.0,
        slack: 1.0,
    };

    /// Relative errors of 2^-24 come from the scale, the difference and the product; an absolute one from an origin that is no
    /// `f32`. The edges are off their line by roundings of `f64` near the bounds. Each is counted a few times over.
    fn new(bins: &Bins, Uniform { width, inverse }: Uniform, single: bool) -> Self {
        let (low, high) = bins.range();
        // So that no `f32` in between overflows, or loses bits at its small end.
        let ordinary = |x: f64| (-80.0..80.0).contains(&x.abs().log2());
        if bins.len() > MOST_GUESSED || !ordinary(width) {
            return Self::NONE;
        }
        let origin = if single { f64::from(low as f32) } else { low };
        let largest = low.abs().max(high.abs());
        let slack = bins.len() as f64 * 2_f64.powi(-21)
            + (origin - low).abs() * inverse * 1.5
            + largest * inverse * 2_f64.powi(-48)
            + 2_f64.powi(-18);
        if slack >= 0.5 {
            return Self::NONE;
        }
        Self {
            origin,
            scale: f64::from(inverse as f32),
            // Rounded up once more, as the kernel holds it in `f32`.
            slack: f64::from(not_below(slack)),
        }
    }
}

/// Copies of each counter in shared memory: a power of two, or none where the counters do not fit.
fn copies(bins: usize) -> usize {
    match COUNTERS / bins {
        0 => 0,
        room => (1 << room.ilog2()).min(LANES),
    }
}

/// Adds to the counts at `counts`. `edges` is the address of the table, 0 for uniform bins.
fn launch<T: Countable>(
    source: u64,
    counts: u64,
    edges: u64,
    groups: &Groups,
    bins: &Bins,
    device: &Device,
    stream: &Stream,
) -> Result<()> {
    let each = bins.len();
    if u32::try_from(each).map_or(true, |each| each >= u32::MAX - 1) {
        return Err(Error::invalid(
            "histogram",
            "bins",
            each,
            "fewer than 2^32 - 2 on a device",
        ));
    }
    let size = size_of::<T>();
    let kernels = T::KERNEL;
    let members = groups.members.clone().scaled([size]);
    let firsts = groups.firsts().scaled([size]);
    let src = source.wrapping_add_signed(firsts.start[0] as i64);
    let line = members.len.len() <= 1;
    let stride = members.stride.last().map_or(0, |stride| stride[0]);
    let aligned = src.is_multiple_of(WIDE as u64)
        && (firsts.stride.iter()).all(|stride| stride[0].unsigned_abs().is_multiple_of(WIDE));
    let pack = (kernels.pack_line).filter(|_| line && aligned && stride == size.cast_signed());
    let entry = pack.unwrap_or(if line {
        kernels.one_line
    } else {
        kernels.one_axes
    });
    let wanted = (device.multiprocessors() as usize * PARTS_WANTED).div_ceil(groups.count);
    let part = groups
        .size
        .div_ceil(wanted)
        .max(LEAST.max(each.saturating_mul(8)))
        .min(MOST)
        .next_multiple_of(WIDE);
    let parts = groups.size.div_ceil(part);
    let (low, high) = bins.range();
    let (first, last) = if kernels.single {
        (f64::from(not_below(low)), f64::from(not_above(high)))
    } else {
        (low, high)
    };
    let spacing = bins.spacing();
    let guess = spacing.map_or(Guess::NONE, |uniform| {
        Guess::new(bins, uniform, kernels.single)
    });
    let params = Params {
        src,
        dst: counts,
        n: groups.size as u64,
        outputs: groups.count as u64,
        parts: Divisor::new(parts as u64),
        part: part as u64,
        stride: if line { stride as i64 } else { 0 },
        bins: each as u64,
        copies: copies(each) as u64,
        edges,
        low,
        width: spacing.map_or(0.0, |uniform| uniform.width),
        inverse: spacing.map_or(0.0, |uniform| uniform.inverse),
        first,
        last,
        origin: guess.origin,
        scale: guess.scale,
        slack: guess.slack,
        reduced: if line {
            DeviceAxes::NONE
        } else {
            members.for_device("histogram", u64::from(THREADS))?
        },
        kept: firsts.for_device("histogram", 1)?,
    };
    let blocks = launch::blocks((groups.count as u64).saturating_mul(parts as u64));
    let kernel = KERNELS.kernel(entry)?;
    // SAFETY: `Params` mirrors the struct of every entry of histogram.cu (asserted above). The elements lie in the block by
    // the check of `View::new`, whose guard the caller holds; the counts have room for the bins of every group, and the
    // table, if there is one, an edge more than bins. All were made to wait for the stream and live until after the launch.
    unsafe { launch::run(kernel, stream, blocks, THREADS, params) }
}

#[cfg(test)]
mod tests {
    use super::{not_above, not_below};

    #[test]
    fn bounds_round_outwards_of_what_they_exclude() {
        for x in [
            0.0,
            0.1,
            -0.1,
            1e300,
            -1e300,
            1e-60,
            -1e-60,
            16_777_217.0,
            3.0,
        ] {
            let (up, down) = (f64::from(not_below(x)), f64::from(not_above(x)));
            assert!(down <= x && x <= up, "{x}");
            assert!(f64::from(not_below(x).next_down()) < x, "{x}");
            assert!(f64::from(not_above(x).next_up()) > x, "{x}");
        }
    }
}
