//! cust: its buffers and streams, and our memory.
//!
//! cust works in whichever context is current for a thread, and checks nothing: keep a
//! [`ContextGuard`](ulib_device::ContextGuard) of the device, or a `cust::context::Context` of it, current while its functions are
//! called.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ::cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use ulib_core::{DeviceStorable, Result};
use ulib_device::memory::{DeviceBytes, DeviceMemory};
use ulib_device::{Access, Device, Stream};

use crate::kept::Kept;

/// A stream of cust's as one of ours, which keeps it alive.
///
/// # Safety
/// It was made in the primary context of `device`.
#[must_use]
pub unsafe fn adopt_stream(device: &Device, stream: &Arc<::cust::stream::Stream>) -> Stream {
    let (handle, owner) = (
        stream.as_inner() as usize,
        Kept::new(device, Arc::clone(stream)),
    );
    // SAFETY: of the primary context by the caller's promise; it lives as long as the owner.
    unsafe { Stream::from_raw_kept(device, handle, Box::new(owner)) }
}

/// Memory of cust's as ours: the buffer stays its owner, and is dropped after the last use known here. Work that is queued on it
/// has to be done: cust remembers none.
///
/// # Errors
/// Kind `Layout` for an element without a size.
///
/// # Safety
/// It was made in the primary context of `device`, and no work that uses it is queued.
pub unsafe fn adopt<T: DeviceStorable + DeviceCopy>(
    device: &Device,
    buffer: DeviceBuffer<T>,
) -> Result<DeviceMemory<T>> {
    let (ptr, bytes) = (
        buffer.as_device_ptr().as_raw(),
        buffer.len() * size_of::<T>(),
    );
    let owner = Box::new(Kept::new(device, buffer));
    // SAFETY: the buffer is the owner of these bytes, of this device by the caller's promise, and lives in `Kept`, where nobody
    // else can use it; no work is queued on it.
    unsafe { DeviceBytes::foreign(device, ptr, bytes, owner) }.try_into()
}

/// Memory of ours as a slice of cust's that is read; see [`lend`].
pub struct Lent<'a, T: DeviceCopy> {
    slice: DeviceSlice<T>,
    memory: PhantomData<&'a DeviceMemory<T>>,
}

/// Memory of ours as a slice of cust's that may be changed; see [`lend_mut`].
pub struct LentMut<'a, T: DeviceCopy> {
    slice: DeviceSlice<T>,
    memory: PhantomData<&'a mut DeviceMemory<T>>,
}

/// Lets cust read `memory` in `stream`, which is made to wait for what writes it now. cust's functions without a stream use the
/// default one, [`Stream::legacy`]; one of its own goes through [`adopt_stream`] first.
///
/// # Errors
/// Kind `InvalidArgument` when the stream is of another device; what the driver says.
///
/// # Safety
/// cust's slices are `Copy` and have no lifetime: no copy of the slice, and no part of it, is used after the borrow.
pub unsafe fn lend<'a, T: DeviceStorable + DeviceCopy>(
    memory: &'a DeviceMemory<T>,
    stream: &Stream,
) -> Result<Lent<'a, T>> {
    Ok(Lent {
        slice: slice("cust::lend", memory, stream, Access::Read)?,
        memory: PhantomData,
    })
}

/// Lets cust change `memory` in `stream`, which is made to wait for what uses it now; else as [`lend`].
///
/// # Errors
/// As [`lend`].
///
/// # Safety
/// As [`lend`].
pub unsafe fn lend_mut<'a, T: DeviceStorable + DeviceCopy>(
    memory: &'a mut DeviceMemory<T>,
    stream: &Stream,
) -> Result<LentMut<'a, T>> {
    Ok(LentMut {
        slice: slice("cust::lend_mut", memory, stream, Access::Write)?,
        memory: PhantomData,
    })
}

fn slice<T: DeviceStorable + DeviceCopy>(
    op: &'static str,
    memory: &DeviceMemory<T>,
    stream: &Stream,
    access: Access,
) -> Result<DeviceSlice<T>> {
    stream.check_device(op, memory.device())?;
    memory.as_bytes().use_on(stream, access)?;
    // SAFETY: so many elements are there, for as long as the borrow, which the callers put beside the slice.
    Ok(unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(memory.ptr()), memory.len()) })
}

impl<T: DeviceCopy> Deref for Lent<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        &self.slice
    }
}

impl<T: DeviceCopy> Deref for LentMut<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        &self.slice
    }
}

impl<T: DeviceCopy> DerefMut for LentMut<'_, T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        &mut self.slice
    }
}

impl<T: DeviceCopy> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({} elements)", self.slice.len())
    }
}

impl<T: DeviceCopy> fmt::Debug for LentMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LentMut({} elements)", self.slice.len())
    }
}
