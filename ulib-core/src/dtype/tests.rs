#![allow(unsafe_code, reason = "the declaring macro implements Pod")]

use proptest::prelude::*;

use super::DType;
use crate::{DeviceStorable, ErrorKind, device_storable};

const SCALARS: [DType; 15] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::Complex64,
    DType::Complex128,
];

device_storable! {
    struct Inner { A: u8, B: [u8; 3], C: num_complex::Complex<f32> }
}

#[test]
fn typestr_round_trips_for_every_scalar() {
    for dtype in SCALARS {
        assert_eq!(DType::from_typestr(&dtype.typestr()).unwrap(), dtype);
        let native = dtype.typestr().replace('<', "=");
        if dtype != DType::BF16 {
            assert_eq!(DType::from_typestr(&native).unwrap(), dtype);
        }
    }
}

#[test]
fn a_typestr_ends_in_the_size() {
    for dtype in SCALARS {
        assert!(
            dtype.typestr().ends_with(&dtype.size().to_string()),
            "{dtype}"
        );
    }
}

#[test]
fn names_are_distinct() {
    for (at, one) in SCALARS.iter().enumerate() {
        for other in &SCALARS[at + 1..] {
            assert_ne!(one.typestr(), other.typestr());
            assert_ne!(one.cuda_name(), other.cuda_name());
            assert_ne!(one.to_string(), other.to_string());
        }
    }
}

#[test]
fn the_kinds_partition_the_scalars() {
    for dtype in SCALARS {
        let kinds = [
            dtype == DType::Bool,
            dtype.is_signed_integer(),
            dtype.is_unsigned_integer(),
            dtype.is_float(),
            dtype.is_complex(),
        ];
        assert_eq!(kinds.iter().filter(|&&is| is).count(), 1, "{dtype}");
        assert_eq!(
            dtype.is_integer(),
            dtype.is_signed_integer() || dtype.is_unsigned_integer()
        );
    }
}

#[test]
fn two_bytes_without_meaning_are_not_bf16() {
    assert_eq!(DType::from_typestr("|V2").unwrap(), DType::Bytes(2));
    assert_eq!(DType::from_typestr("<V2").unwrap(), DType::BF16);
    assert_eq!(DType::Bytes(2).typestr(), "|V2");
}

#[test]
fn a_single_byte_has_no_byte_order() {
    for order in ["<", ">", "=", "|"] {
        let dtype = DType::from_typestr(&format!("{order}u1")).unwrap();
        assert_eq!(dtype, DType::U8);
    }
}

#[test]
fn refused_type_strings_say_why() {
    let cases = [
        (">f4", "big-endian"),
        (">c16", "big-endian"),
        ("<f16", "no element type"),
        ("<f3", "no element type"),
        ("|O8", "no element type"),
        ("<U5", "no element type"),
        ("<M8", "no element type"),
        ("<M8[ns]", "not a number of bytes"),
        ("<f+4", "not a number of bytes"),
        ("<f", "not a number of bytes"),
        ("<", "expected a byte order"),
        ("", "expected a byte order"),
        ("f4", "byte order is not"),
        ("é4x", "byte order is not"),
        ("|V0", "at least one byte"),
        ("|V9223372036854775808", "too large"),
        ("|V99999999999999999999999", "too large"),
    ];
    for (text, why) in cases {
        let error = DType::from_typestr(text).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::DType);
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn records_know_their_layout() {
    let dtype = Inner::dtype();
    assert_eq!((dtype.size(), dtype.alignment()), (12, 4));
    assert_eq!(dtype.typestr(), "|V12");
    assert_eq!(dtype.to_string(), "Inner");
    assert_eq!(dtype.cuda_name(), "Inner");
    let DType::Record(record) = dtype else {
        unreachable!()
    };
    assert_eq!(
        record.cuda_declaration(),
        "struct Inner { unsigned char A; unsigned char B[3]; float C[2]; };\n\
         static_assert(sizeof(Inner) == 12, \"size of Inner\");\n"
    );
    assert!(record.field("D").is_none());
}

#[test]
fn records_compare_by_content() {
    assert_eq!(Inner::dtype(), Inner::DTYPE);
    assert_ne!(Inner::dtype(), DType::Bytes(12));
}

proptest! {
    #[test]
    fn raw_bytes_round_trip(count in 1_usize..=isize::MAX as usize) {
        let dtype = DType::Bytes(count);
        prop_assert_eq!(DType::from_typestr(&dtype.typestr()).unwrap(), dtype);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,8}") {
        if let Ok(dtype) = DType::from_typestr(&text) {
            prop_assert!(dtype.size() > 0);
        }
    }

    #[test]
    fn near_type_strings_are_answered(text in "[<>=|!][biufcVOSUMm][0-9]{0,20}") {
        if let Ok(dtype) = DType::from_typestr(&text) {
            let again = DType::from_typestr(&dtype.typestr()).unwrap();
            prop_assert_eq!(again.size(), dtype.size());
        }
    }
}
