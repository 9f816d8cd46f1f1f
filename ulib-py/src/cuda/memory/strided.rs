//! `Memcpy2D`, `Memcpy3D` and `Memcpy3DPeer`: copies of rows and slices, between anything.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use ulib_core::Result;
use ulib_device::copy::raw;
use ulib_device::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext, CUmemorytype,
};
use ulib_device::{Device, Stream};

use super::buffer::HostBytes;
use super::on::On;
use super::pointer::Pointer;
use super::{pending, transfer};
use crate::cuda::context::PyContext;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, logic};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Memcpy2D>()?;
    module.add_class::<Memcpy3D>()?;
    module.add_class::<Memcpy3DPeer>()
}

/// One side of a copy, as the program describes it.
#[derive(Default)]
struct Side {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    pitch: usize,
    height: usize,
    kind: u32,
    address: u64,
    place: Place,
    context: Option<Py<PyContext>>,
}

/// What one side is in, and what keeps it.
#[derive(Default)]
enum Place {
    #[default]
    Nothing,
    Host(Arc<HostBytes>),
    Device(Pointer),
    Array(Py<PyAny>),
}

#[derive(Default)]
struct Description {
    src: Side,
    dst: Side,
    width: usize,
    height: usize,
    depth: usize,
}

/// Which of the driver's copies it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Rows { aligned: bool },
    Slices,
    Peer,
}

impl Side {
    fn set_host(
        &mut self,
        op: &'static str,
        object: &Bound<'_, PyAny>,
        write: bool,
    ) -> PyResult<()> {
        let bytes = match write {
            true => HostBytes::writable(op, "buffer", object)?,
            false => HostBytes::of(op, "buffer", object)?,
        };
        self.address = bytes.ptr() as u64;
        self.kind = CUmemorytype::CU_MEMORYTYPE_HOST.0;
        self.place = Place::Host(Arc::new(bytes));
        Ok(())
    }

    fn set_device(&mut self, op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let pointer = Pointer::of(op, "device memory", object)?;
        self.address = pointer.address();
        self.kind = CUmemorytype::CU_MEMORYTYPE_DEVICE.0;
        self.place = Place::Device(pointer);
        Ok(())
    }

    /// Anything with an address that both sides know: device memory, or host memory with a buffer.
    fn set_unified(
        &mut self,
        op: &'static str,
        object: &Bound<'_, PyAny>,
        write: bool,
    ) -> PyResult<()> {
        if self.set_device(op, object).is_err() {
            self.set_host(op, object, write)?;
        }
        self.kind = CUmemorytype::CU_MEMORYTYPE_UNIFIED.0;
        Ok(())
    }

    fn set_array(&mut self, op: &'static str, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let handle = array
            .getattr_opt(intern!(array.py(), "handle"))?
            .ok_or_else(|| logic(format!("{op}: {} is no Array", array.get_type())))?;
        self.address = handle.extract()?;
        self.kind = CUmemorytype::CU_MEMORYTYPE_ARRAY.0;
        self.place = Place::Array(array.clone().unbind());
        Ok(())
    }

    /// Refuses what lies outside the bytes that are known to be there.
    fn check(&self, what: &str, width: usize, height: usize, depth: usize) -> PyResult<()> {
        let (len, kept) = match &self.place {
            Place::Nothing => {
                return Err(logic(format!("copy: {what} has not been set")));
            }
            Place::Host(bytes) => (bytes.len(), None),
            Place::Device(pointer) => (0, Some(pointer)),
            Place::Array(_) => return Ok(()),
        };
        let span = || -> Option<usize> {
            let row = if height > 1 || depth > 1 || self.y > 0 || self.z > 0 {
                self.pitch
            } else {
                0
            };
            let rows = if self.height == 0 {
                height
            } else {
                self.height
            };
            let slices = self.z.checked_add(depth - 1)?.checked_mul(rows)?;
            let before = slices
                .checked_add(self.y)?
                .checked_add(height - 1)?
                .checked_mul(row)?;
            before.checked_add(self.x)?.checked_add(width)
        };
        let end =
            span().ok_or_else(|| logic(format!("copy: {what} reaches beyond every address")))?;
        match kept {
            Some(pointer) => pointer.check("copy", what, end),
            None if end > len => Err(logic(format!(
                "copy: {end} bytes exceed the {len} bytes of {what}"
            ))),
            None => Ok(()),
        }
    }

    fn pointer(&self) -> Option<&Pointer> {
        match &self.place {
            Place::Device(pointer) => Some(pointer),
            _ => None,
        }
    }

    fn host(&self) -> u64 {
        if self.kind == CUmemorytype::CU_MEMORYTYPE_HOST.0 {
            self.address
        } else {
            0
        }
    }

    fn device(&self) -> u64 {
        let known = [
            CUmemorytype::CU_MEMORYTYPE_DEVICE.0,
            CUmemorytype::CU_MEMORYTYPE_UNIFIED.0,
        ];
        if known.contains(&self.kind) {
            self.address
        } else {
            0
        }
    }

    fn array(&self) -> CUarray {
        if self.kind == CUmemorytype::CU_MEMORYTYPE_ARRAY.0 {
            self.address as CUarray
        } else {
            std::ptr::null_mut()
        }
    }

    /// The device on which this side is.
    fn on(&self) -> Result<Device> {
        match (&self.context, self.pointer()) {
            (Some(context), _) => Ok(context.get().0.context.device().clone()),
            (None, Some(pointer)) => pointer.device(),
            (None, None) => current::device(),
        }
    }

    /// What keeps host bytes and arrays.
    fn keepers(&self, py: Python<'_>) -> Option<pending::Keeper> {
        match &self.place {
            Place::Host(bytes) => Some(pending::Keeper::Bytes(Arc::clone(bytes))),
            Place::Array(array) => Some(pending::Keeper::Object(array.clone_ref(py))),
            _ => None,
        }
    }
}

/// The driver's description, which may go to another thread.
struct Call {
    rows: CUDA_MEMCPY2D,
    slices: CUDA_MEMCPY3D,
    peer: CUDA_MEMCPY3D_PEER,
}

// SAFETY: numbers for the driver, whose addresses whoever sends it keeps alive.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Description {
    fn call(&self, contexts: [usize; 2]) -> Call {
        let (src, dst) = (&self.src, &self.dst);
        let rows = CUDA_MEMCPY2D {
            srcXInBytes: src.x,
            srcY: src.y,
            srcMemoryType: CUmemorytype(src.kind),
            srcHost: src.host() as *const _,
            srcDevice: src.device(),
            srcArray: src.array(),
            srcPitch: src.pitch,
            dstXInBytes: dst.x,
            dstY: dst.y,
            dstMemoryType: CUmemorytype(dst.kind),
            dstHost: dst.host() as *mut _,
            dstDevice: dst.device(),
            dstArray: dst.array(),
            dstPitch: dst.pitch,
            WidthInBytes: self.width,
            Height: self.height,
        };
        let peer = CUDA_MEMCPY3D_PEER {
            srcXInBytes: src.x,
            srcY: src.y,
            srcZ: src.z,
            srcLOD: src.lod,
            srcMemoryType: CUmemorytype(src.kind),
            srcHost: src.host() as *const _,
            srcDevice: src.device(),
            srcArray: src.array(),
            srcContext: contexts[0] as CUcontext,
            srcPitch: src.pitch,
            srcHeight: src.height,
            dstXInBytes: dst.x,
            dstY: dst.y,
            dstZ: dst.z,
            dstLOD: dst.lod,
            dstMemoryType: CUmemorytype(dst.kind),
            dstHost: dst.host() as *mut _,
            dstDevice: dst.device(),
            dstArray: dst.array(),
            dstContext: contexts[1] as CUcontext,
            dstPitch: dst.pitch,
            dstHeight: dst.height,
            WidthInBytes: self.width,
            Height: self.height,
            Depth: self.depth,
        };
        // SAFETY: all zeros are a description of nothing.
        let mut slices: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        slices.srcXInBytes = src.x;
        slices.srcY = src.y;
        slices.srcZ = src.z;
        slices.srcLOD = src.lod;
        slices.srcMemoryType = rows.srcMemoryType;
        slices.srcHost = rows.srcHost;
        slices.srcDevice = rows.srcDevice;
        slices.srcArray = rows.srcArray;
        slices.srcPitch = src.pitch;
        slices.srcHeight = src.height;
        slices.dstXInBytes = dst.x;
        slices.dstY = dst.y;
        slices.dstZ = dst.z;
        slices.dstLOD = dst.lod;
        slices.dstMemoryType = rows.dstMemoryType;
        slices.dstHost = rows.dstHost;
        slices.dstDevice = rows.dstDevice;
        slices.dstArray = rows.dstArray;
        slices.dstPitch = dst.pitch;
        slices.dstHeight = dst.height;
        slices.WidthInBytes = self.width;
        slices.Height = self.height;
        slices.Depth = self.depth;
        Call { rows, slices, peer }
    }
}

/// Does the copy: now, or on a stream.
fn run(
    py: Python<'_>,
    state: &Mutex<Description>,
    form: Form,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    const OP: &str = "copy";
    let on = On::of(OP, stream)?;
    let waits = stream.is_none();
    let (call, src, dst, device, keepers) = {
        let description = lock(state);
        let (width, height) = (description.width, description.height);
        let depth = if matches!(form, Form::Rows { .. }) {
            1
        } else {
            description.depth
        };
        if width == 0 || height == 0 || depth == 0 {
            return Ok(());
        }
        description.src.check("the source", width, height, depth)?;
        description
            .dst
            .check("the destination", width, height, depth)?;
        let (from, to) = (description.src.on().cuda()?, description.dst.on().cuda()?);
        let contexts = match form {
            Form::Peer => [from.primary_context().cuda()?, to.primary_context().cuda()?],
            _ => [0, 0],
        };
        let device = if description.src.pointer().is_some() {
            from
        } else {
            to
        };
        let pointer = |side: &Side| side.pointer().map_or_else(Pointer::none, Pointer::again);
        (
            description.call(contexts),
            pointer(&description.src),
            pointer(&description.dst),
            device,
            [description.src.keepers(py), description.dst.keepers(py)],
        )
    };
    let after = py
        .detach(|| {
            let stream = on.stream(OP, &device)?;
            transfer::queue_from(&dst, &src, &stream, || queue(&call, form, &stream))?;
            if waits {
                stream.synchronize()?;
                return Ok(None);
            }
            pending::mark(&stream)
        })
        .cuda()?;
    for keeper in keepers.into_iter().flatten() {
        pending::keep_for(py, after.clone(), keeper);
    }
    Ok(())
}

fn queue(call: &Call, form: Form, stream: &Stream) -> Result<()> {
    // SAFETY: host bytes were checked and are kept until the copy has run, as arrays are; device memory of ours was checked, and
    // outlives the work that is queued on it; other addresses the driver checks. Contexts are primary ones.
    unsafe {
        match form {
            Form::Rows { aligned: true } => raw::copy_2d(&call.rows, stream),
            Form::Rows { aligned: false } => raw::copy_2d_unaligned(&call.rows, stream.device()),
            Form::Slices => raw::copy_3d(&call.slices, stream),
            Form::Peer => raw::copy_3d_peer(&call.peer, stream),
        }
    }
}

fn lock(state: &Mutex<Description>) -> MutexGuard<'_, Description> {
    // Held for a moment only, without waiting for anything.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A class with the fields and setters that its form has.
macro_rules! copies {
    ($(
        $(#[$doc:meta])*
        $class:ident { $($field:ident, $set_field:ident = $($path:ident).+;)* }
        { $($extra:tt)* }
    )*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "uLib.cuda.driver")]
        pub(crate) struct $class {
            state: Mutex<Description>,
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new() -> Self {
                Self { state: Mutex::default() }
            }

            $(
                #[getter]
                fn $field(&self) -> usize {
                    lock(&self.state).$($path).+
                }

                #[setter]
                fn $set_field(&self, value: usize) {
                    lock(&self.state).$($path).+ = value;
                }
            )*

            /// 1 for host memory, 2 for a device's, 3 for an array, 4 for any.
            #[getter]
            fn src_memory_type(&self) -> u32 {
                lock(&self.state).src.kind
            }

            #[setter]
            fn set_src_memory_type(&self, value: u32) {
                lock(&self.state).src.kind = value;
            }

            /// 1 for host memory, 2 for a device's, 3 for an array, 4 for any.
            #[getter]
            fn dst_memory_type(&self) -> u32 {
                lock(&self.state).dst.kind
            }

            #[setter]
            fn set_dst_memory_type(&self, value: u32) {
                lock(&self.state).dst.kind = value;
            }

            /// The address of the source in device memory; 0 where there is none.
            #[getter]
            fn src_device(&self) -> u64 {
                lock(&self.state).src.device()
            }

            /// The address of the destination in device memory; 0 where there is none.
            #[getter]
            fn dst_device(&self) -> u64 {
                lock(&self.state).dst.device()
            }

            /// Takes the source from host memory: anything contiguous with a buffer, which is kept.
            fn set_src_host(&self, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).src.set_host("set_src_host", buffer, false)
            }

            /// Puts the copy into host memory: anything contiguous and writable with a buffer, which is kept.
            fn set_dst_host(&self, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).dst.set_host("set_dst_host", buffer, true)
            }

            /// Takes the source from device memory.
            fn set_src_device(&self, devptr: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).src.set_device("set_src_device", devptr)
            }

            /// Puts the copy into device memory.
            fn set_dst_device(&self, devptr: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).dst.set_device("set_dst_device", devptr)
            }

            /// Takes the source from an ``Array``.
            fn set_src_array(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).src.set_array("set_src_array", array)
            }

            /// Puts the copy into an ``Array``.
            fn set_dst_array(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).dst.set_array("set_dst_array", array)
            }

            /// Takes the source from wherever it is: device memory, or host memory that devices reach.
            fn set_src_unified(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).src.set_unified("set_src_unified", obj, false)
            }

            /// Puts the copy wherever it is to be: device memory, or host memory that devices reach.
            fn set_dst_unified(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
                lock(&self.state).dst.set_unified("set_dst_unified", obj, true)
            }

            $($extra)*
        }
    )*};
}

copies! {
    /// A copy of ``height`` rows of ``width_in_bytes`` bytes; rows start ``src_pitch`` and ``dst_pitch`` bytes apart. ``copy(aligned=False)``
    /// does it at once, at any pitch, and ``copy(stream)`` puts it into a stream.
    Memcpy2D {
        src_x_in_bytes, set_src_x_in_bytes = src.x;
        src_y, set_src_y = src.y;
        src_pitch, set_src_pitch = src.pitch;
        dst_x_in_bytes, set_dst_x_in_bytes = dst.x;
        dst_y, set_dst_y = dst.y;
        dst_pitch, set_dst_pitch = dst.pitch;
        width_in_bytes, set_width_in_bytes = width;
        height, set_height = height;
    } {
        #[pyo3(signature = (aligned=None, stream=None))]
        fn __call__(
            &self,
            py: Python<'_>,
            aligned: Option<&Bound<'_, PyAny>>,
            stream: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<()> {
            let stream = stream.filter(|stream| !stream.is_none());
            match (aligned.filter(|aligned| !aligned.is_none()), stream) {
                // Only when it is done at once may a pitch be any.
                (None, None) => run(py, &self.state, Form::Rows { aligned: false }, None),
                (Some(aligned), None) if aligned.is_instance_of::<PyBool>() => {
                    let aligned = aligned.is_truthy()?;
                    run(py, &self.state, Form::Rows { aligned }, None)
                }
                (Some(stream), None) | (_, Some(stream)) => {
                    run(py, &self.state, Form::Rows { aligned: true }, Some(stream))
                }
            }
        }
    }

    /// A copy of ``depth`` slices of ``height`` rows of ``width_in_bytes`` bytes; rows start ``src_pitch`` and ``dst_pitch`` bytes apart, slices
    /// ``src_height`` and ``dst_height`` rows. ``copy()`` does it at once, ``copy(stream)`` puts it into a stream.
    Memcpy3D {
        src_x_in_bytes, set_src_x_in_bytes = src.x;
        src_y, set_src_y = src.y;
        src_z, set_src_z = src.z;
        src_lod, set_src_lod = src.lod;
        src_pitch, set_src_pitch = src.pitch;
        src_height, set_src_height = src.height;
        dst_x_in_bytes, set_dst_x_in_bytes = dst.x;
        dst_y, set_dst_y = dst.y;
        dst_z, set_dst_z = dst.z;
        dst_lod, set_dst_lod = dst.lod;
        dst_pitch, set_dst_pitch = dst.pitch;
        dst_height, set_dst_height = dst.height;
        width_in_bytes, set_width_in_bytes = width;
        height, set_height = height;
        depth, set_depth = depth;
    } {
        #[pyo3(signature = (stream=None))]
        fn __call__(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
            let stream = stream.filter(|stream| !stream.is_none());
            run(py, &self.state, Form::Slices, stream)
        }
    }

    /// A ``Memcpy3D`` between two devices: those of the contexts that were set, else those of the memory.
    Memcpy3DPeer {
        src_x_in_bytes, set_src_x_in_bytes = src.x;
        src_y, set_src_y = src.y;
        src_z, set_src_z = src.z;
        src_lod, set_src_lod = src.lod;
        src_pitch, set_src_pitch = src.pitch;
        src_height, set_src_height = src.height;
        dst_x_in_bytes, set_dst_x_in_bytes = dst.x;
        dst_y, set_dst_y = dst.y;
        dst_z, set_dst_z = dst.z;
        dst_lod, set_dst_lod = dst.lod;
        dst_pitch, set_dst_pitch = dst.pitch;
        dst_height, set_dst_height = dst.height;
        width_in_bytes, set_width_in_bytes = width;
        height, set_height = height;
        depth, set_depth = depth;
    } {
        /// The context in which the source is.
        fn set_src_context(&self, context: Py<PyContext>) {
            lock(&self.state).src.context = Some(context);
        }

        /// The context in which the destination is.
        fn set_dst_context(&self, context: Py<PyContext>) {
            lock(&self.state).dst.context = Some(context);
        }

        #[pyo3(signature = (stream=None))]
        fn __call__(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
            let stream = stream.filter(|stream| !stream.is_none());
            run(py, &self.state, Form::Peer, stream)
        }
    }
}
