//! [`IndexMap`]: voxel triples to flat indices and back.

use ulib_core::{Error, Layout, Result};

use super::DataOrder;

/// The number of voxels of an image of `dims`, checked.
pub(crate) fn voxel_count(dims: [usize; 3]) -> Result<usize> {
    dims.iter()
        .try_fold(1_usize, |count, &side| {
            // An empty side must not hide that the others overflow together.
            count.checked_mul(side.max(1))
        })
        .filter(|&count| isize::try_from(count).is_ok())
        .map(|count| if dims.contains(&0) { 0 } else { count })
        .ok_or_else(|| Error::overflow("image dimensions", format_args!("{dims:?} voxels")))
}

/// Where each voxel of an image lies in memory: the two-way map between a triple `[x, y, z]` and
/// the flat index, for sides `dims` and a [`DataOrder`].
///
/// The map is a bijection between the triples inside `dims` and `0..len()`, whatever the order
/// and also when sides have length 1.
///
/// ```
/// use ulib_math::{DataOrder, IndexMap};
///
/// let map = IndexMap::new([100, 100, 100], DataOrder::Yxz)?;
/// assert_eq!(map.map([1, 2, 3])?, 30_102);
/// assert_eq!(map.unmap(30_102)?, [1, 2, 3]);
/// assert!(map.map([1, 2, 100]).is_err());
/// assert!(map.unmap(1_000_000).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap {
    dims: [usize; 3],
    order: DataOrder,
    increments: [usize; 3],
}

impl IndexMap {
    /// The map of an image with `dims` voxels along x, y and z.
    ///
    /// # Errors
    /// `InvalidArgument` when a side is zero (see [`IndexMap::empty`]); `Overflow` when the number
    /// of voxels does not fit `isize`.
    pub fn new(dims: [usize; 3], order: DataOrder) -> Result<Self> {
        if dims.contains(&0) {
            return Err(Error::invalid(
                "image dimensions",
                "dims",
                format_args!("{dims:?}"),
                "three sides of at least one voxel",
            ));
        }
        Ok(IndexMap {
            dims,
            order,
            increments: order.increments(dims)?,
        })
    }

    /// The map of an image that has no voxels: dims `[0, 0, 0]`.
    pub fn empty(order: DataOrder) -> Self {
        let mut increments = [0; 3];
        increments[order.axes()[0]] = 1;
        IndexMap {
            dims: [0; 3],
            order,
            increments,
        }
    }

    /// The map of an image with the same sides in another order.
    pub(crate) fn reordered(&self, order: DataOrder) -> Result<Self> {
        if self.is_empty() {
            Ok(IndexMap::empty(order))
        } else {
            IndexMap::new(self.dims, order)
        }
    }

    /// Turns sides given as signed integers into sides, refusing the negative ones by name.
    ///
    /// # Errors
    /// `InvalidArgument` when a side is zero or negative.
    ///
    /// ```
    /// use ulib_math::IndexMap;
    /// assert_eq!(IndexMap::checked_dims([4, 5, 6])?, [4, 5, 6]);
    /// assert!(IndexMap::checked_dims([4, -5, 6]).is_err());
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn checked_dims(dims: [i64; 3]) -> Result<[usize; 3]> {
        let mut sides = [0; 3];
        for (side, &given) in sides.iter_mut().zip(&dims) {
            *side = usize::try_from(given)
                .ok()
                .filter(|&side| side > 0)
                .ok_or_else(|| {
                    Error::invalid(
                        "image dimensions",
                        "dims",
                        format_args!("{dims:?}"),
                        "three sides of at least one voxel",
                    )
                })?;
        }
        Ok(sides)
    }

    /// Voxels along x, y and z.
    #[inline]
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// The order of the voxels in memory.
    pub fn order(&self) -> DataOrder {
        self.order
    }

    /// How many voxels one step along x, y and z moves in memory.
    pub fn increments(&self) -> [usize; 3] {
        self.increments
    }

    /// The number of voxels.
    #[inline]
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there are no voxels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the triple `[x, y, z]`, which may be negative, names a voxel.
    pub fn contains(&self, index: [i64; 3]) -> bool {
        index
            .iter()
            .zip(&self.dims)
            .all(|(&i, &side)| usize::try_from(i).is_ok_and(|i| i < side))
    }

    /// The flat index of the voxel `[x, y, z]`.
    ///
    /// # Errors
    /// `Index` when a coordinate lies outside, naming the axis.
    #[inline]
    pub fn map(&self, index: [usize; 3]) -> Result<usize> {
        for (axis, name) in ["voxel x", "voxel y", "voxel z"].into_iter().enumerate() {
            if index[axis] >= self.dims[axis] {
                return Err(Error::index(name, index[axis], self.dims[axis]));
            }
        }
        Ok(index
            .iter()
            .zip(&self.increments)
            .map(|(&i, &increment)| i * increment)
            .sum())
    }

    /// The triple `[x, y, z]` of the voxel with flat index `flat`: the inverse of
    /// [`map`](IndexMap::map).
    ///
    /// # Errors
    /// `Index` when `flat` is not below [`len`](IndexMap::len).
    pub fn unmap(&self, flat: usize) -> Result<[usize; 3]> {
        if flat >= self.len() {
            return Err(Error::index("voxel", flat, self.len()));
        }
        let mut index = [0; 3];
        let mut rest = flat;
        for axis in self.order.axes() {
            index[axis] = rest % self.dims[axis];
            rest /= self.dims[axis];
        }
        Ok(index)
    }

    /// The three-dimensional layout of one number per voxel, indexed `[z, y, x]` under **every**
    /// order: shape `(nz, ny, nx)`, strides from the data order.
    ///
    /// `step` is the distance between the numbers of neighbouring voxels and `offset` the place
    /// of the first one, both in elements.
    ///
    /// # Errors
    /// `Overflow` when the layout reaches past the address range.
    pub fn grid_layout(&self, offset: usize, step: usize) -> Result<Layout> {
        let [nx, ny, nz] = self.dims;
        let mut strides = [0_isize; 3];
        for (stride, axis) in strides.iter_mut().zip([2, 1, 0]) {
            *stride = self.increments[axis]
                .checked_mul(step)
                .and_then(|stride| isize::try_from(stride).ok())
                .ok_or_else(|| too_far("grid layout"))?;
        }
        Layout::new(vec![nz, ny, nx], strides.to_vec(), offset)
    }

    /// The flat layout of one number per voxel, in memory order: shape `(len,)`, stride `step`,
    /// both in elements.
    ///
    /// # Errors
    /// `Overflow` when the layout reaches past the address range.
    pub fn flat_layout(&self, offset: usize, step: usize) -> Result<Layout> {
        let stride = isize::try_from(step).map_err(|_| too_far("flat layout"))?;
        Layout::new(vec![self.len()], vec![stride], offset)
    }
}

/// The refusal of a layout whose strides do not fit.
fn too_far(op: &'static str) -> Error {
    Error::overflow(op, "a stride")
}
