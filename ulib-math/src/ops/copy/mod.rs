//! [`copy()`], [`copy_from_host`], [`copy_to_host`], [`copy_from_device`]: strided copies, wherever both sides are.

mod device;
mod host;

use ulib_core::{DeviceStorable, Error, IDeviceArray, Layout, Placement, Residency, Result};
use ulib_device::{Device, Stream};

pub(crate) use device::unpack;

use super::axes::Axes;
use super::place::Place;
use crate::memory::zeros;
use crate::view::{View, ViewMut, elements, elements_mut};

/// Copies `src` into `dst`.
///
/// # Definition
/// `dst[i] = src[i]` for every index `i`. Bytes of `dst`'s block that the view does not reach keep their value.
///
/// # Shapes
/// Equal shapes, any strides on both sides, empty ones included. Elements of any size.
///
/// # Placement
/// | source | target | how |
/// |---|---|---|
/// | host | host | the host copies |
/// | a device | the same device | one kernel, no host trip, does not wait |
/// | a device | another device | packed, sent to the other device, spread |
/// | a device | host | a small part of a block is packed and fetched; else the block is read |
/// | host | a device | into the host copy, if that is the newer one or the view is the whole block; else packed, sent, spread |
///
/// # Precision
/// Bits are not changed.
///
/// # Errors
/// Kind `Shape` when the shapes differ; whatever reaching the data gives.
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::{View, ViewMut}};
///
/// let src = Block::from_slice(&[1_u16, 2, 3, 4, 5, 6])?;
/// let mut dst = Block::zeroed(12)?;
/// let transposed = View::<u16>::new(&src, Layout::contiguous(&[2, 3])?)?.permute(&[1, 0])?;
/// ops::copy(&transposed, ViewMut::new(&mut dst, Layout::contiguous(&[3, 2])?)?)?;
/// assert_eq!(View::<u16>::flat(&dst)?.to_array()?, ndarray::arr1(&[1, 4, 2, 5, 3, 6]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "assign")]
pub fn copy<T: DeviceStorable + Copy>(src: &View<'_, T>, mut dst: ViewMut<'_, T>) -> Result<()> {
    same_shape("copy", src.shape(), dst.shape())?;
    if dst.is_empty() {
        return Ok(());
    }
    let blocks = [("source", src.block()), ("target", dst.block())];
    let mut place = Place::of_any("copy", &blocks);
    let done = match (src.block().target_device(), dst.block().target_device()) {
        (Some(from), Some(to)) if from.ordinal() == to.ordinal() => {
            device::copy(src, &mut dst, &to)
        }
        (Some(from), Some(to)) => {
            place.ran_on(Some(&to));
            device::copy_between(src, &mut dst, &from, &to)
        }
        _ => Ok(false),
    };
    let done = match done {
        Ok(true) => Ok(()),
        Ok(false) => {
            place.ran_on_host();
            by_the_host(src, dst.reborrow(), &mut place)
        }
        Err(error) => Err(error),
    };
    place.finish(&[("source", src.block()), ("target", dst.block())], done)
}

/// By way of host memory, where one side is at least.
fn by_the_host<T: DeviceStorable + Copy>(
    src: &View<'_, T>,
    mut dst: ViewMut<'_, T>,
    place: &mut Place,
) -> Result<()> {
    if dst.block().target_device().is_none() && is_small_part(src) {
        // The target is opened when the elements are here: a fetch that fails changes nothing.
        let (values, layout) = fetched(src.shape(), |values, layout| {
            to_host(src, values, layout, place)
        })?;
        return from_host(&values, &layout, &mut dst, place);
    }
    let bytes = src.block().read()?;
    from_host(elements::<T>(&bytes)?, src.layout(), &mut dst, place)
}

/// Copies the elements of a slice that `layout` reaches into `dst`: [`copy()`] from host memory that no block owns.
///
/// # Errors
/// As [`copy()`]; kind `Layout` when the layout reaches beyond the slice.
pub fn copy_from_host<T: DeviceStorable + Copy>(
    src: &[T],
    layout: &Layout,
    mut dst: ViewMut<'_, T>,
) -> Result<()> {
    same_shape("copy_from_host", layout.shape(), dst.shape())?;
    layout.check_within(src.len())?;
    if dst.is_empty() {
        return Ok(());
    }
    let mut place = Place::of_any("copy_from_host", &[("target", dst.block())]);
    let done = from_host(src, layout, &mut dst, &mut place);
    place.finish(&[("target", dst.block())], done)
}

/// The elements that `layout`, which was checked, reaches.
fn from_host<T: DeviceStorable + Copy>(
    src: &[T],
    layout: &Layout,
    dst: &mut ViewMut<'_, T>,
    place: &mut Place,
) -> Result<()> {
    let whole = dst.is_whole();
    match dst.block().target_device() {
        Some(device) if !whole && dst.block().residency() != Residency::HostNewer => {
            place.ran_on(Some(&device));
            place.sent(layout.len() * size_of::<T>());
            device::copy_from_host(src, layout, dst, &device)
        }
        _ => {
            place.ran_on_host();
            let axes = Axes::new([layout, dst.layout()], 1);
            let mut guard = if whole {
                dst.block_mut().overwrite()?
            } else {
                dst.block_mut().write()?
            };
            host::copy(src, elements_mut(&mut guard)?, &axes);
            guard.commit()
        }
    }
}

/// Copies `src` into the elements of a slice that `layout` reaches: [`copy()`] into host memory that no block owns.
///
/// # Errors
/// As [`copy()`]; kind `Layout` when the layout reaches beyond the slice or reaches an element twice.
pub fn copy_to_host<T: DeviceStorable + Copy>(
    src: &View<'_, T>,
    dst: &mut [T],
    layout: &Layout,
) -> Result<()> {
    same_shape("copy_to_host", src.shape(), layout.shape())?;
    layout.check_within(dst.len())?;
    layout.check_unaliased()?;
    if layout.is_empty() {
        return Ok(());
    }
    let blocks = [("source", src.block())];
    let mut place = Place::of_any("copy_to_host", &blocks);
    let done = to_host(src, dst, layout, &mut place);
    place.finish(&blocks, done)
}

/// The elements to where `layout`, which was checked, says.
fn to_host<T: DeviceStorable + Copy>(
    src: &View<'_, T>,
    dst: &mut [T],
    layout: &Layout,
    place: &mut Place,
) -> Result<()> {
    if is_small_part(src)
        && let Some(device) = src.block().target_device()
        && device::copy_to_host(src, dst, layout, &device)?
    {
        place.ran_on(Some(&device));
        place.fetched(layout.len() * size_of::<T>());
        return Ok(());
    }
    place.ran_on_host();
    let bytes = src.block().read()?;
    let axes = Axes::new([src.layout(), layout], 1);
    host::copy(elements::<T>(&bytes)?, dst, &axes);
    Ok(())
}

/// Copies a foreign device array into `dst`: on the same device by one kernel, to another device or to the host by way of
/// packed scratch. The source may be part of `dst`'s own memory, in any order: then it is packed first.
///
/// # Errors
/// As [`copy()`]; kind `DType` when the element types differ, `InvalidArgument` when `src` is host memory.
///
/// # Safety
/// 1. `src` keeps the contract of [`IDeviceArray`]: what its layout reaches from its pointer on is memory of its device.
/// 2. That memory stays valid until the copy is done: until the [current](Stream::current) stream of `dst`'s device has passed the call.
/// 3. Whatever still writes it is ordered before the current stream of `src`'s device.
#[allow(unsafe_code, reason = "reads memory that only the caller knows")]
pub unsafe fn copy_from_device<T: DeviceStorable + Copy>(
    src: &dyn IDeviceArray,
    mut dst: ViewMut<'_, T>,
) -> Result<()> {
    same_shape("copy_from_device", src.layout().shape(), dst.shape())?;
    // `dst` has elements of the size of `T::DTYPE`, by the check of `ViewMut::new`.
    if src.dtype() != T::DTYPE {
        return Err(Error::dtype("copy_from_device", src.dtype(), T::DTYPE));
    }
    let Placement::Device(ordinal) = src.placement() else {
        return Err(Error::invalid(
            "copy_from_device",
            "source",
            "on the host",
            "an array on a device",
        ));
    };
    if dst.is_empty() {
        return Ok(());
    }
    let from = Device::new(ordinal)?;
    let source = device::Source {
        pointer: src.pointer(),
        layout: src.layout(),
        size: size_of::<T>(),
    };
    let mut place = Place::of_any("copy_from_device", &[("target", dst.block())]);
    let done = match dst.block().target_device() {
        Some(to) if to.ordinal() == ordinal => device::copy_foreign(&source, &mut dst, &to),
        Some(to) => device::copy_foreign_between(&source, &mut dst, &from, &to),
        None => {
            place.fetched(dst.len() * size_of::<T>());
            fetch_foreign(&source, &from, &mut dst, &mut place)
        }
    };
    place.finish(&[("target", dst.block())], done)
}

/// A foreign array on `from` to a block that is worked on on the host.
fn fetch_foreign<T: DeviceStorable + Copy>(
    source: &device::Source<'_>,
    from: &Device,
    dst: &mut ViewMut<'_, T>,
    place: &mut Place,
) -> Result<()> {
    let stream = Stream::current(from);
    if dst.block().residency() == Residency::DeviceNewer {
        // The device has what would be lost if the fetch failed with the target open to be overwritten.
        let (values, layout) = fetched(dst.shape(), |values, layout| {
            device::fetch(source, values, layout, &stream)
        })?;
        return from_host(&values, &layout, dst, place);
    }
    let layout = dst.layout().clone();
    let mut guard = if dst.is_whole() {
        dst.block_mut().overwrite()?
    } else {
        dst.block_mut().write()?
    };
    device::fetch(source, elements_mut::<T>(&mut guard)?, &layout, &stream)?;
    guard.commit()
}

/// `dst[i] = src[i]` between host memory, with all threads. Whoever calls it has checked both layouts: equal shapes, inside
/// their slices, no element of `dst` twice.
pub(crate) fn between_slices<T: DeviceStorable + Copy>(
    src: &[T],
    from: &Layout,
    dst: &mut [T],
    to: &Layout,
) {
    host::copy(src, dst, &Axes::new([from, to], 1));
}

/// Whether to fetch the elements of a view rather than its block: less than half of it, and only the device has it.
fn is_small_part<T: DeviceStorable>(src: &View<'_, T>) -> bool {
    let block = src.block();
    src.len() < block.len() / size_of::<T>() / 2 && block.residency() == Residency::DeviceNewer
}

/// Elements in C order in fresh host memory, as `fetch` puts them there.
fn fetched<T: DeviceStorable>(
    shape: &[usize],
    fetch: impl FnOnce(&mut [T], &Layout) -> Result<()>,
) -> Result<(Vec<T>, Layout)> {
    let layout = Layout::contiguous(shape)?;
    let mut values = zeros(layout.len())?;
    fetch(&mut values, &layout)?;
    Ok((values, layout))
}

fn same_shape(op: &'static str, src: &[usize], dst: &[usize]) -> Result<()> {
    if src == dst {
        Ok(())
    } else {
        Err(Error::shape(op, src, dst))
    }
}
