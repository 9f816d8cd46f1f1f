//! [`BulkArray`]: an object, or a part of one, that other libraries see as an array.

#![allow(
    unsafe_code,
    reason = "the buffer protocol is a C struct of raw pointers"
)]

use std::ffi::c_int;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyMemoryView, PyTuple};

use crate::args::{Int, whole};
use crate::compute::reductions::{self, Over};
use crate::errors::IntoPyResult;
use crate::host_view::HostView;
use crate::incoming;
use crate::interop::import::Incoming;
use crate::interop::{array_interface, buffer, cuda_array_interface, dlpack};
use crate::lease::DeviceView;
use crate::numeric::Numeric;
use crate::placement::Placed;
use crate::source::{Holder, Source, Which};
use crate::view::ArrayView;

/// An object whose numbers are an array: on the host for NumPy, on a device for CuPy, numba,
/// PyTorch and JAX, through the protocols those libraries read.
#[pyclass(frozen, subclass, extends = Numeric, module = "uLib")]
pub(crate) struct BulkArray {
    pub(crate) source: Source,
    interface: cuda_array_interface::Template,
}

impl BulkArray {
    /// The three base classes over `holder`, showing the array `which`.
    pub(crate) fn bases(holder: Arc<dyn Holder>, which: Which) -> PyClassInitializer<BulkArray> {
        let source = Source {
            holder: holder.clone(),
            which,
        };
        PyClassInitializer::from(Placed { holder })
            .add_subclass(Numeric {
                source: source.clone(),
            })
            .add_subclass(BulkArray {
                source,
                interface: Default::default(),
            })
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl BulkArray {
    /// The lengths of the axes of the array.
    #[getter]
    fn Shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.source.describe(py).py()?.layout.shape())
    }

    /// The strides in bytes, or None when the array is packed.
    #[getter]
    fn Strides<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        cuda_array_interface::strides(py, &self.source.describe(py).py()?)
    }

    /// The element type, as NumPy writes it: ``'<f4'``.
    #[getter]
    fn Typestr(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.source.dtype(py).py()?.typestr())
    }

    /// The array as a new NumPy array: one bulk copy.
    fn GetValues<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        array_interface::array(slf.as_any(), None, Some(true))
    }

    /// Sets every element from an array of the same shape (for an image also ``(nz, ny, nx)``).
    ///
    /// Takes what NumPy takes, converted as NumPy's ``same_kind`` casting allows, and device arrays of
    /// the same type through ``__cuda_array_interface__`` or DLPack, device to device.
    #[pyo3(signature = (values))]
    fn SetValues(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let dtype = self.source.dtype(py).py()?;
        const OP: &str = "SetValues";
        let values = Incoming::of(values, dtype, OP)?;
        let source = match values.shape().len() {
            ..2 => self.source.clone(),
            _ => self.source.grid_or_own(py).py()?,
        };
        incoming::assign(py, &source, values, OP)
    }

    /// The sum of all elements, or the sums over ``axis`` (one or several), where the array is.
    ///
    /// The axes of an image are those of its grid, ``(nz, ny, nx)``. Floats are summed in double
    /// precision, in an order that does not depend on where: the same bits everywhere.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn Sum<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::sum(py, &self.source, Over { axis, keepdims })
    }

    /// The mean, over all elements or over ``axis``: a float64.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn Mean<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::mean(py, &self.source, Over { axis, keepdims })
    }

    /// The Euclidean norm, over all elements or over ``axis``: a float64.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn Norm<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::norm(py, &self.source, Over { axis, keepdims })
    }

    /// The smallest element, or those over ``axis``; NaN if one is.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn Min<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::min(py, &self.source, Over { axis, keepdims })
    }

    /// The largest element, or those over ``axis``; NaN if one is.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn Max<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::max(py, &self.source, Over { axis, keepdims })
    }

    /// Where the first smallest element is: its flat index, or indices along ``axis``.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn ArgMin<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::arg_min(py, &self.source, Over { axis, keepdims })
    }

    /// Where the first largest element is: its flat index, or indices along ``axis``.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn ArgMax<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::arg_max(py, &self.source, Over { axis, keepdims })
    }

    /// The quantile ``q``, linear between the nearest two elements; of several along a first axis.
    #[pyo3(signature = (q, axis=None, keepdims=false))]
    fn Quantile<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::quantile(py, &self.source, q, Over { axis, keepdims })
    }

    /// The variance, over all elements or over ``axis``: a float64.
    #[pyo3(signature = (axis=None, ddof=0, keepdims=false))]
    fn Variance<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = whole)] ddof: i128,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        reductions::variance(py, &self.source, ddof, Over { axis, keepdims })
    }

    /// How many elements meet a condition, which is written as for ``Threshold``: ``CountWhere('<', 3)``.
    #[pyo3(signature = (condition, *limits, axis=None, keepdims=false))]
    fn CountWhere<'py>(
        &self,
        py: Python<'py>,
        condition: &str,
        limits: &Bound<'py, PyTuple>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let over = Over { axis, keepdims };
        reductions::count_where(py, &self.source, condition, limits, over)
    }

    /// The sum of the products with the elements of ``other``.
    #[pyo3(signature = (other))]
    fn Dot<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reductions::dot(other.py(), &self.source, other)
    }

    /// How many elements fall into each of ``bins`` (a number, or their edges), and the edges.
    ///
    /// The last bin includes its upper edge. ``range`` goes with a number; without it the bins go from the smallest to the
    /// largest element.
    #[pyo3(signature = (bins=None, range=None), text_signature = "($self, bins=10, range=None)")]
    fn Histogram<'py>(
        &self,
        py: Python<'py>,
        bins: Option<&Bound<'py, PyAny>>,
        range: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        reductions::histogram(py, &self.source, bins, range)
    }

    /// The array on its device, lent for as long as the view lives.
    fn DeviceView(&self, py: Python<'_>) -> PyResult<DeviceView> {
        DeviceView::of(py, &self.source)
    }

    /// The host copy, writable: ``with obj.HostView() as a:``.
    fn HostView(&self, py: Python<'_>) -> PyResult<HostView> {
        HostView::of(py, &self.source)
    }

    /// The names ``Field()`` knows; those inside a record are named with a dot.
    fn Fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.source
            .holder
            .peek(py, |object| {
                Ok(object
                    .arrays()
                    .map(|arrays| arrays.field_names())
                    .unwrap_or_default())
            })
            .py()
    }

    /// One field of every element, as an array of its own over the same memory.
    #[pyo3(signature = (name))]
    fn Field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, ArrayView>> {
        let which = match &self.source.which {
            Which::Own => Which::Field(name.to_owned()),
            Which::Grid => Which::GridField(name.to_owned()),
            Which::Field(_) | Which::GridField(_) => {
                return Err(PyTypeError::new_err(format!(
                    "Field: this is a field already; ask the object for {name:?}"
                )));
            }
        };
        ArrayView::of(py, self.source.holder.clone(), which)
    }

    /// The CUDA array interface, version 3. It exists when the preference is a device and the
    /// numbers can be there; reading it brings them there.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        cuda_array_interface::attribute(py, &self.source, &self.interface)
    }

    /// NumPy's array interface, version 3: the host copy.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        array_interface::dictionary(py, &self.source)
    }

    /// The host copy as a NumPy array, read-only and not copied unless asked.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        array_interface::array(slf.as_any(), dtype, copy)
    }

    /// ``(2, ordinal)`` when ``__dlpack__()`` gives device memory, ``(1, 0)`` when it gives host memory.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        dlpack::export::device_of(py, &self.source)
    }

    /// The array as a DLPack capsule.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Int>,
        max_version: Option<(i64, i64)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = dlpack::export::Request {
            stream: dlpack::export::stream_number(stream).py()?,
            max_version,
            dl_device,
            copy,
        };
        dlpack::export::export(py, &self.source, &request)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let desc = self.source.describe(py).py()?;
        Ok(desc.layout.shape().first().copied().unwrap_or(0))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let py = slf.py();
        let view = PyMemoryView::from(slf)?;
        if slf.get().source.describe(py).py()?.layout.ndim() == 1 {
            return view.try_iter();
        }
        // Rows, as NumPy arrays over the host copy.
        py.import(intern!(py, "numpy"))?
            .call_method1(intern!(py, "asarray"), (view,))?
            .try_iter()
    }

    /// The buffer protocol, read-only.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let source = slf.get().source.clone();
        // SAFETY: `view` is the interpreter's pointer.
        unsafe { buffer::fill_read_only(slf.into_any(), &source, view, flags) }
    }

    /// The end of a buffer.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter passes a buffer that `__getbuffer__` filled.
        unsafe { buffer::release(view) };
    }
}
