//! The messages of the driver's PTX translator.

use crate::sys::{CUjit_option, CUresult};
use core::ffi::{c_uint, c_void};
use ulib_core::Error;

const BYTES: usize = 8192;

/// A buffer the driver writes its complaints into.
pub(super) struct Log(Vec<u8>);

impl Log {
    pub(super) fn new() -> Self {
        Self(vec![0; BYTES])
    }

    /// Calls `load` with the number of options, their names and their values: the buffer and its size.
    pub(super) fn with_options(
        &mut self,
        load: impl FnOnce(c_uint, *mut CUjit_option, *mut *mut c_void) -> CUresult,
    ) -> CUresult {
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The driver takes integers in the place of pointers here, and writes the length back.
        let mut values: [*mut c_void; 2] = [
            self.0.as_mut_ptr().cast(),
            core::ptr::without_provenance_mut(BYTES),
        ];
        load(2, options.as_mut_ptr(), values.as_mut_ptr())
    }

    /// Adds what the translator said, if anything, to an error.
    pub(super) fn explain(&self, error: Error) -> Error {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
        let text = String::from_utf8_lossy(&self.0[..end]);
        let text = text.trim();
        if text.is_empty() {
            error
        } else {
            error.context(format!("the driver's translator says: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulib_core::ErrorKind;

    #[test]
    fn the_log_is_part_of_the_message_only_when_there_is_one() {
        let mut log = Log::new();
        let plain = || Error::new(ErrorKind::Io, "refused");
        assert_eq!(log.explain(plain()).to_string(), "refused");
        log.with_options(|count, _, values| {
            assert_eq!(count, 2);
            assert!(!values.is_null());
            CUresult::CUDA_SUCCESS
        });
        log.0[..10].copy_from_slice(b"line 1: x\n");
        assert_eq!(
            log.explain(plain()).to_string(),
            "the driver's translator says: line 1: x: refused"
        );
    }
}
