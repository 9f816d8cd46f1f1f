//! Views: layouts made from layouts. None of them moves data.

use super::{Layout, check};
use crate::error::{Error, ErrorKind, Result};
use crate::storable::Field;
use crate::words::counted;

impl Layout {
    fn check_axis(&self, op: &'static str, axis: usize) -> Result<()> {
        if axis < self.ndim() {
            return Ok(());
        }
        Err(Error::index(op, axis, self.ndim())
            .context(format!("an array of {}", counted(self.ndim(), "axis"))))
    }

    /// The number of the element at `index` on `axis` with all other indices zero. `index < shape[axis]`.
    fn moved_offset(&self, axis: usize, index: usize) -> usize {
        // Wrapping is exact: the sum lies in the span (condition 3).
        self.offset.wrapping_add(
            index
                .cast_signed()
                .wrapping_mul(self.strides[axis])
                .cast_unsigned(),
        )
    }

    /// The axes in the order `axes`: axis `n` of the result is axis `axes[n]` of `self`.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// let layout = Layout::contiguous(&[2, 3, 4])?.permute(&[2, 0, 1])?;
    /// assert_eq!((layout.shape(), layout.strides()), (&[4, 2, 3][..], &[1, 12, 4][..]));
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Index` if an axis does not exist, `InvalidArgument` if `axes` is no permutation.
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        if axes.len() != self.ndim() {
            return Err(Error::invalid(
                "permute",
                "axes",
                format!("{axes:?}"),
                format!("every one of {} once", counted(self.ndim(), "axis")),
            ));
        }
        self.select_axes(axes)
            .map_err(|error| error.context("permute"))
    }

    /// The layout of some axes only, in the order `axes`, with all other indices zero.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// let layout = Layout::contiguous(&[2, 3, 4])?;
    /// let columns = layout.select_axes(&[0, 2])?;
    /// assert_eq!((columns.shape(), columns.strides()), (&[2, 4][..], &[12, 1][..]));
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Index` if an axis does not exist, `InvalidArgument` if one is named twice.
    pub fn select_axes(&self, axes: &[usize]) -> Result<Self> {
        let mut named = vec![false; self.ndim()];
        for &axis in axes {
            self.check_axis("axes", axis)?;
            if std::mem::replace(&mut named[axis], true) {
                return Err(Error::invalid(
                    "axes",
                    "axes",
                    format!("{axes:?}"),
                    "no axis twice",
                ));
            }
        }
        let shape = axes.iter().map(|&axis| self.shape[axis]).collect();
        let strides = axes.iter().map(|&axis| self.strides[axis]).collect();
        // If a dropped axis was empty, the span of the rest was never checked.
        Self::new(shape, strides, self.offset)
    }

    /// The indices `start .. stop` of `axis`, every `|step|`-th of them.
    ///
    /// A positive step begins at `start` and goes up; a negative one begins at `stop - 1` and goes down. So
    /// Python's `a[9:3:-2]` is `start` 4, `stop` 10, `step` -2.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// let layout = Layout::contiguous(&[10])?;
    /// assert_eq!(layout.slice_axis(0, 2, 9, 3)?.offsets().collect::<Vec<_>>(), [2, 5, 8]);
    /// assert_eq!(layout.slice_axis(0, 4, 10, -2)?.offsets().collect::<Vec<_>>(), [9, 7, 5]);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Index` if the axis does not exist or not `start <= stop <= shape[axis]`, `InvalidArgument` for a step of zero.
    pub fn slice_axis(&self, axis: usize, start: usize, stop: usize, step: isize) -> Result<Self> {
        self.check_axis("slice", axis)?;
        let len = self.shape[axis];
        if stop > len {
            return Err(Error::index("slice", stop, len)
                .context(format!("the end of a slice of axis {axis}")));
        }
        if start > stop {
            return Err(Error::new(
                ErrorKind::Index,
                format!("slice: starts at {start}, after its end {stop}"),
            ));
        }
        if step == 0 {
            return Err(Error::invalid("slice", "step", 0, "a number that is not 0"));
        }
        let mut view = self.clone();
        view.shape[axis] = (stop - start).div_ceil(step.unsigned_abs());
        if view.shape[axis] > 1 {
            // |step| < len here, so the product is within the span of the axis (condition 3), unless another
            // axis is empty: then it may be anything, and is checked below.
            view.strides[axis] = self.strides[axis].checked_mul(step).ok_or_else(|| {
                Error::overflow(
                    "slice",
                    format!("stride {} times {step}", self.strides[axis]),
                )
            })?;
        }
        if !view.is_empty() {
            let begin = if step > 0 { start } else { stop - 1 };
            view.offset = self.moved_offset(axis, begin);
        }
        Ok(view)
    }

    /// The layout without `axis`, at `index` of it.
    ///
    /// # Errors
    /// Kind `Index` if the axis or the index does not exist.
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<Self> {
        self.check_axis("index", axis)?;
        if index >= self.shape[axis] {
            return Err(
                Error::index("index", index, self.shape[axis]).context(format!("axis {axis}"))
            );
        }
        let mut view = self.clone();
        if !view.is_empty() {
            view.offset = self.moved_offset(axis, index);
        }
        view.shape.remove(axis);
        view.strides.remove(axis);
        Ok(view)
    }

    /// `axis` in reverse order.
    ///
    /// # Errors
    /// Kind `Index` if the axis does not exist.
    pub fn flip(&self, axis: usize) -> Result<Self> {
        self.check_axis("flip", axis)?;
        self.slice_axis(axis, 0, self.shape[axis], -1)
            .map(|mut view| {
                // An axis of one element keeps its stride in a slice; here, too, nothing changes.
                if view.shape[axis] <= 1 {
                    view.strides[axis] = self.strides[axis];
                }
                view
            })
    }

    /// A new axis of length 1 before `axis`; `axis` may be [`ndim`](Self::ndim), which appends.
    ///
    /// # Errors
    /// Kind `Index` if `axis > ndim`.
    pub fn insert_axis(&self, axis: usize) -> Result<Self> {
        if axis > self.ndim() {
            return Err(Error::index("insert axis", axis, self.ndim() + 1));
        }
        let mut view = self.clone();
        view.shape.insert(axis, 1);
        view.strides.insert(axis, 0);
        Ok(view)
    }

    /// The layout stretched to `shape` by NumPy's rule: axes are matched from the last one on, and a missing
    /// axis or one of length 1 repeats, with stride 0. The result must not be written to.
    ///
    /// ```
    /// use ulib_core::Layout;
    /// let row = Layout::contiguous(&[3])?.broadcast_to(&[2, 3])?;
    /// assert_eq!(row.offsets().collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    /// assert!(row.check_unaliased().is_err());
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `Shape` if the shapes do not match, `Overflow` if `shape` has too many elements.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let mismatch = || Error::shape("broadcast", &self.shape, shape);
        let added = shape.len().checked_sub(self.ndim()).ok_or_else(mismatch)?;
        check::element_count(shape)?;
        let mut strides = vec![0; shape.len()];
        for (axis, (&len, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            if len == shape[added + axis] {
                strides[added + axis] = stride;
            } else if len != 1 {
                return Err(mismatch());
            }
        }
        Self::new(shape.to_vec(), strides, self.offset)
    }

    /// The layout of one field of records of `record_size` bytes, in elements of the field's type.
    ///
    /// ```
    /// use ulib_core::{Layout, device_storable, field_of};
    /// device_storable! { pub struct Voxel { pub Value: f32, pub Count: u32 } }
    ///
    /// let voxels = Layout::contiguous(&[4])?;
    /// let counts = voxels.field_view(size_of::<Voxel>(), field_of::<Voxel>("Count")?)?;
    /// assert_eq!((counts.shape(), counts.strides(), counts.offset()), (&[4][..], &[2][..], 1));
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Kind `DType` if the record is not a whole number of such fields, or the field does not lie on
    /// such a multiple or not in the record; `Overflow` if an element number does not fit.
    pub fn field_view(&self, record_size: usize, field: Field) -> Result<Self> {
        let size = field.dtype.size();
        let inside = field
            .offset
            .checked_add(size)
            .is_some_and(|end| end <= record_size);
        if size == 0
            || !inside
            || !record_size.is_multiple_of(size)
            || !field.offset.is_multiple_of(size)
        {
            return Err(Error::dtype(
                "field view",
                format!("{} at byte {}", field.dtype, field.offset),
                format!("a field on a multiple of its size in a record of {record_size} bytes"),
            ));
        }
        let scale = record_size / size;
        let overflow = || Error::overflow("field view", format!("{scale} fields a record"));
        let factor = isize::try_from(scale).map_err(|_| overflow())?;
        let strides = self
            .strides
            .iter()
            .map(|stride| stride.checked_mul(factor).ok_or_else(overflow))
            .collect::<Result<_>>()?;
        let offset = self
            .offset
            .checked_mul(scale)
            .and_then(|offset| offset.checked_add(field.offset / size))
            .ok_or_else(overflow)?;
        Self::new(self.shape.clone(), strides, offset)
    }
}
