//! [`ErrorKind`]: what a program can match on.

/// The cause of an [`Error`](crate::Error), as far as a program may want to react to it.
///
/// ```
/// use ulib_core::{Error, ErrorKind};
/// let error = Error::out_of_memory(4096, 1024);
/// match error.kind() {
///     ErrorKind::OutOfMemory { needs, free } => assert_eq!((*needs, *free), (4096, 1024)),
///     other => unreachable!("{other:?}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes, or a shape and a length, do not go together.
    Shape,
    /// Strides and offset are invalid, alias, or reach outside the memory.
    Layout,
    /// An element type is unknown or not the one needed.
    DType,
    /// An argument has a value that the operation does not accept.
    InvalidArgument,
    /// An index, axis or name is outside what exists.
    Index,
    /// The data is not where the operation needs it.
    Residency,
    /// Somebody else holds the data in a way that excludes this access.
    Busy,
    /// No device can be used here: the message is the reason.
    Unavailable,
    /// A device has not enough free memory.
    OutOfMemory {
        /// Bytes asked for.
        needs: u64,
        /// Bytes that were free on that device.
        free: u64,
    },
    /// The driver answered a call with a failure.
    Driver {
        /// The status as the driver gave it, known to us or not.
        code: i32,
        /// The entry point that failed, e.g. `cuMemAlloc_v2`.
        call: &'static str,
    },
    /// A size, count or address does not fit its type.
    Overflow,
    /// The user stopped the operation.
    Interrupted,
    /// The process is a forked child of one that used the driver, which the driver does not support.
    Forked,
    /// Reading or writing a file or another stream of bytes failed.
    Io,
    /// A file is not what its format says, is damaged, or uses a part of the format that is not read.
    Format,
}
