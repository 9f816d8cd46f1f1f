//! [`MergedAxes`]: a layout in the order in which memory has it.

use super::Layout;
use crate::error::{Error, Result};

/// The elements of a [`Layout`] in memory order: as few axes as possible, the slowest first, none of
/// them negative. Made by [`Layout::memory_order`].
///
/// It reaches exactly the elements that the layout reaches, each as often, in an order that does not depend
/// on how the axes were permuted or flipped. This is the order in which reductions add, and what
/// kernels iterate over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MergedAxes {
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl MergedAxes {
    /// The length of each axis: at least 2, except that an empty layout is one axis of length 0. One element has no axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The stride of each axis in elements, not ascending; 0 for broadcast axes, which come last.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The smallest element number reached.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements, the same as that of the layout.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True when there is nothing to visit.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// True when the elements lie without gaps: `len` elements from `offset` on.
    pub fn is_contiguous(&self) -> bool {
        self.is_empty() || self.shape.is_empty() || self.strides == [1]
    }

    /// The same elements as a layout.
    pub fn to_layout(&self) -> Layout {
        let strides = self
            .strides
            .iter()
            .map(|stride| stride.cast_signed())
            .collect();
        Layout::from_valid(self.shape.clone(), strides, self.offset)
    }

    /// The element number of the element at position `position` of memory order, in `0 .. len`.
    ///
    /// # Errors
    /// Kind `Index` when `position` is out of range.
    pub fn element(&self, position: usize) -> Result<usize> {
        if position >= self.len() {
            return Err(Error::index("memory order", position, self.len()));
        }
        let mut rest = position;
        let mut element = self.offset;
        for (&len, &stride) in self.shape.iter().zip(&self.strides).rev() {
            element += rest % len * stride;
            rest /= len;
        }
        Ok(element)
    }
}

impl Layout {
    /// The elements in memory order: axes of length 1 are dropped, negative strides flipped (which moves the
    /// offset), axes sorted by descending stride (equal ones keep their order), and neighbours merged where one axis
    /// continues the next.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// // Whatever the axes are called, this is one run of 24 elements.
    /// let layout = Layout::contiguous(&[2, 3, 4])?.permute(&[2, 0, 1])?.flip(0)?;
    /// let merged = layout.memory_order();
    /// assert_eq!((merged.shape(), merged.strides(), merged.offset()), (&[24][..], &[1][..], 0));
    ///
    /// // Every second element of each row of 4: rows follow each other evenly, so this is one axis too.
    /// let merged = Layout::new(vec![3, 2], vec![4, 2], 1)?.memory_order();
    /// assert_eq!((merged.shape(), merged.strides(), merged.offset()), (&[6][..], &[2][..], 1));
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn memory_order(&self) -> MergedAxes {
        let Some((first, _)) = self.span() else {
            return MergedAxes {
                shape: vec![0],
                strides: vec![1],
                offset: self.offset(),
            };
        };
        let mut axes: Vec<(usize, usize)> = self
            .shape()
            .iter()
            .zip(self.strides())
            .filter(|&(&len, _)| len > 1)
            .map(|(&len, &stride)| (len, stride.unsigned_abs()))
            .collect();
        axes.sort_by_key(|&(_, stride)| std::cmp::Reverse(stride));

        let mut shape: Vec<usize> = Vec::with_capacity(axes.len());
        let mut strides: Vec<usize> = Vec::with_capacity(axes.len());
        for (len, stride) in axes {
            match (shape.last_mut(), strides.last_mut()) {
                // Neither product overflows: condition 2 bounds the first, and the second is at most one
                // stride beyond what condition 3 bounds, so it fits usize.
                (Some(outer_len), Some(outer_stride)) if *outer_stride == stride * len => {
                    *outer_len *= len;
                    *outer_stride = stride;
                }
                _ => {
                    shape.push(len);
                    strides.push(stride);
                }
            }
        }
        MergedAxes {
            shape,
            strides,
            offset: first,
        }
    }
}
