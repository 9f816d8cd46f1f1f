//! [`RecordType`]: the description of a struct whose bytes are the whole of it.

use crate::storable::Field;

/// A struct as [`device_storable!`](crate::device_storable) recorded it.
///
/// ```
/// use ulib_core::{DType, DeviceStorable, device_storable};
/// device_storable! { pub struct Voxel { pub Value: f32, pub Count: u32 } }
///
/// let DType::Record(record) = Voxel::dtype() else { unreachable!() };
/// assert_eq!((record.name, record.size, record.alignment), ("Voxel", 8, 4));
/// assert_eq!(record.field("Count").unwrap().offset, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordType {
    /// The name of the struct.
    pub name: &'static str,
    /// Bytes of one record.
    pub size: usize,
    /// Alignment of one record on the host, in bytes.
    pub alignment: usize,
    /// The declared fields, in the order of their declaration.
    pub fields: &'static [Field],
}

impl RecordType {
    /// The field called `name`, by exact case.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().copied().find(|field| field.name == name)
    }
}
