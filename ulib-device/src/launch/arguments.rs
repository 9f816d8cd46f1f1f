//! The values of a kernel's parameters, and their check against what the kernel takes.

use crate::module::{Function, ParameterKind};
use core::ffi::c_void;
use smallvec::SmallVec;
use ulib_core::words::counted;
use ulib_core::{Error, ErrorKind, Result};

/// Bytes in a word: each value begins with one, so that it is aligned as every type of a kernel's parameters has to be.
const WORD: usize = size_of::<u128>();

/// The values of a kernel's parameters, in order. A few small ones are held without an allocation.
///
/// # Examples
/// ```
/// use ulib_device::launch::Arguments;
///
/// let mut arguments = Arguments::new();
/// arguments.push(&3_u32.to_ne_bytes());
/// arguments.push(&[0; 24]);
/// assert_eq!(arguments.len(), 2);
/// assert_eq!(arguments.size(1), Some(24));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    words: SmallVec<[u128; 8]>,
    values: SmallVec<[Value; 8]>,
}

/// The word where a value begins, its size in bytes, and what it is.
#[derive(Clone, Copy, Debug)]
struct Value {
    at: u32,
    size: u32,
    kind: ParameterKind,
}

/// At most so many bytes as a word, in their order.
#[inline]
fn word(bytes: &[u8]) -> u128 {
    // Most by arithmetic, which needs neither a call to copy them nor memory between.
    let number = if let Ok(bytes) = bytes.try_into() {
        u32::from_le_bytes(bytes).into()
    } else if let Ok(bytes) = bytes.try_into() {
        u64::from_le_bytes(bytes).into()
    } else {
        let mut all = [0; WORD];
        all[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(all)
    };
    number.to_le()
}

impl Arguments {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, as bytes, which a parameter of any kind takes.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.push_as(ParameterKind::Unknown, value);
    }

    /// Adds a value of this kind.
    #[inline]
    pub fn push_as(&mut self, kind: ParameterKind, value: &[u8]) {
        self.values.push(Value {
            at: self.words.len() as u32,
            size: value.len() as u32,
            kind,
        });
        match value.len() {
            1..=WORD => self.words.push(word(value)),
            _ => self.words.extend(value.chunks(WORD).map(word)),
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The size of a value in bytes.
    #[must_use]
    pub fn size(&self, index: usize) -> Option<usize> {
        self.values.get(index).map(|value| value.size as usize)
    }

    /// Checks number, sizes and kinds against what the kernel takes, as far as that is known.
    ///
    /// # Errors
    /// Kind `InvalidArgument` naming the parameter, counted from 0; whatever the driver says.
    pub fn check(&self, function: &Function) -> Result<()> {
        let Some(parameters) = function.parameters()? else {
            return Ok(());
        };
        if parameters.len() != self.len() {
            return Err(Error::in_op(
                ErrorKind::InvalidArgument,
                "launch",
                format!(
                    "{} for kernel {}, which takes {}",
                    counted(self.len(), "argument"),
                    function.name(),
                    parameters.len()
                ),
            ));
        }
        for (index, (parameter, value)) in parameters.iter().zip(&self.values).enumerate() {
            let size = value.size as usize;
            if size != parameter.size || !parameter.kind.takes(value.kind) {
                return Err(Error::in_op(
                    ErrorKind::InvalidArgument,
                    "launch",
                    format!(
                        "argument {index} (counted from 0) of kernel {} is {}, and the parameter {}",
                        function.name(),
                        value.kind.describe(size),
                        parameter.kind.describe(parameter.size)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Calls `work` with one pointer for each value, good during the call.
    pub(crate) fn with_pointers<R>(&mut self, work: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
        let start = self.words.as_mut_ptr();
        // `wrapping_add` stays inside: every place is one of `words`, or the end for a value without bytes.
        let pointer = |value: &Value| start.wrapping_add(value.at as usize).cast::<c_void>();
        let mut pointers: SmallVec<[*mut c_void; 8]> = self.values.iter().map(pointer).collect();
        work(&mut pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_what_they_were_when_there_are_many() {
        for count in [0, 1, 8, 9, 33, 100] {
            for bytes in [0, 1, 2, 4, 8, 12, 16, 17, 200] {
                let mut arguments = Arguments::new();
                for n in 0..count {
                    arguments.push(&vec![n as u8; bytes]);
                }
                assert_eq!(arguments.len(), count);
                let seen: Vec<usize> =
                    arguments.with_pointers(|pointers| pointers.iter().map(|p| p.addr()).collect());
                assert_eq!(seen.len(), count);
                assert!(seen.iter().all(|address| address % 16 == 0));
                let all: &[u8] = ulib_core::bytemuck::cast_slice(&arguments.words);
                for n in 0..count {
                    let Value { at, size, .. } = arguments.values[n];
                    assert_eq!(size as usize, bytes);
                    assert_eq!(all[at as usize * 16..][..bytes], vec![n as u8; bytes]);
                    assert_eq!(seen[n] - seen[0], at as usize * 16);
                }
                assert_eq!(arguments.size(count), None);
            }
        }
    }
}
