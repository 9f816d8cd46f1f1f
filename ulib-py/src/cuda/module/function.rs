//! `Function`: a kernel, its attributes and its calls.
#![allow(unsafe_code, reason = "launches kernels of the caller")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Result;
use ulib_device::graph::any_capture;
use ulib_device::launch::{Arguments, Shape, launch_with};
use ulib_device::sys::{CUfunc_cache, CUfunction_attribute};
use ulib_device::{LaunchConfig, Stream};

use super::modules::References;
use super::prepared::{Prepared, PreparedTime};
use super::values::{Needs, pack};
use crate::args::Int;
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::kept::{Keeper, Object, token};
use crate::cuda::memory::on::On;

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
/// parameters: numbers of Python become as large as the parameter, those of NumPy and structs have to be so already, arrays on a
/// device and managed ones go by address. ``In``, ``Out`` and ``InOut`` copy arrays of the host.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct Function {
    pub(super) function: ulib_device::Function,
    prepared: Mutex<Option<Arc<Prepared>>>,
    /// Texture and surface references that every call uses.
    references: Mutex<Vec<Py<PyAny>>>,
    /// Those of its module, which are used where something is bound to them.
    of_module: Py<References>,
}

impl Function {
    pub(super) fn new(function: ulib_device::Function, of_module: Py<References>) -> Self {
        Self {
            function,
            prepared: Mutex::new(None),
            references: Mutex::default(),
            of_module,
        }
    }

    fn prepared(&self) -> PyResult<Arc<Prepared>> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.clone().ok_or_else(|| {
            logic(format!(
                "kernel {}: prepare was not called",
                self.function.name()
            ))
        })
    }

    /// Brings texture and surface references up to date, for a launch in `stream`.
    fn use_references<'py>(
        &self,
        py: Python<'py>,
        given: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(given) = given.filter(|given| !given.is_none()) {
            for reference in given.try_iter()? {
                reference?.call_method1(intern!(py, "_use"), (stream,))?;
            }
        }
        let always: Vec<Py<PyAny>> = {
            let references = self
                .references
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            references
                .iter()
                .map(|reference| reference.clone_ref(py))
                .collect()
        };
        for reference in always {
            reference.call_method1(py, intern!(py, "_use"), (stream,))?;
        }
        let of_module = self.of_module.get().all(py);
        for reference in of_module {
            reference.call_method1(py, intern!(py, "_use_if_bound"), (stream,))?;
        }
        Ok(())
    }

    /// The values as the kernel takes them, and what has to live as long as they are used.
    pub(crate) fn arguments(&self, args: &Bound<'_, PyTuple>) -> PyResult<(Arguments, Needs)> {
        let (mut arguments, mut needs) = (Arguments::new(), Needs::default());
        let parameters = self.function.parameters().cuda()?;
        pack(&self.function, parameters, args, &mut arguments, &mut needs)?;
        needs.without_handlers(self.function.name())?;
        Ok((arguments, needs))
    }

    /// The kernel itself.
    pub(crate) fn inner(&self) -> &ulib_device::Function {
        &self.function
    }

    /// Puts the kernel into the stream. Where that is captured, the graph keeps the kernel and all that it needs.
    fn start(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        shape: Shape,
        arguments: &mut Arguments,
        (needs, args): (Arc<Needs>, Option<Object>),
    ) -> Result<()> {
        let mut queue = || {
            needs.order(stream)?;
            // SAFETY: number and sizes of the arguments are checked where the driver tells them; that the kernel does with them what
            // it should is what everybody who calls one from Python relies on.
            unsafe { launch_with(&self.function, stream, config, shape, arguments) }
        };
        let Some(args) = args else { return queue() };
        let args = token(stream, Keeper::Object(args))?;
        stream.queue_kept(|| (self.function.clone(), Arc::clone(&needs), args), queue)
    }

    /// Refuses what has to wait for the kernel, in a stream that nobody can wait for now.
    fn refuse_capture(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        what: &str,
    ) -> PyResult<()> {
        let on = On::of("launch", stream)?;
        let captured = py.detach(|| on.stream("launch", self.function.device())?.is_capturing());
        match captured.cuda()? {
            false => Ok(()),
            true => Err(logic(format!(
                "kernel {}: {what}, which cannot be in a stream that is being captured into a graph: the graph runs later, and again and again",
                self.function.name()
            ))),
        }
    }

    /// As [`start`](Self::start), for the values of a prepared call.
    fn start_prepared(
        &self,
        py: Python<'_>,
        call: Call<'_, '_>,
        values: &Bound<'_, PyTuple>,
    ) -> PyResult<Stream> {
        let prepared = self.prepared()?;
        let (mut arguments, mut needs) = (Arguments::new(), Needs::default());
        let parameters = self.function.parameters().cuda()?;
        let converted = prepared.convert(py, values, parameters.is_some())?;
        let values = converted.as_ref().unwrap_or(values);
        pack(
            &self.function,
            parameters,
            values,
            &mut arguments,
            &mut needs,
        )?;
        needs.without_handlers(self.function.name())?;
        let config = LaunchConfig {
            grid: extents("grid", call.grid)?,
            block: extents("block", call.block)?,
            shared_bytes: call.shared,
        };
        self.use_references(py, None, call.stream)?;
        let kept = any_capture().then(|| Object::new(values.as_any()));
        let needs = Arc::new(needs);
        let on = On::of("launch", call.stream)?;
        py.detach(|| {
            let stream = on.stream("launch", self.function.device())?;
            self.start(
                &stream,
                config,
                Shape::default(),
                &mut arguments,
                (needs, kept),
            )?;
            Ok(stream)
        })
        .cuda()
    }
}

/// What a prepared call says besides its values.
struct Call<'a, 'py> {
    grid: &'a Bound<'py, PyAny>,
    block: &'a Bound<'py, PyAny>,
    stream: Option<&'a Bound<'py, PyAny>>,
    shared: u32,
}

/// One to three numbers, in a tuple or list, or one alone.
pub(crate) fn extents(what: &str, given: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let number = |object: &Bound<'_, PyAny>| -> PyResult<u32> {
        if let Ok(number) = object.extract::<u32>() {
            return Ok(number);
        }
        let number = object.extract::<Int>().map_err(|_| {
            PyTypeError::new_err(format!(
                "launch: {what} is {given}, expected one to three integers"
            ))
        })?;
        Err(logic(format!(
            "launch: {what} has {number}, which is no number of blocks or threads"
        )))
    };
    let mut sizes = [1_u32; 3];
    let wrong = |count: usize| {
        PyTypeError::new_err(format!(
            "launch: {what} has {count} numbers, expected one to three"
        ))
    };
    if let Ok(tuple) = given.cast::<PyTuple>() {
        if tuple.is_empty() || tuple.len() > 3 {
            return Err(wrong(tuple.len()));
        }
        for (slot, item) in sizes.iter_mut().zip(tuple.iter_borrowed()) {
            *slot = number(&item)?;
        }
    } else if let Ok(list) = given.cast::<PyList>() {
        if list.is_empty() || list.len() > 3 {
            return Err(wrong(list.len()));
        }
        for (slot, item) in sizes.iter_mut().zip(list.iter()) {
            *slot = number(&item)?;
        }
    } else {
        sizes[0] = number(given)?;
    }
    Ok(sizes)
}

/// A number of bytes of shared memory.
fn shared_bytes(given: Int) -> PyResult<u32> {
    u32::try_from(given.0).map_err(|_| {
        logic(format!(
            "launch: shared is {given}, which is no number of bytes"
        ))
    })
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
    #[pyo3(signature = (*args, block=None, grid=None, stream=None, shared=Int(0), texrefs=None, time_kernel=false, cooperative=false, cluster=None, **unknown))]
    #[allow(clippy::too_many_arguments, reason = "PyCUDA's own")]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        block: Option<&Bound<'py, PyAny>>,
        grid: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        shared: Int,
        texrefs: Option<&Bound<'py, PyAny>>,
        time_kernel: bool,
        cooperative: bool,
        cluster: Option<&Bound<'py, PyAny>>,
        unknown: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<f64>> {
        if let Some(unknown) = unknown.filter(|unknown| !unknown.is_empty()) {
            let names = unknown.keys();
            return Err(PyValueError::new_err(format!(
                "unknown keyword arguments: {names}"
            )));
        }
        let block = block
            .filter(|block| !block.is_none())
            .ok_or_else(|| PyValueError::new_err("must specify block size: block=(x, y, z)"))?;
        let config = LaunchConfig {
            grid: grid
                .filter(|grid| !grid.is_none())
                .map_or(Ok([1; 3]), |grid| extents("grid", grid))?,
            block: extents("block", block)?,
            shared_bytes: shared_bytes(shared)?,
        };
        let shape = Shape {
            cooperative,
            cluster: cluster
                .map(|cluster| extents("cluster", cluster))
                .transpose()?,
        };
        let (mut arguments, mut needs) = (Arguments::new(), Needs::default());
        let parameters = self.function.parameters().cuda()?;
        pack(&self.function, parameters, args, &mut arguments, &mut needs)?;
        let handlers = core::mem::take(&mut needs.handlers);
        if time_kernel {
            self.refuse_capture(py, stream, "time_kernel waits for the kernel")?;
        }
        if !handlers.is_empty() {
            let what = "In, Out and InOut copy arrays of the host for one call, and wait for it";
            self.refuse_capture(py, stream, what)?;
        }
        self.use_references(py, texrefs, stream)?;
        let kept = any_capture().then(|| Object::new(args.as_any()));
        let needs = Arc::new(needs);
        let on = On::of("launch", stream)?;
        for handler in &handlers {
            handler.call_method1(py, intern!(py, "pre_call"), (stream,))?;
        }
        let wait = time_kernel || !handlers.is_empty();
        let (stream_used, seconds) = py
            .detach(|| {
                let on = on.stream("launch", self.function.device())?;
                if !time_kernel {
                    self.start(&on, config, shape, &mut arguments, (needs, kept))?;
                    return Ok((wait.then_some(on), None));
                }
                on.synchronize()?;
                let begin = Instant::now();
                self.start(&on, config, shape, &mut arguments, (needs, kept))?;
                on.synchronize()?;
                Ok((Some(on), Some(begin.elapsed().as_secs_f64())))
            })
            .cuda()?;
        if !handlers.is_empty() {
            for handler in &handlers {
                handler.call_method1(py, intern!(py, "post_call"), (stream,))?;
            }
            if let Some(used) = stream_used {
                py.detach(|| used.synchronize()).cuda()?;
            }
        }
        Ok(seconds)
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
        let prepared = Prepared::of(&this.function, arg_types)?;
        if let Some(texrefs) = texrefs.filter(|texrefs| !texrefs.is_none()) {
            let given = texrefs.try_iter()?.map(|texref| Ok(texref?.unbind()));
            let given = given.collect::<PyResult<Vec<_>>>()?;
            // What was there is dropped when nothing is locked: that may run code of the program.
            let before = std::mem::replace(
                &mut *this
                    .references
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
                given,
            );
            drop(before);
        }
        *this.prepared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(prepared));
        Ok(slf)
    }

    /// Lets every call from now on use a texture reference, as ``texrefs`` does for one call.
    fn param_set_texref(&self, texref: Py<PyAny>) {
        let mut references = self
            .references
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !references.iter().any(|known| known.is(&texref)) {
            references.push(texref);
        }
    }

    /// Launches the kernel with arguments of the types that ``prepare`` said, in the default stream.
    #[pyo3(signature = (grid, block, *args, shared_size=0))]
    fn prepared_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        shared_size: u32,
    ) -> PyResult<()> {
        let call = Call {
            grid,
            block,
            stream: None,
            shared: shared_size,
        };
        self.start_prepared(py, call, args).map(drop)
    }

    /// As ``prepared_call``, in ``stream``.
    #[pyo3(signature = (grid, block, stream, *args, shared_size=0))]
    fn prepared_async_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        shared_size: u32,
    ) -> PyResult<()> {
        let call = Call {
            grid,
            block,
            stream,
            shared: shared_size,
        };
        self.start_prepared(py, call, args).map(drop)
    }

    /// As ``prepared_call``; returns a function that waits for the kernel and gives the seconds it took.
    #[pyo3(signature = (grid, block, *args, shared_size=0))]
    fn prepared_timed_call<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        shared_size: u32,
    ) -> PyResult<PreparedTime> {
        self.refuse_capture(py, None, "prepared_timed_call waits for the kernel")?;
        let device = self.function.device();
        let begin = py
            .detach(|| PreparedTime::mark(&Stream::legacy(device)))
            .cuda()?;
        let call = Call {
            grid,
            block,
            stream: None,
            shared: shared_size,
        };
        let stream = self.start_prepared(py, call, args)?;
        let end = py.detach(|| PreparedTime::mark(&stream)).cuda()?;
        Ok(PreparedTime::new(begin, end))
    }

    /// An attribute by its ``function_attribute``, or the driver's number for it.
    fn get_attribute(&self, py: Python<'_>, attribute: &Bound<'_, PyAny>) -> PyResult<i32> {
        let attribute = attribute_of(attribute)?;
        py.detach(|| self.function.attribute(attribute)).cuda()
    }

    /// Changes an attribute.
    fn set_attribute(
        &self,
        py: Python<'_>,
        attribute: &Bound<'_, PyAny>,
        value: i32,
    ) -> PyResult<()> {
        let attribute = attribute_of(attribute)?;
        py.detach(|| self.function.set_attribute(attribute, value))
            .cuda()
    }

    /// Says, by a ``func_cache``, which of cache and shared memory the kernel would rather have more of.
    fn set_cache_config(&self, py: Python<'_>, config: &Bound<'_, PyAny>) -> PyResult<()> {
        let config = CUfunc_cache(attribute_of(config)?.0);
        py.detach(|| self.function.set_cache_config(config)).cuda()
    }

    /// Accepted, and of no meaning to any device of today.
    fn set_shared_config(&self, _config: &Bound<'_, PyAny>) {}

    /// How many blocks of ``block_size`` threads and ``dynamic_smem_size`` bytes of shared memory each run on a multiprocessor at a
    /// time.
    #[pyo3(signature = (block_size, dynamic_smem_size=0))]
    fn max_active_blocks_per_multiprocessor(
        &self,
        py: Python<'_>,
        block_size: u32,
        dynamic_smem_size: usize,
    ) -> PyResult<u32> {
        py.detach(|| {
            self.function
                .blocks_per_multiprocessor(block_size, dynamic_smem_size)
        })
        .cuda()
    }

    /// The smallest grid and the size of block that keep the device busiest; at most ``block_size_limit`` threads if that is not 0.
    #[pyo3(signature = (dynamic_smem_size=0, block_size_limit=0))]
    fn max_potential_block_size(
        &self,
        py: Python<'_>,
        dynamic_smem_size: usize,
        block_size_limit: u32,
    ) -> PyResult<(u32, u32)> {
        py.detach(|| {
            self.function
                .best_block(dynamic_smem_size, block_size_limit)
        })
        .cuda()
    }

    /// Offset and size in bytes of every parameter; None where the driver does not tell (before CUDA 12.4).
    #[getter]
    fn parameters(&self, py: Python<'_>) -> PyResult<Option<Vec<(usize, usize)>>> {
        let known = py.detach(|| self.function.parameters()).cuda()?;
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
        if let Ok(references) = self.references.try_lock() {
            for reference in references.iter() {
                visit.call(reference)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        let before = std::mem::take(
            &mut *self
                .references
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
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

fn attribute_of(attribute: &Bound<'_, PyAny>) -> PyResult<CUfunction_attribute> {
    let number = attribute.extract::<Int>()?;
    u32::try_from(number.0)
        .map(CUfunction_attribute)
        .map_err(|_| logic(format!("{number} is no attribute of a function")))
}
