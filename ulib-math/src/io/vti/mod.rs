//! `.vti`: VTK's XML image data.

mod data;
mod parse;
mod write;
mod xml;

pub(super) use data::{Header, open_base64, open_blocks};
pub(super) use parse::parse;
pub(super) use write::write;

use ulib_core::DType;

use super::Format;
use super::element::TypeName;

const FORMAT: Format = Format::Vti;

const TYPES: &[TypeName] = &[
    (DType::I8, &["Int8"]),
    (DType::U8, &["UInt8"]),
    (DType::I16, &["Int16"]),
    (DType::U16, &["UInt16"]),
    (DType::I32, &["Int32"]),
    (DType::U32, &["UInt32"]),
    (DType::I64, &["Int64"]),
    (DType::U64, &["UInt64"]),
    (DType::F32, &["Float32"]),
    (DType::F64, &["Float64"]),
];
