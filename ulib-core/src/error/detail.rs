//! The structured cause behind an [`Error`](super::Error); only its text is public.

use std::borrow::Cow;
use std::fmt;

type Text = Cow<'static, str>;

/// Fields, not strings, wherever the cause has a shape; text is made when somebody reads it.
#[derive(Clone, Debug)]
pub(super) enum Detail {
    Message(Text),
    InOp {
        op: Text,
        message: Text,
    },
    Shape {
        op: Text,
        lhs: Box<[usize]>,
        rhs: Box<[usize]>,
    },
    Index {
        op: Text,
        index: i128,
        len: usize,
    },
    Argument {
        op: Text,
        argument: Text,
        value: Text,
        expected: Text,
    },
    DType {
        op: Text,
        found: Text,
        expected: Text,
    },
    OutOfMemory {
        needs: u64,
        free: u64,
    },
    Driver {
        call: &'static str,
        message: Text,
    },
}

impl Detail {
    pub(super) fn op(&self) -> Option<&str> {
        match self {
            Self::InOp { op, .. }
            | Self::Shape { op, .. }
            | Self::Index { op, .. }
            | Self::Argument { op, .. }
            | Self::DType { op, .. } => Some(op),
            Self::Driver { call, .. } => Some(call),
            Self::Message(_) | Self::OutOfMemory { .. } => None,
        }
    }

    /// Gives it another operation, where it has one of ours.
    pub(super) fn rename(&mut self, name: Text) {
        match self {
            Self::InOp { op, .. }
            | Self::Shape { op, .. }
            | Self::Index { op, .. }
            | Self::Argument { op, .. }
            | Self::DType { op, .. } => *op = name,
            Self::Driver { .. } | Self::Message(_) | Self::OutOfMemory { .. } => {}
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => f.write_str(message),
            Self::InOp { op, message } => write!(f, "{op}: {message}"),
            Self::Shape { op, lhs, rhs } => {
                write!(f, "{op}: shapes {lhs:?} and {rhs:?} do not go together")
            }
            Self::Index { op, index, len } => {
                write!(f, "{op}: index {index} is out of range for length {len}")
            }
            Self::Argument {
                op,
                argument,
                value,
                expected,
            } => write!(f, "{op}: {argument} is {value}, expected {expected}"),
            Self::DType {
                op,
                found,
                expected,
            } => write!(f, "{op}: element type {found}, expected {expected}"),
            Self::OutOfMemory { needs, free } => {
                write!(
                    f,
                    "out of device memory: needs {needs} bytes, {free} bytes free"
                )
            }
            Self::Driver { call, message } => write!(f, "{call}: {message}"),
        }
    }
}
