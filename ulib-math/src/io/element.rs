//! [`Number`]: the elements of files, their bytes, and their way to and from the `f32` of a voxel.

use half::f16;
use ulib_core::DType;

use crate::ops::Castable;

/// An element of a file.
pub(super) trait Number: Copy {
    /// Its bytes.
    const SIZE: usize;

    /// The number in the first [`SIZE`](Self::SIZE) bytes of `bytes`.
    fn get(bytes: &[u8], little: bool) -> Self;

    /// Puts the number into the first bytes of `bytes`.
    fn put(self, bytes: &mut [u8], little: bool);

    /// As Rust's `as` has it.
    fn single(self) -> f32;

    /// As Rust's `as` has it.
    fn double(self) -> f64;

    /// The nearest number there is, ties to even; NaN is 0 for integers.
    fn of_single(value: f32) -> Self;

    /// As [`of_single`](Self::of_single).
    fn of_double(value: f64) -> Self;
}

macro_rules! number {
    ($($type:ty, $value:ident: $single:expr, $double:expr, $of_single:expr, $of_double:expr;)*) => {$(
        impl Number for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            fn get(bytes: &[u8], little: bool) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(&bytes[..size_of::<$type>()]);
                if little { Self::from_le_bytes(own) } else { Self::from_be_bytes(own) }
            }

            #[inline(always)]
            fn put(self, bytes: &mut [u8], little: bool) {
                let own = if little { self.to_le_bytes() } else { self.to_be_bytes() };
                bytes[..size_of::<$type>()].copy_from_slice(&own);
            }

            #[inline(always)]
            fn single(self) -> f32 {
                let $value = self;
                $single
            }

            #[inline(always)]
            fn double(self) -> f64 {
                let $value = self;
                $double
            }

            #[inline(always)]
            fn of_single($value: f32) -> Self {
                $of_single
            }

            #[inline(always)]
            fn of_double($value: f64) -> Self {
                $of_double
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty)*) => {
        number! {$(
            $type, value: value as f32, value as f64,
                value.round_ties_even() as $type, value.round_ties_even() as $type;
        )*}
    };
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }

number! {
    f32, value: value, f64::from(value), value, value as f32;
    f64, value: value as f32, value, f64::from(value), value;
    f16, value: value.to_f32(), value.to_f64(), f16::from_f32(value), f16::from_double(value);
}

/// Calls `$body` with `$type` standing for the element type that `$dtype` names, or gives `$other` for those that files do
/// not have. Booleans are read as bytes.
macro_rules! with_number {
    ($dtype:expr, $type:ident => $body:expr, $other:expr) => {
        match $dtype {
            ::ulib_core::DType::I8 => {
                type $type = i8;
                $body
            }
            ::ulib_core::DType::U8 | ::ulib_core::DType::Bool => {
                type $type = u8;
                $body
            }
            ::ulib_core::DType::I16 => {
                type $type = i16;
                $body
            }
            ::ulib_core::DType::U16 => {
                type $type = u16;
                $body
            }
            ::ulib_core::DType::I32 => {
                type $type = i32;
                $body
            }
            ::ulib_core::DType::U32 => {
                type $type = u32;
                $body
            }
            ::ulib_core::DType::I64 => {
                type $type = i64;
                $body
            }
            ::ulib_core::DType::U64 => {
                type $type = u64;
                $body
            }
            ::ulib_core::DType::F16 => {
                type $type = ::half::f16;
                $body
            }
            ::ulib_core::DType::F32 => {
                type $type = f32;
                $body
            }
            ::ulib_core::DType::F64 => {
                type $type = f64;
                $body
            }
            _ => $other,
        }
    };
}

pub(super) use with_number;

/// The ten types that the formats share.
pub(super) const COMMON: [DType; 10] = [
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F32,
    DType::F64,
];

/// A row of a format's table of type names: the type and the names it has in files, the one to write first.
pub(super) type TypeName = (DType, &'static [&'static str]);

/// The type that a format's table has under `name`.
pub(super) fn type_named(table: &[TypeName], name: &str) -> Option<DType> {
    table
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|&(dtype, _)| dtype)
}

/// The name under which a format's table writes a type.
pub(super) fn name_of(table: &[TypeName], dtype: DType) -> Option<&'static str> {
    table
        .iter()
        .find(|(own, _)| *own == dtype)
        .and_then(|(_, names)| names.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest bits of a double decide between two neighbours.
    #[test]
    fn doubles_become_halves_in_one_step() {
        let (one, tiny) = (1.0 + 2.0_f64.powi(-11), 2.0_f64.powi(-40));
        for (number, bits) in [
            (one, 0x3c00),
            (one + tiny, 0x3c01),
            (-one - tiny, 0xbc01),
            (65519.99999, 0x7bff),
            (65520.0, 0x7c00),
            (2.0_f64.powi(-25), 0),
            (2.0_f64.powi(-25) * (1.0 + tiny), 1),
        ] {
            assert_eq!(
                <f16 as Number>::of_double(number).to_bits(),
                bits,
                "{number}"
            );
        }
    }
}
