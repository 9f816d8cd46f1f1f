//! [`Image`]: what `VoxImage` and `MultiVoxImage` have in common.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ulib_core::{Error, Result};
use ulib_math::{DataOrder, Grid, IndexMap};

use crate::args::{self, Given, Int, Place, index_in};
use crate::bulk::BulkArray;
use crate::errors::IntoPyResult;
use crate::items::triple;
use crate::source::{self, Holder, Which, block, no_image};
use crate::view::ArrayView;

/// A three-dimensional image: voxels on a regular grid in space.
///
/// As an array it is flat, its voxels in memory order; ``Grid()`` is the same memory as
/// ``(nz, ny, nx)``. Local coordinates count voxels, world = local * spacing + origin + position.
#[pyclass(frozen, subclass, extends = BulkArray, module = "uLib")]
pub(crate) struct Image {
    holder: Arc<dyn Holder>,
}

impl Image {
    /// The base classes of an image behind `holder`.
    pub(crate) fn bases(holder: Arc<dyn Holder>) -> PyClassInitializer<Image> {
        BulkArray::bases(holder.clone(), Which::Own).add_subclass(Image { holder })
    }

    /// Asks the grid, which is never on a device.
    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Grid) -> Result<R> + Send,
    ) -> PyResult<R> {
        self.holder
            .peek(py, |object| {
                question(object.image().ok_or_else(no_image)?.grid())
            })
            .py()
    }

    /// Changes the image, which may copy all of it.
    fn change(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut dyn source::Image) -> Result<()> + Send,
    ) -> PyResult<()> {
        self.holder
            .write(py, |object| {
                change(object.image_mut().ok_or_else(no_image)?)
            })
            .py()
    }
}

/// The grid that a constructor's arguments describe; empty without dimensions.
pub(crate) fn grid_of(
    class: &str,
    dims: [Option<Int>; 3],
    spacing: [f64; 3],
    origin: [f64; 3],
    position: [f64; 3],
    order: &str,
) -> PyResult<(Grid, DataOrder)> {
    let order: DataOrder = order.parse().py()?;
    let mut grid = match dims {
        [Some(nx), Some(ny), Some(nz)] => Grid::with_order(
            IndexMap::checked_dims([nx, ny, nz].map(Int::near)).py()?,
            order,
        )
        .py()?,
        [None, None, None] => Grid::empty(),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "{class}: takes three dimensions, or none for an empty image"
            )));
        }
    };
    grid.set_spacing(spacing).py()?;
    grid.set_origin(origin).py()?;
    grid.set_position(position).py()?;
    Ok((grid, order))
}

/// One of the dimensions that a constructor is given.
pub(crate) fn dimension(object: &Bound<'_, PyAny>) -> PyResult<Option<Int>> {
    object.extract().map_err(|error: PyErr| {
        let py = object.py();
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        args::caused(py, error, |_| {
            PyTypeError::new_err(format!(
                "the dimensions are three integers nx, ny, nz, not {}",
                args::shown(object)
            ))
        })
    })
}

/// The dimensions as a constructor takes them.
pub(crate) fn dims_of(grid: &Grid) -> [Option<usize>; 3] {
    match grid.is_empty() {
        true => [None; 3],
        false => grid.dims().map(Some),
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl Image {
    /// Voxels along x, y and z.
    fn GetDims(&self, py: Python<'_>) -> PyResult<(usize, usize, usize)> {
        self.ask(py, |grid| Ok(grid.dims().into()))
    }

    /// Gives the image new dimensions. Voxels whose triple exists before and after are kept, new
    /// ones are zero. Device views of the old voxels keep showing those.
    #[pyo3(signature = (nx, ny, nz))]
    fn SetDims(&self, py: Python<'_>, nx: Int, ny: Int, nz: Int) -> PyResult<()> {
        let dims = IndexMap::checked_dims([nx, ny, nz].map(Int::near)).py()?;
        self.change(py, |image| image.resize(dims))
    }

    /// Removes all voxels; the rest of the geometry stays.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |image| image.clear())
    }

    /// The size of one voxel along x, y and z.
    fn GetSpacing(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        self.ask(py, |grid| Ok(grid.spacing().into()))
    }

    /// Sets the size of one voxel.
    #[pyo3(signature = (spacing))]
    fn SetSpacing(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] spacing: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |image| image.set_spacing(spacing))
    }

    /// Where the grid starts inside the object.
    fn GetOrigin(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        self.ask(py, |grid| Ok(grid.origin().into()))
    }

    /// Sets where the grid starts inside the object.
    #[pyo3(signature = (origin))]
    fn SetOrigin(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] origin: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |image| image.set_origin(origin))
    }

    /// Where the object stands.
    fn GetPosition(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        self.ask(py, |grid| Ok(grid.position().into()))
    }

    /// Sets where the object stands.
    #[pyo3(signature = (position))]
    fn SetPosition(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] position: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |image| image.set_position(position))
    }

    /// The order of the voxels in memory, fastest axis first: ``'XYZ'``.
    fn GetDataOrder(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |grid| Ok(grid.order().to_string()))
    }

    /// Gives the voxels another order in memory. Triples keep their voxels, flat indices change.
    #[pyo3(signature = (order))]
    fn SetDataOrder(&self, py: Python<'_>, order: &str) -> PyResult<()> {
        let order: DataOrder = order.parse().py()?;
        self.holder
            .write(py, |object| {
                let moves = object.image().ok_or_else(no_image)?.grid().order() != order;
                if moves && block(object)?.host_exports() > 0 {
                    // The view would show the same memory, with other voxels in it.
                    return Err(Error::busy(
                        "SetDataOrder",
                        "a view of the host copy is in use",
                    ));
                }
                object.image_mut().ok_or_else(no_image)?.set_order(order)
            })
            .py()
    }

    /// The value of a voxel: ``GetValue(i)`` or ``GetValue(x, y, z)``.
    #[pyo3(signature = (x, y=Given::NOT, z=Given::NOT, /))]
    fn GetValue(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: Given<'_, '_>,
        z: Given<'_, '_>,
    ) -> PyResult<f32> {
        let place = Place::of("GetValue", x, y, z)?;
        self.holder.value(py, place).py()
    }

    /// Sets the value of a voxel: ``SetValue(i, value)`` or ``SetValue(x, y, z, value)``.
    #[pyo3(signature = (x, y, z=Given::NOT, value=Given::NOT, /))]
    fn SetValue(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        z: Given<'_, '_>,
        value: Given<'_, '_>,
    ) -> PyResult<()> {
        let (place, value) = Place::and_value("SetValue", x, y, z, value)?;
        self.holder.set_value(py, place, value).py()
    }

    /// The values as an array ``(nz, ny, nx)`` over the same memory.
    fn Grid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        ArrayView::of(py, self.holder.clone(), Which::Grid)
    }

    /// The flat index of the voxel ``x, y, z``.
    #[pyo3(signature = (x, y, z))]
    fn Map(&self, py: Python<'_>, x: Int, y: Int, z: Int) -> PyResult<usize> {
        self.ask(py, |grid| Place::Triple([x, y, z]).flat(grid))
    }

    /// The triple of the voxel with this flat index.
    #[pyo3(signature = (index))]
    fn UnMap(&self, py: Python<'_>, index: Int) -> PyResult<(usize, usize, usize)> {
        self.ask(py, |grid| {
            let flat = index_in("voxel", index, grid.len())?;
            Ok(grid.map().unmap(flat)?.into())
        })
    }

    /// The world point of a local one.
    #[pyo3(signature = (local))]
    fn GetWorldPoint(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] local: [f64; 3],
    ) -> PyResult<(f64, f64, f64)> {
        self.ask(py, |grid| Ok(grid.world_from_local(local).into()))
    }

    /// The local point of a world one.
    #[pyo3(signature = (world))]
    fn GetLocalPoint(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<(f64, f64, f64)> {
        self.ask(py, |grid| Ok(grid.local_from_world(world).into()))
    }

    /// The triple of the voxel a world point falls into, which need not exist.
    #[pyo3(signature = (world))]
    fn Find(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<(i64, i64, i64)> {
        self.ask(py, |grid| Ok(grid.find(world)?.into()))
    }

    /// Whether a world point lies in the image or on its surface.
    #[pyo3(signature = (world))]
    fn IsInsideBounds(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<bool> {
        self.ask(py, |grid| Ok(grid.is_inside_bounds(world)))
    }

    /// Whether the voxel ``x, y, z`` exists.
    #[pyo3(signature = (x, y, z))]
    fn IsInsideGrid(&self, py: Python<'_>, x: Int, y: Int, z: Int) -> PyResult<bool> {
        self.ask(py, |grid| Ok(grid.is_inside_grid([x, y, z].map(Int::near))))
    }
}
