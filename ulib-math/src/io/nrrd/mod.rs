//! NRRD: `.nrrd`, and `.nhdr` with a data file.

mod parse;
mod write;

pub(super) use parse::parse;
pub(super) use write::write;

use ulib_core::DType;

use super::Format;
use super::element::TypeName;

const FORMAT: Format = Format::Nrrd;

const TYPES: &[TypeName] = &[
    (DType::I8, &["int8", "signed char", "int8_t"]),
    (DType::U8, &["uint8", "unsigned char", "uchar", "uint8_t"]),
    (
        DType::I16,
        &[
            "int16",
            "short",
            "short int",
            "signed short",
            "signed short int",
            "int16_t",
        ],
    ),
    (
        DType::U16,
        &[
            "uint16",
            "ushort",
            "unsigned short",
            "unsigned short int",
            "uint16_t",
        ],
    ),
    (DType::I32, &["int32", "int", "signed int", "int32_t"]),
    (DType::U32, &["uint32", "uint", "unsigned int", "uint32_t"]),
    (
        DType::I64,
        &[
            "int64",
            "longlong",
            "long long",
            "long long int",
            "signed long long",
            "signed long long int",
            "int64_t",
        ],
    ),
    (
        DType::U64,
        &[
            "uint64",
            "ulonglong",
            "unsigned long long",
            "unsigned long long int",
            "uint64_t",
        ],
    ),
    (DType::F32, &["float"]),
    (DType::F64, &["double"]),
];
