//! [`fill()`]: every element becomes one value.

mod device;
mod host;

use ulib_core::{DeviceStorable, Result};

use super::axes::Axes;
use super::place::Place;
use crate::view::ViewMut;

/// Sets every element of `view` to `value`.
///
/// # Definition
/// `view[i] = value` for every index `i`.
///
/// # Shapes
/// Any shape and strides, empty ones included. Elements of any size; 1, 2, 4, 8 and 16 bytes are written whole, others in
/// the largest pieces that divide them.
///
/// # Placement
/// Where the block is, no scratch. A view of every byte of its block does not fetch or upload the old content; bytes between
/// the elements of any other view keep their value.
///
/// # Precision
/// The bits of `value`, those of a NaN included.
///
/// # Errors
/// Whatever reaching the data gives, see [`Block::write`] and [`Block::device_write`].
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
/// // Four voxels of a value and a count: fill the values.
/// let mut block = Block::from_slice(&[1_u32, 10, 2, 20, 3, 30, 4, 40])?;
/// ops::fill(ViewMut::<u32>::new(&mut block, Layout::new(vec![4], vec![2], 0)?)?, 7)?;
/// assert_eq!(View::<u32>::flat(&block)?.to_array()?, ndarray::arr1(&[7, 10, 7, 20, 7, 30, 7, 40]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// [`Block::write`]: ulib_device::block::Block::write
/// [`Block::device_write`]: ulib_device::block::Block::device_write
pub fn fill<T: DeviceStorable + Copy>(mut view: ViewMut<'_, T>, value: T) -> Result<()> {
    if view.is_empty() {
        return Ok(());
    }
    let axes = Axes::new([view.layout()], 0);
    let place = Place::of("fill", &[("view", view.block())])?;
    let done = match place.device() {
        Some(device) => device::fill(&mut view, axes, value, device),
        None => host::fill(&mut view, &axes, value),
    };
    place.finish(&[("view", view.block())], done)
}
