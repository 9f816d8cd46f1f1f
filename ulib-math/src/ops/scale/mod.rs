//! [`scale()`]: every element times a factor.

mod device;
mod host;

use ulib_core::Result;

use super::axes::Axes;
use super::element::Element;
use super::place::Place;
use crate::view::ViewMut;

/// Multiplies every element of `view` by `factor`, in place.
///
/// # Definition
/// `view[i] = view[i] * factor` for every index `i`. Integers wrap. Floating-point products are rounded once, to the
/// nearest, ties to even: NaN and infinities follow IEEE 754, and a zero's sign is the product of the signs.
///
/// # Shapes
/// Any shape and strides, empty ones included.
///
/// # Placement
/// Where the block is, no scratch. Bytes between the elements are not touched.
///
/// # Precision
/// Bit-identical on the host and on any device, but for the payload and the sign of a NaN.
///
/// # Errors
/// Whatever reaching the data gives, see [`Block::write`] and [`Block::device_write`].
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::{View, ViewMut}};
///
/// let mut block = Block::from_slice(&[1.5_f32, -2.0, 0.0])?;
/// ops::scale(ViewMut::<f32>::flat(&mut block)?, -2.0)?;
/// assert_eq!(View::<f32>::flat(&block)?.to_array()?, ndarray::arr1(&[-3.0, 4.0, -0.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// [`Block::write`]: ulib_device::block::Block::write
/// [`Block::device_write`]: ulib_device::block::Block::device_write
#[doc(alias = "multiply")]
pub fn scale<T: Element>(mut view: ViewMut<'_, T>, factor: T) -> Result<()> {
    if view.is_empty() {
        return Ok(());
    }
    let axes = Axes::new([view.layout()], 0);
    let place = Place::of("scale", &[("view", view.block())])?;
    let done = match place.device() {
        Some(device) => device::scale(&mut view, axes, factor, device),
        None => host::scale(&mut view, &axes, factor),
    };
    place.finish(&[("view", view.block())], done)
}
