//! copy on a device, to it and from it.
#![allow(unsafe_code, reason = "launches copy.cu")]

use ulib_core::{DeviceStorable, Layout, Residency, Result, bytemuck};
use ulib_device::memory::{Access, Scratch};
use ulib_device::{Device, Stream};

use super::host;
use crate::memory::zeros;
use crate::ops::axes::{Axes, DeviceAxes};
use crate::ops::form::WIDE;
use crate::ops::launch::{self, Library, THREADS};
use crate::view::{View, ViewMut};

static KERNELS: Library = Library::new(include_str!("copy.ptx"));

/// `CopyParams` of `copy.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: u64,
    dst: u64,
    units: u64,
    axes: DeviceAxes<2>,
}

const _: () = assert!(
    size_of::<Params>() == 24 + size_of::<DeviceAxes<2>>(),
    "mirrors copy.cu"
);

/// Elements of `size` bytes in device memory. Who makes one promises that what `layout` reaches from `pointer` on is valid
/// memory of the device it is used on, for as long as the launch it is used in.
pub(super) struct Source<'a> {
    pub(super) pointer: u64,
    pub(super) layout: &'a Layout,
    pub(super) size: usize,
}

/// One launch: `src` to `layout` from `dst` on, which is memory of the stream's device under the same promise.
fn spread(src: &Source<'_>, dst: u64, layout: &Layout, stream: &Stream) -> Result<()> {
    let mut axes = Axes::new([src.layout, layout], 1).scaled([src.size; 2]);
    axes.push_fastest(src.size, [1, 1]);
    let from = src.pointer.wrapping_add_signed(axes.start[0] as i64);
    let to = dst.wrapping_add_signed(axes.start[1] as i64);
    let fits = |unit: &usize| (0..2).all(|k| axes.holds_units(k, [from, to][k], 1, *unit));
    let unit = [WIDE, 8, 4, 2].into_iter().find(fits).unwrap_or(1);
    axes.in_units(unit)
        .pieces()
        .try_for_each(|axes| spread_units(&axes, src.pointer, dst, unit, stream))
}

fn spread_units(axes: &Axes<2>, src: u64, dst: u64, unit: usize, stream: &Stream) -> Result<()> {
    let units = axes.count();
    let line = axes.len.len() <= 1;
    let blocks = if line {
        launch::blocks_for_line(units)
    } else {
        launch::blocks_for_axes(stream.device(), units)
    };
    let step = u64::from(blocks) * u64::from(THREADS);
    let params = Params {
        src: src.wrapping_add_signed(axes.start[0] as i64),
        dst: dst.wrapping_add_signed(axes.start[1] as i64),
        units: units as u64,
        axes: axes.for_device("copy", step)?,
    };
    let entry = match unit {
        1 => "ulib_copy_1",
        2 => "ulib_copy_2",
        4 => "ulib_copy_4",
        8 => "ulib_copy_8",
        _ => "ulib_copy_16",
    };
    let kernel = KERNELS.kernel(entry)?;
    // SAFETY: `Params` mirrors the struct of every entry of copy.cu (asserted above); both sides are valid by the promise
    // of `Source` and of this function's caller, who also made the stream wait.
    unsafe { launch::run(kernel, stream, blocks, THREADS, params) }
}

/// `src` in C order in fresh memory.
fn pack(src: &Source<'_>, stream: &Stream) -> Result<Scratch> {
    let layout = Layout::contiguous(src.layout.shape())?;
    let packed = Scratch::take(stream, layout.len() * src.size)?;
    packed.use_on(stream, Access::Write)?;
    spread(src, packed.ptr(), &layout, stream)?;
    Ok(packed)
}

/// Spreads what lies packed in C order.
pub(crate) fn unpack<T: DeviceStorable>(
    packed: &Scratch,
    dst: &mut ViewMut<'_, T>,
    stream: &Stream,
) -> Result<()> {
    packed.use_on(stream, Access::Read)?;
    let layout = Layout::contiguous(dst.shape())?;
    copy_foreign_on(
        &Source {
            pointer: packed.ptr(),
            layout: &layout,
            size: size_of::<T>(),
        },
        dst,
        stream,
    )
}

fn copy_foreign_on<T: DeviceStorable>(
    src: &Source<'_>,
    dst: &mut ViewMut<'_, T>,
    stream: &Stream,
) -> Result<()> {
    let layout = dst.layout().clone();
    let whole = dst.is_whole();
    let block = dst.block_mut();
    let target = if whole {
        block.device_overwrite(stream)?
    } else {
        block.device_write(stream)?
    };
    spread(src, target.ptr(), &layout, stream)?;
    target.finish()
}

/// Both on `device`. Answers false where the source is not to be on its device any more.
pub(super) fn copy<T: DeviceStorable>(
    src: &View<'_, T>,
    dst: &mut ViewMut<'_, T>,
    device: &Device,
) -> Result<bool> {
    let stream = Stream::current(device);
    let Some(source) = src.block().device_read_if_placed(&stream)? else {
        return Ok(false);
    };
    copy_foreign_on(
        &Source {
            pointer: source.ptr(),
            layout: src.layout(),
            size: size_of::<T>(),
        },
        dst,
        &stream,
    )?;
    source.finish()?;
    Ok(true)
}

/// A foreign array on the device of `dst`.
pub(super) fn copy_foreign<T: DeviceStorable>(
    src: &Source<'_>,
    dst: &mut ViewMut<'_, T>,
    device: &Device,
) -> Result<()> {
    let stream = Stream::current(device);
    if overlaps(src, dst, &stream)? {
        // The threads of one launch would read what others of it have overwritten.
        return unpack(&pack(src, &stream)?, dst, &stream);
    }
    copy_foreign_on(src, dst, &stream)
}

/// Whether the bytes from the first to the last that `src` reaches meet those that `dst` reaches, both on the stream's device.
fn overlaps<T: DeviceStorable>(
    src: &Source<'_>,
    dst: &ViewMut<'_, T>,
    stream: &Stream,
) -> Result<bool> {
    if dst.block().residency() == Residency::HostNewer {
        // Nobody may be using what the device has of it.
        return Ok(false);
    }
    let target = dst.block().device_read(stream)?;
    let reach = |start: u64, layout: &Layout| {
        let (first, last) = layout.span()?;
        let at = |element: usize| start + (element * src.size) as u64;
        Some((at(first), at(last) + src.size as u64))
    };
    let meets = match (
        reach(src.pointer, src.layout),
        reach(target.ptr(), dst.layout()),
    ) {
        (Some(from), Some(to)) => from.0 < to.1 && to.0 < from.1,
        _ => false,
    };
    target.finish()?;
    Ok(meets)
}

/// From a block on `from` to one on `to`. Answers false where the source is not to be on its device any more.
pub(super) fn copy_between<T: DeviceStorable>(
    src: &View<'_, T>,
    dst: &mut ViewMut<'_, T>,
    from: &Device,
    to: &Device,
) -> Result<bool> {
    let stream = Stream::current(from);
    let Some(source) = src.block().device_read_if_placed(&stream)? else {
        return Ok(false);
    };
    copy_foreign_between(
        &Source {
            pointer: source.ptr(),
            layout: src.layout(),
            size: size_of::<T>(),
        },
        dst,
        from,
        to,
    )?;
    source.finish()?;
    Ok(true)
}

/// From an array on `from` to a block on `to`.
pub(super) fn copy_foreign_between<T: DeviceStorable>(
    src: &Source<'_>,
    dst: &mut ViewMut<'_, T>,
    from: &Device,
    to: &Device,
) -> Result<()> {
    let (stream, other) = (Stream::current(from), Stream::current(to));
    let packed = pack(src, &stream)?;
    let arrived = Scratch::take(&other, packed.len())?;
    ulib_device::copy::copy_device(
        arrived.bytes()?,
        0,
        packed.bytes()?,
        0,
        packed.len(),
        &stream,
    )?;
    unpack(&arrived, dst, &other)
}

/// Host elements to a block on `device`: packed on the host, sent, spread.
pub(super) fn copy_from_host<T: DeviceStorable + Copy>(
    src: &[T],
    layout: &Layout,
    dst: &mut ViewMut<'_, T>,
    device: &Device,
) -> Result<()> {
    let stream = Stream::current(device);
    let packed = Scratch::take(&stream, layout.len() * size_of::<T>())?;
    let first = layout.offset();
    if layout.is_contiguous() {
        let bytes = bytemuck::cast_slice(&src[first..first + layout.len()]);
        ulib_device::copy::upload(packed.bytes()?, 0, bytes, &stream)?;
    } else {
        let order = Layout::contiguous(layout.shape())?;
        let mut values = zeros::<T>(layout.len())?;
        host::copy(src, &mut values, &Axes::new([layout, &order], 1));
        ulib_device::copy::upload(packed.bytes()?, 0, bytemuck::cast_slice(&values), &stream)?;
    }
    unpack(&packed, dst, &stream)
}

/// A block on `device` to host elements: packed there, fetched. Answers false where the source is not to be on its device any more.
pub(super) fn copy_to_host<T: DeviceStorable + Copy>(
    src: &View<'_, T>,
    dst: &mut [T],
    layout: &Layout,
    device: &Device,
) -> Result<bool> {
    let stream = Stream::current(device);
    let Some(source) = src.block().device_read_if_placed(&stream)? else {
        return Ok(false);
    };
    fetch(
        &Source {
            pointer: source.ptr(),
            layout: src.layout(),
            size: size_of::<T>(),
        },
        dst,
        layout,
        &stream,
    )?;
    source.finish()?;
    Ok(true)
}

/// A device array to the elements of `dst` that `layout` reaches, and waits for them.
pub(super) fn fetch<T: DeviceStorable + Copy>(
    src: &Source<'_>,
    dst: &mut [T],
    layout: &Layout,
    stream: &Stream,
) -> Result<()> {
    let packed = pack(src, stream)?;
    let first = layout.offset();
    if layout.is_contiguous() {
        let to = bytemuck::cast_slice_mut(&mut dst[first..first + layout.len()]);
        return ulib_device::copy::download(packed.bytes()?, 0, to, stream);
    }
    let order = Layout::contiguous(layout.shape())?;
    let mut values = zeros::<T>(layout.len())?;
    ulib_device::copy::download(
        packed.bytes()?,
        0,
        bytemuck::cast_slice_mut(&mut values),
        stream,
    )?;
    host::copy(&values, dst, &Axes::new([&order, layout], 1));
    Ok(())
}
