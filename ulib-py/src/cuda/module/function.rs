//! `Function`: a kernel, its attributes and its calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Context as _;
use ulib_device::Stream;
use ulib_device::launch::Shape;
use ulib_device::module::Parameter;
use ulib_device::sys::{CUfunc_cache, CUfunction_attribute};

use super::calls::{check_reference, references_in};
use super::config::{Call, Usual, extents};
use super::modules::{References, bytes_of};
use super::prepared::{Prepared, PreparedTime};
use crate::args::{Int, caused, shown};
use crate::cuda::arguments::Whole;
use crate::cuda::errors::{IntoCudaResult, fitting, logic};
use crate::detached::Detached;

/// Attributes by the names that PyCUDA has for them, and newer ones.
const ATTRIBUTES: &[(&str, u32)] = &[
    ("max_threads_per_block", 0),
    ("shared_size_bytes", 1),
    ("const_size_bytes", 2),
    ("local_size_bytes", 3),
    ("num_regs", 4),
    ("ptx_version", 5),
    ("binary_version", 6),
    ("cache_mode_ca", 7),
    ("max_dynamic_shared_size_bytes", 8),
    ("preferred_shared_memory_carveout", 9),
    ("cluster_size_must_be_set", 10),
    ("required_cluster_width", 11),
    ("required_cluster_height", 12),
    ("required_cluster_depth", 13),
    ("non_portable_cluster_size_allowed", 14),
    ("cluster_scheduling_policy_preference", 15),
];

/// A kernel. It keeps its module.
///
/// Calling it launches it: ``function(*args, block=(256, 1, 1), grid=(16, 1))``. Arguments are checked against the kernel's own
/// parameters: numbers of Python become what the parameter is, those of NumPy and structs have to be it already, arrays on a
/// device and managed ones go by address. ``In``, ``Out`` and ``InOut`` copy arrays of the host.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct Function {
    pub(super) function: Detached<ulib_device::Function>,
    usual: Mutex<Usual>,
    /// Texture and surface references of its module, which are used where something is bound to them.
    pub(super) of_module: Py<References>,
}

impl Function {
    pub(super) fn new(function: ulib_device::Function, of_module: Py<References>) -> Self {
        Self {
            function: Detached::new(function),
            usual: Mutex::default(),
            of_module,
        }
    }

    pub(super) fn usual(&self) -> MutexGuard<'_, Usual> {
        // Held for a moment only, without waiting for anything; what is taken out of it is dropped afterwards, since that may run
        // code of the program.
        self.usual.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel's parameters, as far as they are known.
    pub(super) fn declared(&self, py: Python<'_>) -> PyResult<Option<&[Parameter]>> {
        if self.function.knows_parameters() {
            self.function.parameters().cuda()
        } else {
            py.detach(|| self.function.parameters()).cuda()
        }
    }

    /// The kernel itself.
    pub(crate) fn inner(&self) -> &ulib_device::Function {
        &self.function
    }
}

#[pymethods]
impl Function {
    /// Launches the kernel.
    ///
    /// ``block`` (required) and ``grid`` are threads and blocks along x, y and z, ``shared`` the bytes of dynamic shared memory: as
    /// many as the device can give. ``cooperative`` lets blocks wait for each other, ``cluster`` launches them in clusters of so many.
    ///
    /// It returns when the kernel is queued; with an ``Out`` or ``InOut`` among the arguments, when the array is there. With
    /// ``time_kernel`` it waits for the kernel and returns the seconds it took.
    #[pyo3(signature = (*args, block=None, grid=None, stream=None, shared=None, texrefs=None, time_kernel=false, cooperative=false, cluster=None, **unknown))]
    #[allow(clippy::too_many_arguments, reason = "PyCUDA's own")]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        block: Option<&Bound<'py, PyAny>>,
        grid: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        shared: Option<Whole>,
        texrefs: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = truth)] time_kernel: bool,
        #[pyo3(from_py_with = truth)] cooperative: bool,
        cluster: Option<&Bound<'py, PyAny>>,
        unknown: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<f64>> {
        if let Some(unknown) = unknown.filter(|unknown| !unknown.is_empty()) {
            let names = unknown.keys();
            return Err(PyValueError::new_err(format!(
                "unknown keyword arguments: {names}"
            )));
        }
        let call = Call {
            grid,
            block,
            stream,
            shared: shared.map_or(Ok(Int(0)), |shared| shared.of("launch", "shared"))?,
            shape: Shape {
                cooperative,
                cluster: cluster
                    .map(|cluster| extents("cluster", cluster))
                    .transpose()?,
            },
            texrefs,
        };
        self.launch(py, &call, args, time_kernel)
    }

    /// Says the types of the arguments of ``prepared_call`` and its kin: a string of struct-module letters, or a list of types of
    /// NumPy, where ``"P"`` and anything that is none stand for addresses.
    #[pyo3(signature = (arg_types, texrefs=None))]
    fn prepare<'py>(
        slf: Bound<'py, Self>,
        arg_types: &Bound<'py, PyAny>,
        texrefs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let this = slf.get();
        let prepared = Prepared::of(this, arg_types)?;
        if let Some(texrefs) = texrefs.filter(|texrefs| !texrefs.is_none()) {
            let given = references_in(texrefs)?;
            let before = std::mem::replace(&mut this.usual().references, given);
            drop(before);
        }
        let prepared = Py::new(slf.py(), prepared)?;
        let before = this.usual().prepared.replace(prepared);
        drop(before);
        Ok(slf)
    }

    /// Lets every call from now on use a texture reference, as ``texrefs`` does for one call.
    fn param_set_texref(&self, texref: &Bound<'_, PyAny>) -> PyResult<()> {
        check_reference("the texture reference is", texref)?;
        let references = &mut self.usual().references;
        if !references.iter().any(|known| known.is(texref)) {
            references.push(texref.clone().unbind());
        }
        Ok(())
    }

    /// Launches the kernel with arguments of the types that ``prepare`` said, in the default stream.
    #[pyo3(signature = (grid, block, *args, shared_size=Whole::Number(Int(0))), text_signature = "($self, grid, block, *args, shared_size=0)")]
    fn prepared_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        shared_size: Whole,
    ) -> PyResult<()> {
        let shared = shared_size.of("prepared_call", "shared_size")?;
        let call = prepared(grid, block, None, shared);
        self.launch_prepared(py, &call, args)
    }

    /// As ``prepared_call``, in ``stream``.
    #[pyo3(signature = (grid, block, stream, *args, shared_size=Whole::Number(Int(0))), text_signature = "($self, grid, block, stream, *args, shared_size=0)")]
    fn prepared_async_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        shared_size: Whole,
    ) -> PyResult<()> {
        let shared = shared_size.of("prepared_async_call", "shared_size")?;
        let call = prepared(grid, block, stream, shared);
        self.launch_prepared(py, &call, args)
    }

    /// As ``prepared_call``; returns a function that waits for the kernel and gives the seconds it took.
    #[pyo3(signature = (grid, block, *args, shared_size=Whole::Number(Int(0))), text_signature = "($self, grid, block, *args, shared_size=0)")]
    fn prepared_timed_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        shared_size: Whole,
    ) -> PyResult<PreparedTime> {
        let shared = shared_size.of("prepared_timed_call", "shared_size")?;
        self.refuse_capture(py, None, "prepared_timed_call waits for the kernel")?;
        let mark = || PreparedTime::mark(&Stream::legacy(self.function.device()));
        let begin = py.detach(mark).cuda()?;
        self.launch_prepared(py, &prepared(grid, block, None, shared), args)?;
        let end = py.detach(mark).cuda()?;
        Ok(PreparedTime::new(begin, end))
    }

    /// Launches the kernel with arguments that are packed already, as they lie in its memory.
    #[pyo3(signature = (grid, block, buf, shared, stream))]
    fn _launch_kernel(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        buf: &Bound<'_, PyAny>,
        shared: Whole,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let shared = shared.of("launch", "shared")?;
        if buf.is_instance_of::<PyString>() {
            let found = shown(buf);
            return Err(PyTypeError::new_err(format!(
                "launch: buf is {found}, expected bytes, or an array of them"
            )));
        }
        let packed = bytes_of("launch: buf", buf)?;
        self.launch_packed(py, &prepared(grid, block, stream, shared), &packed)
    }

    /// The block of calls that say none.
    #[pyo3(signature = (*bs))]
    fn _set_block_shape(&self, bs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let shape = extents("block", bs.as_any())?;
        self.usual().block = Some(shape);
        Ok(())
    }

    /// An attribute by its ``function_attribute``, or the driver's number for it.
    fn get_attribute(&self, py: Python<'_>, attribute: &Bound<'_, PyAny>) -> PyResult<i32> {
        const OP: &str = "Function.get_attribute";
        let number = number_of(OP, "attribute", attribute)?;
        py.detach(|| self.function.attribute(CUfunction_attribute(number)))
            .with_context(|| format!("{OP}: attribute {number}"))
            .cuda()
    }

    /// Changes an attribute.
    fn set_attribute(
        &self,
        py: Python<'_>,
        attribute: &Bound<'_, PyAny>,
        value: Whole,
    ) -> PyResult<()> {
        const OP: &str = "Function.set_attribute";
        let number = number_of(OP, "attribute", attribute)?;
        let value = fitting(OP, "value", value)?;
        let attribute = CUfunction_attribute(number);
        py.detach(|| self.function.set_attribute(attribute, value))
            .with_context(|| format!("{OP}: attribute {number}, value {value}"))
            .cuda()
    }

    /// Says, by a ``func_cache``, which of cache and shared memory the kernel would rather have more of.
    fn set_cache_config(&self, py: Python<'_>, config: &Bound<'_, PyAny>) -> PyResult<()> {
        const OP: &str = "Function.set_cache_config";
        let config = CUfunc_cache(number_of(OP, "config", config)?);
        if config.0 > CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0 {
            return Err(logic(format!(
                "{OP}: config is {}, which is no func_cache",
                config.0
            )));
        }
        py.detach(|| self.function.set_cache_config(config)).cuda()
    }

    /// Accepted, and of no meaning to any device of today.
    fn set_shared_config(&self, _config: &Bound<'_, PyAny>) {}

    /// How many blocks of ``block_size`` threads and ``dynamic_smem_size`` bytes of shared memory each run on a multiprocessor at a
    /// time.
    #[pyo3(signature = (block_size, dynamic_smem_size=Whole::Number(Int(0))), text_signature = "($self, block_size, dynamic_smem_size=0)")]
    fn max_active_blocks_per_multiprocessor(
        &self,
        py: Python<'_>,
        block_size: Whole,
        dynamic_smem_size: Whole,
    ) -> PyResult<u32> {
        let block_size = fitting(
            "max_active_blocks_per_multiprocessor",
            "block_size",
            block_size,
        )?;
        let dynamic_smem_size = fitting(
            "max_active_blocks_per_multiprocessor",
            "dynamic_smem_size",
            dynamic_smem_size,
        )?;
        py.detach(|| {
            self.function
                .blocks_per_multiprocessor(block_size, dynamic_smem_size)
        })
        .cuda()
    }

    /// The smallest grid and the size of block that keep the device busiest; at most ``block_size_limit`` threads if that is not 0.
    #[pyo3(signature = (dynamic_smem_size=Whole::Number(Int(0)), block_size_limit=Whole::Number(Int(0))), text_signature = "($self, dynamic_smem_size=0, block_size_limit=0)")]
    fn max_potential_block_size(
        &self,
        py: Python<'_>,
        dynamic_smem_size: Whole,
        block_size_limit: Whole,
    ) -> PyResult<(u32, u32)> {
        let dynamic_smem_size = fitting(
            "max_potential_block_size",
            "dynamic_smem_size",
            dynamic_smem_size,
        )?;
        let block_size_limit = fitting(
            "max_potential_block_size",
            "block_size_limit",
            block_size_limit,
        )?;
        py.detach(|| {
            self.function
                .best_block(dynamic_smem_size, block_size_limit)
        })
        .cuda()
    }

    /// Offset and size in bytes of every parameter; None for machine code where the driver does not tell (before CUDA 12.4).
    #[getter]
    fn parameters(&self, py: Python<'_>) -> PyResult<Option<Vec<(usize, usize)>>> {
        let known = self.declared(py)?;
        Ok(known.map(|known| known.iter().map(|p| (p.offset, p.size)).collect()))
    }

    /// The name of the kernel in its program.
    #[getter]
    fn name(&self) -> &str {
        self.function.name()
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> usize {
        self.function.handle() as usize
    }

    /// Attributes in lower case: ``function.num_regs``.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<i32> {
        let found = ATTRIBUTES.iter().find(|(known, _)| *known == name);
        let &(_, number) = found.ok_or_else(|| {
            PyAttributeError::new_err(format!("'Function' object has no attribute '{name}'"))
        })?;
        py.detach(|| self.function.attribute(CUfunction_attribute(number)))
            .cuda()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.of_module)?;
        if let Ok(usual) = self.usual.try_lock() {
            for reference in &usual.references {
                visit.call(reference)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        let before = std::mem::take(&mut self.usual().references);
        drop(before);
    }

    fn __repr__(&self) -> String {
        format!(
            "<uLib.cuda.driver.Function {} on {}>",
            self.function.name(),
            self.function.device()
        )
    }
}

/// What a prepared call says besides its values.
fn prepared<'a, 'py>(
    grid: &'a Bound<'py, PyAny>,
    block: &'a Bound<'py, PyAny>,
    stream: Option<&'a Bound<'py, PyAny>>,
    shared: Int,
) -> Call<'a, 'py> {
    Call {
        grid: Some(grid),
        block: Some(block),
        stream,
        shared,
        shape: Shape::default(),
        texrefs: None,
    }
}

/// The number of an attribute or of a choice.
fn number_of(op: &str, what: &str, given: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number: Int = given.extract().map_err(|error| {
        caused(given.py(), error, |_| {
            let found = shown(given);
            PyTypeError::new_err(format!("{op}: {what} is {found}, expected a number"))
        })
    })?;
    u32::try_from(number.0).map_err(|_| {
        logic(format!(
            "{op}: {what} is {number}, expected a number of 32 bits"
        ))
    })
}

/// Anything as yes or no.
fn truth(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.is_truthy()
}
