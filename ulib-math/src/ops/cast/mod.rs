//! [`cast()`], [`cast_into`]: the same numbers as another type.

mod convert;
mod device;
mod host;

pub use convert::Castable;
#[doc(hidden)]
pub use convert::Kind;
use ulib_core::{Error, Result};

use super::axes::Axes;
use super::place::{self, Place};
use crate::view::{Array, View, ViewMut, elements, elements_mut};

/// The elements of `view` as another type.
///
/// # Definition
/// `result[i] = view[i] as B` for every index `i`, with the meaning of Rust's `as`, which is extended to [`f16`] and [`bf16`]:
///
/// | from | to | result |
/// |---|---|---|
/// | an integer | an integer | the low bits: a wider type extends the sign, a narrower one wraps |
/// | a float | an integer | without its fraction, towards zero; beyond the ends the end; NaN gives 0 |
/// | any | a float | the nearest number, of two equally near the one with an even mantissa; beyond the largest by half a step or more, infinity |
/// | infinity | a float | infinity of the same sign |
/// | NaN | a float | NaN |
///
/// Numbers are rounded once, from their exact value: an `f64` to `f16`, and an `i64` to `bf16`, by way of no other float.
/// A cast to the same type, and one between integers of the same size, is a [`copy`](super::copy()).
///
/// [`f16`]: https://docs.rs/half/latest/half/struct.f16.html
/// [`bf16`]: https://docs.rs/half/latest/half/struct.bf16.html
///
/// # Shapes
/// Any shape and strides, empty ones included. The result has the shape of `view`, in C order.
///
/// # Placement
/// Where the block of `view` is, no scratch; the result is made there. Packed elements are read and written 16 bytes of the
/// wider side at a time there.
///
/// # Precision
/// Bit-identical on the host and on any device, but for the payload and the sign of a NaN.
///
/// # Errors
/// Kind `OutOfMemory` when there is no room for the result; whatever reaching the data gives.
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let numbers = Block::from_slice(&[1.9_f32, -1.9, 300.0, f32::NAN])?;
/// let bytes = ops::cast::<f32, u8>(&View::flat(&numbers)?)?;
/// assert_eq!(bytes.to_array()?, ndarray::arr1(&[1, 0, 255, 0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "astype")]
#[doc(alias = "convert")]
pub fn cast<A: Castable, B: Castable>(view: &View<'_, A>) -> Result<Array<B>> {
    place::new_array(view.block(), view.shape(), |out| cast_into(view, out))
}

/// [`cast()`] into an output of any strides.
///
/// # Errors
/// As [`cast()`]; kind `Shape` when the shapes differ, `Residency` when the blocks are to be used in different places. The
/// output stays as it was, but for the exception that [`add()`](super::add()) names.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::{View, ViewMut}};
///
/// // Counts become the values of voxels, beside what else there is of a voxel.
/// let counts = Block::from_slice(&[3_u16, 7])?;
/// let mut voxels = Block::from_slice(&[0.0_f32, 0.5, 0.0, 0.5])?;
/// let values = ViewMut::<f32>::new(&mut voxels, Layout::new(vec![2], vec![2], 0)?)?;
/// ops::cast_into(&View::<u16>::flat(&counts)?, values)?;
/// assert_eq!(View::<f32>::flat(&voxels)?.to_array()?, ndarray::arr1(&[3.0, 0.5, 7.0, 0.5]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn cast_into<A: Castable, B: Castable>(
    view: &View<'_, A>,
    mut out: ViewMut<'_, B>,
) -> Result<()> {
    if view.shape() != out.shape() {
        return Err(Error::shape("cast_into", view.shape(), out.shape()));
    }
    if out.is_empty() {
        return Ok(());
    }
    let mut place = Place::of("cast_into", &[("view", view.block()), ("out", out.block())])?;
    if keeps_bits::<A, B>() {
        // A record of its own says where the copy ran.
        return View::<B>::new(view.block(), view.layout().clone())
            .and_then(|view| super::copy(&view, out))
            .map_err(|error| error.context("cast_into"));
    }
    let done = match place.device() {
        Some(device) => match device::cast(view, &mut out, device) {
            Ok(false) => {
                place.ran_on_host();
                on_host(view, &mut out)
            }
            done => done.map(drop),
        },
        None => on_host(view, &mut out),
    };
    place.finish(&[("view", view.block()), ("out", out.block())], done)
}

/// Whether the result of a cast has the bits of its source.
fn keeps_bits<A: Castable, B: Castable>() -> bool {
    let integers = A::KIND.is_integer() && B::KIND.is_integer();
    A::KIND == B::KIND || integers && size_of::<A>() == size_of::<B>()
}

fn on_host<A: Castable, B: Castable>(view: &View<'_, A>, out: &mut ViewMut<'_, B>) -> Result<()> {
    let bytes = view.block().read()?;
    let axes = Axes::new([view.layout(), out.layout()], 1);
    let mut guard = if out.is_whole() {
        out.block_mut().overwrite()?
    } else {
        out.block_mut().write()?
    };
    host::cast(
        elements::<A>(&bytes)?,
        elements_mut::<B>(&mut guard)?,
        &axes,
    );
    guard.commit()
}
