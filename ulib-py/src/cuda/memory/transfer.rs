//! One copy or fill, on the default stream or on another one.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use std::sync::Arc;

use ulib_core::{Error, ErrorKind, Result};
use ulib_device::graph::any_capture;
use ulib_device::{Access, Device, DeviceBytes, Stream, copy};

use super::pointer::Pointer;
use crate::cuda::kept::{self, Keeper};
use crate::detached::InHand;
use crate::interop::foreign::wait_for_owner;

/// Puts `queue`, which touches the memory of `pointer`, into `stream`: after the work that is known to touch it, and so that it
/// is not freed before.
pub(super) fn queue(
    pointer: &Pointer,
    access: Access,
    stream: &Stream,
    queue: impl FnOnce() -> Result<()>,
) -> Result<()> {
    wait_for_producer(pointer, stream)?;
    in_graph(stream, pointer)?;
    match pointer.owner() {
        Some(owner) => owner.queue_on(stream, access, queue),
        None => queue(),
    }
}

/// The memory of `pointer` as bytes of which `len` are used, for one call.
pub(crate) fn bytes(pointer: &Pointer, device: &Device, len: usize) -> Result<Arc<DeviceBytes>> {
    if let Some(owner) = pointer.owner() {
        if pointer.offset() == 0 {
            return Ok(owner.shared());
        }
        // Work that others have on it comes first.
        owner.use_on(&Stream::legacy(device), Access::Write)?;
    }
    wait_for_producer(pointer, &Stream::legacy(device))?;
    let keepers = Box::new(pointer.keepers());
    // SAFETY: who names an address vouches for the memory there, which the driver checks before it is touched.
    let bytes = unsafe { DeviceBytes::foreign(device, pointer.address(), len, keepers) };
    Ok(Arc::new(bytes))
}

/// Keeps memory as long as the graph that the stream is captured into, if it is.
fn in_graph(stream: &Stream, pointer: &Pointer) -> Result<()> {
    if !any_capture() {
        return Ok(());
    }
    if let Some(named) = pointer.named() {
        kept::in_graph(stream, || Keeper::Object(named.clone()))?;
    }
    let owner = pointer.owner().map(InHand::shared);
    let imported = pointer.imported().map(InHand::shared);
    stream.keep_in_capture(|| (owner, imported)).map(drop)
}

fn wait_for_producer(pointer: &Pointer, stream: &Stream) -> Result<()> {
    let Some(handle) = pointer.after() else {
        return Ok(());
    };
    // SAFETY: the protocol promises that the number is a stream of the array's context that lives as long as the array, which
    // the caller has.
    unsafe { wait_for_owner(stream, handle) }
}

/// The error as one of `op`; what the driver says with the place that it was about.
pub(crate) fn named(error: Error, op: &'static str, what: &str, pointer: &Pointer) -> Error {
    about(error, op, || {
        format!("{op}: {what} {:#x}", pointer.address())
    })
}

/// The error as one of `op`, also where the driver says it.
pub(crate) fn of_op(error: Error, op: &'static str) -> Error {
    about(error, op, || op.to_owned())
}

fn about(error: Error, op: &'static str, place: impl FnOnce() -> String) -> Error {
    match error.kind() {
        ErrorKind::Driver { .. } => error.context(place()),
        // Bounds are of the `LogicError`s here.
        ErrorKind::Index => Error::new(ErrorKind::InvalidArgument, error.of_op(op).to_string()),
        _ => error.of_op(op),
    }
}

/// Copies from the host and waits for it.
///
/// # Safety
/// `from` has `len` bytes that nobody writes meanwhile.
pub(super) unsafe fn upload(to: &Pointer, from: *const u8, len: usize) -> Result<()> {
    let device = to.device()?;
    let target = bytes(to, &device, len)?;
    // SAFETY: the caller's promise.
    let source = unsafe { slice(from, len) };
    copy::upload(&target, 0, source, &Stream::legacy(&device))
}

/// Copies to the host and waits for it.
///
/// # Safety
/// `to` has `len` bytes that nobody touches meanwhile.
pub(super) unsafe fn download(to: *mut u8, from: &Pointer, len: usize) -> Result<()> {
    let device = from.device()?;
    let source = bytes(from, &device, len)?;
    let target = if len == 0 {
        &mut []
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(to, len) }
    };
    copy::download(&source, 0, target, &Stream::legacy(&device))
}

unsafe fn slice<'a>(from: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller of this private function has as many bytes there.
    unsafe { std::slice::from_raw_parts(from, len) }
}

/// [`queue`] for work that reads `source` and writes `target`.
pub(super) fn queue_from(
    target: &Pointer,
    source: &Pointer,
    stream: &Stream,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    wait_for_producer(target, stream)?;
    wait_for_producer(source, stream)?;
    in_graph(stream, target)?;
    in_graph(stream, source)?;
    match (target.owner(), source.owner()) {
        (Some(target), Some(source)) => target.queue_from(source, stream, work),
        (Some(one), None) => one.queue_on(stream, Access::Write, work),
        (None, Some(one)) => one.queue_on(stream, Access::Read, work),
        (None, None) => work(),
    }
}
