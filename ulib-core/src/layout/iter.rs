//! [`Offsets`]: the element numbers of a layout, in C order.

use std::iter::FusedIterator;

use super::Layout;

/// Iterator over the element numbers of a [`Layout`] in C order: the last index runs fastest.
#[derive(Clone, Debug)]
pub struct Offsets<'a> {
    layout: &'a Layout,
    index: Vec<usize>,
    offset: isize,
    left: usize,
}

impl Layout {
    /// The element number of every index, the last index running fastest.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// let transposed = Layout::contiguous(&[2, 3])?.permute(&[1, 0])?;
    /// assert_eq!(transposed.offsets().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn offsets(&self) -> Offsets<'_> {
        Offsets {
            layout: self,
            index: vec![0; self.ndim()],
            offset: self.offset.cast_signed(),
            left: self.len(),
        }
    }
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let current = self.offset.cast_unsigned();
        for axis in (0..self.index.len()).rev() {
            let stride = self.layout.strides[axis];
            self.index[axis] += 1;
            if self.index[axis] < self.layout.shape[axis] {
                // Wrapping is exact: the sum of all terms lies in the span (condition 3).
                self.offset = self.offset.wrapping_add(stride);
                break;
            }
            let back = (self.layout.shape[axis] - 1).cast_signed();
            self.offset = self.offset.wrapping_sub(back.wrapping_mul(stride));
            self.index[axis] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets<'_> {}
impl FusedIterator for Offsets<'_> {}
