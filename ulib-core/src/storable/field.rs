//! [`Field`]: one named part of a record.

use super::DeviceStorable;
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};

/// One field of a record: its name, its type, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name as declared.
    pub name: &'static str,
    /// The type of the field.
    pub dtype: DType,
    /// Bytes from the start of the record.
    pub offset: usize,
}

/// The field of `T` called `name`, by exact case; `outer.inner` reaches into a record inside a record.
///
/// The offset of the answer counts from the start of `T`, its name is the innermost one.
/// Together with [`Layout::field_view`](crate::Layout::field_view) it makes the strided view of one field.
///
/// ```
/// use ulib_core::{device_storable, field_of};
/// device_storable! { pub struct Point { pub X: f32, pub Y: f32 } }
/// device_storable! { pub struct Line { pub Origin: Point, pub Direction: Point } }
///
/// assert_eq!(field_of::<Line>("Direction")?.offset, 8);
/// assert_eq!(field_of::<Line>("Direction.Y")?.offset, 12);
/// let error = field_of::<Line>("origin").unwrap_err();
/// assert_eq!(error.to_string(), "Line has no field 'origin', only Origin, Direction");
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// # Errors
/// Kind [`Index`](ErrorKind::Index), listing the names that exist.
pub fn field_of<T: DeviceStorable>(name: &str) -> Result<Field> {
    let mut found: Option<Field> = None;
    for part in name.split('.') {
        let (dtype, start) = found.map_or((T::DTYPE, 0), |field| (field.dtype, field.offset));
        let field = dtype
            .fields()
            .iter()
            .find(|field| field.name == part)
            .ok_or_else(|| no_field(dtype, part))?;
        found = Some(Field {
            offset: start + field.offset,
            ..*field
        });
    }
    found.ok_or_else(|| no_field(T::DTYPE, name))
}

fn no_field(dtype: DType, name: &str) -> Error {
    let names: Vec<&str> = dtype.fields().iter().map(|field| field.name).collect();
    let name = name.escape_debug();
    let message = if names.is_empty() {
        format!("{dtype} has no field '{name}': it has no fields")
    } else {
        format!("{dtype} has no field '{name}', only {}", names.join(", "))
    };
    Error::new(ErrorKind::Index, message)
}
