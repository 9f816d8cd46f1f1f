//! One constructor per cause, so that every message names the operation and both sides.

use std::borrow::Cow;
use std::fmt::Display;

use super::detail::Detail;
use super::{Error, ErrorKind};

impl Error {
    /// An error with a message of its own. Prefer the constructors below where one fits.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_detail(kind, Detail::Message(message.into()))
    }

    /// Kind [`Shape`](ErrorKind::Shape): `lhs` and `rhs` do not go together in `op`.
    pub fn shape(op: impl Into<Cow<'static, str>>, lhs: &[usize], rhs: &[usize]) -> Self {
        Self::from_detail(
            ErrorKind::Shape,
            Detail::Shape {
                op: op.into(),
                lhs: lhs.into(),
                rhs: rhs.into(),
            },
        )
    }

    /// Kind [`Index`](ErrorKind::Index): `index` is not one of `0 .. len`.
    ///
    /// ```
    /// let error = ulib_core::Error::index("GetValue", 32768_usize, 32768);
    /// assert_eq!(error.to_string(), "GetValue: index 32768 is out of range for length 32768");
    /// let error = ulib_core::Error::index("GetValue", -1_i64, 8);
    /// assert_eq!(error.to_string(), "GetValue: index -1 is out of range for length 8");
    /// ```
    pub fn index(op: impl Into<Cow<'static, str>>, index: impl SignedIndex, len: usize) -> Self {
        Self::from_detail(
            ErrorKind::Index,
            Detail::Index {
                op: op.into(),
                index: index.to_i128(),
                len,
            },
        )
    }

    /// Kind [`InvalidArgument`](ErrorKind::InvalidArgument): `argument` of `op` has a value that is not `expected`.
    ///
    /// ```
    /// let error = ulib_core::Error::invalid("SetSpacing", "spacing", f64::NAN, "three finite positive numbers");
    /// assert_eq!(error.to_string(), "SetSpacing: spacing is NaN, expected three finite positive numbers");
    /// ```
    pub fn invalid(
        op: impl Into<Cow<'static, str>>,
        argument: impl Into<Cow<'static, str>>,
        value: impl Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::from_detail(
            ErrorKind::InvalidArgument,
            Detail::Argument {
                op: op.into(),
                argument: argument.into(),
                value: value.to_string().into(),
                expected: expected.into(),
            },
        )
    }

    /// Kind [`DType`](ErrorKind::DType): `found` is not `expected`.
    pub fn dtype(
        op: impl Into<Cow<'static, str>>,
        found: impl Display,
        expected: impl Display,
    ) -> Self {
        Self::from_detail(
            ErrorKind::DType,
            Detail::DType {
                op: op.into(),
                found: found.to_string().into(),
                expected: expected.to_string().into(),
            },
        )
    }

    /// Kind [`Layout`](ErrorKind::Layout).
    pub fn layout(op: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::in_op(ErrorKind::Layout, op, message)
    }

    /// Kind [`Overflow`](ErrorKind::Overflow): `what` does not fit its type.
    pub fn overflow(op: impl Into<Cow<'static, str>>, what: impl Display) -> Self {
        Self::in_op(
            ErrorKind::Overflow,
            op,
            format!("{what}: too large for this machine"),
        )
    }

    /// Kind [`Residency`](ErrorKind::Residency).
    pub fn residency(
        op: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::in_op(ErrorKind::Residency, op, message)
    }

    /// Kind [`Busy`](ErrorKind::Busy): `holder` excludes `op` at the moment.
    ///
    /// ```
    /// let error = ulib_core::Error::busy("resize", "a host view is open");
    /// assert_eq!(error.to_string(), "resize: not possible now: a host view is open");
    /// ```
    pub fn busy(op: impl Into<Cow<'static, str>>, holder: impl Display) -> Self {
        Self::in_op(ErrorKind::Busy, op, format!("not possible now: {holder}"))
    }

    /// Kind [`Unavailable`](ErrorKind::Unavailable): `reason` is the sentence the user reads.
    pub fn unavailable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unavailable, reason)
    }

    /// Kind [`OutOfMemory`](ErrorKind::OutOfMemory), both counts in bytes.
    ///
    /// ```
    /// let error = ulib_core::Error::out_of_memory(4096, 1024);
    /// assert_eq!(error.to_string(), "out of device memory: needs 4096 bytes, 1024 bytes free");
    /// ```
    pub fn out_of_memory(needs: u64, free: u64) -> Self {
        Self::from_detail(
            ErrorKind::OutOfMemory { needs, free },
            Detail::OutOfMemory { needs, free },
        )
    }

    /// Kind [`Driver`](ErrorKind::Driver): `call` answered `code`; `message` is the driver's name and text for it.
    ///
    /// ```
    /// let error = ulib_core::Error::driver(999, "cuLaunchKernel", "CUDA_ERROR_UNKNOWN (999): unknown error");
    /// assert_eq!(error.to_string(), "cuLaunchKernel: CUDA_ERROR_UNKNOWN (999): unknown error");
    /// ```
    pub fn driver(code: i32, call: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_detail(
            ErrorKind::Driver { code, call },
            Detail::Driver {
                call,
                message: message.into(),
            },
        )
    }

    /// Kind [`Interrupted`](ErrorKind::Interrupted).
    pub fn interrupted(op: impl Into<Cow<'static, str>>) -> Self {
        Self::in_op(ErrorKind::Interrupted, op, "interrupted")
    }

    /// Kind [`Forked`](ErrorKind::Forked): `op` needs the driver in a child process that cannot use it.
    pub fn forked(op: impl Into<Cow<'static, str>>) -> Self {
        Self::in_op(ErrorKind::Forked, op, crate::Reason::Forked.to_string())
    }

    /// Kind [`Io`](ErrorKind::Io), keeping `source` as the source. A `source` that is an [`Error`] on its way through a
    /// stream is given back as it was.
    ///
    /// ```
    /// use ulib_core::{Error, ErrorKind};
    /// let error = Error::io("read", std::io::ErrorKind::UnexpectedEof.into());
    /// assert_eq!(error.kind(), &ErrorKind::Io);
    /// let error = Error::io("read", std::io::Error::other(Error::interrupted("load")));
    /// assert_eq!(error.kind(), &ErrorKind::Interrupted);
    /// assert_eq!(error.to_string(), "load: interrupted");
    /// ```
    pub fn io(op: impl Into<Cow<'static, str>>, source: std::io::Error) -> Self {
        match source.downcast::<Self>() {
            Ok(own) => own,
            Err(source) => Self::in_op(ErrorKind::Io, op, source.to_string()).with_source(source),
        }
    }

    /// Kind [`Format`](ErrorKind::Format): `field` of a file has a value that is not `expected`. The file is named by a
    /// [`context`](Error::context) line of who opened it.
    ///
    /// ```
    /// let error = ulib_core::Error::malformed("npy", "shape", "(0, 4)", "sides of at least 1").context("reading a.npy");
    /// assert_eq!(error.to_string(), "reading a.npy: npy: shape is (0, 4), expected sides of at least 1");
    /// ```
    pub fn malformed(
        format: impl Into<Cow<'static, str>>,
        field: impl Into<Cow<'static, str>>,
        value: impl Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::from_detail(
            ErrorKind::Format,
            Detail::Argument {
                op: format.into(),
                argument: field.into(),
                value: value.to_string().into(),
                expected: expected.into(),
            },
        )
    }

    /// An error of any kind whose message names the operation: `op: message`.
    pub fn in_op(
        kind: ErrorKind,
        op: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::from_detail(
            kind,
            Detail::InOp {
                op: op.into(),
                message: message.into(),
            },
        )
    }
}

/// An index as a caller gave it, which may be negative or larger than any length.
///
/// Implemented for the primitive integers; sealed.
pub trait SignedIndex: sealed::Sealed {
    /// The value, exactly.
    fn to_i128(self) -> i128;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! signed_index {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}
        impl SignedIndex for $int {
            fn to_i128(self) -> i128 {
                self as i128
            }
        }
    )*};
}

signed_index!(u8, u16, u32, u64, usize, i8, i16, i32, i64, i128, isize);
