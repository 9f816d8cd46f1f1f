//! The values of a kernel's parameters, and their check against what the kernel takes.

use crate::module::{Function, Parameter, ParameterKind};
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
    values: SmallVec<[Value; 8]>,
    /// Those that are larger than a word.
    long: Vec<u128>,
}

/// A value of so many bytes, and what it is.
#[derive(Clone, Copy, Debug)]
struct Value {
    /// Its bytes; of one that is larger, the number of its first word in `long`.
    word: u128,
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
        let size = value.len() as u32;
        let word = match value.len() {
            ..=WORD => word(value),
            _ => self.keep_long(value) as u128,
        };
        self.values.push(Value { word, size, kind });
    }

    /// Where the words of a value begin.
    #[cold]
    fn keep_long(&mut self, value: &[u8]) -> usize {
        let at = self.long.len();
        self.long.extend(value.chunks(WORD).map(word));
        at
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
            return Err(self.wrong_count(function, parameters.len()));
        }
        let wrong = parameters
            .iter()
            .zip(&self.values)
            .position(|(takes, value)| {
                value.size as usize != takes.size || !takes.kind.takes(value.kind)
            });
        match wrong {
            None => Ok(()),
            Some(index) => Err(self.wrong_value(function, index, parameters[index])),
        }
    }

    #[cold]
    fn wrong_count(&self, function: &Function, takes: usize) -> Error {
        let given = counted(self.len(), "argument");
        let what = format!(
            "{given} for kernel {}, which takes {takes}",
            function.name()
        );
        Error::in_op(ErrorKind::InvalidArgument, "launch", what)
    }

    #[cold]
    fn wrong_value(&self, function: &Function, index: usize, parameter: Parameter) -> Error {
        let Value { size, kind, .. } = self.values[index];
        let what = format!(
            "argument {index} (counted from 0) of kernel {} is {}, and the parameter {}",
            function.name(),
            kind.describe(size as usize),
            parameter.kind.describe(parameter.size)
        );
        Error::in_op(ErrorKind::InvalidArgument, "launch", what)
    }

    /// Calls `work` with one pointer for each value, good during the call.
    pub(crate) fn with_pointers<R>(&mut self, work: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
        let long = self.long.as_mut_ptr();
        // `wrapping_add` stays inside: the place is one of `long`.
        let pointer = |value: &mut Value| match value.size as usize {
            ..=WORD => (&raw mut value.word).cast::<c_void>(),
            _ => long.wrapping_add(value.word as usize).cast(),
        };
        let mut few = [core::ptr::null_mut(); 8];
        match few.get_mut(..self.values.len()) {
            Some(few) => {
                for (place, value) in few.iter_mut().zip(&mut self.values) {
                    *place = pointer(value);
                }
                work(few)
            }
            None => work(&mut self.values.iter_mut().map(pointer).collect::<Vec<_>>()),
        }
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
                for (n, value) in arguments.values.iter().enumerate() {
                    let words = match bytes {
                        ..=WORD => core::slice::from_ref(&value.word),
                        _ => &arguments.long[value.word as usize..],
                    };
                    assert_eq!(seen[n], words.as_ptr().addr());
                    let all: &[u8] = ulib_core::bytemuck::cast_slice(words);
                    assert_eq!(all[..bytes], vec![n as u8; bytes]);
                    assert_eq!(value.size as usize, bytes);
                }
                assert_eq!(arguments.size(count), None);
            }
        }
    }
}
