//! Another shape for the same elements in the same order.

use super::{Layout, check};
use crate::error::{Error, ErrorKind, Result};

impl Layout {
    /// The same elements in the same C order with another shape, if strides can express that without a copy.
    ///
    /// ```
    /// use ulib_core::{ErrorKind, Layout};
    /// // Every second element of 12, as 2 x 3.
    /// let layout = Layout::new(vec![6], vec![2], 0)?.reshape(&[2, 3])?;
    /// assert_eq!(layout.strides(), [6, 2]);
    ///
    /// let transposed = Layout::contiguous(&[2, 3])?.permute(&[1, 0])?;
    /// assert_eq!(transposed.reshape(&[6]).unwrap_err().kind(), &ErrorKind::Layout);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Shape` if the number of elements differs, `Overflow` if that number is too large, `Layout` if a copy is needed.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        if check::element_count(shape)? != self.len() {
            return Err(Error::shape("reshape", &self.shape, shape));
        }
        let strides = if self.is_empty() {
            check::contiguous_strides(shape)
        } else {
            self.reshaped_strides(shape).ok_or_else(|| {
                Error::new(
                    ErrorKind::Layout,
                    format!(
                        "reshape: {:?} with strides {:?} needs a copy to become {shape:?}",
                        self.shape, self.strides
                    ),
                )
            })?
        };
        Self::new(shape.to_vec(), strides, self.offset)
    }

    /// Strides for `shape`, which has as many elements as `self`, not zero; `None` if there are none.
    ///
    /// Both shapes are cut into the shortest runs of axes with equal products. In each run the old axes must continue each
    /// other; the new ones then do so with the stride of the last old one.
    fn reshaped_strides(&self, shape: &[usize]) -> Option<Vec<isize>> {
        let old: Vec<(usize, isize)> = self
            .shape
            .iter()
            .copied()
            .zip(self.strides.iter().copied())
            .filter(|&(len, _)| len != 1)
            .collect();
        let mut strides = vec![1; shape.len()];
        let (mut old_at, mut new_at) = (0, 0);
        while old_at < old.len() {
            let (old_start, new_start) = (old_at, new_at);
            let mut old_product = old[old_at].0;
            let mut new_product = *shape.get(new_at)?;
            (old_at, new_at) = (old_at + 1, new_at + 1);
            while old_product != new_product {
                if old_product < new_product {
                    old_product *= old.get(old_at)?.0;
                    old_at += 1;
                } else {
                    new_product *= *shape.get(new_at)?;
                    new_at += 1;
                }
            }
            let run = &old[old_start..old_at];
            let continues = run
                .windows(2)
                .all(|pair| Some(pair[0].1) == pair[1].1.checked_mul(pair[1].0.cast_signed()));
            if !continues {
                return None;
            }
            let mut stride = run.last()?.1;
            for axis in (new_start..new_at).rev() {
                strides[axis] = stride;
                // One step beyond the span at most, and only used again if it is within.
                stride = stride.wrapping_mul(shape[axis].cast_signed());
            }
        }
        Some(strides)
    }
}
