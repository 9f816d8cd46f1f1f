//! Strided views of a block: which elements of it an operation reads or writes.
//!
//! A [`View`] or [`ViewMut`] is a block and a [`Layout`] in elements of `T`. Making one moves nothing: it checks, once,
//! that every element the layout reaches lies in the block, so operations need not check again. Reshaping a view is layout
//! arithmetic.

mod array;

use std::marker::PhantomData;

use ndarray::{ArrayD, IxDyn};
use ulib_core::words::counted;
use ulib_core::{DeviceStorable, Error, Layout, Result, bytemuck};
use ulib_device::block::Block;

use crate::memory::room;
pub use crate::ops::{Accumulator, Element, Real};
pub use array::Array;

/// A read-only strided view of a [`Block`]'s elements.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::view::View;
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?.permute(&[1, 0])?;
/// assert_eq!(view.shape(), [3, 2]);
/// assert_eq!(view.to_array()?, ndarray::arr2(&[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Debug)]
pub struct View<'a, T> {
    block: &'a Block,
    layout: Layout,
    element: PhantomData<T>,
}

/// A strided view of a [`Block`]'s elements through which they may be written. No two indices reach the same element.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    block: &'a mut Block,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        Self {
            block: self.block,
            layout: self.layout.clone(),
            element: PhantomData,
        }
    }
}

/// The methods that give the same elements, or some of them, under another layout.
macro_rules! relayout {
    () => {
        /// The same elements with the axes in the order `axes`: axis `i` of the result is axis `axes[i]` of this one.
        ///
        /// # Errors
        /// Kind `InvalidArgument` when `axes` is not a permutation of the axes.
        pub fn permute(self, axes: &[usize]) -> Result<Self> {
            let layout = self.layout.permute(axes)?;
            Ok(Self { layout, ..self })
        }

        /// Every `step`-th element of an axis from `start` to before `stop`.
        ///
        /// # Errors
        /// As [`Layout::slice_axis`].
        pub fn slice_axis(
            self,
            axis: usize,
            start: usize,
            stop: usize,
            step: isize,
        ) -> Result<Self> {
            let layout = self.layout.slice_axis(axis, start, stop, step)?;
            Ok(Self { layout, ..self })
        }

        /// The elements with index `index` on an axis, without that axis.
        ///
        /// # Errors
        /// Kind `Index` when there is no such axis or index.
        pub fn index_axis(self, axis: usize, index: usize) -> Result<Self> {
            let layout = self.layout.index_axis(axis, index)?;
            Ok(Self { layout, ..self })
        }

        /// The same elements with an axis in reverse order.
        ///
        /// # Errors
        /// Kind `Index` when there is no such axis.
        pub fn flip(self, axis: usize) -> Result<Self> {
            let layout = self.layout.flip(axis)?;
            Ok(Self { layout, ..self })
        }

        /// The same elements under another shape.
        ///
        /// # Errors
        /// Kind `Shape` when the number of elements differs, `Layout` when it would need a copy.
        pub fn reshape(self, shape: &[usize]) -> Result<Self> {
            let layout = self.layout.reshape(shape)?;
            Ok(Self { layout, ..self })
        }

        /// Shape, strides and offset, in elements.
        #[must_use]
        pub fn layout(&self) -> &Layout {
            &self.layout
        }

        /// The length of each axis.
        #[must_use]
        pub fn shape(&self) -> &[usize] {
            self.layout.shape()
        }

        /// The number of elements.
        #[must_use]
        pub fn len(&self) -> usize {
            self.layout.len()
        }

        /// Whether there are no elements.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.layout.is_empty()
        }

        /// The block the elements are in.
        #[must_use]
        pub fn block(&self) -> &Block {
            &*self.block
        }
    };
}

impl<'a, T: DeviceStorable> View<'a, T> {
    /// The elements of `block` that `layout` reaches, counted in elements of `T` from the block's first byte.
    ///
    /// # Errors
    /// Kind `Layout` when the layout reaches beyond the block; kind `DType` for an element that has no size, or another
    /// size than its [`DTYPE`](DeviceStorable::DTYPE). Raw bytes without a size do not compile:
    ///
    /// ```compile_fail,E0080
    /// # use ulib_core::Layout;
    /// # use ulib_device::block::Block;
    /// let block = Block::zeroed(8)?;
    /// ulib_math::view::View::<[u8; 0]>::new(&block, Layout::contiguous(&[0])?)?;
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn new(block: &'a Block, layout: Layout) -> Result<Self> {
        check_element::<T>()?;
        layout.check_within(block.len() / size_of::<T>())?;
        Ok(Self {
            block,
            layout,
            element: PhantomData,
        })
    }

    /// The whole block as one axis.
    ///
    /// # Errors
    /// Kind `Layout` when the block is not a whole number of elements, else as [`new`](Self::new).
    pub fn flat(block: &'a Block) -> Result<Self> {
        let layout = flat_layout::<T>(block)?;
        Self::new(block, layout)
    }

    relayout!();

    /// The same elements repeated along new or length-1 axes.
    ///
    /// # Errors
    /// Kind `Shape` when the shapes do not go together.
    pub fn broadcast_to(self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.broadcast_to(shape)?;
        Ok(Self { layout, ..self })
    }

    /// The elements as an owned array in C order, read on the host.
    ///
    /// # Errors
    /// Whatever reading the block gives, see [`Block::read`]; kind `OutOfMemory` when the host has no room for them.
    pub fn to_array(&self) -> Result<ArrayD<T>> {
        let bytes = self.block.read()?;
        let all = elements::<T>(&bytes)?;
        let mut values = room(self.len())?;
        values.extend(
            self.layout
                .offsets()
                .filter_map(|offset| all.get(offset).copied()),
        );
        ArrayD::from_shape_vec(IxDyn(self.shape()), values)
            .map_err(|error| Error::layout("to_array", error.to_string()))
    }
}

impl<'a, T: DeviceStorable> ViewMut<'a, T> {
    /// The elements of `block` that `layout` reaches, counted in elements of `T` from the block's first byte.
    ///
    /// # Errors
    /// Kind `Layout` when the layout reaches beyond the block, or reaches an element twice; kind `DType` for an element
    /// that has no size, or another size than its [`DTYPE`](DeviceStorable::DTYPE).
    pub fn new(block: &'a mut Block, layout: Layout) -> Result<Self> {
        check_element::<T>()?;
        layout.check_within(block.len() / size_of::<T>())?;
        layout.check_unaliased()?;
        Ok(Self {
            block,
            layout,
            element: PhantomData,
        })
    }

    /// The whole block as one axis.
    ///
    /// # Errors
    /// Kind `Layout` when the block is not a whole number of elements, else as [`new`](Self::new).
    pub fn flat(block: &'a mut Block) -> Result<Self> {
        let layout = flat_layout::<T>(block)?;
        Self::new(block, layout)
    }

    relayout!();

    /// The same elements, to read.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View {
            block: self.block,
            layout: self.layout.clone(),
            element: PhantomData,
        }
    }

    /// The same view for a shorter time, so that an operation can take it and leave this one.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut {
            block: self.block,
            layout: self.layout.clone(),
            element: PhantomData,
        }
    }

    /// Whether the view is every byte of its block, in any order of the axes.
    pub(crate) fn is_whole(&self) -> bool {
        let merged = self.layout.memory_order();
        merged.is_contiguous()
            && merged.offset() == 0
            && self.len() * size_of::<T>() == self.block.len()
    }

    pub(crate) fn block_mut(&mut self) -> &mut Block {
        self.block
    }

    /// Both halves at once.
    pub(crate) fn parts_mut(&mut self) -> (&mut Block, &Layout) {
        (self.block, &self.layout)
    }
}

/// Conditions 2 (the size) and 4 of [`DeviceStorable`], which a safe trait can only promise: what views, and operations
/// on foreign arrays of type `T::DTYPE`, count on.
pub(crate) fn check_element<T: DeviceStorable>() -> Result<()> {
    let (size, described) = (size_of::<T>(), T::DTYPE.size());
    if size == described && size > 0 {
        return Ok(());
    }
    Err(Error::dtype(
        "view",
        format_args!(
            "{} of {} for elements of {size}",
            T::DTYPE,
            counted(described, "byte")
        ),
        "one with the size of the elements, at least 1",
    ))
}

fn flat_layout<T: DeviceStorable>(block: &Block) -> Result<Layout> {
    check_element::<T>()?;
    let (bytes, size) = (block.len(), size_of::<T>());
    if !bytes.is_multiple_of(size) {
        return Err(Error::layout(
            "view",
            format!(
                "a block of {} is no whole number of elements of {}",
                counted(bytes, "byte"),
                counted(size, "byte")
            ),
        ));
    }
    Layout::contiguous(&[bytes / size])
}

/// The bytes of a block as elements; what is left over at the end is not part of any.
pub(crate) fn elements<T: DeviceStorable>(bytes: &[u8]) -> Result<&[T]> {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice(&bytes[..whole])
        .map_err(|error| Error::layout("view", format!("host bytes: {error}")))
}

/// [`elements`], to write.
pub(crate) fn elements_mut<T: DeviceStorable>(bytes: &mut [u8]) -> Result<&mut [T]> {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice_mut(&mut bytes[..whole])
        .map_err(|error| Error::layout("view", format!("host bytes: {error}")))
}

#[cfg(test)]
mod tests;
