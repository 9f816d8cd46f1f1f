//! [`Bool8`]: a boolean that a kernel may write.
#![allow(
    unsafe_code,
    reason = "Pod and Zeroable are unsafe traits; bytemuck's derive is not a dependency"
)]

use std::fmt;

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, ErrorKind, Result};

/// A boolean in one byte, any bits allowed.
///
/// Rust's `bool` has two valid bit patterns, and a kernel may write 256, so `bool` cannot come back from a
/// device. This type can; what came back is checked when it is read with [`get`](Self::get).
/// Comparison is by bits.
///
/// ```
/// use ulib_core::Bool8;
/// assert_eq!(Bool8::from(true).get()?, true);
/// let foreign = Bool8::from_bits(2);
/// assert!(foreign.is_true());
/// assert_eq!(foreign.get().unwrap_err().to_string(), "byte 2 is not a boolean (0 or 1)");
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Bool8(u8);

// SAFETY: the type is transparent over `u8`, for which the all-zero pattern is valid.
unsafe impl Zeroable for Bool8 {}

// SAFETY: the type is transparent over `u8`: Copy, 'static, every bit pattern valid, no padding.
unsafe impl Pod for Bool8 {}

impl Bool8 {
    /// The byte 0.
    pub const FALSE: Self = Self(0);
    /// The byte 1.
    pub const TRUE: Self = Self(1);

    /// Takes a byte as it is.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The byte as it is.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// What C says: anything but 0 is true.
    pub const fn is_true(self) -> bool {
        self.0 != 0
    }

    /// The boolean, if the byte is one.
    ///
    /// # Errors
    /// Kind [`DType`](ErrorKind::DType) for bytes other than 0 and 1.
    pub fn get(self) -> Result<bool> {
        match self.0 {
            0 => Ok(false),
            1 => Ok(true),
            bits => Err(Error::new(
                ErrorKind::DType,
                format!("byte {bits} is not a boolean (0 or 1)"),
            )),
        }
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl TryFrom<Bool8> for bool {
    type Error = Error;

    fn try_from(value: Bool8) -> Result<bool> {
        value.get()
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("false"),
            1 => f.write_str("true"),
            bits => write!(f, "Bool8({bits})"),
        }
    }
}
