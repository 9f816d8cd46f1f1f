//! [`Image`]: what `VoxImage` and `MultiVoxImage` have in common.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::{Error, Result};
use ulib_math::{DataOrder, Grid, IndexMap};

use crate::args::{Int, Place, index_in, number};
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
pub(crate) struct Image;

impl Image {
    /// The base classes of an image behind `holder`.
    pub(crate) fn bases(holder: Arc<dyn Holder>) -> PyClassInitializer<Image> {
        BulkArray::bases(holder, Which::Own).add_subclass(Image)
    }
}

fn holder<'a>(slf: &'a PyRef<'_, Image>) -> &'a Arc<dyn Holder> {
    &slf.as_super().source.holder
}

/// Asks the grid, which is never on a device.
fn ask<R: Send>(
    slf: &PyRef<'_, Image>,
    question: impl FnOnce(&Grid) -> Result<R> + Send,
) -> PyResult<R> {
    holder(slf)
        .peek(slf.py(), |object| {
            question(object.image().ok_or_else(no_image)?.grid())
        })
        .py()
}

/// Changes the image, which may copy all of it.
fn change(
    slf: &PyRef<'_, Image>,
    change: impl FnOnce(&mut dyn source::Image) -> Result<()> + Send,
) -> PyResult<()> {
    holder(slf)
        .write(slf.py(), |object| {
            change(object.image_mut().ok_or_else(no_image)?)
        })
        .py()
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
    fn GetDims(slf: PyRef<'_, Self>) -> PyResult<(usize, usize, usize)> {
        ask(&slf, |grid| Ok(grid.dims().into()))
    }

    /// Gives the image new dimensions. Voxels whose triple exists before and after are kept, new
    /// ones are zero. Device views of the old voxels keep showing those.
    #[pyo3(signature = (nx, ny, nz))]
    fn SetDims(slf: PyRef<'_, Self>, nx: Int, ny: Int, nz: Int) -> PyResult<()> {
        let dims = IndexMap::checked_dims([nx, ny, nz].map(Int::near)).py()?;
        change(&slf, |image| image.resize(dims))
    }

    /// Removes all voxels; the rest of the geometry stays.
    fn Clear(slf: PyRef<'_, Self>) -> PyResult<()> {
        change(&slf, |image| image.clear())
    }

    /// The size of one voxel along x, y and z.
    fn GetSpacing(slf: PyRef<'_, Self>) -> PyResult<(f64, f64, f64)> {
        ask(&slf, |grid| Ok(grid.spacing().into()))
    }

    /// Sets the size of one voxel.
    #[pyo3(signature = (spacing))]
    fn SetSpacing(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] spacing: [f64; 3],
    ) -> PyResult<()> {
        change(&slf, |image| image.set_spacing(spacing))
    }

    /// Where the grid starts inside the object.
    fn GetOrigin(slf: PyRef<'_, Self>) -> PyResult<(f64, f64, f64)> {
        ask(&slf, |grid| Ok(grid.origin().into()))
    }

    /// Sets where the grid starts inside the object.
    #[pyo3(signature = (origin))]
    fn SetOrigin(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] origin: [f64; 3],
    ) -> PyResult<()> {
        change(&slf, |image| image.set_origin(origin))
    }

    /// Where the object stands.
    fn GetPosition(slf: PyRef<'_, Self>) -> PyResult<(f64, f64, f64)> {
        ask(&slf, |grid| Ok(grid.position().into()))
    }

    /// Sets where the object stands.
    #[pyo3(signature = (position))]
    fn SetPosition(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] position: [f64; 3],
    ) -> PyResult<()> {
        change(&slf, |image| image.set_position(position))
    }

    /// The order of the voxels in memory, fastest axis first: ``'XYZ'``.
    fn GetDataOrder(slf: PyRef<'_, Self>) -> PyResult<String> {
        ask(&slf, |grid| Ok(grid.order().to_string()))
    }

    /// Gives the voxels another order in memory. Triples keep their voxels, flat indices change.
    #[pyo3(signature = (order))]
    fn SetDataOrder(slf: PyRef<'_, Self>, order: &str) -> PyResult<()> {
        let order: DataOrder = order.parse().py()?;
        holder(&slf)
            .write(slf.py(), |object| {
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
    #[pyo3(signature = (*index))]
    fn GetValue(slf: PyRef<'_, Self>, index: &Bound<'_, PyTuple>) -> PyResult<f32> {
        let place = Place::of("GetValue", index.iter().collect::<Vec<_>>().as_slice())?;
        holder(&slf)
            .tiny(slf.py(), |object| {
                let image = object.image().ok_or_else(no_image)?;
                image.value(place.flat(image.grid())?)
            })
            .py()
    }

    /// Sets the value of a voxel: ``SetValue(i, value)`` or ``SetValue(x, y, z, value)``.
    #[pyo3(signature = (*index_and_value))]
    fn SetValue(slf: PyRef<'_, Self>, index_and_value: &Bound<'_, PyTuple>) -> PyResult<()> {
        let (place, value) = Place::and_value("SetValue", index_and_value)?;
        let value: f32 = number("SetValue", "value", &value)?;
        holder(&slf)
            .tiny_mut(slf.py(), |object| {
                let image = object.image_mut().ok_or_else(no_image)?;
                let index = place.flat(image.grid())?;
                image.set_value(index, value)
            })
            .py()
    }

    /// The values as an array ``(nz, ny, nx)`` over the same memory.
    fn Grid<'py>(slf: PyRef<'py, Self>) -> PyResult<Bound<'py, ArrayView>> {
        ArrayView::of(slf.py(), holder(&slf).clone(), Which::Grid)
    }

    /// The flat index of the voxel ``x, y, z``.
    #[pyo3(signature = (x, y, z))]
    fn Map(slf: PyRef<'_, Self>, x: Int, y: Int, z: Int) -> PyResult<usize> {
        ask(&slf, |grid| Place::Triple([x, y, z]).flat(grid))
    }

    /// The triple of the voxel with this flat index.
    #[pyo3(signature = (index))]
    fn UnMap(slf: PyRef<'_, Self>, index: Int) -> PyResult<(usize, usize, usize)> {
        ask(&slf, |grid| {
            let flat = index_in("voxel", index, grid.len())?;
            Ok(grid.map().unmap(flat)?.into())
        })
    }

    /// The world point of a local one.
    #[pyo3(signature = (local))]
    fn GetWorldPoint(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] local: [f64; 3],
    ) -> PyResult<(f64, f64, f64)> {
        ask(&slf, |grid| Ok(grid.world_from_local(local).into()))
    }

    /// The local point of a world one.
    #[pyo3(signature = (world))]
    fn GetLocalPoint(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<(f64, f64, f64)> {
        ask(&slf, |grid| Ok(grid.local_from_world(world).into()))
    }

    /// The triple of the voxel a world point falls into, which need not exist.
    #[pyo3(signature = (world))]
    fn Find(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<(i64, i64, i64)> {
        ask(&slf, |grid| Ok(grid.find(world)?.into()))
    }

    /// Whether a world point lies in the image or on its surface.
    #[pyo3(signature = (world))]
    fn IsInsideBounds(
        slf: PyRef<'_, Self>,
        #[pyo3(from_py_with = triple)] world: [f64; 3],
    ) -> PyResult<bool> {
        ask(&slf, |grid| Ok(grid.is_inside_bounds(world)))
    }

    /// Whether the voxel ``x, y, z`` exists.
    #[pyo3(signature = (x, y, z))]
    fn IsInsideGrid(slf: PyRef<'_, Self>, x: Int, y: Int, z: Int) -> PyResult<bool> {
        ask(&slf, |grid| {
            Ok(grid.is_inside_grid([x, y, z].map(Int::near)))
        })
    }
}
