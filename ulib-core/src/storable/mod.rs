//! [`Storable`] and [`DeviceStorable`]: what collections may hold, and what may go to a device.

mod bool8;
mod field;
mod impls;
mod macros;

#[cfg(test)]
mod tests;

pub use bool8::Bool8;
pub use field::{Field, field_of};

use crate::dtype::DType;

/// An element that a collection may hold.
///
/// Not implemented for every type on purpose: an element type is part of a file format and of a
/// Python class, so somebody decides it. A type that owns something elsewhere (a path, a name, a `Vec`)
/// is `Storable` only; it lives on the host, and every question about a device is answered with
/// [`Reason::NotDeviceStorable`](crate::Reason::NotDeviceStorable).
///
/// ```
/// #[derive(Clone)]
/// struct Event { path: Vec<[f32; 3]>, name: String }
/// impl ulib_core::Storable for Event {}
/// ```
pub trait Storable: Clone + Send + Sync + 'static {}

/// An element whose bytes are the whole of it: they can go to a device and come back.
///
/// The contract:
///
/// 1. The type is [`bytemuck::Pod`]: every bit pattern is a valid value (a kernel may write any), there
///    is no padding, and there is no pointer inside. So `bool` and `char` are excluded; see
///    [`Bool8`].
/// 2. [`DTYPE`](Self::DTYPE) has the size and the alignment of the type.
/// 3. If `DTYPE` is a [`Record`](DType::Record), each of its fields lies at its offset, with its type,
///    and no two overlap.
/// 4. The size is not zero.
///
/// Implement it with [`device_storable!`](crate::device_storable), which checks all four when the program is compiled.
/// Condition 1 is guaranteed by `Pod`. The others are promises of a safe trait: unsafe code relies on
/// `size_of` and `align_of` of the type, never on `DTYPE`.
///
/// ```
/// use ulib_core::{DType, DeviceStorable, device_storable};
///
/// device_storable! {
///     /// A voxel.
///     #[derive(Debug, PartialEq)]
///     pub struct Voxel { pub Value: f32, pub Count: u32 }
/// }
/// assert_eq!(Voxel::fields()[1].offset, 4);
/// assert!(f32::fields().is_empty());
/// ```
pub trait DeviceStorable: Storable + bytemuck::Pod {
    /// The type at run time, as a constant.
    const DTYPE: DType;

    /// The type at run time.
    fn dtype() -> DType {
        Self::DTYPE
    }

    /// The declared fields, in order; empty for everything that is not a record.
    fn fields() -> &'static [Field] {
        Self::DTYPE.fields()
    }
}
