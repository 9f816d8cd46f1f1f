//! The values of a kernel's parameters, and their check against what the kernel takes.

use crate::module::{Function, ParameterKind};
use core::ffi::c_void;
use ulib_core::words::counted;
use ulib_core::{Error, ErrorKind, Result};

/// Values that are held without an allocation: their bytes, in steps of 16, and their number.
const WORDS: usize = 8;
const VALUES: usize = 8;

/// The values of a kernel's parameters, in order.
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
#[derive(Clone, Debug)]
pub struct Arguments {
    inline: [u128; WORDS],
    /// All values, once they are too many.
    spilled: Vec<u128>,
    used_words: usize,
    first: [Value; VALUES],
    more: Vec<Value>,
    count: usize,
}

/// Where a value begins, in words, its size in bytes, and what it is.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    at: u32,
    size: u32,
    kind: ParameterKind,
}

impl Default for Arguments {
    fn default() -> Self {
        Self::new()
    }
}

impl Arguments {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inline: [0; WORDS],
            spilled: Vec::new(),
            used_words: 0,
            first: [Value {
                at: 0,
                size: 0,
                kind: ParameterKind::Unknown,
            }; VALUES],
            more: Vec::new(),
            count: 0,
        }
    }

    /// Adds a value, as bytes, which a parameter of any kind takes.
    pub fn push(&mut self, value: &[u8]) {
        self.push_as(ParameterKind::Unknown, value);
    }

    /// Adds a value of this kind.
    pub fn push_as(&mut self, kind: ParameterKind, value: &[u8]) {
        let at = self.used_words;
        let words = value.len().div_ceil(16);
        self.used_words += words;
        if self.used_words > WORDS || !self.spilled.is_empty() {
            if self.spilled.is_empty() {
                self.spilled.extend_from_slice(&self.inline[..at]);
            }
            self.spilled.resize(self.used_words, 0);
        }
        let room = if self.spilled.is_empty() {
            &mut self.inline[at..at + words]
        } else {
            &mut self.spilled[at..at + words]
        };
        ulib_core::bytemuck::cast_slice_mut::<u128, u8>(room)[..value.len()].copy_from_slice(value);
        let place = Value {
            at: at as u32,
            size: value.len() as u32,
            kind,
        };
        match self.first.get_mut(self.count) {
            Some(slot) => *slot = place,
            None => self.more.push(place),
        }
        self.count += 1;
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&self, index: usize) -> Option<Value> {
        if index >= self.count {
            return None;
        }
        match self.first.get(index) {
            Some(&place) => Some(place),
            None => self.more.get(index - VALUES).copied(),
        }
    }

    /// The size of a value in bytes.
    #[must_use]
    pub fn size(&self, index: usize) -> Option<usize> {
        self.place(index).map(|value| value.size as usize)
    }

    /// Checks number, sizes and kinds against what the kernel takes, as far as that is known.
    ///
    /// # Errors
    /// Kind `InvalidArgument` naming the parameter, counted from 0; whatever the driver says.
    pub fn check(&self, function: &Function) -> Result<()> {
        let Some(parameters) = function.parameters()? else {
            return Ok(());
        };
        if parameters.len() != self.count {
            return Err(Error::in_op(
                ErrorKind::InvalidArgument,
                "launch",
                format!(
                    "{} for kernel {}, which takes {}",
                    counted(self.count, "argument"),
                    function.name(),
                    parameters.len()
                ),
            ));
        }
        for (index, parameter) in parameters.iter().enumerate() {
            let Some(value) = self.place(index) else {
                break;
            };
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
        let words = if self.spilled.is_empty() {
            &mut self.inline[..]
        } else {
            &mut self.spilled[..]
        };
        let start = words.as_mut_ptr();
        // `wrapping_add` stays inside: every place is one of `words`, or the end for a value without bytes.
        let pointer = |value: &Value| start.wrapping_add(value.at as usize).cast::<c_void>();
        if self.count <= VALUES {
            let mut pointers = [core::ptr::null_mut(); VALUES];
            for (slot, place) in pointers.iter_mut().zip(&self.first[..self.count]) {
                *slot = pointer(place);
            }
            work(&mut pointers[..self.count])
        } else {
            let mut pointers: Vec<*mut c_void> =
                self.first.iter().chain(&self.more).map(pointer).collect();
            work(&mut pointers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_what_they_were_when_there_are_many() {
        for count in [0, 1, 31, 32, 33, 100] {
            for bytes in [1, 8, 16, 17, 200] {
                let mut arguments = Arguments::new();
                for n in 0..count {
                    arguments.push(&vec![n as u8; bytes]);
                }
                assert_eq!(arguments.len(), count);
                let seen: Vec<usize> =
                    arguments.with_pointers(|pointers| pointers.iter().map(|p| p.addr()).collect());
                assert_eq!(seen.len(), count);
                assert!(seen.iter().all(|address| address % 16 == 0));
                let all: &[u128] = if arguments.spilled.is_empty() {
                    &arguments.inline
                } else {
                    &arguments.spilled
                };
                let all: &[u8] = ulib_core::bytemuck::cast_slice(all);
                for n in 0..count {
                    let Value { at, size, .. } = arguments.place(n).unwrap_or_default();
                    assert_eq!(size as usize, bytes);
                    assert_eq!(all[at as usize * 16..][..bytes], vec![n as u8; bytes]);
                    assert_eq!(seen[n] - seen[0], at as usize * 16);
                }
                assert_eq!(arguments.size(count), None);
            }
        }
    }
}
