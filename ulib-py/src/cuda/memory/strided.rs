//! `Memcpy2D`, `Memcpy3D` and `Memcpy3DPeer`: copies of rows and slices, between anything.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBool;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Result;
use ulib_device::copy::{Extent, raw};
use ulib_device::{Access, Stream};

use super::on::On;
use super::pointer::Pointer;
use super::sides::{Description, Given, Side};
use super::{pending, transfer};
use crate::cuda::arguments::{Whole, instance};
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting};
use crate::cuda::kept::in_graph;

/// Adds the classes of this file to `uLib.cuda._native_blocks`.
pub(in crate::cuda) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Memcpy2D>()?;
    module.add_class::<Memcpy3D>()?;
    module.add_class::<Memcpy3DPeer>()
}

/// Which of the driver's copies it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Rows { aligned: bool },
    Slices,
    Peer,
}

impl Form {
    /// The class that is called.
    fn op(self) -> &'static str {
        match self {
            Self::Rows { .. } => "Memcpy2D",
            Self::Slices => "Memcpy3D",
            Self::Peer => "Memcpy3DPeer",
        }
    }
}

/// Does the copy: now, or on a stream.
fn run(
    py: Python<'_>,
    state: &Mutex<Description>,
    form: Form,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = form.op();
    let on = On::of(op, stream)?;
    let waits = stream.is_none();
    let (mut call, extent, [touches_host, from_device], src, dst, devices, keepers, arrays) = {
        let description = lock(state);
        let (from, to) = (&description.src, &description.dst);
        let mut extent = description.extent;
        if matches!(form, Form::Rows { .. }) {
            extent.depth = 1;
        }
        if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
            return Ok(());
        }
        from.check(op, "the source", extent)?;
        to.check(op, "the destination", extent)?;
        let call = Call {
            from: from.told,
            to: to.told,
            contexts: [0, 0],
            form,
        };
        let places = [from.is_host() || to.is_host(), from.pointer().is_some()];
        let pointer = |side: &Side| side.pointer().map_or_else(Pointer::none, Pointer::again);
        let keepers = [from.keeper(), to.keeper()];
        (
            call,
            extent,
            places,
            pointer(from),
            pointer(to),
            [from.device(), to.device()],
            keepers,
            [(from.array(), Access::Read), (to.array(), Access::Write)],
        )
    };
    let after = py
        .detach(|| {
            let [here, there] = devices.map(|device| device.map_or_else(current::device, Ok));
            let (here, there) = (here?, there?);
            if form == Form::Peer {
                call.contexts = [here.primary_context()?, there.primary_context()?];
            }
            let device = if from_device { here } else { there };
            let stream = on.stream(op, &device)?;
            for keeper in keepers.iter().flatten() {
                in_graph(&stream, || keeper.clone())?;
            }
            for (array, access) in &arrays {
                if let Some(array) = array {
                    array.queue_on(&stream, *access, || Ok(()))?;
                }
            }
            let queue =
                |piece| transfer::queue_from(&dst, &src, &stream, || call.queue(piece, &stream));
            if waits && touches_host {
                raw::in_pieces(&stream, extent.bytes(), extent.pieces(), queue)?;
                return Ok(pending::Mark::Done);
            }
            queue(([0, 0], extent))?;
            if waits {
                stream.synchronize()?;
                return Ok(pending::Mark::Done);
            }
            pending::mark(&stream)
        })
        .map_err(|error| transfer::of_op(error, op))
        .cuda()?;
    for keeper in keepers.into_iter().flatten() {
        pending::keep(py, after.clone(), keeper);
    }
    Ok(())
}

/// A copy as the driver is told of it.
struct Call {
    from: raw::Side,
    to: raw::Side,
    contexts: [usize; 2],
    form: Form,
}

impl Call {
    /// Puts a part of the copy that begins at a row and a slice into the stream.
    fn queue(&self, ([row, slice], extent): ([usize; 2], Extent), stream: &Stream) -> Result<()> {
        let forward = |side: raw::Side| {
            let [x, y, z] = side.origin;
            raw::Side {
                origin: [x, y + row, z + slice],
                ..side
            }
        };
        let (to, from) = (forward(self.to), forward(self.from));
        // SAFETY: host bytes and arrays were checked and are kept until the copy has run; device memory of ours was checked, and
        // outlives the work that is queued on it; other addresses the driver checks. Contexts are primary ones.
        unsafe {
            match self.form {
                Form::Rows { aligned: true } => {
                    raw::copy_2d(&raw::rows(&to, &from, extent), stream)
                }
                Form::Rows { aligned: false } => {
                    raw::copy_2d_unaligned(&raw::rows(&to, &from, extent), stream.device())
                }
                Form::Slices => raw::copy_3d(&raw::slices(&to, &from, extent), stream),
                Form::Peer => {
                    let (to, from) = ((&to, self.contexts[1]), (&from, self.contexts[0]));
                    raw::copy_3d_peer(&raw::slices_of_peers(to, from, extent), stream)
                }
            }
        }
    }
}

fn lock(state: &Mutex<Description>) -> MutexGuard<'_, Description> {
    // Held for a moment only, without waiting for anything.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts what a setter was given on one side. What was there is dropped when nothing is locked.
fn put(
    state: &Mutex<Description>,
    given: Given,
    side: impl FnOnce(&mut Description) -> &mut Side,
) -> PyResult<()> {
    let before = side(&mut lock(state)).set(given);
    drop(before);
    Ok(())
}

/// A class with the fields and setters that its form has.
macro_rules! copies {
    (@class $(#[$doc:meta])* $class:ident {
        $($field:ident, $set_field:ident = $($path:ident).+ $([$at:literal])?;)*
    } { $($extra:tt)* }) => {
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
                    lock(&self.state).$($path).+ $([$at])?
                }

                #[setter]
                fn $set_field(&self, value: Whole) -> PyResult<()> {
                    let value = fitting(stringify!($class), stringify!($field), value)?;
                    lock(&self.state).$($path).+ $([$at])? = value;
                    Ok(())
                }
            )*

            /// 1 for host memory, 2 for a device's, 3 for an array, 4 for any.
            #[getter]
            fn src_memory_type(&self) -> u32 {
                lock(&self.state).src.told.kind
            }

            #[setter]
            fn set_src_memory_type(&self, value: Whole) -> PyResult<()> {
                let value = fitting(stringify!($class), "src_memory_type", value)?;
                lock(&self.state).src.told.kind = value;
                Ok(())
            }

            /// 1 for host memory, 2 for a device's, 3 for an array, 4 for any.
            #[getter]
            fn dst_memory_type(&self) -> u32 {
                lock(&self.state).dst.told.kind
            }

            #[setter]
            fn set_dst_memory_type(&self, value: Whole) -> PyResult<()> {
                let value = fitting(stringify!($class), "dst_memory_type", value)?;
                lock(&self.state).dst.told.kind = value;
                Ok(())
            }

            /// The address of the source in device memory; 0 where there is none.
            #[getter]
            fn src_device(&self) -> u64 {
                lock(&self.state).src.told.device()
            }

            /// The address of the destination in device memory; 0 where there is none.
            #[getter]
            fn dst_device(&self) -> u64 {
                lock(&self.state).dst.told.device()
            }

            /// Takes the source from host memory: anything contiguous with a buffer, which is kept.
            fn set_src_host(&self, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::host(concat!(stringify!($class), ".set_src_host"), buffer, false)?;
                put(&self.state, given, |all| &mut all.src)
            }

            /// Puts the copy into host memory: anything contiguous and writable with a buffer, which is kept.
            fn set_dst_host(&self, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::host(concat!(stringify!($class), ".set_dst_host"), buffer, true)?;
                put(&self.state, given, |all| &mut all.dst)
            }

            /// Takes the source from device memory.
            fn set_src_device(&self, devptr: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::device(concat!(stringify!($class), ".set_src_device"), devptr, false)?;
                put(&self.state, given, |all| &mut all.src)
            }

            /// Puts the copy into device memory.
            fn set_dst_device(&self, devptr: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::device(concat!(stringify!($class), ".set_dst_device"), devptr, true)?;
                put(&self.state, given, |all| &mut all.dst)
            }

            /// Takes the source from an ``Array``.
            fn set_src_array(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::array(concat!(stringify!($class), ".set_src_array"), array)?;
                put(&self.state, given, |all| &mut all.src)
            }

            /// Puts the copy into an ``Array``.
            fn set_dst_array(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::array(concat!(stringify!($class), ".set_dst_array"), array)?;
                put(&self.state, given, |all| &mut all.dst)
            }

            /// Takes the source from wherever it is: device memory, or host memory that devices reach.
            fn set_src_unified(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::unified(concat!(stringify!($class), ".set_src_unified"), obj, false)?;
                put(&self.state, given, |all| &mut all.src)
            }

            /// Puts the copy wherever it is to be: device memory, or host memory that devices reach.
            fn set_dst_unified(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
                let given = Given::unified(concat!(stringify!($class), ".set_dst_unified"), obj, true)?;
                put(&self.state, given, |all| &mut all.dst)
            }

            fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
                match self.state.try_lock() {
                    Ok(state) => {
                        state.src.traverse(&visit)?;
                        state.dst.traverse(&visit)
                    }
                    Err(_) => Ok(()),
                }
            }

            fn __clear__(&self) {
                let before = std::mem::take(&mut *lock(&self.state));
                drop(before);
            }

            $($extra)*
        }
    };
    // A copy of rows.
    ($(#[$doc:meta])* rows $class:ident { $($extra:tt)* }) => {
        copies! { @class $(#[$doc])* $class {
            src_x_in_bytes, set_src_x_in_bytes = src.told.origin[0];
            src_y, set_src_y = src.told.origin[1];
            src_pitch, set_src_pitch = src.told.pitch;
            dst_x_in_bytes, set_dst_x_in_bytes = dst.told.origin[0];
            dst_y, set_dst_y = dst.told.origin[1];
            dst_pitch, set_dst_pitch = dst.told.pitch;
            width_in_bytes, set_width_in_bytes = extent.width;
            height, set_height = extent.height;
        } { $($extra)* } }
    };
    // A copy of slices.
    ($(#[$doc:meta])* slices $class:ident { $($extra:tt)* }) => {
        copies! { @class $(#[$doc])* $class {
            src_x_in_bytes, set_src_x_in_bytes = src.told.origin[0];
            src_y, set_src_y = src.told.origin[1];
            src_z, set_src_z = src.told.origin[2];
            src_lod, set_src_lod = src.told.level;
            src_pitch, set_src_pitch = src.told.pitch;
            src_height, set_src_height = src.told.height;
            dst_x_in_bytes, set_dst_x_in_bytes = dst.told.origin[0];
            dst_y, set_dst_y = dst.told.origin[1];
            dst_z, set_dst_z = dst.told.origin[2];
            dst_lod, set_dst_lod = dst.told.level;
            dst_pitch, set_dst_pitch = dst.told.pitch;
            dst_height, set_dst_height = dst.told.height;
            width_in_bytes, set_width_in_bytes = extent.width;
            height, set_height = extent.height;
            depth, set_depth = extent.depth;
        } { $($extra)* } }
    };
}

copies! {
    /// A copy of ``height`` rows of ``width_in_bytes`` bytes; rows start ``src_pitch`` and ``dst_pitch`` bytes apart. ``copy(aligned=False)``
    /// does it at once, at any pitch, and ``copy(stream)`` puts it into a stream.
    rows Memcpy2D {
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
}

copies! {
    /// A copy of ``depth`` slices of ``height`` rows of ``width_in_bytes`` bytes; rows start ``src_pitch`` and ``dst_pitch`` bytes apart, slices
    /// ``src_height`` and ``dst_height`` rows. ``copy()`` does it at once, ``copy(stream)`` puts it into a stream.
    slices Memcpy3D {
        #[pyo3(signature = (stream=None))]
        fn __call__(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
            let stream = stream.filter(|stream| !stream.is_none());
            run(py, &self.state, Form::Slices, stream)
        }
    }
}

copies! {
    /// A ``Memcpy3D`` between two devices: those of the contexts that were set, else those of the memory.
    slices Memcpy3DPeer {
        /// The context in which the source is.
        fn set_src_context(&self, context: &Bound<'_, PyAny>) -> PyResult<()> {
            let given = instance("Memcpy3DPeer.set_src_context", "context", context)?;
            let old = lock(&self.state).src.context.replace(given.clone().unbind());
            drop(old);
            Ok(())
        }

        /// The context in which the destination is.
        fn set_dst_context(&self, context: &Bound<'_, PyAny>) -> PyResult<()> {
            let given = instance("Memcpy3DPeer.set_dst_context", "context", context)?;
            let old = lock(&self.state).dst.context.replace(given.clone().unbind());
            drop(old);
            Ok(())
        }

        #[pyo3(signature = (stream=None))]
        fn __call__(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
            let stream = stream.filter(|stream| !stream.is_none());
            run(py, &self.state, Form::Peer, stream)
        }
    }
}
