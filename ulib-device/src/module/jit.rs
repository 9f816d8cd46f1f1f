//! Options and messages of the driver's translator.

use crate::sys::{CUjit_option, CUresult};
use core::ffi::{c_uint, c_void};
use ulib_core::{Error, Result};

/// Bytes for each of the two kinds of messages.
const BYTES: usize = 32 << 10;

/// What the driver's translator and linker are asked for, by the driver's numbers, such as the most registers of a thread.
///
/// # Examples
/// ```
/// use ulib_device::module::JitOptions;
/// use ulib_device::sys::CUjit_option;
///
/// let options = JitOptions::new().set(CUjit_option::CU_JIT_MAX_REGISTERS, 32)?;
/// assert!(JitOptions::new().set(CUjit_option::CU_JIT_ERROR_LOG_BUFFER, 0).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions(Vec<(u32, usize)>);

impl JitOptions {
    /// Nothing special.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more option, whose value is a number.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for options whose values are addresses: messages are asked for by themselves.
    pub fn set(mut self, option: CUjit_option, value: usize) -> Result<Self> {
        let addresses = [
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_WALL_TIME,
        ];
        let of_symbols =
            CUjit_option::CU_JIT_GLOBAL_SYMBOL_NAMES.0..=CUjit_option::CU_JIT_GLOBAL_SYMBOL_COUNT.0;
        let of_names = CUjit_option::CU_JIT_REFERENCED_KERNEL_NAMES.0
            ..=CUjit_option::CU_JIT_REFERENCED_VARIABLE_COUNT.0;
        if addresses.contains(&option)
            || of_symbols.contains(&option.0)
            || of_names.contains(&option.0)
        {
            return Err(Error::invalid(
                "JitOptions::set",
                "option",
                option.0,
                "one whose value is a number; messages are collected by themselves",
            ));
        }
        self.0.push((option.0, value));
        Ok(self)
    }
}

/// What the driver's translator or linker said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JitLog {
    /// Remarks.
    pub info: String,
    /// Complaints.
    pub error: String,
}

/// Buffers the driver writes its messages into, and the arrays that tell it of them. The driver may keep their addresses, so
/// they are not moved while this lives.
pub(super) struct Log {
    info: Box<[u8]>,
    error: Box<[u8]>,
    options: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
}

impl Log {
    pub(super) fn new(asked: &JitOptions) -> Self {
        let buffer = || vec![0_u8; BYTES].into_boxed_slice();
        let mut log = Self {
            info: buffer(),
            error: buffer(),
            options: Vec::with_capacity(4 + asked.0.len()),
            values: Vec::with_capacity(4 + asked.0.len()),
        };
        // The driver takes integers in the place of pointers here.
        let number = core::ptr::without_provenance_mut;
        for (option, value) in [
            (
                CUjit_option::CU_JIT_INFO_LOG_BUFFER,
                log.info.as_mut_ptr().cast(),
            ),
            (
                CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                number(BYTES),
            ),
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                log.error.as_mut_ptr().cast(),
            ),
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                number(BYTES),
            ),
        ] {
            log.options.push(option);
            log.values.push(value);
        }
        for &(option, value) in &asked.0 {
            log.options.push(CUjit_option(option));
            log.values.push(number(value));
        }
        log
    }

    /// Calls `load` with the number of options, their names and their values.
    pub(super) fn with_options(
        &mut self,
        load: impl FnOnce(c_uint, *mut CUjit_option, *mut *mut c_void) -> CUresult,
    ) -> CUresult {
        let count = c_uint::try_from(self.options.len()).unwrap_or(4);
        load(count, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// The messages so far.
    pub(super) fn read(&self) -> JitLog {
        JitLog {
            info: text(&self.info),
            error: text(&self.error),
        }
    }

    /// Adds what the translator said, if anything, to an error.
    pub(super) fn explain(&self, error: Error) -> Error {
        let text = text(&self.error);
        if text.is_empty() {
            error
        } else {
            error.context(format!("the driver's translator says: {text}"))
        }
    }
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    let bytes = end.map_or(bytes, |end| &bytes[..end]);
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulib_core::ErrorKind;

    #[test]
    fn the_log_is_part_of_the_message_only_when_there_is_one() {
        let mut log = Log::new(&JitOptions::new());
        let plain = || Error::new(ErrorKind::Io, "refused");
        assert_eq!(log.explain(plain()).to_string(), "refused");
        log.with_options(|count, _, values| {
            assert_eq!(count, 4);
            assert!(!values.is_null());
            CUresult::CUDA_SUCCESS
        });
        log.error[..10].copy_from_slice(b"line 1: x\n");
        assert_eq!(
            log.explain(plain()).to_string(),
            "the driver's translator says: line 1: x: refused"
        );
        assert_eq!(log.read().error, "line 1: x");
        assert_eq!(log.read().info, "");
    }
}
