//! [`DType`]: what one element is, at run time.

mod cuda;
mod record;
mod typestr;

#[cfg(test)]
mod tests;

use std::fmt;

pub use record::RecordType;

use crate::storable::Field;

/// The type of one element. Its size is never zero for a type that a collection can hold.
///
/// ```
/// use ulib_core::{DType, DeviceStorable};
/// assert_eq!(f32::dtype(), DType::F32);
/// assert_eq!(DType::F32.size(), 4);
/// assert_eq!(DType::F32.typestr(), "<f4");
/// assert_eq!(DType::F32.cuda_name(), "float");
/// assert_eq!(<[u8; 144]>::dtype().to_string(), "bytes[144]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// One byte, 0 or 1 when well formed: see [`Bool8`](crate::Bool8).
    Bool,
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
    /// Signed integer of 64 bits.
    I64,
    /// Unsigned integer of 8 bits.
    U8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Unsigned integer of 64 bits.
    U64,
    /// IEEE 754 binary16: `half::f16`.
    F16,
    /// The upper half of a binary32: `half::bf16`.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Two [`F32`](Self::F32), real part first.
    Complex64,
    /// Two [`F64`](Self::F64), real part first.
    Complex128,
    /// That many bytes without a meaning.
    Bytes(usize),
    /// A struct declared with [`device_storable!`](crate::device_storable).
    Record(&'static RecordType),
}

impl DType {
    /// Bytes of one element, padding at its end included.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
            Self::Bytes(count) => count,
            Self::Record(record) => record.size,
        }
    }

    /// The alignment in bytes that the element has on the host.
    ///
    /// CUDA's own `float2` and `double2` want their full size; a complex number here is aligned as its parts
    /// are, so kernels that read one whole must check the address first.
    pub const fn alignment(self) -> usize {
        match self {
            Self::Complex64 => 4,
            Self::Complex128 => 8,
            Self::Bytes(_) => 1,
            Self::Record(record) => record.alignment,
            scalar => scalar.size(),
        }
    }

    /// True for real floating-point types of any width; false for complex ones.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// True for complex types.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex64 | Self::Complex128)
    }

    /// True for integers, signed or not; false for booleans and bytes.
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// True for signed integers.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// True for unsigned integers.
    pub const fn is_unsigned_integer(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// The fields of a record; empty for everything else.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Record(record) => record.fields,
            _ => &[],
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::Bytes(count) => return write!(f, "bytes[{count}]"),
            Self::Record(record) => record.name,
        };
        f.write_str(name)
    }
}
