//! [`Context`]: adding an outer line to a failing result.

use std::borrow::Cow;

use super::{Error, Result};

/// Adds context to the error of a [`Result`].
///
/// ```
/// use ulib_core::{Context, Layout};
/// let error = Layout::contiguous(&[usize::MAX, 2])
///     .context("making an image")
///     .unwrap_err();
/// assert!(error.to_string().starts_with("making an image: "));
/// ```
pub trait Context<T> {
    /// Adds `message` as the outermost line.
    ///
    /// # Errors
    /// The error of `self`, with the line added.
    fn context(self, message: impl Into<Cow<'static, str>>) -> Result<T>;

    /// Adds the line that `message` makes, which runs only if there is an error.
    ///
    /// # Errors
    /// The error of `self`, with the line added.
    fn with_context<M: Into<Cow<'static, str>>>(self, message: impl FnOnce() -> M) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, message: impl Into<Cow<'static, str>>) -> Result<T> {
        self.map_err(|error| error.into().context(message))
    }

    fn with_context<M: Into<Cow<'static, str>>>(self, message: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|error| error.into().context(message()))
    }
}
