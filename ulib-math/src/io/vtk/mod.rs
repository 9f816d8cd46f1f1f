//! `.vtk`: structured points in VTK's legacy format.

mod parse;
mod write;

pub(super) use parse::parse;
pub(super) use write::write;

use ulib_core::DType;

use super::Format;
use super::element::TypeName;

const FORMAT: Format = Format::Vtk;

/// `long` has 64 bits, as on the systems that VTK's writers run on; `vtkIdType` is written with 32.
const TYPES: &[TypeName] = &[
    (DType::I8, &["char", "signed_char"]),
    (DType::U8, &["unsigned_char"]),
    (DType::I16, &["short"]),
    (DType::U16, &["unsigned_short"]),
    (DType::I32, &["int", "vtkidtype"]),
    (DType::U32, &["unsigned_int"]),
    (DType::I64, &["vtktypeint64", "long"]),
    (DType::U64, &["vtktypeuint64", "unsigned_long"]),
    (DType::F32, &["float"]),
    (DType::F64, &["double"]),
];
