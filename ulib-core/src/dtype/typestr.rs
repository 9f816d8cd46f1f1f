//! The type strings of NumPy's array interface, both ways.

use super::DType;
use crate::error::{Error, ErrorKind, Result};

impl DType {
    /// The type string as NumPy's `dtype.str` and both array interfaces spell it.
    ///
    /// | element | string | element | string |
    /// |---|---|---|---|
    /// | bool | `\|b1` | f16, f32, f64 | `<f2`, `<f4`, `<f8` |
    /// | i8 | `\|i1` | bf16 | `<V2` (NumPy has no letter for it) |
    /// | i16, i32, i64 | `<i2`, `<i4`, `<i8` | complex64, complex128 | `<c8`, `<c16` |
    /// | u8 | `\|u1` | N raw bytes | `\|VN` |
    /// | u16, u32, u64 | `<u2`, `<u4`, `<u8` | record of N bytes | `\|VN` (its fields are in `descr`) |
    pub fn typestr(self) -> String {
        let text = match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::I16 => "<i2",
            Self::I32 => "<i4",
            Self::I64 => "<i8",
            Self::U8 => "|u1",
            Self::U16 => "<u2",
            Self::U32 => "<u4",
            Self::U64 => "<u8",
            Self::F16 => "<f2",
            Self::BF16 => "<V2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::Complex64 => "<c8",
            Self::Complex128 => "<c16",
            Self::Bytes(_) | Self::Record(_) => return format!("|V{}", self.size()),
        };
        text.to_owned()
    }

    /// Reads a type string of NumPy's array interface.
    ///
    /// The byte order is `<`, `=` or `|`, or `>` where one byte leaves nothing to swap. `<V2` is bf16 and
    /// `|V2` two raw bytes, as [`typestr`](Self::typestr) writes them. A record comes back as raw bytes.
    ///
    /// ```
    /// use ulib_core::DType;
    /// assert_eq!(DType::from_typestr("<f4")?, DType::F32);
    /// assert_eq!(DType::from_typestr("|V144")?, DType::Bytes(144));
    /// let error = DType::from_typestr(">f4").unwrap_err();
    /// assert_eq!(error.to_string(), "type string '>f4': big-endian elements are not supported");
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind [`DType`](ErrorKind::DType) for big-endian elements, for kinds and sizes that have no
    /// counterpart (object, string, time, `long double`), and for text that is no type string.
    pub fn from_typestr(text: &str) -> Result<Self> {
        let malformed = |why: &str| {
            Error::new(
                ErrorKind::DType,
                format!("type string '{}': {why}", text.escape_debug()),
            )
        };
        let mut chars = text.chars();
        let (Some(order), Some(kind)) = (chars.next(), chars.next()) else {
            return Err(malformed("expected a byte order, a kind and a size"));
        };
        if !matches!(order, '<' | '>' | '=' | '|') {
            return Err(malformed("the byte order is not one of < > = |"));
        }
        let digits = chars.as_str();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed("the size is not a number of bytes"));
        }
        let size: usize = digits
            .parse()
            .map_err(|_| malformed("the size is too large"))?;
        let dtype = match (kind, size) {
            ('b', 1) => Self::Bool,
            ('i', 1) => Self::I8,
            ('i', 2) => Self::I16,
            ('i', 4) => Self::I32,
            ('i', 8) => Self::I64,
            ('u', 1) => Self::U8,
            ('u', 2) => Self::U16,
            ('u', 4) => Self::U32,
            ('u', 8) => Self::U64,
            ('f', 2) => Self::F16,
            ('f', 4) => Self::F32,
            ('f', 8) => Self::F64,
            ('c', 8) => Self::Complex64,
            ('c', 16) => Self::Complex128,
            ('V', 2) if order == '<' => Self::BF16,
            ('V', 1..) if isize::try_from(size).is_ok() => Self::Bytes(size),
            ('V', 0) => return Err(malformed("an element has at least one byte")),
            ('V', _) => return Err(malformed("the size is too large")),
            _ => return Err(malformed("no element type of this kind and size")),
        };
        let has_order = dtype.size() > 1 && kind != 'V';
        if order == '>' && has_order {
            return Err(malformed("big-endian elements are not supported"));
        }
        Ok(dtype)
    }
}
