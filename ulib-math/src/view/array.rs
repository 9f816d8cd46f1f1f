//! [`Array`]: elements with a block of their own.

use std::fmt;
use std::marker::PhantomData;

use ndarray::ArrayD;
use ulib_core::{DeviceStorable, Error, Layout, Result};
use ulib_device::block::Block;

use super::{View, ViewMut, check_element};

/// Elements in C order in a block of their own: what operations give that make something new.
///
/// # Examples
/// ```
/// use ulib_math::view::Array;
///
/// let mut array = Array::<f32>::zeros(&[2, 3])?;
/// ulib_math::ops::fill(array.view_mut(), 1.5)?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.to_array()?, ndarray::arr2(&[[1.5_f32; 3]; 2]).into_dyn());
/// assert_eq!(array.block().location().to_string(), "Host");
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub struct Array<T> {
    block: Block,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: DeviceStorable> Array<T> {
    /// Zeros, on the host, preferring the host.
    ///
    /// # Errors
    /// Kinds `Overflow` and `OutOfMemory` when the host has not that much memory.
    pub fn zeros(shape: &[usize]) -> Result<Self> {
        Self::with(shape, Block::zeroed)
    }

    /// Zeros that prefer to be where `block` prefers to be. Nothing is moved for it: the first operation that writes them
    /// all writes them there.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn zeros_like(block: &Block, shape: &[usize]) -> Result<Self> {
        Self::with(shape, |bytes| block.zeroed_like(bytes))
    }

    fn with(shape: &[usize], block: impl FnOnce(usize) -> Result<Block>) -> Result<Self> {
        check_element::<T>()?;
        let layout = Layout::contiguous(shape)?;
        let bytes = layout
            .len()
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::overflow("array", format_args!("{} elements", layout.len())))?;
        Ok(Self {
            block: block(bytes)?,
            layout,
            element: PhantomData,
        })
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

    /// The block of the elements, which says where they are and moves them.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The block itself.
    #[must_use]
    pub fn into_block(self) -> Block {
        self.block
    }

    /// All elements, to read.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View {
            block: &self.block,
            layout: self.layout.clone(),
            element: PhantomData,
        }
    }

    /// All elements, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut {
            block: &mut self.block,
            layout: self.layout.clone(),
            element: PhantomData,
        }
    }

    /// A copy of the elements, read on the host.
    ///
    /// # Errors
    /// As [`View::to_array`].
    pub fn to_array(&self) -> Result<ArrayD<T>> {
        self.view().to_array()
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("shape", &self.layout.shape())
            .field("block", &self.block)
            .finish()
    }
}
