//! Arrays of records and of their fields, from the field tables that the element types carry.

use ulib_core::words::counted;
use ulib_core::{DType, DeviceStorable, Error, Field, Layout, RecordType, Result, field_of};

/// A dtype taken apart: the number type and the axes it adds behind the axis of the elements.
///
/// A record whose fields are equal and follow each other without a gap is a vector of them, and
/// raw bytes are a vector of `u8`. Anything else stays what it is.
fn take_apart(dtype: DType) -> (DType, Vec<usize>) {
    match dtype {
        DType::Bytes(n) => (DType::U8, vec![n]),
        DType::Record(record) => match vector_of(record) {
            Some(item) => {
                let (scalar, inner) = take_apart(item);
                let mut axes = vec![record.fields.len()];
                axes.extend(inner);
                (scalar, axes)
            }
            None => (dtype, Vec::new()),
        },
        scalar => (scalar, Vec::new()),
    }
}

/// The common dtype of the fields of `record`, if it is a vector.
fn vector_of(record: &RecordType) -> Option<DType> {
    let first = record.fields.first()?.dtype;
    let equal =
        |(i, field): (usize, &Field)| field.dtype == first && field.offset == i * first.size();
    (record.fields.iter().enumerate().all(equal)
        && record.size == record.fields.len() * first.size())
    .then_some(first)
}

/// The array that `len` packed elements of type `T` are: numbers as they are, vectors with their
/// axes behind the axis of the elements, other records as their raw bytes, flat.
pub(crate) fn array_of_records<T: DeviceStorable>(len: usize) -> Result<(DType, Layout)> {
    let (scalar, axes) = take_apart(T::dtype());
    if let DType::Record(_) = scalar {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| too_long(len, size_of::<T>()))?;
        return Ok((DType::U8, Layout::contiguous(&[bytes])?));
    }
    let mut shape = vec![len];
    shape.extend(axes);
    Ok((scalar, Layout::contiguous(&shape)?))
}

/// The array of the field `name` of `len` packed elements of type `T`.
pub(crate) fn field_array<T: DeviceStorable>(len: usize, name: &str) -> Result<(DType, Layout)> {
    let field = field_of::<T>(name).or_else(|unknown| {
        // LineInOrigin for LineIn.origin: a name that Python can write as an attribute.
        field_names::<T>()
            .iter()
            .find(|path| path.contains('.') && joined(path) == name)
            .ok_or(unknown)
            .and_then(|path| field_of::<T>(path))
    })?;
    strided(len, size_of::<T>(), field)
}

/// A path without its dots, each part but the first with its first letter in capitals.
fn joined(path: &str) -> String {
    let mut name = String::new();
    for (i, part) in path.split('.').enumerate() {
        let mut letters = part.chars();
        match letters.next() {
            Some(first) if i > 0 => name.extend(first.to_uppercase()),
            Some(first) => name.push(first),
            None => {}
        }
        name.extend(letters);
    }
    name
}

/// The array of one field in `len` records of `record` bytes.
fn strided(len: usize, record: usize, field: Field) -> Result<(DType, Layout)> {
    let (mut scalar, mut axes) = take_apart(field.dtype);
    let size = scalar.size();
    if matches!(scalar, DType::Record(_))
        || !record.is_multiple_of(size)
        || !field.offset.is_multiple_of(size)
    {
        // No array of whole numbers reaches this field, so it is shown as its bytes.
        (scalar, axes) = (DType::U8, vec![field.dtype.size()]);
    }
    let step =
        |bytes: usize| isize::try_from(bytes / scalar.size()).map_err(|_| too_long(len, record));
    let mut strides = vec![step(record)?];
    for axis in 0..axes.len() {
        let inner: usize = axes[axis + 1..].iter().product();
        strides.push(step(inner * scalar.size())?);
    }
    let mut shape = vec![len];
    shape.extend(axes);
    let layout = Layout::new(shape, strides, field.offset / scalar.size())?;
    Ok((scalar, layout))
}

/// The names of the fields of `T`, each record followed by what is in it; vectors are not opened.
pub(crate) fn field_names<T: DeviceStorable>() -> Vec<String> {
    fn collect(prefix: &str, fields: &[Field], names: &mut Vec<String>) {
        for field in fields {
            let name = format!("{prefix}{}", field.name);
            names.push(name.clone());
            if let DType::Record(record) = field.dtype {
                let opaque =
                    vector_of(record).is_some_and(|item| !matches!(item, DType::Record(_)));
                if !opaque {
                    collect(&format!("{name}."), record.fields, names);
                }
            }
        }
    }
    let mut names = Vec::new();
    collect("", T::fields(), &mut names);
    names
}

/// The refusal of an array whose bytes do not fit.
fn too_long(len: usize, record: usize) -> Error {
    Error::overflow(
        "array of records",
        format_args!("{len} elements of {}", counted(record, "byte")),
    )
}
