//! Launches of a [`Function`]: plain, prepared, and of arguments that are packed already.
#![allow(unsafe_code, reason = "launches kernels of the caller")]

use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::Result;
use ulib_device::graph::any_capture;
use ulib_device::launch::{Arguments, Shape, launch_with};
use ulib_device::module::Parameter;
use ulib_device::{LaunchConfig, Stream};

use super::config::{Call, Called};
use super::function::Function;
use super::values::{Needs, pack};
use crate::args::{caused, shown};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::kept::{Keeper, Object, token};
use crate::cuda::memory::on::On;
use crate::detached::Detached;

impl Function {
    /// The values as the kernel takes them, and what has to live as long as they are used.
    pub(crate) fn arguments(
        &self,
        args: &Bound<'_, PyTuple>,
    ) -> PyResult<(Arguments, Detached<Needs>)> {
        let (mut arguments, mut needs) = (Arguments::new(), Detached::new(Needs::default()));
        let parameters = self.declared(args.py())?;
        pack(&self.function, parameters, args, &mut arguments, &mut needs)?;
        needs.without_handlers(self.function.name())?;
        Ok((arguments, needs))
    }

    /// A plain call: the seconds of the kernel, if they are asked for.
    pub(super) fn launch(
        &self,
        py: Python<'_>,
        call: &Call<'_, '_>,
        args: &Bound<'_, PyTuple>,
        time_kernel: bool,
    ) -> PyResult<Option<f64>> {
        let (called, shape, stream) = (call.called(py, self)?, call.shape, call.stream);
        let config = called.config;
        let (mut arguments, mut needs) = (Arguments::new(), Detached::new(Needs::default()));
        let parameters = self.declared(py)?;
        pack(&self.function, parameters, args, &mut arguments, &mut needs)?;
        let handlers = needs.take_handlers();
        if time_kernel {
            self.refuse_capture(py, stream, "time_kernel waits for the kernel")?;
        }
        if !handlers.is_empty() {
            let what = "In, Out and InOut copy arrays of the host for one call, and wait for it";
            self.refuse_capture(py, stream, what)?;
        }
        self.use_references(py, call, &called)?;
        let on = On::of("launch", stream)?;
        for handler in &handlers {
            handler.call_method1(py, intern!(py, "pre_call"), (stream,))?;
        }
        let wait = time_kernel || !handlers.is_empty();
        let kept = kept_in_capture(args);
        let (stream_used, seconds) = py
            .detach(|| {
                let on = on.stream("launch", self.function.device())?;
                if !time_kernel {
                    self.start(&on, config, shape, &mut arguments, &mut needs, kept)?;
                    return Ok((wait.then(|| Detached::new(on.into_owned())), None));
                }
                on.synchronize()?;
                let begin = Instant::now();
                self.start(&on, config, shape, &mut arguments, &mut needs, kept)?;
                on.synchronize()?;
                Ok((
                    Some(Detached::new(on.into_owned())),
                    Some(begin.elapsed().as_secs_f64()),
                ))
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

    /// Puts the kernel into the stream. Where that is captured, the graph keeps the kernel and all that it needs.
    fn start(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        shape: Shape,
        arguments: &mut Arguments,
        needs: &mut Needs,
        args: Option<Object>,
    ) -> Result<()> {
        let mut queue = |needs: &Needs| {
            needs.order(stream)?;
            // SAFETY: number, sizes and kinds of the arguments are checked as far as they are known; that the kernel does with them
            // what it should is what everybody who calls one from Python relies on.
            unsafe { launch_with(&self.function, stream, config, shape, arguments) }
        };
        let Some(args) = args else {
            return queue(needs);
        };
        let args = token(stream, Keeper::Object(args))?;
        let needs = Arc::new(std::mem::take(needs));
        let keep = || (self.function.clone(), Arc::clone(&needs), args);
        stream.queue_kept(keep, || queue(&needs))
    }

    /// Refuses what has to wait for the kernel, in a stream that nobody can wait for now.
    pub(super) fn refuse_capture(
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

    /// A prepared call.
    pub(super) fn launch_prepared(
        &self,
        py: Python<'_>,
        call: &Call<'_, '_>,
        values: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let called = call.called(py, self)?;
        let prepared = called.prepared.as_ref().ok_or_else(|| {
            logic(format!(
                "kernel {}: prepare was not called",
                self.function.name()
            ))
        })?;
        let (mut arguments, mut needs) = (Arguments::new(), Detached::new(Needs::default()));
        let parameters = self.declared(py)?;
        prepared
            .get()
            .pack(self, parameters, values, &mut arguments, &mut needs)?;
        needs.without_handlers(self.function.name())?;
        self.launch_in(call, &called, &mut arguments, &mut needs, values)
    }

    /// A call whose arguments lie in `packed` as the kernel has them.
    pub(super) fn launch_packed(
        &self,
        py: Python<'_>,
        call: &Call<'_, '_>,
        packed: &[u8],
    ) -> PyResult<()> {
        let name = self.function.name();
        let called = call.called(py, self)?;
        let parameters = self.declared(py)?.ok_or_else(|| {
            logic(format!(
                "kernel {name}: where its parameters lie is not known for this program and driver"
            ))
        })?;
        let end = |parameter: &Parameter| parameter.offset + parameter.size;
        let size = parameters.iter().map(end).max().unwrap_or(0);
        // A struct of C has as much behind its last member as brings the next struct to its place.
        let aligned = parameters
            .iter()
            .map(|parameter| 1 << parameter.size.trailing_zeros().min(4))
            .max()
            .unwrap_or(1);
        if packed.len() != size && packed.len() != size.next_multiple_of(aligned) {
            return Err(logic(format!(
                "launch: buf has {} bytes, and the arguments of kernel {name} {size}",
                packed.len()
            )));
        }
        let mut arguments = Arguments::new();
        for parameter in parameters {
            // Its place is inside, by the sizes above.
            if let Some(value) = packed.get(parameter.offset..end(parameter)) {
                arguments.push(value);
            }
        }
        let (needs, values) = (&mut Needs::default(), PyTuple::empty(py));
        self.launch_in(call, &called, &mut arguments, needs, &values)
    }

    fn launch_in(
        &self,
        call: &Call<'_, '_>,
        called: &Called<'_>,
        arguments: &mut Arguments,
        needs: &mut Needs,
        values: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let py = values.py();
        self.use_references(py, call, called)?;
        let on = On::of("launch", call.stream)?;
        let kept = kept_in_capture(values);
        let (config, shape) = (called.config, call.shape);
        py.detach(|| {
            let stream = on.stream("launch", self.function.device())?;
            self.start(&stream, config, shape, arguments, needs, kept)
        })
        .cuda()
    }

    /// Brings texture and surface references up to date.
    fn use_references(
        &self,
        py: Python<'_>,
        call: &Call<'_, '_>,
        called: &Called<'_>,
    ) -> PyResult<()> {
        let stream = (call.stream,);
        if let Some(given) = call.texrefs.filter(|given| !given.is_none()) {
            for reference in references_in(given)? {
                reference.call_method1(py, intern!(py, "_use"), stream)?;
            }
        }
        for reference in &called.references {
            reference.call_method1(intern!(py, "_use"), stream)?;
        }
        for reference in self.of_module.get().all(py) {
            reference.call_method1(py, intern!(py, "_use_if_bound"), stream)?;
        }
        Ok(())
    }
}

/// The arguments, where a graph may have to keep them. Asked last: what a call asks its arguments may begin a capture.
fn kept_in_capture(args: &Bound<'_, PyTuple>) -> Option<Object> {
    any_capture().then(|| Object::new(args.as_any()))
}

/// The texture and surface references of a list.
pub(super) fn references_in(given: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
    /// More than any program has: what gives them without an end is refused.
    const MOST: usize = 1 << 12;
    let all = no_list(given.try_iter(), || not_a_reference("texrefs is", given))?;
    all.enumerate()
        .map(|(index, reference)| {
            let reference = reference?;
            if index == MOST {
                return Err(logic(format!(
                    "launch: texrefs has more than {MOST} references"
                )));
            }
            check_reference("texrefs holds", &reference)?;
            Ok(reference.unbind())
        })
        .collect()
}

/// Refuses what is no texture or surface reference.
pub(super) fn check_reference(what: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if object.hasattr(intern!(object.py(), "_use"))? {
        Ok(())
    } else {
        Err(PyTypeError::new_err(not_a_reference(what, object)))
    }
}

fn not_a_reference(what: &str, object: &Bound<'_, PyAny>) -> String {
    format!(
        "launch: {what} {}, expected references such as those of get_texref and get_surfref",
        shown(object)
    )
}

/// An iterator, or a `TypeError` with a message where an object has none. What an object raises of its own stays.
pub(super) fn no_list<T>(found: PyResult<T>, message: impl FnOnce() -> String) -> PyResult<T> {
    found.map_err(|error| {
        Python::attach(|py| {
            if error.is_instance_of::<PyTypeError>(py) {
                caused(py, error, |_| PyTypeError::new_err(message()))
            } else {
                error
            }
        })
    })
}
