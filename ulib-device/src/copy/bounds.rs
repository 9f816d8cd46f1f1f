//! Checks that come before any copy.

use ulib_core::{Error, ErrorKind, Result};

/// `offset .. offset + len` lies within `capacity` bytes of `what`.
pub(crate) fn check_range(
    op: &'static str,
    what: &str,
    offset: usize,
    len: usize,
    capacity: usize,
) -> Result<()> {
    let end = offset.checked_add(len).ok_or_else(|| {
        Error::overflow(op, format_args!("{len} bytes at offset {offset} of {what}"))
    })?;
    if end <= capacity {
        return Ok(());
    }
    let message = format!("{len} bytes at offset {offset} exceed the {capacity} bytes of {what}");
    Err(Error::in_op(ErrorKind::Index, op, message))
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test that expects fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn names_the_operation_and_all_values() {
        assert!(check_range("upload", "the device memory", 28, 100, 128).is_ok());
        assert!(check_range("upload", "the device memory", 128, 0, 128).is_ok());
        let error =
            check_range("upload", "the device memory", 29, 100, 128).expect_err("one too many");
        assert_eq!(error.kind(), &ErrorKind::Index);
        assert_eq!(
            error.to_string(),
            "upload: 100 bytes at offset 29 exceed the 128 bytes of the device memory"
        );
        let error =
            check_range("upload", "the device memory", usize::MAX, 2, 128).expect_err("overflow");
        assert_eq!(error.kind(), &ErrorKind::Overflow);
    }
}
