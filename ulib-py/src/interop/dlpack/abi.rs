//! The C structs of DLPack 1.0 and of the unversioned form before it.

use std::ffi::{CStr, c_void};

use ulib_core::{DType, Error, Result};

/// The version we write, and the newest major we read.
pub(crate) const VERSION: Version = Version { major: 1, minor: 0 };
/// The consumer must not write.
pub(crate) const READ_ONLY: u64 = 1;
/// The producer made a copy for this consumer.
pub(crate) const IS_COPIED: u64 = 2;

/// Device type: ordinary host memory.
pub(crate) const CPU: i32 = 1;
/// Device type: CUDA memory.
pub(crate) const CUDA: i32 = 2;
/// Device type: managed CUDA memory.
pub(crate) const CUDA_MANAGED: i32 = 13;

pub(crate) const NAME: &CStr = c"dltensor";
pub(crate) const USED: &CStr = c"used_dltensor";
pub(crate) const NAME_VERSIONED: &CStr = c"dltensor_versioned";
pub(crate) const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) ndim: i32,
    pub(crate) dtype: DataType,
    pub(crate) shape: *mut i64,
    /// In elements; null when packed.
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Managed {
    pub(crate) tensor: Tensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct ManagedVersioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    pub(crate) flags: u64,
    pub(crate) tensor: Tensor,
}

const _: () = {
    assert!(size_of::<Tensor>() == 48);
    assert!(size_of::<Managed>() == 64);
    assert!(size_of::<ManagedVersioned>() == 80);
};

impl DataType {
    /// The DLPack type of a number type.
    pub(crate) fn of(dtype: DType) -> Option<DataType> {
        const INT: u8 = 0;
        const UINT: u8 = 1;
        const FLOAT: u8 = 2;
        const BFLOAT: u8 = 4;
        const COMPLEX: u8 = 5;
        const BOOL: u8 = 6;
        let code = match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => INT,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => UINT,
            DType::F16 | DType::F32 | DType::F64 => FLOAT,
            DType::BF16 => BFLOAT,
            DType::Complex64 | DType::Complex128 => COMPLEX,
            DType::Bool => BOOL,
            _ => return None,
        };
        let bits = u8::try_from(dtype.size() * 8).ok()?;
        Some(DataType {
            code,
            bits,
            lanes: 1,
        })
    }

    /// The number type of a DLPack type.
    pub(crate) fn dtype(self) -> Result<DType> {
        const ALL: [DType; 15] = [
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
        ALL.into_iter()
            .find(|&dtype| DataType::of(dtype) == Some(self))
            .ok_or_else(|| {
                Error::dtype(
                    "dlpack",
                    format_args!(
                        "code {} with {} bits and {} lanes",
                        self.code, self.bits, self.lanes
                    ),
                    "a number type of one lane",
                )
            })
    }
}
