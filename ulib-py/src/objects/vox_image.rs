//! `VoxImage`: an image of voxels of 8 bytes (a Value and a Count) or 4 (a Value).

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use ulib_core::{DType, DeviceStorable, Result, bytemuck};
use ulib_math::scene::SceneObject;
use ulib_math::view::ViewMut;
use ulib_math::{
    BulkArray, DataOrder, Grid, Placed, VoxImage as Voxels, Voxel, VoxelValue, VoxelValueCount,
};

use super::image::{Image, dimension, dims_of, grid_of};
use crate::args::{Int, whole};
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::triple;
use crate::persist;
use crate::source::{self, AnyViewMut, Holder, Object, Which, image_by_its_methods};
use crate::view::ArrayView;

image_by_its_methods!([V: ulib_math::Voxel] Voxels<V>);

/// An image of whichever voxel type.
#[derive(Debug)]
pub(crate) enum AnyImage {
    ValueCount(Voxels<VoxelValueCount>),
    Value(Voxels<VoxelValue>),
}

/// Runs an expression on the image, whichever voxel type it has.
macro_rules! either {
    ($any:expr, $image:ident => $body:expr) => {
        match $any {
            AnyImage::ValueCount($image) => $body,
            AnyImage::Value($image) => $body,
        }
    };
}

impl AnyImage {
    fn new(grid: Grid, order: DataOrder, voxel_bytes: i128) -> PyResult<Self> {
        let bytes = AnyImage::check_voxel_bytes("VoxImage", voxel_bytes)?;
        let mut any = if bytes == size_of::<VoxelValue>() {
            AnyImage::Value(Voxels::with_grid(grid).py()?)
        } else {
            AnyImage::ValueCount(Voxels::with_grid(grid).py()?)
        };
        either!(&mut any, image => image.set_order(order)).py()?;
        Ok(any)
    }

    /// The size of a voxel that there is, as a caller gave it.
    pub(crate) fn check_voxel_bytes(op: &str, voxel_bytes: i128) -> PyResult<usize> {
        match voxel_bytes {
            4 => Ok(size_of::<VoxelValue>()),
            8 => Ok(size_of::<VoxelValueCount>()),
            other => Err(PyValueError::new_err(format!(
                "{op}: voxel_bytes {other} is neither 8 (Value and Count) nor 4 (Value)"
            ))),
        }
    }

    fn voxel_bytes(&self) -> usize {
        match self {
            AnyImage::ValueCount(_) => size_of::<VoxelValueCount>(),
            AnyImage::Value(_) => size_of::<VoxelValue>(),
        }
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(match self {
            AnyImage::ValueCount(image) => AnyImage::ValueCount(image.try_clone()?),
            AnyImage::Value(image) => AnyImage::Value(image.try_clone()?),
        })
    }
}

impl Object for AnyImage {
    fn placed(&self) -> &dyn Placed {
        either!(self, image => image)
    }

    fn scene(&self) -> &dyn SceneObject {
        either!(self, image => image)
    }

    fn arrays(&self) -> Option<&dyn BulkArray> {
        Some(either!(self, image => image))
    }

    fn view_mut(&mut self, which: &Which) -> Result<AnyViewMut<'_>> {
        let dtype = which.dtype(self)?;
        either!(self, image => view_mut(image, which, dtype))
    }

    fn change_bytes(
        &mut self,
        _overwrite: bool,
        change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        either!(self, image => {
            let mut voxels = image.voxels_mut()?;
            change(bytemuck::cast_slice_mut(&mut voxels))?;
            voxels.commit()
        })
    }

    fn image(&self) -> Option<&dyn source::Image> {
        Some(either!(self, image => image))
    }

    fn image_mut(&mut self) -> Option<&mut dyn source::Image> {
        Some(either!(self, image => image))
    }
}

/// One array of an image, to be changed where it is.
fn view_mut<'a, V: Voxel>(
    image: &'a mut Voxels<V>,
    which: &Which,
    dtype: DType,
) -> Result<AnyViewMut<'a>> {
    let grid = *image.grid();
    Ok(match (which, dtype) {
        (Which::Own, _) => AnyViewMut::F32(image.values_view_mut()?),
        (Which::Grid, _) => AnyViewMut::F32(image.grid_view_mut()?),
        (Which::Field(name), DType::F32) => AnyViewMut::F32(image.field_view_mut(name)?),
        (Which::Field(name), DType::U32) => AnyViewMut::U32(image.field_view_mut(name)?),
        (Which::GridField(name), DType::F32) => {
            AnyViewMut::F32(as_grid(image.field_view_mut(name)?, &grid)?)
        }
        (Which::GridField(name), DType::U32) => {
            AnyViewMut::U32(as_grid(image.field_view_mut(name)?, &grid)?)
        }
        (_, other) => AnyViewMut::Other(other),
    })
}

/// A flat view in memory order as `(nz, ny, nx)`.
fn as_grid<'a, T: DeviceStorable>(flat: ViewMut<'a, T>, grid: &Grid) -> Result<ViewMut<'a, T>> {
    let axes = grid.order().axes();
    let dims = grid.dims();
    let slowest_first = [dims[axes[2]], dims[axes[1]], dims[axes[0]]];
    let place = |axis: usize| 2 - axes.iter().position(|&found| found == axis).unwrap_or(axis);
    flat.reshape(&slowest_first)?
        .permute(&[place(2), place(1), place(0)])
}

/// An image of ``nx * ny * nz`` voxels, zero at first; without dimensions it is empty.
///
/// A voxel of 8 bytes is a ``Value`` (float32) and a ``Count`` (uint32), one of 4 bytes a ``Value``. The
/// array of the image shows the values. ``order`` names the axes as they lie in memory, fastest first.
#[pyclass(frozen, extends = Image, module = "uLib")]
pub(crate) struct VoxImage {
    shared: Arc<Shared<AnyImage>>,
}

impl VoxImage {
    fn bound(py: Python<'_>, image: AnyImage) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, VoxImage::init(image))
    }

    pub(crate) fn init(image: AnyImage) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(image));
        Image::bases(shared.clone()).add_subclass(VoxImage { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }

    fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, ArrayView>> {
        ArrayView::of(py, self.holder(), Which::Field(name.to_owned()))
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl VoxImage {
    #[new]
    #[pyo3(signature = (
        nx=None, ny=None, nz=None, voxel_bytes=8, spacing=[1.0, 1.0, 1.0], origin=[0.0, 0.0, 0.0],
        position=[0.0, 0.0, 0.0], order="XYZ"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = dimension)] nx: Option<Int>,
        #[pyo3(from_py_with = dimension)] ny: Option<Int>,
        #[pyo3(from_py_with = dimension)] nz: Option<Int>,
        #[pyo3(from_py_with = whole)] voxel_bytes: i128,
        #[pyo3(from_py_with = triple)] spacing: [f64; 3],
        #[pyo3(from_py_with = triple)] origin: [f64; 3],
        #[pyo3(from_py_with = triple)] position: [f64; 3],
        order: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (grid, order) = grid_of("VoxImage", [nx, ny, nz], spacing, origin, position, order)?;
        Ok(VoxImage::init(
            py.detach(|| AnyImage::new(grid, order, voxel_bytes))?,
        ))
    }

    /// Bytes of one voxel: 8 or 4.
    #[getter]
    fn VoxelBytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.peek(py, |image| Ok(image.voxel_bytes())).py()
    }

    /// The values, as an array of their own over the same memory.
    #[getter]
    fn Value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "Value")
    }

    #[setter(Value)]
    fn put_value(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "Value", view)
    }

    /// The counts (uint32), as an array of their own over the same memory; voxels of 8 bytes only.
    #[getter]
    fn Count<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "Count")
    }

    #[setter(Count)]
    fn put_count(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "Count", view)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        VoxImage::bound(py, self.shared.read(py, AnyImage::try_clone).py()?)
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>, persist::State<'py>)> {
        let ((grid, voxel_bytes), state) = persist::save(py, &self.shared, |image| {
            (either!(image, image => *image.grid()), image.voxel_bytes())
        })?;
        let [nx, ny, nz] = dims_of(&grid);
        let (spacing, origin, position) = (grid.spacing(), grid.origin(), grid.position());
        let order = grid.order().to_string();
        let arguments = (nx, ny, nz, voxel_bytes, spacing, origin, position, order);
        Ok((
            py.get_type::<Self>(),
            arguments.into_pyobject(py)?.into_any(),
            state,
        ))
    }

    #[pyo3(signature = (state, /))]
    fn __setstate__(&self, py: Python<'_>, state: (Bound<'_, PyBytes>, String)) -> PyResult<()> {
        persist::load(py, &self.holder(), state.0.as_bytes(), &state.1)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .read(py, |image| {
                let [nx, ny, nz] = either!(image, image => image.dims());
                Ok(format!(
                    "<uLib.VoxImage {nx} x {ny} x {nz}, {}-byte voxels, {}>",
                    image.voxel_bytes(),
                    image.placed().location()
                ))
            })
            .py()
    }
}
