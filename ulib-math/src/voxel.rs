//! Voxels: records with a `Value`.

use ulib_core::{DType, DeviceStorable, Error, Field, Result, device_storable, field_of};

/// An element of a voxel image: a record with one `f32` that counts as *the* value.
///
/// # Contract
/// 1. [`value_field`](Voxel::value_field) names an `f32` that lies inside the record.
/// 2. Its offset and the size of the record are multiples of 4 bytes, so that the values of an
///    image form one strided `f32` array.
///
/// The contract is checked where an image is made; a voxel that breaks it is a `DType` or `Layout`
/// error there, never undefined behaviour.
///
/// A record declared with [`device_storable!`](ulib_core::device_storable) that has a field called
/// `Value` needs no code:
///
/// ```
/// use ulib_math::{VoxImage, Voxel};
///
/// ulib_core::device_storable! {
///     /// A voxel with a weight.
///     pub struct Weighted { pub Weight: f32, pub Value: f32, pub Hits: u32 }
/// }
/// impl Voxel for Weighted {}
///
/// let mut image = VoxImage::<Weighted>::new([2, 2, 2])?;
/// image.set_value(3, 1.5)?;
/// assert_eq!(image.voxel(3)?.Value, 1.5);
/// assert_eq!(image.values_view()?.layout().strides(), [3]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub trait Voxel: DeviceStorable {
    /// The field that is the value; by default the one called `Value`.
    ///
    /// # Errors
    /// `Index` when the record has no such field.
    fn value_field() -> Result<Field> {
        field_of::<Self>("Value")
    }
}

device_storable! {
    /// The default voxel, 8 bytes: a value, and how many measurements it rests on.
    ///
    /// Operations on images touch the `Value` alone; `Count` keeps its bits.
    #[derive(Debug, Default, PartialEq)]
    pub struct VoxelValueCount {
        /// The value.
        pub Value: f32,
        /// How many measurements the value rests on.
        pub Count: u32,
    }
}

impl Voxel for VoxelValueCount {}

device_storable! {
    /// The plain voxel, 4 bytes: a value and nothing else.
    #[derive(Debug, Default, PartialEq)]
    pub struct VoxelValue {
        /// The value.
        pub Value: f32,
    }
}

impl Voxel for VoxelValue {}

/// Where the values lie in an array of voxels, in `f32` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValuePlace {
    /// Elements before the first value.
    pub(crate) offset: usize,
    /// Elements from one value to the next; at least 1.
    pub(crate) step: usize,
}

impl ValuePlace {
    /// The place of the values of voxel type `V`, its contract checked.
    pub(crate) fn of<V: Voxel>() -> Result<Self> {
        let field = V::value_field()?;
        if field.dtype != DType::F32 {
            return Err(Error::dtype("voxel value", field.dtype, DType::F32));
        }
        let (size, item) = (size_of::<V>(), size_of::<f32>());
        let inside = field
            .offset
            .checked_add(item)
            .is_some_and(|end| end <= size);
        if !inside || !field.offset.is_multiple_of(item) || !size.is_multiple_of(item) {
            return Err(Error::layout(
                "voxel value",
                format!(
                    "an f32 at byte {} of a voxel of {size} bytes is not part of a strided f32 array",
                    field.offset
                ),
            ));
        }
        Ok(ValuePlace {
            offset: field.offset / item,
            step: size / item,
        })
    }
}
