#![allow(
    unsafe_code,
    reason = "the declaring macro implements Pod, and one test type does so by hand"
)]

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;
use proptest::prelude::*;

use super::{Bool8, DeviceStorable, Field, Storable, field_of};
use crate::dtype::DType;
use crate::error::ErrorKind;

crate::device_storable! {
    /// A record inside a record.
    #[derive(Debug, PartialEq)]
    pub(crate) struct Point {
        X: f32,
        Y: f32,
    }
}

crate::device_storable! {
    #[derive(Debug, PartialEq, Default)]
    #[repr(align(16))]
    struct Aligned {
        Value: f64,
        Padding: [u8; 8],
    }
}

crate::device_storable! {
    #[derive(Debug)]
    struct Track { From: Point, To: Point, Charge: i8, On: Bool8, Padding: [u8; 2] }
}

#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    tag: u8,
    value: f64,
}

// SAFETY: plain numbers, valid when all zero.
unsafe impl Zeroable for Packed {}
// SAFETY: packed, so without padding; plain numbers of which every bit pattern is valid.
unsafe impl Pod for Packed {}

crate::device_storable! { impl Packed { tag: u8, value: f64 } }

fn check<T: DeviceStorable>(dtype: DType) {
    assert_eq!(T::dtype(), dtype);
    assert_eq!(T::DTYPE.size(), size_of::<T>());
    assert_eq!(T::DTYPE.alignment(), align_of::<T>());
    assert_eq!(T::fields(), dtype.fields());
}

#[test]
fn scalars_have_their_types() {
    check::<Bool8>(DType::Bool);
    check::<i8>(DType::I8);
    check::<i16>(DType::I16);
    check::<i32>(DType::I32);
    check::<i64>(DType::I64);
    check::<u8>(DType::U8);
    check::<u16>(DType::U16);
    check::<u32>(DType::U32);
    check::<u64>(DType::U64);
    check::<f16>(DType::F16);
    check::<bf16>(DType::BF16);
    check::<f32>(DType::F32);
    check::<f64>(DType::F64);
    check::<Complex<f32>>(DType::Complex64);
    check::<Complex<f64>>(DType::Complex128);
    check::<[u8; 1]>(DType::Bytes(1));
    check::<[u8; 144]>(DType::Bytes(144));
}

#[test]
fn host_only_elements_are_storable() {
    fn storable<T: Storable>() {}
    storable::<bool>();
    storable::<char>();
    storable::<usize>();
    storable::<String>();
    storable::<std::path::PathBuf>();
}

#[test]
fn records_record_every_field() {
    check::<Track>(Track::DTYPE);
    assert_eq!(
        Track::fields(),
        [
            Field {
                name: "From",
                dtype: Point::DTYPE,
                offset: 0
            },
            Field {
                name: "To",
                dtype: Point::DTYPE,
                offset: 8
            },
            Field {
                name: "Charge",
                dtype: DType::I8,
                offset: 16
            },
            Field {
                name: "On",
                dtype: DType::Bool,
                offset: 17
            },
            Field {
                name: "Padding",
                dtype: DType::Bytes(2),
                offset: 18
            },
        ]
    );
}

#[test]
fn fields_cover_a_declared_record_without_gaps() {
    fn covered<T: DeviceStorable>() {
        let mut reached = 0;
        for field in T::fields() {
            assert_eq!(field.offset, reached, "{}", field.name);
            reached += field.dtype.size();
        }
        assert_eq!(reached, size_of::<T>());
    }
    covered::<Point>();
    covered::<Aligned>();
    covered::<Track>();
    covered::<Packed>();
}

#[test]
fn an_alignment_may_be_asked_for() {
    check::<Aligned>(Aligned::DTYPE);
    assert_eq!(Aligned::dtype().alignment(), 16);
    assert_eq!(Aligned::default().Value, 0.0);
}

#[test]
fn packed_records_are_described_as_they_are() {
    check::<Packed>(Packed::DTYPE);
    assert_eq!(field_of::<Packed>("value").unwrap().offset, 1);
    assert_eq!(Packed::dtype().alignment(), 1);
}

#[test]
fn bytes_go_out_and_come_back() {
    let track = Track {
        From: Point { X: 1.0, Y: 2.0 },
        To: Point { X: 3.0, Y: 4.0 },
        Charge: -1,
        On: Bool8::TRUE,
        Padding: [0; 2],
    };
    let bytes = bytemuck::bytes_of(&track).to_vec();
    let back: Track = bytemuck::pod_read_unaligned(&bytes);
    assert_eq!(back.From, track.From);
    assert_eq!(back.To.Y, 4.0);
    let field = field_of::<Track>("To.Y").unwrap();
    assert_eq!(bytes[field.offset..field.offset + 4], 4.0_f32.to_ne_bytes());
}

#[test]
fn missing_fields_are_named_with_those_that_exist() {
    let cases = [
        (
            "to",
            "Track has no field 'to', only From, To, Charge, On, Padding",
        ),
        ("To.Z", "Point has no field 'Z', only X, Y"),
        ("To.X.A", "f32 has no field 'A': it has no fields"),
        (
            "",
            "Track has no field '', only From, To, Charge, On, Padding",
        ),
        ("To.", "Point has no field '', only X, Y"),
    ];
    for (name, message) in cases {
        let error = field_of::<Track>(name).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Index);
        assert_eq!(error.to_string(), message);
    }
    assert!(field_of::<f32>("x").is_err());
}

#[test]
fn booleans_compare_and_print_by_bits() {
    assert_eq!(Bool8::default(), Bool8::FALSE);
    assert_eq!(
        format!("{:?}", [Bool8::TRUE, Bool8::FALSE]),
        "[true, false]"
    );
    assert_eq!(format!("{:?}", Bool8::from_bits(7)), "Bool8(7)");
    assert!(bool::try_from(Bool8::TRUE).unwrap());
}

proptest! {
    #[test]
    fn booleans_are_checked_on_the_way_back(bits: u8) {
        let value = Bool8::from_bits(bits);
        prop_assert_eq!(value.bits(), bits);
        prop_assert_eq!(value.is_true(), bits != 0);
        match value.get() {
            Ok(truth) => prop_assert_eq!(Bool8::from(truth), value),
            Err(_) => prop_assert!(bits > 1),
        }
    }

    #[test]
    fn any_bytes_are_a_record(bytes: [u8; 20]) {
        let track: Track = bytemuck::pod_read_unaligned(&bytes);
        prop_assert_eq!(bytemuck::bytes_of(&track), bytes);
    }
}
