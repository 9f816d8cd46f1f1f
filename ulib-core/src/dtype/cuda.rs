//! Names of element types in CUDA C.

use std::fmt::Write as _;

use super::{DType, RecordType};

impl DType {
    /// The name of the type in CUDA C, the same on every platform that CUDA knows (so no `long`).
    ///
    /// `__half` needs `cuda_fp16.h`, `__nv_bfloat16` needs `cuda_bf16.h`, the complex names need
    /// `cuComplex.h`. A record is named as it was declared; [`RecordType::cuda_declaration`] declares
    /// it. Raw bytes have no type name of their own in C: the answer is the array type `unsigned char[N]`.
    pub fn cuda_name(self) -> String {
        let name = match self {
            Self::Bool => "bool",
            Self::I8 => "signed char",
            Self::I16 => "short",
            Self::I32 => "int",
            Self::I64 => "long long",
            Self::U8 => "unsigned char",
            Self::U16 => "unsigned short",
            Self::U32 => "unsigned int",
            Self::U64 => "unsigned long long",
            Self::F16 => "__half",
            Self::BF16 => "__nv_bfloat16",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::Complex64 => "cuFloatComplex",
            Self::Complex128 => "cuDoubleComplex",
            Self::Bytes(count) => return format!("unsigned char[{count}]"),
            Self::Record(record) => record.name,
        };
        name.to_owned()
    }
}

impl RecordType {
    /// A declaration of the record in CUDA C with the same size and offsets; records inside it must
    /// be declared before it.
    ///
    /// Complex fields are written as arrays of their two parts, because CUDA's complex types are
    /// aligned more strictly than the record is.
    ///
    /// ```
    /// use ulib_core::{DType, DeviceStorable, device_storable};
    /// device_storable! { pub struct Voxel { pub Value: f32, pub Count: u32 } }
    ///
    /// let DType::Record(record) = Voxel::dtype() else { unreachable!() };
    /// assert_eq!(
    ///     record.cuda_declaration(),
    ///     "struct Voxel { float Value; unsigned int Count; };\n\
    ///      static_assert(sizeof(Voxel) == 8, \"size of Voxel\");\n",
    /// );
    /// ```
    pub fn cuda_declaration(&self) -> String {
        let mut text = format!("struct {} {{ ", self.name);
        let mut reached = 0;
        for (number, field) in self.fields.iter().enumerate() {
            if field.offset > reached {
                gap(&mut text, number, field.offset - reached);
            }
            let name = field.name;
            let declared = match field.dtype {
                DType::Bytes(count) => format!("unsigned char {name}[{count}]; "),
                DType::Complex64 => format!("float {name}[2]; "),
                DType::Complex128 => format!("double {name}[2]; "),
                other => format!("{} {name}; ", other.cuda_name()),
            };
            text.push_str(&declared);
            reached = field.offset + field.dtype.size();
        }
        if self.size > reached {
            gap(&mut text, self.fields.len(), self.size - reached);
        }
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "}};\nstatic_assert(sizeof({0}) == {1}, \"size of {0}\");",
            self.name, self.size
        );
        text
    }
}

fn gap(text: &mut String, number: usize, bytes: usize) {
    let _ = write!(text, "unsigned char ulib_gap_{number}[{bytes}]; ");
}
