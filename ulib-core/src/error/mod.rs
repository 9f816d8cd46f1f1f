//! One error type for the whole workspace: opaque, cheap to clone, with a kind and a context chain.

mod constructors;
mod context;
mod detail;
mod kind;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use context::Context;
use detail::Detail;
pub use kind::ErrorKind;

/// What every fallible function of the workspace returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
///
/// Programs look at [`kind`](Self::kind); people read the [`Display`](fmt::Display) form, which is the
/// context from the outermost to the innermost, then the cause, joined by `": "`. Cloning shares the
/// content, so one failure can be recorded in one place and returned in another.
///
/// ```
/// use ulib_core::{Error, ErrorKind};
/// let error = Error::shape("add", &[2, 3], &[3, 2]).context("summing two images");
/// assert_eq!(error.kind(), &ErrorKind::Shape);
/// assert_eq!(error.op(), Some("add"));
/// assert_eq!(error.to_string(), "summing two images: add: shapes [2, 3] and [3, 2] do not go together");
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    detail: Detail,
    /// Innermost first.
    context: Vec<Cow<'static, str>>,
    source: Option<Arc<dyn std::error::Error + Send + Sync + 'static>>,
}

impl Error {
    fn from_detail(kind: ErrorKind, detail: Detail) -> Self {
        Self(Arc::new(Inner {
            kind,
            detail,
            context: Vec::new(),
            source: None,
        }))
    }

    /// The cause, for programs.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The operation that failed, when the error was made with one.
    pub fn op(&self) -> Option<&str> {
        self.0.detail.op()
    }

    /// The innermost message, without the context.
    pub fn message(&self) -> String {
        self.0.detail.to_string()
    }

    /// The same error with one more, outer, line of context, unless that is its outermost line already: functions that
    /// name a file may call each other.
    ///
    /// ```
    /// use ulib_core::Error;
    /// let error = Error::interrupted("save").context("writing a.npy").context("writing a.npy");
    /// assert_eq!(error.to_string(), "writing a.npy: save: interrupted");
    /// ```
    #[must_use]
    pub fn context(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        if self.0.context.last() != Some(&message) {
            Arc::make_mut(&mut self.0).context.push(message);
        }
        self
    }

    /// The same error as one of `op`, for who passes on what another operation refused. One of the driver keeps its call, and
    /// one that names no operation names none.
    ///
    /// ```
    /// use ulib_core::Error;
    /// let error = Error::busy("upload", "a stream is captured").of_op("memcpy_htod");
    /// assert_eq!(error.to_string(), "memcpy_htod: not possible now: a stream is captured");
    /// ```
    #[must_use]
    pub fn of_op(mut self, op: impl Into<Cow<'static, str>>) -> Self {
        Arc::make_mut(&mut self.0).detail.rename(op.into());
        self
    }

    /// The context lines, outermost first.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.0.context.iter().rev().map(AsRef::as_ref)
    }

    /// The same error with `source` as the answer of [`std::error::Error::source`].
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::new(source));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.contexts() {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}", self.0.detail)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.to_string())
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
