//! An element type of one crate as one of the others.
#![allow(unsafe_code, reason = "says what the traits of three crates ask for")]

use bytemuck::{Pod, Zeroable};
use ulib_core::{DType, DeviceStorable, Storable};

/// `T`, with the traits by which cudarc and cust know what may go to a device (each with its feature). Numbers have them
/// without it; a record of [`device_storable!`](ulib_core::device_storable) gets them here, since only the crate of a trait or
/// of a type can say that they belong together.
///
/// # Examples
/// ```
/// use ulib_bridge::Element;
/// use ulib_core::{DeviceStorable, device_storable};
///
/// device_storable! {
///     /// A voxel.
///     #[derive(Debug, PartialEq)]
///     pub struct Voxel { pub value: f32, pub count: u32 }
/// }
/// assert_eq!(Element::<Voxel>::dtype(), Voxel::dtype());
/// let voxel = Element(Voxel { value: 1.5, count: 2 });
/// assert_eq!(voxel.0.count, 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Element<T>(pub T);

// SAFETY: all bytes zero are a value of `T`, and this is nothing but a `T`.
unsafe impl<T: DeviceStorable> Zeroable for Element<T> {}
// SAFETY: `T` is `Pod`, and this is nothing but a `T`.
unsafe impl<T: DeviceStorable> Pod for Element<T> {}

impl<T: DeviceStorable> Storable for Element<T> {}

impl<T: DeviceStorable> DeviceStorable for Element<T> {
    const DTYPE: DType = T::DTYPE;
}

// SAFETY: cudarc asks for what may be copied as bytes to the device and passed to a kernel by value, which `Pod` is.
#[cfg(feature = "cudarc")]
unsafe impl<T: DeviceStorable> ::cudarc::driver::DeviceRepr for Element<T> {}

// SAFETY: all bytes zero are a value, since it is `Zeroable`.
#[cfg(feature = "cudarc")]
unsafe impl<T: DeviceStorable> ::cudarc::driver::ValidAsZeroBits for Element<T> {}

// SAFETY: cust asks for what holds no references to the host's memory, which `Pod` does not.
#[cfg(feature = "cust")]
unsafe impl<T: DeviceStorable> ::cust::memory::DeviceCopy for Element<T> {}
