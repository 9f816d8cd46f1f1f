//! [`Layout`]: where in memory the element `(i, j, k, ...)` is.

mod check;
mod iter;
mod memory_order;
mod reshape;
mod views;

#[cfg(test)]
mod tests;

pub use iter::Offsets;
pub use memory_order::MergedAxes;

use crate::bytes::byte_count;
use crate::error::{Error, Result};

/// A shape, a stride for each axis and an offset, all counted in elements.
///
/// The element with the indices `i[0], i[1], ...` has the number `offset + i[0] * strides[0] + i[1] *
/// strides[1] + ...` in the memory. Views are arithmetic on this; no data moves. The order of axes
/// is NumPy's: in a contiguous layout the last axis is the fastest one.
///
/// A value of this type keeps conditions 1 to 3 (rank, element count, span); whether it stays inside a
/// given memory (condition 4) and whether two indices meet in one element (condition 5) is asked with
/// [`check_within`](Self::check_within) and [`check_unaliased`](Self::check_unaliased):
///
/// 1. There is one stride for each axis.
/// 2. The product of the axis lengths, those of length 0 left out, fits `isize`.
/// 3. If no axis has length 0: the smallest and the largest element number reached are not negative and fit `isize`.
/// 4. The largest element number reached is smaller than the number of elements of the memory.
/// 5. No two different indices reach the same element.
///
/// ```
/// use ulib_core::Layout;
/// // The second channel of two, of a 4 x 3 image.
/// let layout = Layout::new(vec![4, 3], vec![6, 2], 1)?;
/// assert_eq!(layout.len(), 12);
/// assert_eq!(layout.element_offset(&[1, 2])?, 11);
/// assert_eq!(layout.span(), Some((1, 23)));
/// layout.check_within(24)?;
/// layout.check_unaliased()?;
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
}

impl Layout {
    /// A layout without gaps, the last axis fastest, at offset 0. The empty shape is one element.
    ///
    /// # Errors
    /// Kind `Overflow` if condition 2 does not hold.
    pub fn contiguous(shape: &[usize]) -> Result<Self> {
        check::element_count(shape)?;
        Ok(Self {
            strides: check::contiguous_strides(shape),
            shape: shape.to_vec(),
            offset: 0,
        })
    }

    /// A layout from its parts. Strides may be negative or zero.
    ///
    /// ```
    /// use ulib_core::{ErrorKind, Layout};
    /// let reversed = Layout::new(vec![3], vec![-1], 2)?;
    /// assert_eq!(reversed.offsets().collect::<Vec<_>>(), [2, 1, 0]);
    /// let error = Layout::new(vec![3], vec![-1], 1).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Layout);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Layout` if condition 1 does not hold or an element number would be negative, `Overflow` if
    /// condition 2 or the other half of condition 3 does not hold.
    pub fn new(shape: Vec<usize>, strides: Vec<isize>, offset: usize) -> Result<Self> {
        check::rank(&shape, &strides)?;
        check::element_count(&shape)?;
        check::span(&shape, &strides, offset)?;
        Ok(Self {
            shape,
            strides,
            offset,
        })
    }

    /// For parts that are known to keep conditions 1 to 3.
    fn from_valid(shape: Vec<usize>, strides: Vec<isize>, offset: usize) -> Self {
        debug_assert!(check::rank(&shape, &strides).is_ok());
        debug_assert!(check::element_count(&shape).is_ok());
        debug_assert!(check::span(&shape, &strides, offset).is_ok());
        Self {
            shape,
            strides,
            offset,
        }
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements between neighbours on each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of the element whose indices are all zero.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of indices: the product of the axis lengths, 1 for no axes.
    pub fn len(&self) -> usize {
        // Condition 2 bounds the product, whether or not an axis is empty.
        self.shape.iter().product()
    }

    /// True when an axis has length 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// True when the elements lie without gaps in C order, wherever they begin. Axes of length 1 may have
    /// any stride; an empty layout is contiguous.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.is_empty()
            || self
                .shape
                .iter()
                .zip(&self.strides)
                .rev()
                .filter(|&(&len, _)| len != 1)
                .all(|(&len, &stride)| {
                    let fits = stride == expected;
                    expected = expected.wrapping_mul(len.cast_signed());
                    fits
                })
    }

    /// The smallest and the largest element number reached; `None` when empty.
    pub fn span(&self) -> Option<(usize, usize)> {
        // Condition 3 holds, so the check cannot fail.
        check::span(&self.shape, &self.strides, self.offset)
            .ok()
            .flatten()
    }

    /// Condition 4: every element reached is one of `len_elems`.
    ///
    /// # Errors
    /// Kind `Layout`.
    pub fn check_within(&self, len_elems: usize) -> Result<()> {
        check::within(self, len_elems)
    }

    /// Condition 5: no two indices reach the same element. Needed before anything writes.
    ///
    /// The answer is exact for every layout that arises from slicing, permuting, flipping and broadcasting an array, and
    /// for all layouts of up to two axes. For interleavings so tangled that deciding takes more than about a
    /// hundred thousand steps the layout is refused.
    ///
    /// # Errors
    /// Kind `Layout`.
    pub fn check_unaliased(&self) -> Result<()> {
        check::unaliased(self)
    }

    /// The number of the element at `index`.
    ///
    /// # Errors
    /// Kind `Shape` if `index` has not one entry for each axis, `Index` if an entry is out of range.
    pub fn element_offset(&self, index: &[usize]) -> Result<usize> {
        if index.len() != self.ndim() {
            return Err(Error::shape("element", &self.shape, index)
                .context("an index has one entry for each axis"));
        }
        let mut offset = self.offset.cast_signed();
        for ((&i, &len), &stride) in index.iter().zip(&self.shape).zip(&self.strides) {
            if i >= len {
                return Err(Error::index("element", i, len));
            }
            // Wrapping is exact: the sum of all terms lies in the span (condition 3).
            offset = offset.wrapping_add(i.cast_signed().wrapping_mul(stride));
        }
        Ok(offset.cast_unsigned())
    }

    /// The strides in bytes for elements of `item_size` bytes.
    ///
    /// # Errors
    /// Kind `Overflow` when a product does not fit `isize`.
    pub fn strides_bytes(&self, item_size: usize) -> Result<Vec<isize>> {
        self.strides
            .iter()
            .map(|&stride| {
                let bytes = byte_count(stride.unsigned_abs(), item_size)?.cast_signed();
                Ok(if stride < 0 { -bytes } else { bytes })
            })
            .collect()
    }
}
