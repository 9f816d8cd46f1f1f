//! An argument of a call as the bytes that the kernel gets.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyTuple, PyType};
use ulib_core::Result;
use ulib_device::launch::Arguments;
use ulib_device::memory::{Access, ImportedMemory, managed_range};
use ulib_device::module::Parameter;
use ulib_device::texture::{SurfaceObject, TextureObject};
use ulib_device::{DeviceBytes, Function, Stream};

use super::numpy::{Numpy, Scalar};
use crate::cuda::errors::logic;
use crate::cuda::memory::pointer::{Pointer, allocation_of, ours};
use crate::cuda::texture::{PySurface, PyTexture};
use crate::errors::shortened;
use crate::interop::dlpack;

/// What a call needs besides the bytes.
#[derive(Default)]
pub(crate) struct Needs {
    /// Allocations of ours that the kernel gets: they remember the stream, and are not given back before.
    owners: Vec<Arc<DeviceBytes>>,
    /// Streams on which other libraries still work on their arrays.
    after: Vec<usize>,
    /// Textures and surfaces, which are destroyed after the work that is queued with them.
    textures: Vec<TextureObject>,
    surfaces: Vec<SurfaceObject>,
    /// Memory of other processes.
    imported: Vec<Arc<ImportedMemory>>,
    /// Arrays that were lent for the call.
    lent: Vec<dlpack::import::Taken>,
    /// Handlers that copy before and after the call.
    pub(super) handlers: Vec<Py<PyAny>>,
}

impl Needs {
    /// Orders the stream behind what was noted.
    #[allow(unsafe_code, reason = "waits for streams of other libraries")]
    pub(super) fn order(&self, stream: &Stream) -> Result<()> {
        for owner in &self.owners {
            // Which of them a kernel writes is not known. That two kernels on two streams use the same memory is ordered by who
            // launches them, as everywhere; what is noted is that the memory is in use.
            owner.use_on(stream, Access::Read)?;
        }
        for texture in &self.textures {
            texture.queue_on(stream, || Ok(()))?;
        }
        for surface in &self.surfaces {
            surface.queue_on(stream, || Ok(()))?;
        }
        for &handle in &self.after {
            // SAFETY: the protocol says that the stream is there as long as the array, which the arguments keep.
            stream.wait_for(&unsafe { Stream::from_raw(stream.device(), handle) })?;
        }
        Ok(())
    }
}

/// One argument and where it stands, for messages.
struct Place<'a> {
    index: usize,
    kernel: &'a str,
    /// The bytes that the kernel takes there, where the driver tells.
    size: Option<usize>,
}

impl Place<'_> {
    fn refused(&self, object: &Bound<'_, PyAny>, why: &str) -> PyErr {
        let kind = object.get_type();
        let name = kind
            .name()
            .map_or_else(|_| String::from("?"), |name| name.to_string());
        PyTypeError::new_err(format!(
            "invalid type on parameter #{} (0-based) of kernel {}: {name}{why}",
            self.index, self.kernel
        ))
    }

    fn wrong_size(&self, object: &Bound<'_, PyAny>, bytes: usize) -> PyErr {
        let kind = object.get_type();
        let name = kind
            .name()
            .map_or_else(|_| String::from("?"), |name| name.to_string());
        let hint = if name == "void" || name == "ndarray" {
            "; structs need a dtype with align=True to be laid out as in C"
        } else {
            ""
        };
        logic(format!(
            "parameter #{} (0-based) of kernel {} has {} bytes, and the {name} given for it {bytes}{hint}",
            self.index,
            self.kernel,
            self.size.unwrap_or(0)
        ))
    }
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
        let place = Place {
            index,
            kernel: function.name(),
            size: parameters.map(|parameters| parameters[index].size),
        };
        push(&place, &object, arguments, needs)?;
    }
    Ok(())
}

fn push(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    if let Some(slot) = ours(object) {
        let bytes = slot.bytes()?;
        arguments.push(&bytes.ptr().to_ne_bytes());
        needs.owners.push(bytes);
        return checked(place, object, 8);
    }
    if let Some(done) = python_number(place, object, arguments) {
        return done;
    }
    if let Ok(texture) = object.cast::<PyTexture>() {
        let texture = texture.get().texture()?;
        arguments.push(&texture.handle_for_queue().to_ne_bytes());
        needs.textures.push(texture);
        return checked(place, object, 8);
    }
    if let Ok(surface) = object.cast::<PySurface>() {
        let surface = surface.get().surface()?;
        arguments.push(&surface.handle_for_queue().to_ne_bytes());
        needs.surfaces.push(surface);
        return checked(place, object, 8);
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
        needs.handlers.push(object.clone().unbind());
        return push_memory(place, &memory, arguments, needs);
    }
    push_address(place, object, arguments, needs)
}

/// The class whose objects copy before and after a call.
fn handler(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static HANDLER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    HANDLER.import(py, "uLib.cuda._handlers", "ArgumentHandler")
}

fn checked(place: &Place<'_>, object: &Bound<'_, PyAny>, bytes: usize) -> PyResult<()> {
    match place.size {
        Some(size) if size != bytes => Err(place.wrong_size(object, bytes)),
        _ => Ok(()),
    }
}

/// A number of Python, as large as the parameter; `None` for anything else.
fn python_number(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> Option<PyResult<()>> {
    if object.is_exact_instance_of::<PyInt>() {
        Some(push_int(place, object, arguments))
    } else if object.is_exact_instance_of::<PyFloat>() {
        Some(push_float(place, object, arguments))
    } else if object.is_exact_instance_of::<PyBool>() {
        Some(push_bool(place, object, arguments))
    } else if object.is_exact_instance_of::<PyComplex>() {
        Some(push_complex(place, object, arguments))
    } else {
        None
    }
}

fn subclass(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    if object.is_instance_of::<PyFloat>() {
        push_float(place, object, arguments)
    } else {
        push_int(place, object, arguments)
    }
}

const SAY_THE_TYPE: &str =
    ", whose size this driver does not tell: say it with one of NumPy, such as numpy.int32(1)";

fn push_int(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let size = place
        .size
        .ok_or_else(|| place.refused(object, SAY_THE_TYPE))?;
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err(place.refused(object, &format!(", and the parameter has {size} bytes")));
    }
    let too_large = || {
        let text = object
            .str()
            .map_or_else(|_| String::from("?"), |text| text.to_string());
        logic(format!(
            "parameter #{} (0-based) of kernel {} has {size} bytes, and {} does not fit in there",
            place.index,
            place.kernel,
            shortened(&text)
        ))
    };
    let bits = match object.extract::<i64>() {
        Ok(value) => {
            let (least, most) = (i64::MIN >> (64 - 8 * size), u64::MAX >> (64 - 8 * size));
            if value < least || (value > 0 && value as u64 > most) {
                return Err(too_large());
            }
            value as u64
        }
        Err(_) if size == 8 => object.extract::<u64>().map_err(|_| too_large())?,
        Err(_) => return Err(too_large()),
    };
    arguments.push(&bits.to_le_bytes()[..size]);
    Ok(())
}

fn push_float(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let value: f64 = object.extract()?;
    match place.size {
        Some(4) => arguments.push(&(value as f32).to_ne_bytes()),
        Some(8) => arguments.push(&value.to_ne_bytes()),
        Some(2) => {
            return Err(place.refused(
                object,
                ", and the parameter has 2 bytes: say which half precision by numpy.float16 or ml_dtypes.bfloat16",
            ));
        }
        Some(size) => {
            return Err(place.refused(object, &format!(", and the parameter has {size} bytes")));
        }
        None => return Err(place.refused(object, SAY_THE_TYPE)),
    }
    Ok(())
}

fn push_bool(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let size = place.size.unwrap_or(1);
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err(place.refused(object, &format!(", and the parameter has {size} bytes")));
    }
    let bits = u64::from(object.is_truthy()?);
    arguments.push(&bits.to_le_bytes()[..size]);
    Ok(())
}

fn complex_of(object: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    let py = object.py();
    let part = |name| object.getattr(name)?.extract::<f64>();
    Ok((part(intern!(py, "real"))?, part(intern!(py, "imag"))?))
}

fn push_complex(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    match place.size {
        Some(8) => push_scalar(place, object, Scalar::ComplexFloat, arguments),
        Some(16) => push_scalar(place, object, Scalar::ComplexDouble, arguments),
        Some(size) => Err(place.refused(object, &format!(", and the parameter has {size} bytes"))),
        None => Err(place.refused(object, SAY_THE_TYPE)),
    }
}

fn push_scalar(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    scalar: Scalar,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let float = || object.extract::<f64>();
    let mut bytes = [0_u8; 16];
    let size = match scalar {
        Scalar::Float => {
            bytes[..4].copy_from_slice(&(float()? as f32).to_ne_bytes());
            4
        }
        Scalar::Double => {
            bytes[..8].copy_from_slice(&float()?.to_ne_bytes());
            8
        }
        Scalar::Half => {
            bytes[..2].copy_from_slice(&half::f16::from_f64(float()?).to_ne_bytes());
            2
        }
        Scalar::Signed(size) => {
            bytes[..8].copy_from_slice(&object.extract::<i64>()?.to_le_bytes());
            size
        }
        Scalar::Unsigned(size) => {
            bytes[..8].copy_from_slice(&object.extract::<u64>()?.to_le_bytes());
            size
        }
        Scalar::Bool => {
            bytes[0] = u8::from(object.is_truthy()?);
            1
        }
        Scalar::ComplexFloat => {
            let (re, im) = complex_of(object)?;
            bytes[..4].copy_from_slice(&(re as f32).to_ne_bytes());
            bytes[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
            8
        }
        Scalar::ComplexDouble => {
            let (re, im) = complex_of(object)?;
            bytes[..8].copy_from_slice(&re.to_ne_bytes());
            bytes[8..].copy_from_slice(&im.to_ne_bytes());
            16
        }
    };
    checked(place, object, size)?;
    arguments.push(&bytes[..size]);
    Ok(())
}

/// A struct, a bfloat16, and what else NumPy has of scalars or arrays of plain bytes.
fn push_bytes(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let py = object.py();
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let of_objects: bool = dtype.getattr(intern!(py, "hasobject"))?.extract()?;
    if of_objects || !"biufcV".contains(kind.as_str()) {
        return Err(place.refused(object, &format!(" of dtype {dtype}, which no kernel takes")));
    }
    let bytes = object.call_method0(intern!(py, "tobytes"))?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    checked(place, object, bytes.len())?;
    arguments.push(bytes);
    Ok(())
}

/// An array of the host: managed memory by its address, another one by value if it is as large as the parameter.
fn push_array(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let py = object.py();
    let address: u64 = object
        .getattr(intern!(py, "ctypes"))?
        .getattr(intern!(py, "data"))?
        .extract()?;
    if managed_range(address).is_some() {
        arguments.push(&address.to_ne_bytes());
        return checked(place, object, 8);
    }
    let bytes: usize = object.getattr(intern!(py, "nbytes"))?.extract()?;
    if place.size.is_some_and(|size| size != bytes) {
        return Err(logic(format!(
            "parameter #{} (0-based) of kernel {} has {} bytes, and the array of the host given for it {bytes}: arrays that \
             kernels reach by address are those of the device and managed ones; In, Out and InOut copy",
            place.index,
            place.kernel,
            place.size.unwrap_or(0)
        )));
    }
    push_bytes(place, object, arguments)
}

/// Anything that stands for a place in device memory.
fn push_address(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    let py = object.py();
    if let Some(data) = object.getattr_opt(intern!(py, "gpudata"))? {
        if data.is_none() {
            arguments.push(&[0; 8]);
            return checked(place, object, 8);
        }
        if data.is_exact_instance_of::<PyInt>() {
            // An array that begins somewhere in an allocation.
            arguments.push(&data.extract::<u64>()?.to_ne_bytes());
            needs.owners.extend(allocation_of(object)?);
            return checked(place, object, 8);
        }
        return push_memory(place, &data, arguments, needs);
    }
    if let Some(interface) = object.getattr_opt(intern!(py, "__cuda_array_interface__"))?
        && let Ok(interface) = interface.cast::<PyDict>()
    {
        let data = interface.get_item(intern!(py, "data"))?;
        let data: Option<(u64, bool)> = data.and_then(|data| data.extract().ok());
        let (address, _read_only) = data.ok_or_else(|| {
            place.refused(object, ", whose __cuda_array_interface__ is not understood")
        })?;
        if let Some(stream) = interface.get_item(intern!(py, "stream"))?
            && !stream.is_none()
        {
            let stream: usize = stream.extract()?;
            if stream > 1 {
                needs.after.push(stream);
            }
        }
        arguments.push(&address.to_ne_bytes());
        return checked(place, object, 8);
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        // Lent in the order of the default stream, on which the producer's work is over when others begin.
        const LEGACY: i64 = 1;
        let device = dlpack::import::device_of(object)?;
        if !matches!(
            device,
            Some((dlpack::abi::CUDA | dlpack::abi::CUDA_MANAGED, _))
        ) {
            return Err(place.refused(object, ", whose data is not on a CUDA device"));
        }
        let taken = dlpack::import::take(object, LEGACY)?;
        let address = taken.address().map_err(crate::cuda::errors::to_cuda)?;
        needs.lent.push(taken);
        needs.after.push(LEGACY as usize);
        arguments.push(&address.to_ne_bytes());
        return checked(place, object, 8);
    }
    match object.getattr_opt(intern!(py, "__index__"))? {
        Some(_) => push_memory(place, object, arguments, needs),
        None => Err(place.refused(object, "")),
    }
}

/// What stands for device memory, and nothing else.
fn push_memory(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    let pointer = Pointer::of("launch", "an argument", object)?;
    arguments.push(&pointer.address().to_ne_bytes());
    if let Some(owner) = pointer.owner() {
        needs.owners.push(Arc::clone(owner));
    }
    needs.imported.extend(pointer.imported().cloned());
    checked(place, object, 8)
}
