//! Pickling: the bytes of an object and its preference, never where it was.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ulib_core::{Error, ErrorKind, PreferredDevice};

use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::source::{Holder, Object, block};

/// The state of an object in a pickle.
pub(crate) type State<'py> = (Bound<'py, PyBytes>, String);

/// What `describe` says of the object, its bytes and its preference, all of one moment.
pub(crate) fn save<'py, T: Object, A: Send>(
    py: Python<'py>,
    shared: &Shared<T>,
    describe: impl Fn(&T) -> A + Sync,
) -> PyResult<(A, State<'py>)> {
    loop {
        // The memory of Python's is made before the object is held, since nothing calls Python while it is. So it may
        // turn out to be of the wrong size, when another thread has resized the object meanwhile.
        let len = shared.peek(py, |object| Ok(block(object)?.len())).py()?;
        let mut found = None;
        let bytes = PyBytes::new_with(py, len, |target| {
            found = shared
                .read(py, |object| {
                    let block = block(object)?;
                    if block.len() != target.len() {
                        return Ok(None);
                    }
                    block.read_at(0, target)?;
                    let preferred = object.placed().preferred_device();
                    Ok(Some((describe(object), preferred)))
                })
                .py()?;
            Ok(())
        })?;
        if let Some((described, preferred)) = found {
            return Ok((described, (bytes, preferred.to_string())));
        }
    }
}

/// Puts saved bytes into a new object of the same size, and moves it to where it is preferred if
/// that can be done. A pickle never fails for a device that is not there or has no room.
pub(crate) fn load(
    py: Python<'_>,
    holder: &Arc<dyn Holder>,
    bytes: &[u8],
    preferred: &str,
) -> PyResult<()> {
    let preferred: PreferredDevice = preferred.parse().py()?;
    holder
        .write(py, |object| {
            object.change_bytes(true, &mut |target| {
                if target.len() != bytes.len() {
                    return Err(Error::shape("pickle", &[target.len()], &[bytes.len()]));
                }
                target.copy_from_slice(bytes);
                Ok(())
            })
        })
        .py()?;
    // The preference is recorded in any case, and the location says why it was not honoured. Only the
    // user's own interruption is no reason to go on.
    match holder.read(py, |object| object.placed().set_preferred_device(preferred)) {
        Err(error) if *error.kind() == ErrorKind::Interrupted => Err(error).py(),
        _ => Ok(()),
    }
}
