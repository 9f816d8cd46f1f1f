//! [`device_storable!`](crate::device_storable): declaring a record once, with its field table.

/// Declares a struct as an element whose bytes are the whole of it.
///
/// # First form: a new struct
///
/// The struct gets `#[repr(C)]`, `Clone`, `Copy`, [`Zeroable`](bytemuck::Zeroable),
/// [`Pod`](bytemuck::Pod), [`Storable`](crate::Storable) and [`DeviceStorable`](crate::DeviceStorable) with
/// its field table. Attributes, documentation and visibilities pass through; `Clone` and `Copy` must not be derived again.
///
/// ```
/// use ulib_core::{DType, DeviceStorable, Field, device_storable};
///
/// device_storable! {
///     /// What one voxel holds.
///     #[derive(Debug, PartialEq)]
///     pub struct Voxel {
///         /// The density.
///         pub Value: f32,
///         /// How often it was hit.
///         pub Count: u32,
///     }
/// }
///
/// let voxel = Voxel { Value: 1.5, Count: 2 };
/// assert_eq!(bytemuck::bytes_of(&voxel), [0, 0, 0xc0, 0x3f, 2, 0, 0, 0]);
/// assert_eq!(
///     Voxel::fields(),
///     [
///         Field { name: "Value", dtype: DType::F32, offset: 0 },
///         Field { name: "Count", dtype: DType::U32, offset: 4 },
///     ],
/// );
/// # use ulib_core::bytemuck;
/// ```
///
/// Crates that forbid unsafe code can use it:
///
/// ```
/// #![forbid(unsafe_code)]
/// ulib_core::device_storable! { struct Sample { Time: f64, Channel: u32, Reserved: [u8; 4] } }
/// # assert_eq!(<Sample as ulib_core::DeviceStorable>::dtype().size(), 16);
/// ```
///
/// A field that is not `DeviceStorable` itself does not compile:
///
/// ```compile_fail,E0277
/// ulib_core::device_storable! { pub struct Event { pub Path: String } }
/// ```
///
/// nor does `bool` (use [`Bool8`](crate::Bool8)):
///
/// ```compile_fail,E0277
/// ulib_core::device_storable! { pub struct Flag { pub On: bool } }
/// ```
///
/// nor padding, which has no defined bytes (declare it as a field of type `[u8; N]`):
///
/// ```compile_fail,E0080
/// ulib_core::device_storable! { pub struct Padded { pub Short: u8, pub Long: u32 } }
/// ```
///
/// nor a struct without fields:
///
/// ```compile_fail,E0080
/// ulib_core::device_storable! { pub struct Nothing {} }
/// ```
///
/// # Second form: a type that is `Pod` already
///
/// Lists the fields that views may be made of, with their types, in the order of their offsets; fields may be left out.
///
/// ```
/// use ulib_core::{DeviceStorable, device_storable, bytemuck::{Pod, Zeroable}};
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Sample { time: f64, channel: u32, reserved: u32 }
/// // SAFETY: repr(C), plain numbers, no padding.
/// unsafe impl Zeroable for Sample {}
/// // SAFETY: the same.
/// unsafe impl Pod for Sample {}
///
/// device_storable! { impl Sample { time: f64, channel: u32 } }
/// assert_eq!(Sample::dtype().size(), 16);
/// assert_eq!(Sample::fields().len(), 2);
/// ```
///
/// The type must be `Pod`:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Sample { time: f64 }
/// ulib_core::device_storable! { impl Sample { time: f64 } }
/// ```
///
/// and the listed types must be the real ones:
///
/// ```compile_fail,E0308
/// # use ulib_core::bytemuck::{Pod, Zeroable};
/// # #[derive(Clone, Copy)]
/// # #[repr(C)]
/// # struct Sample { time: f64 }
/// # // SAFETY: repr(C), plain numbers, no padding.
/// # unsafe impl Zeroable for Sample {}
/// # // SAFETY: the same.
/// # unsafe impl Pod for Sample {}
/// ulib_core::device_storable! { impl Sample { time: u64 } }
/// ```
#[macro_export]
macro_rules! device_storable {
    (
        impl $ty:ident { $( $field:ident : $field_ty:ty ),* $(,)? }
    ) => {
        const _: () = {
            $(
                // The listed type is the real one; by value, so packed structs work too.
                const _: fn($ty) -> $field_ty = |value| value.$field;
            )*
        };
        $crate::device_storable!(@table $ty { $( $field : $field_ty ),* });
    };

    (
        $(#[$meta:meta])*
        $vis:vis struct $ty:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $field_ty:ty ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        #[allow(non_snake_case, reason = "field names are those of the file formats and of Python")]
        $vis struct $ty {
            $( $(#[$field_meta])* $field_vis $field : $field_ty, )*
        }

        const _: () = {
            // With every field DeviceStorable (checked by the table below), this is all of `Pod`.
            const FIELDS_TOTAL: usize = 0 $( + ::core::mem::size_of::<$field_ty>() )*;
            assert!(
                FIELDS_TOTAL == ::core::mem::size_of::<$ty>(),
                concat!(
                    stringify!($ty),
                    " has padding, whose bytes are not defined: declare it as a field of type [u8; N]",
                ),
            );
        };

        // SAFETY: every field is DeviceStorable, hence Pod, hence valid when all zero; the table below
        // does not compile otherwise.
        unsafe impl $crate::bytemuck::Zeroable for $ty {}

        // SAFETY: repr(C), Copy, every field Pod (the table below does not compile otherwise), and the
        // assertion above proved that the fields leave no padding.
        unsafe impl $crate::bytemuck::Pod for $ty {}

        $crate::device_storable!(@table $ty { $( $field : $field_ty ),* });
    };

    (@table $ty:ident { $( $field:ident : $field_ty:ty ),* }) => {
        impl $crate::Storable for $ty {}

        impl $crate::DeviceStorable for $ty {
            const DTYPE: $crate::DType = {
                const FIELDS: &[$crate::Field] = &[
                    $( $crate::Field {
                        name: stringify!($field),
                        dtype: <$field_ty as $crate::DeviceStorable>::DTYPE,
                        offset: ::core::mem::offset_of!($ty, $field),
                    }, )*
                ];
                const RECORD: &$crate::RecordType = &$crate::RecordType {
                    name: stringify!($ty),
                    size: ::core::mem::size_of::<$ty>(),
                    alignment: ::core::mem::align_of::<$ty>(),
                    fields: FIELDS,
                };
                $crate::DType::Record(RECORD)
            };
        }

        const _: () = assert!(
            ::core::mem::size_of::<$ty>() > 0
                && <$ty as $crate::DeviceStorable>::DTYPE.size() > 0,
            concat!(stringify!($ty), " has no bytes"),
        );
    };
}
