//! [`HostArray`]: an array of NumPy, or of anything else with a buffer, as the source of a copy.

#![allow(unsafe_code, reason = "foreign memory is raw pointers")]

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_core::{DType, DeviceStorable, Error, Layout, Result};

use super::buffer;
use crate::errors::{IntoPyResult, shortened};
use crate::gather::{by_size, check, for_each_element};
use crate::items::{refuse_masked, zeros};
use crate::source::Desc;

/// A packed host array of the wanted type.
pub(crate) struct HostArray {
    buffer: PyUntypedBuffer,
    pub(crate) shape: Vec<usize>,
}

impl HostArray {
    /// The array of `object`, converted and packed by NumPy where it has to be.
    pub(crate) fn of(object: &Bound<'_, PyAny>, dtype: DType, op: &'static str) -> PyResult<Self> {
        refuse_masked(op, object)?;
        if let Ok(buffer) = PyUntypedBuffer::get(object)
            && buffer.is_c_contiguous()
            && buffer.item_size() == dtype.size()
            && buffer::format_of(dtype).is_some_and(|format| same_format(buffer.format(), format))
        {
            let shape = buffer.shape().to_vec();
            return Ok(HostArray { buffer, shape });
        }
        let py = object.py();
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
        let found = array.getattr(intern!(py, "dtype"))?;
        if array.getattr(intern!(py, "ndim"))?.extract::<usize>()? == 0
            && !matches!(
                found.getattr(intern!(py, "kind"))?.extract()?,
                'O' | 'U' | 'S'
            )
        {
            let hint = match op {
                "SetValues" => "; Fill sets every element to it",
                _ => "",
            };
            return Err(PyValueError::new_err(format!(
                "{op}: {} is a single number, not an array{hint}",
                shortened(&object.repr()?.to_string())
            )));
        }
        // Numbers of Python itself have no type of their own that could be wrong: each must fit.
        let plain = !object.hasattr(intern!(py, "dtype"))?
            && PyUntypedBuffer::get(object).is_err()
            && matches!(
                found.getattr(intern!(py, "kind"))?.extract()?,
                'i' | 'u' | 'f' | 'b'
            );
        let castable = || {
            let arguments = (&found, dtype.typestr(), "same_kind");
            let answer = numpy.call_method1(intern!(py, "can_cast"), arguments)?;
            answer.extract::<bool>()
        };
        if plain {
            check_each(&numpy, &array, dtype, op)?;
        } else if !castable()? {
            return Err(Error::dtype(op, format_args!("{found}"), dtype)).py();
        }
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", dtype.typestr())?;
        keywords.set_item("order", "C")?;
        let packed = numpy.call_method(intern!(py, "array"), (array,), Some(&keywords))?;
        let buffer = PyUntypedBuffer::get(&packed)?;
        let shape = buffer.shape().to_vec();
        Ok(HostArray { buffer, shape })
    }

    /// The elements as a vector of their type.
    pub(crate) fn to_vec<T: DeviceStorable>(&self) -> Result<Vec<T>> {
        if self.buffer.item_size() != size_of::<T>() {
            return Err(Error::dtype(
                "import",
                "elements of another size",
                T::dtype(),
            ));
        }
        let mut items = zeros::<T>(self.buffer.len_bytes() / size_of::<T>())?;
        let desc = Desc {
            dtype: T::dtype(),
            layout: Layout::contiguous(&self.shape)?,
        };
        self.scatter(ulib_core::bytemuck::cast_slice_mut(&mut items), &desc)?;
        Ok(items)
    }

    /// Copies the elements to where `desc` describes them in the block's bytes `target`.
    pub(crate) fn scatter(&self, target: &mut [u8], desc: &Desc) -> Result<()> {
        if desc.layout.shape() != self.shape {
            return Err(Error::shape("SetValues", desc.layout.shape(), &self.shape));
        }
        let packed = check(target.len(), desc, self.buffer.len_bytes())?;
        let source = self.buffer.buf_ptr().cast::<u8>().cast_const();
        // No reference to the foreign bytes is made below, so another thread that writes them
        // meanwhile changes which values are copied and nothing else.
        if packed {
            let start = desc.offset_bytes()?;
            let target = &mut target[start..start + self.buffer.len_bytes()];
            // SAFETY: the buffer keeps as many contiguous bytes at its pointer (checked when it was
            // taken, or made so by NumPy); `target` is our own memory of that length. They may be the
            // same memory, when an object is assigned to itself.
            unsafe { std::ptr::copy(source, target.as_mut_ptr(), target.len()) };
            return Ok(());
        }
        by_size!(desc.itemsize(), size => for_each_element(desc, |packed, strided| {
            let target = &mut target[strided..strided + size];
            // SAFETY: as above; `packed` counts up to the buffer's length, which `check` compared.
            unsafe { std::ptr::copy(source.add(packed), target.as_mut_ptr(), size) };
        }))
    }
}

/// Refuses the first number of `array` that does not fit: none of the integers of `dtype`, or a finite one that `f32` would
/// make infinite. Any number is near enough to some `f64`.
fn check_each(
    numpy: &Bound<'_, PyModule>,
    array: &Bound<'_, PyAny>,
    dtype: DType,
    op: &'static str,
) -> PyResult<()> {
    // A bound of 64 bits: one of Python would be rounded to the numbers' own type, where it may be infinite.
    let bound = |value: f64| numpy.call_method1("float64", (value,));
    let integers = |highest: u32| {
        let both = |a, b| numpy.call_method1("logical_and", (a, b));
        let whole = numpy.call_method1("equal", (array, numpy.call_method1("trunc", (array,))?))?;
        let inside = both(
            numpy.call_method1("greater_equal", (array, 0))?,
            numpy.call_method1("less_equal", (array, bound(highest.into())?))?,
        )?;
        let wanted = format!("a whole number from 0 to {highest}");
        PyResult::Ok((both(inside, whole)?, wanted))
    };
    let (fits, wanted) = match dtype {
        DType::U8 => integers(u8::MAX.into())?,
        DType::U32 => integers(u32::MAX)?,
        DType::F32 => {
            // Half a step beyond the largest one.
            let beyond = f64::from(f32::MAX) + 2_f64.powi(103);
            let size = numpy.call_method1("absolute", (array,))?;
            let infinite = numpy.call_method1("isfinite", (array,))?;
            let infinite = numpy.call_method1("logical_not", (infinite,))?;
            let small = numpy.call_method1("less", (size, bound(beyond)?))?;
            let fits = numpy.call_method1("logical_or", (small, infinite))?;
            (fits, "a number within the range of float32".to_owned())
        }
        _ => return Ok(()),
    };
    if fits.call_method0("all")?.is_truthy()? {
        return Ok(());
    }
    let index: usize = fits.call_method0("argmin")?.extract()?;
    let value = array.getattr("flat")?.get_item(index)?;
    Err(Error::invalid(
        op,
        format!("element {index}"),
        value.str()?,
        wanted,
    ))
    .py()
}

/// Whether a buffer's format names the same number type in native order.
fn same_format(found: &std::ffi::CStr, wanted: &std::ffi::CStr) -> bool {
    let found = found.to_bytes();
    let found = match found {
        [b'@' | b'=', rest @ ..] => rest,
        [b'<', rest @ ..] if cfg!(target_endian = "little") => rest,
        other => other,
    };
    let wanted = wanted.to_bytes();
    found == wanted
        || (cfg!(target_pointer_width = "64")
            && matches!((found, wanted), (b"l", b"q") | (b"L", b"Q")))
}
