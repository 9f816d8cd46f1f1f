//! `Memcpy2D`, `Memcpy3D` and `Memcpy3DPeer`: copies of rows and slices, between anything.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyBool;
use pyo3::{PyTraverseError, PyVisit};

use super::sides::{Description, Given, Side};
use super::strided_run::{Form, lock, run};
use crate::cuda::arguments::{Whole, instance};
use crate::cuda::errors::fitting;

/// Adds the classes of this file to `uLib.cuda._native_blocks`.
pub(in crate::cuda) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Memcpy2D>()?;
    module.add_class::<Memcpy3D>()?;
    module.add_class::<Memcpy3DPeer>()
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
