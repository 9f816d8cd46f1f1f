//! An argument of a call as the bytes that the kernel gets.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyTuple, PyType};
use smallvec::SmallVec;
use ulib_core::Result;
use ulib_device::launch::Arguments;
use ulib_device::memory::{Access, ImportedMemory};
use ulib_device::module::{Parameter, ParameterKind};
use ulib_device::texture::{SurfaceObject, TextureObject};
use ulib_device::{DeviceBytes, Function, Stream};

use super::arrays::{push_address, push_array, push_bytes, push_memory, push_ours};
use super::numbers::{push_scalar, python_number, subclass};
use super::numpy::Numpy;
use crate::cuda::errors::{gone, logic};
use crate::cuda::memory::pointer::ours;
use crate::cuda::memory::slot::Slot;
use crate::cuda::texture::{PySurface, PyTexture};
use crate::detached::{Ends, InHand};
use crate::interop::dlpack;
use crate::interop::foreign::wait_for_owner;

/// What a call needs besides the bytes.
#[derive(Default)]
pub(crate) struct Needs {
    /// Allocations of ours that the kernel gets: they remember the stream, and are not given back before.
    pub(super) owners: SmallVec<[InHand<DeviceBytes>; 4]>,
    others: Option<Box<Others>>,
}

/// What few calls need.
#[derive(Default)]
pub(super) struct Others {
    /// Streams on which other libraries still work on their arrays.
    pub(super) after: Vec<usize>,
    /// Textures and surfaces, which are destroyed after the work that is queued with them.
    textures: Vec<TextureObject>,
    surfaces: Vec<SurfaceObject>,
    /// Memory of other processes.
    pub(super) imported: Vec<InHand<ImportedMemory>>,
    /// Arrays that were lent for the call.
    pub(super) lent: Vec<dlpack::import::Taken>,
    /// Handlers that copy before and after the call.
    pub(super) handlers: Vec<Py<PyAny>>,
}

impl Ends for Needs {
    fn ends_at_once(&mut self) -> bool {
        let at_once = |others: &Others| others.textures.is_empty() && others.surfaces.is_empty();
        self.others.as_deref().is_none_or(at_once)
    }
}

impl Needs {
    /// What few calls need, from now on.
    pub(super) fn others(&mut self) -> &mut Others {
        self.others.get_or_insert_default()
    }

    /// The handlers that copy before and after the call, which the caller has from now on.
    pub(super) fn take_handlers(&mut self) -> Vec<Py<PyAny>> {
        let others = self.others.as_mut();
        others.map_or_else(Vec::new, |others| core::mem::take(&mut others.handlers))
    }

    /// Refuses handlers, which copy for calls that are not prepared.
    pub(super) fn without_handlers(&self, kernel: &str) -> PyResult<()> {
        match &self.others {
            Some(others) if !others.handlers.is_empty() => Err(logic(format!(
                "kernel {kernel}: In, Out and InOut copy arrays of the host, which only a plain call does"
            ))),
            _ => Ok(()),
        }
    }

    /// The memory that is used.
    pub(crate) fn owners(&self) -> &[InHand<DeviceBytes>] {
        &self.owners
    }

    /// Orders the stream behind what was noted.
    #[allow(unsafe_code, reason = "waits for streams of other libraries")]
    pub(super) fn order(&self, stream: &Stream) -> Result<()> {
        for owner in &self.owners {
            stream.check_reach("launch", owner.device())?;
            // Which of them a kernel writes is not known. That two kernels on two streams use the same memory is ordered by who
            // launches them, as everywhere; what is noted is that the memory is in use.
            owner.use_on(stream, Access::Read)?;
        }
        let Some(others) = &self.others else {
            return Ok(());
        };
        for texture in &others.textures {
            texture.queue_on(stream, || Ok(()))?;
        }
        for surface in &others.surfaces {
            surface.queue_on(stream, || Ok(()))?;
        }
        for &handle in &others.after {
            // SAFETY: the protocol says that the stream is there as long as the array, which the arguments keep.
            unsafe { wait_for_owner(stream, handle)? };
        }
        Ok(())
    }
}

/// One argument and where it stands, for messages.
pub(super) struct Place<'a> {
    pub(super) index: usize,
    pub(super) kernel: &'a str,
    /// What the kernel takes there, where that is known.
    pub(super) takes: Option<&'a Parameter>,
}

impl<'a> Place<'a> {
    pub(super) fn new(index: usize, kernel: &'a Function, of: Option<&'a [Parameter]>) -> Self {
        Self {
            index,
            kernel: kernel.name(),
            takes: of.and_then(|parameters| parameters.get(index)),
        }
    }

    /// The bytes that the kernel takes.
    pub(super) fn size(&self) -> Option<usize> {
        self.takes.map(|parameter| parameter.size)
    }

    /// What the kernel takes.
    pub(super) fn kind(&self) -> ParameterKind {
        self.takes
            .map_or(ParameterKind::Unknown, |parameter| parameter.kind)
    }

    /// The parameter.
    pub(super) fn parameter(&self) -> String {
        format!(
            "parameter #{} (0-based) of kernel {}",
            self.index, self.kernel
        )
    }

    /// The parameter and what is given for it.
    pub(super) fn named(&self, object: &Bound<'_, PyAny>) -> String {
        format!("{}, {}", self.parameter(), class_of(object))
    }

    /// The memory of an allocation of ours.
    pub(super) fn memory(
        &self,
        object: &Bound<'_, PyAny>,
        slot: &Slot,
    ) -> PyResult<InHand<DeviceBytes>> {
        slot.there().ok_or_else(|| self.freed(object))
    }

    /// The error of an object that has been freed.
    pub(super) fn freed(&self, object: &Bound<'_, PyAny>) -> PyErr {
        gone(&self.parameter(), &class_of(object), "freed")
    }

    pub(super) fn refused(&self, object: &Bound<'_, PyAny>, why: &str) -> PyErr {
        PyTypeError::new_err(format!(
            "invalid type on parameter #{} (0-based) of kernel {}: {}{why}",
            self.index,
            self.kernel,
            class_of(object)
        ))
    }

    /// As [`refused`](Self::refused), saying what the parameter is.
    pub(super) fn unfit(&self, object: &Bound<'_, PyAny>) -> PyErr {
        let size = self.size().unwrap_or(0);
        let kind = self.kind();
        let hint = if kind == ParameterKind::Struct && size == 2 {
            ": say which half precision by numpy.float16 or ml_dtypes.bfloat16"
        } else {
            ""
        };
        self.refused(
            object,
            &format!(", and the parameter is {}{hint}", kind.describe(size)),
        )
    }

    /// Checks size and kind of a value.
    pub(super) fn check(
        &self,
        object: &Bound<'_, PyAny>,
        kind: ParameterKind,
        bytes: usize,
    ) -> PyResult<()> {
        let Some(parameter) = self.takes else {
            return Ok(());
        };
        if parameter.size != bytes {
            return Err(self.wrong_size(object, bytes));
        }
        if parameter.kind.takes(kind) {
            Ok(())
        } else {
            Err(self.unfit(object))
        }
    }

    /// Checks that the kernel takes an address there.
    pub(super) fn check_address(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check(object, ParameterKind::Integer, size_of::<u64>())
    }

    fn wrong_size(&self, object: &Bound<'_, PyAny>, bytes: usize) -> PyErr {
        let name = class_of(object);
        let hint = if name == "void" || name == "ndarray" {
            "; structs need a dtype with align=True to be laid out as in C"
        } else {
            ""
        };
        logic(format!(
            "parameter #{} (0-based) of kernel {} has {} bytes, and the {name} given for it {bytes}{hint}",
            self.index,
            self.kernel,
            self.size().unwrap_or(0)
        ))
    }
}

/// The name of an object's class.
fn class_of(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .name()
        .map_or_else(|_| String::from("?"), |name| name.to_string())
}

/// Puts the arguments of a call into `arguments`.
pub(super) fn pack(
    function: &Function,
    parameters: Option<&[Parameter]>,
    given: &Bound<'_, PyTuple>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    let count = given.len();
    if let Some(parameters) = parameters
        && parameters.len() != count
    {
        return Err(logic(format!(
            "kernel {} takes {} arguments, and got {count}",
            function.name(),
            parameters.len()
        )));
    }
    for (index, object) in given.iter_borrowed().enumerate() {
        let place = Place::new(index, function, parameters);
        push(&place, &object, arguments, needs)?;
    }
    Ok(())
}

/// Puts one argument into `arguments`.
pub(super) fn push(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    // First what is known by its exact class.
    if let Some(done) = python_number(place, object, arguments) {
        return done;
    }
    if let Some(slot) = ours(object) {
        return push_ours(place, object, slot, arguments, needs);
    }
    if let Ok(texture) = object.cast::<PyTexture>() {
        let texture = texture.get().texture();
        let texture = texture.ok_or_else(|| place.freed(object))?;
        arguments.push(&texture.handle_for_queue().to_ne_bytes());
        needs.others().textures.push(texture);
        return place.check_address(object);
    }
    if let Ok(surface) = object.cast::<PySurface>() {
        let surface = surface.get().surface();
        let surface = surface.ok_or_else(|| place.freed(object))?;
        arguments.push(&surface.handle_for_queue().to_ne_bytes());
        needs.others().surfaces.push(surface);
        return place.check_address(object);
    }
    let py = object.py();
    if let Some(numpy) = Numpy::get(py)? {
        if let Some(scalar) = numpy.scalar(object.get_type().as_ptr() as usize) {
            return push_scalar(place, object, scalar, arguments);
        }
        if numpy.is_scalar(object)? {
            return push_bytes(place, object, arguments);
        }
        if numpy.is_array(object)? {
            return push_array(place, object, arguments);
        }
    }
    if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        // A class derived from a number: an enumeration, say.
        return subclass(place, object, arguments);
    }
    if object.is_instance(handler(py)?)? {
        let memory = object.call_method0(intern!(py, "get_device_alloc"))?;
        needs.others().handlers.push(object.clone().unbind());
        return push_memory(place, &memory, arguments, needs);
    }
    push_address(place, object, arguments, needs)
}

/// The class whose objects copy before and after a call.
fn handler(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static HANDLER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    HANDLER.import(py, "uLib.cuda._handlers", "ArgumentHandler")
}
