//! cudarc: its contexts, streams and slices, and ours.

use std::fmt;
use std::sync::Arc;

use ::cudarc::driver::sys::CUdeviceptr;
use ::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError,
    SyncOnDrop,
};
use ulib_core::{DeviceStorable, Error, ErrorKind, Result};
use ulib_device::memory::{DeviceBytes, DeviceMemory};
use ulib_device::{Access, Device, Stream};

use crate::kept::Kept;

/// cudarc's side of the primary context of `device`.
///
/// # Errors
/// Kind `Unavailable` without a driver, where cudarc would panic; kind `Residency` when cudarc has opened another driver than
/// uLib; what cudarc says.
pub fn context(device: &Device) -> Result<Arc<CudaContext>> {
    const OP: &str = "cudarc::context";
    let ours = device.primary_context()?;
    // SAFETY: asks whether cudarc finds a library; nothing is assumed about it.
    if !unsafe { ::cudarc::driver::sys::is_culib_present() } {
        let message = "cudarc finds no driver library by its own names";
        return Err(Error::in_op(ErrorKind::Unavailable, OP, message));
    }
    // cudarc leaves its context current; the guard restores what was.
    let _context = device.bind()?;
    let theirs = CudaContext::new(device.ordinal() as usize).map_err(|error| refused(OP, error))?;
    same_context(OP, &theirs, ours)?;
    Ok(theirs)
}

fn refused(op: &'static str, error: DriverError) -> Error {
    Error::in_op(
        ErrorKind::Residency,
        op,
        format!("cudarc says: status {}", error.0 as u32),
    )
}

fn same_context(op: &'static str, theirs: &CudaContext, ours: usize) -> Result<()> {
    if theirs.cu_ctx() as usize == ours {
        return Ok(());
    }
    let message = "the context of cudarc is not the primary one of this driver, so that memory cannot be shared";
    Err(Error::residency(op, message))
}

/// The device of one of cudarc's contexts.
fn device_of(op: &'static str, context: &CudaContext) -> Result<Device> {
    let ordinal = u32::try_from(context.ordinal())
        .map_err(|_| Error::overflow(op, format_args!("device ordinal {}", context.ordinal())))?;
    let device = Device::new(ordinal)?;
    same_context(op, context, device.primary_context()?)?;
    Ok(device)
}

/// A stream of cudarc's as one of ours, which keeps it alive.
///
/// # Errors
/// Kind `Residency` when it belongs to another context than the primary one.
pub fn adopt_stream(stream: &Arc<CudaStream>) -> Result<Stream> {
    let device = device_of("cudarc::adopt_stream", stream.context())?;
    let (handle, owner) = (
        stream.cu_stream() as usize,
        Kept::new(&device, Arc::clone(stream)),
    );
    // SAFETY: a stream of the primary context of the device, which lives as long as the owner.
    Ok(unsafe { Stream::from_raw_kept(&device, handle, Box::new(owner)) })
}

/// A stream of ours for cudarc, in the context that [`context`] gave.
///
/// # Errors
/// Kind `Residency` when `context` is another one than the primary context of the stream's device.
///
/// # Safety
/// `stream`, or a clone of it, lives as long as the result, its clones, and everything that cudarc makes on it.
pub unsafe fn lend_stream(stream: &Stream, context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    same_context(
        "cudarc::lend_stream",
        context,
        stream.device().primary_context()?,
    )?;
    // SAFETY: a stream of this context, kept alive by the caller's promise. What is queued through cudarc comes into the same
    // queue, so that it is in order with ours.
    Ok(unsafe { context.wrap_borrowed_stream(stream.handle().cast()) })
}

/// Memory of cudarc's as ours: the slice stays its owner, and is dropped after the last use known here.
///
/// # Errors
/// Kind `Residency` when it belongs to another context than the primary one; kind `Layout` for an element without a size.
pub fn adopt<T: DeviceStorable>(slice: CudaSlice<T>) -> Result<DeviceMemory<T>> {
    let device = device_of("cudarc::adopt", slice.context())?;
    let theirs = adopt_stream(slice.stream())?;
    let bytes = slice.num_bytes();
    let ptr = {
        // Their stream now waits for what other streams of cudarc have written; what reads may go on.
        let (ptr, _read) = slice.device_ptr(slice.stream());
        ptr
    };
    let stream = Stream::legacy(&device);
    stream.wait_for(&theirs)?;
    // SAFETY: the slice is the owner of these bytes of the device, and lives in `Kept`, where nobody else can use it; the default
    // stream, on which the memory is said to be used first, waits for what was queued before.
    let memory =
        unsafe { DeviceBytes::foreign(&device, ptr, bytes, Box::new(Kept::new(&device, slice))) };
    memory.use_on(&stream, Access::Write)?;
    memory.try_into()
}

/// Memory of ours that cudarc reads; see [`lend`].
pub struct Lent<'a, T> {
    memory: &'a DeviceMemory<T>,
    address: CUdeviceptr,
    ours: Stream,
    theirs: Arc<CudaStream>,
}

/// Memory of ours that cudarc may change; see [`lend_mut`].
pub struct LentMut<'a, T> {
    memory: &'a mut DeviceMemory<T>,
    address: CUdeviceptr,
    ours: Stream,
    theirs: Arc<CudaStream>,
}

/// Lets cudarc read `memory` in `stream`, which is made to wait for what writes it now: anywhere cudarc takes a
/// [`DevicePtr`], and as the argument of a kernel by [`Lent::argument`].
///
/// # Errors
/// Kind `InvalidArgument` when the stream is of another device; kind `Residency` when of another context; what the driver says.
pub fn lend<'a, T: DeviceStorable>(
    memory: &'a DeviceMemory<T>,
    stream: &Arc<CudaStream>,
) -> Result<Lent<'a, T>> {
    let ours = ordered("cudarc::lend", memory, stream, Access::Read)?;
    Ok(Lent {
        address: memory.ptr(),
        memory,
        ours,
        theirs: Arc::clone(stream),
    })
}

/// Lets cudarc change `memory` in `stream`, which is made to wait for what uses it now: anywhere cudarc takes a
/// [`DevicePtrMut`], and as the argument of a kernel by [`LentMut::argument`].
///
/// # Errors
/// As [`lend`].
pub fn lend_mut<'a, T: DeviceStorable>(
    memory: &'a mut DeviceMemory<T>,
    stream: &Arc<CudaStream>,
) -> Result<LentMut<'a, T>> {
    let ours = ordered("cudarc::lend_mut", memory, stream, Access::Write)?;
    Ok(LentMut {
        address: memory.ptr(),
        memory,
        ours,
        theirs: Arc::clone(stream),
    })
}

fn ordered<T: DeviceStorable>(
    op: &'static str,
    memory: &DeviceMemory<T>,
    stream: &Arc<CudaStream>,
    access: Access,
) -> Result<Stream> {
    let ours = adopt_stream(stream)?;
    ours.check_device(op, memory.device())?;
    memory.as_bytes().use_on(&ours, access)?;
    Ok(ours)
}

macro_rules! lent {
    ($($lent:ident: $wording:literal),*) => {$(
        impl<T> $lent<'_, T> {
            #[doc = concat!("The address, to be passed to a kernel that ", $wording, " the memory: `args.arg(lent.argument())`, launched in the")]
            /// stream that it was lent for.
            #[must_use]
            pub fn argument(&self) -> &CUdeviceptr {
                &self.address
            }

            /// `stream` waits for the one that the memory was lent for, and the host for `stream` afterwards, unless they are one.
            fn on<'s>(&'s self, stream: &'s CudaStream) -> SyncOnDrop<'s> {
                if stream.cu_stream() == self.theirs.cu_stream() {
                    return SyncOnDrop::Record(None);
                }
                let context = stream.context();
                context.record_err(stream.join(&self.theirs));
                SyncOnDrop::sync_stream(stream)
            }
        }

        impl<T: DeviceStorable> DeviceSlice<T> for $lent<'_, T> {
            fn len(&self) -> usize {
                self.memory.len()
            }

            fn stream(&self) -> &Arc<CudaStream> {
                &self.theirs
            }
        }

        impl<T: DeviceStorable> DevicePtr<T> for $lent<'_, T> {
            fn device_ptr<'s>(&'s self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
                (self.address, self.on(stream))
            }
        }

        impl<T> fmt::Debug for $lent<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($lent))
                    .field("memory", &self.memory)
                    .field("stream", &self.ours)
                    .finish_non_exhaustive()
            }
        }
    )*};
}

lent!(Lent: "reads", LentMut: "changes");

impl<T: DeviceStorable> DevicePtrMut<T> for LentMut<'_, T> {
    fn device_ptr_mut<'s>(&'s mut self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
        (self.address, self.on(stream))
    }
}
