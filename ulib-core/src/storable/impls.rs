//! The element types that need no declaration.

use std::path::PathBuf;

use half::{bf16, f16};
use num_complex::Complex;

use super::{DeviceStorable, Storable};
use crate::dtype::DType;

macro_rules! device_storable_scalars {
    ($($ty:ty => $dtype:ident),* $(,)?) => {$(
        impl Storable for $ty {}

        impl DeviceStorable for $ty {
            const DTYPE: DType = {
                assert!(DType::$dtype.size() == size_of::<$ty>());
                assert!(DType::$dtype.alignment() == align_of::<$ty>());
                DType::$dtype
            };
        }
    )*};
}

device_storable_scalars! {
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    f16 => F16,
    bf16 => BF16,
    f32 => F32,
    f64 => F64,
    Complex<f32> => Complex64,
    Complex<f64> => Complex128,
    super::Bool8 => Bool,
}

impl<const N: usize> Storable for [u8; N] {}

/// Raw bytes, at least one: a use of `[u8; 0]` as a device element does not compile.
///
/// ```compile_fail
/// let _ = <[u8; 0] as ulib_core::DeviceStorable>::dtype();
/// ```
impl<const N: usize> DeviceStorable for [u8; N] {
    const DTYPE: DType = {
        assert!(N > 0, "an element has at least one byte");
        DType::Bytes(N)
    };
}

// Host-only elements: any bits would not be a valid value, or the value owns something elsewhere,
// or its size differs between machines.
impl Storable for bool {}
impl Storable for char {}
impl Storable for usize {}
impl Storable for isize {}
impl Storable for String {}
impl Storable for PathBuf {}
