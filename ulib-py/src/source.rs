//! [`Source`]: one array of an object, whichever object and whichever of its arrays.

use std::sync::Arc;

use pyo3::prelude::*;
use ulib_core::{DType, Error, ErrorKind, Layout, Result};
use ulib_device::Block;
use ulib_math::scene::SceneObject;
use ulib_math::view::ViewMut;
use ulib_math::{Bulk, BulkArray, DataOrder, Grid, Placed};

pub(crate) use crate::holder::Holder;

/// What the classes need of an object of `ulib-math`.
pub(crate) trait Object: Send + Sync + 'static {
    /// The placement property.
    fn placed(&self) -> &dyn Placed;

    /// What the object is in a scene and in a document.
    fn scene(&self) -> &dyn SceneObject;

    /// The arrays of the object; none when its elements can never be on a device.
    fn arrays(&self) -> Option<&dyn BulkArray>;

    /// One array of the object, to be changed where it is.
    fn view_mut(&mut self, which: &Which) -> Result<AnyViewMut<'_>>;

    /// All bytes on the host, to be changed by `change`. With `overwrite` the old ones need not be
    /// brought home first, and `change` sets every one.
    fn change_bytes(
        &mut self,
        overwrite: bool,
        change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()>;

    /// The image this object is, if it is one.
    fn image(&self) -> Option<&dyn Image> {
        None
    }

    /// As [`image`](Object::image), to change it.
    fn image_mut(&mut self) -> Option<&mut dyn Image> {
        None
    }
}

/// A view for writing, of whichever number type the arrays of objects have.
#[derive(Debug)]
pub(crate) enum AnyViewMut<'a> {
    F32(ViewMut<'a, f32>),
    F64(ViewMut<'a, f64>),
    U32(ViewMut<'a, u32>),
    /// Bytes and what else no operation is defined for.
    Other(DType),
}

/// What the image classes have in common.
pub(crate) trait Image {
    fn grid(&self) -> &Grid;
    fn grid_layout(&self) -> Result<Layout>;
    fn value(&self, index: usize) -> Result<f32>;
    fn set_value(&mut self, index: usize, value: f32) -> Result<()>;
    fn value_at_hand(&mut self, index: usize) -> Result<Option<f32>>;
    fn set_value_at_hand(&mut self, index: usize, value: f32) -> Result<bool>;
    fn resize(&mut self, dims: [usize; 3]) -> Result<()>;
    fn clear(&mut self) -> Result<()>;
    fn set_order(&mut self, order: DataOrder) -> Result<()>;
    fn set_spacing(&mut self, spacing: [f64; 3]) -> Result<()>;
    fn set_origin(&mut self, origin: [f64; 3]) -> Result<()>;
    fn set_position(&mut self, position: [f64; 3]) -> Result<()>;
}

/// Implements [`Image`] by the methods of the same names.
macro_rules! image_by_its_methods {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::source::Image for $type {
            fn grid(&self) -> &ulib_math::Grid {
                self.grid()
            }
            fn grid_layout(&self) -> ulib_core::Result<ulib_core::Layout> {
                self.grid_layout()
            }
            fn value(&self, index: usize) -> ulib_core::Result<f32> {
                self.value(index)
            }
            fn set_value(&mut self, index: usize, value: f32) -> ulib_core::Result<()> {
                self.set_value(index, value)
            }
            fn value_at_hand(&mut self, index: usize) -> ulib_core::Result<Option<f32>> {
                self.value_at_hand(index)
            }
            fn set_value_at_hand(&mut self, index: usize, value: f32) -> ulib_core::Result<bool> {
                self.set_value_at_hand(index, value)
            }
            fn resize(&mut self, dims: [usize; 3]) -> ulib_core::Result<()> {
                self.resize(dims)
            }
            fn clear(&mut self) -> ulib_core::Result<()> {
                self.clear()
            }
            fn set_order(&mut self, order: ulib_math::DataOrder) -> ulib_core::Result<()> {
                self.set_order(order)
            }
            fn set_spacing(&mut self, spacing: [f64; 3]) -> ulib_core::Result<()> {
                self.set_spacing(spacing)
            }
            fn set_origin(&mut self, origin: [f64; 3]) -> ulib_core::Result<()> {
                self.set_origin(origin)
            }
            fn set_position(&mut self, position: [f64; 3]) -> ulib_core::Result<()> {
                self.set_position(position)
            }
        }
    };
}
pub(crate) use image_by_its_methods;

/// The dtype of an array, and where its elements lie in the block (in elements of the dtype).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Desc {
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
}

impl Desc {
    pub(crate) fn itemsize(&self) -> usize {
        self.dtype.size()
    }

    /// Bytes from the start of the block to the element with all indices zero.
    pub(crate) fn offset_bytes(&self) -> Result<usize> {
        self.layout
            .offset()
            .checked_mul(self.itemsize())
            .ok_or_else(|| Error::overflow("array", "the offset in bytes"))
    }

    pub(crate) fn strides_bytes(&self) -> Result<Vec<isize>> {
        self.layout.strides_bytes(self.itemsize())
    }

    /// Bytes of all elements without the gaps.
    pub(crate) fn packed_bytes(&self) -> Result<usize> {
        self.layout
            .len()
            .checked_mul(self.itemsize())
            .ok_or_else(|| Error::overflow("array", "the size in bytes"))
    }
}

/// Which array of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The flat one that the object itself shows.
    Own,
    /// The values of an image, three-dimensional.
    Grid,
    /// One field of every element.
    Field(String),
    /// One field of every voxel, three-dimensional.
    GridField(String),
}

/// One array of an object. Every use asks the object anew, so the array follows a resize.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) holder: Arc<dyn Holder>,
    pub(crate) which: Which,
}

impl Source {
    /// The array that `object` itself shows.
    pub(crate) fn own(holder: Arc<dyn Holder>) -> Self {
        Source {
            holder,
            which: Which::Own,
        }
    }

    /// Where the object is in memory, to tell it from others.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.holder).cast::<()>() as usize
    }

    /// Whether both are the same array of the same object.
    pub(crate) fn is(&self, other: &Source) -> bool {
        self.address() == other.address() && self.which == other.which
    }

    /// The same array; of an image that shows its flat one, the grid.
    pub(crate) fn grid_or_own(&self, py: Python<'_>) -> Result<Source> {
        let which = self
            .holder
            .peek(py, |object| Ok(self.which.grid_or_own(object)))?;
        Ok(Source {
            holder: self.holder.clone(),
            which,
        })
    }

    /// Dtype and layout now.
    pub(crate) fn describe(&self, py: Python<'_>) -> Result<Desc> {
        self.holder.peek(py, |object| self.which.of(object))
    }

    /// Dtype now.
    pub(crate) fn dtype(&self, py: Python<'_>) -> Result<DType> {
        self.holder.peek(py, |object| self.which.dtype(object))
    }

    /// Runs `work` with the block and the array's description, detached.
    pub(crate) fn read<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Block, Desc) -> Result<R> + Send,
    ) -> Result<R> {
        self.holder.read(py, |object| {
            let desc = self.which.of(object)?;
            work(block(object)?, desc)
        })
    }

    /// Runs `work` with the array, to change it where it is, detached.
    pub(crate) fn change(
        &self,
        py: Python<'_>,
        work: impl FnOnce(AnyViewMut<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        self.holder
            .write(py, |object| work(object.view_mut(&self.which)?))
    }
}

impl Which {
    /// What a view of this array calls itself.
    pub(crate) fn label(&self) -> String {
        match self {
            Which::Own => "values".to_owned(),
            Which::Grid => "grid".to_owned(),
            Which::Field(name) => name.clone(),
            Which::GridField(name) => format!("grid of {name}"),
        }
    }

    /// The dtype of this array of `object`, as [`of`](Self::of) has it.
    pub(crate) fn dtype(&self, object: &dyn Object) -> Result<DType> {
        match self {
            Which::Own => Ok(object.arrays().ok_or_else(no_array)?.dtype()),
            Which::Grid | Which::Field(_) | Which::GridField(_) => Ok(self.of(object)?.dtype),
        }
    }

    /// The same array of `object`; of an image that shows its flat one, the grid.
    pub(crate) fn grid_or_own(&self, object: &dyn Object) -> Which {
        match self {
            Which::Own if object.image().is_some() => Which::Grid,
            other => other.clone(),
        }
    }

    /// Dtype and layout of this array of `object`.
    pub(crate) fn of(&self, object: &dyn Object) -> Result<Desc> {
        let arrays = || object.arrays().ok_or_else(no_array);
        match self {
            Which::Own => {
                let arrays = arrays()?;
                Ok(Desc {
                    dtype: arrays.dtype(),
                    layout: arrays.layout()?,
                })
            }
            Which::Grid => grid(object),
            Which::Field(name) => {
                let (dtype, layout) = arrays()?.field(name)?;
                Ok(Desc { dtype, layout })
            }
            Which::GridField(name) => {
                let grid = grid(object)?;
                let (dtype, field) = arrays()?.field(name)?;
                if dtype.size() != grid.itemsize() || field.ndim() != 1 {
                    return Err(Error::invalid(
                        "grid view",
                        "field",
                        name,
                        "a 4-byte number",
                    ));
                }
                let (shape, strides) = (grid.layout.shape(), grid.layout.strides());
                Ok(Desc {
                    dtype,
                    layout: Layout::new(shape.to_vec(), strides.to_vec(), field.offset())?,
                })
            }
        }
    }
}

/// The values of an image as `(nz, ny, nx)`.
fn grid(object: &dyn Object) -> Result<Desc> {
    let image = object.image().ok_or_else(no_image)?;
    Ok(Desc {
        dtype: DType::F32,
        layout: image.grid_layout()?,
    })
}

/// The error for something that only images have.
pub(crate) fn no_image() -> Error {
    Error::new(ErrorKind::InvalidArgument, "this object is no image")
}

/// The block of an object.
pub(crate) fn block(object: &dyn Object) -> Result<&Block> {
    match object.placed().bulk() {
        Bulk::Block(block) => Ok(block),
        Bulk::HostOnly(_) => Err(no_array()),
    }
}

pub(crate) fn no_array() -> Error {
    Error::new(
        ErrorKind::Residency,
        "these elements are more than their bytes: there is no array of them",
    )
}
