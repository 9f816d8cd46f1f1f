//! `MultiVoxImage`: an image of several channels of several components.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use ulib_core::{Result, bytemuck};
use ulib_math::scene::SceneObject;
use ulib_math::{BulkArray, MultiVoxImage as Voxels, Placed};

use super::image::{Image, dimension, dims_of, grid_of};
use crate::args::{Int, count, index_in, whole};
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::triple;
use crate::persist;
use crate::source::{self, AnyViewMut, Holder, Object, Which, image_by_its_methods};

image_by_its_methods!([] Voxels);

impl Object for Voxels {
    fn placed(&self) -> &dyn Placed {
        self
    }

    fn scene(&self) -> &dyn SceneObject {
        self
    }

    fn arrays(&self) -> Option<&dyn BulkArray> {
        Some(self)
    }

    fn view_mut(&mut self, which: &Which) -> Result<AnyViewMut<'_>> {
        Ok(AnyViewMut::F32(match which {
            Which::Grid => self.grid_view_mut()?,
            _ => self.values_view_mut()?,
        }))
    }

    fn change_bytes(
        &mut self,
        _overwrite: bool,
        change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let mut numbers = self.elements_mut()?;
        change(bytemuck::cast_slice_mut(&mut numbers))?;
        numbers.commit()
    }

    fn image(&self) -> Option<&dyn source::Image> {
        Some(self)
    }

    fn image_mut(&mut self) -> Option<&mut dyn source::Image> {
        Some(self)
    }
}

/// An image whose voxels are ``channels`` times ``components`` numbers (float32), zero at first.
///
/// One pair of channel and component is active: values, arrays and sums are those of that pair.
#[pyclass(frozen, extends = Image, module = "uLib")]
pub(crate) struct MultiVoxImage {
    shared: Arc<Shared<Voxels>>,
}

impl MultiVoxImage {
    pub(crate) fn init(image: Voxels) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(image));
        Image::bases(shared.clone()).add_subclass(MultiVoxImage { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }

    fn activate(
        &self,
        py: Python<'_>,
        pair: impl FnOnce((usize, usize)) -> (Int, Int) + Send,
    ) -> PyResult<()> {
        self.shared
            .write(py, |image| {
                let (channel, component) = pair(image.active());
                let channel = index_in("channel", channel, image.channels())?;
                let component = index_in("component", component, image.components())?;
                image.set_active(channel, component)
            })
            .py()
    }

    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Voxels) -> R + Send,
    ) -> PyResult<R> {
        self.shared.peek(py, |image| Ok(question(image))).py()
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl MultiVoxImage {
    #[new]
    #[pyo3(signature = (
        nx=None, ny=None, nz=None, channels=1, components=1, spacing=[1.0, 1.0, 1.0],
        origin=[0.0, 0.0, 0.0], position=[0.0, 0.0, 0.0], order="XYZ"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = dimension)] nx: Option<Int>,
        #[pyo3(from_py_with = dimension)] ny: Option<Int>,
        #[pyo3(from_py_with = dimension)] nz: Option<Int>,
        #[pyo3(from_py_with = whole)] channels: i128,
        #[pyo3(from_py_with = whole)] components: i128,
        #[pyo3(from_py_with = triple)] spacing: [f64; 3],
        #[pyo3(from_py_with = triple)] origin: [f64; 3],
        #[pyo3(from_py_with = triple)] position: [f64; 3],
        order: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        const CLASS: &str = "MultiVoxImage";
        let (grid, order) = grid_of(CLASS, [nx, ny, nz], spacing, origin, position, order)?;
        let channels = count(CLASS, "channels", Int(channels))?;
        let components = count(CLASS, "components", Int(components))?;
        let image = py.detach(|| {
            let mut image = Voxels::with_grid(grid, channels, components)?;
            image.set_order(order)?;
            Ok(image)
        });
        Ok(MultiVoxImage::init(image.py()?))
    }

    /// How many channels a voxel has.
    #[getter]
    fn Channels(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Voxels::channels)
    }

    /// How many numbers a channel has.
    #[getter]
    fn Components(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Voxels::components)
    }

    /// The active channel.
    #[getter]
    fn ActiveChannel(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |image| image.active().0)
    }

    #[setter(ActiveChannel)]
    fn set_active_channel(&self, py: Python<'_>, channel: Int) -> PyResult<()> {
        self.activate(py, |(_, component)| (channel, component.into()))
    }

    /// The active component.
    #[getter]
    fn ActiveComponent(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |image| image.active().1)
    }

    #[setter(ActiveComponent)]
    fn set_active_component(&self, py: Python<'_>, component: Int) -> PyResult<()> {
        self.activate(py, |(channel, _)| (channel.into(), component))
    }

    /// Makes another channel and component the active one. Nothing moves.
    #[pyo3(signature = (channel, component=0))]
    fn SetActive(
        &self,
        py: Python<'_>,
        channel: Int,
        #[pyo3(from_py_with = whole)] component: i128,
    ) -> PyResult<()> {
        self.activate(py, |_| (channel, Int(component)))
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self
            .shared
            .read(py, |image| {
                let mut copy = image.try_clone()?;
                let (channel, component) = image.active();
                copy.set_active(channel, component)?;
                Ok(copy)
            })
            .py()?;
        Bound::new(py, MultiVoxImage::init(copy))
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyType>,
        Bound<'py, PyAny>,
        (Bound<'py, PyBytes>, String, (usize, usize)),
    )> {
        let ((grid, counts, active), (bytes, preferred)) =
            persist::save(py, &self.shared, |image| {
                let counts = (image.channels(), image.components());
                (*image.grid(), counts, image.active())
            })?;
        let [nx, ny, nz] = dims_of(&grid);
        let (channels, components) = counts;
        let (spacing, origin, position) = (grid.spacing(), grid.origin(), grid.position());
        let order = grid.order().to_string();
        let arguments = (
            nx, ny, nz, channels, components, spacing, origin, position, order,
        );
        Ok((
            py.get_type::<Self>(),
            arguments.into_pyobject(py)?.into_any(),
            (bytes, preferred, active),
        ))
    }

    #[pyo3(signature = (state, /))]
    fn __setstate__(
        &self,
        py: Python<'_>,
        state: (Bound<'_, PyBytes>, String, (Int, Int)),
    ) -> PyResult<()> {
        self.activate(py, |_| state.2)?;
        persist::load(py, &self.holder(), state.0.as_bytes(), &state.1)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .read(py, |image| {
                let [nx, ny, nz] = image.dims();
                Ok(format!(
                    "<uLib.MultiVoxImage {nx} x {ny} x {nz}, {} x {} numbers, active {:?}, {}>",
                    image.channels(),
                    image.components(),
                    image.active(),
                    image.location()
                ))
            })
            .py()
    }
}
