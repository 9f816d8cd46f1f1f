//! [`Grid`]: an index map placed in the world.

use ulib_core::{Error, Result};

use super::{DataOrder, IndexMap};

/// One more than the largest `i64`.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A regular grid of voxels in space: how many, in what memory order, how large and where.
///
/// Coordinates are `f64`, in the unit the user chose for the spacing (centimetres in muon
/// tomography). `f64` and not the `f32` of uLib 0.6, because the world position of a voxel in a
/// grid of a few thousand voxels a side would otherwise be off by a visible part of a voxel; the
/// geometry is never copied to a device, so the wider type costs nothing.
///
/// # Definition
/// *Local* coordinates count voxels: voxel `[i, j, k]` fills `[i, i+1) x [j, j+1) x [k, k+1)`. They
/// are related to *world* coordinates, axis by axis, by
///
/// `world = local * spacing + (origin + position)`
///
/// The position says where the object stands and the origin shifts the grid inside the object,
/// so that either can change without the other.
///
/// ```
/// use ulib_math::Grid;
///
/// let mut grid = Grid::new([10, 10, 10])?;
/// grid.set_spacing([3.0; 3])?;
/// grid.set_position([1.0; 3])?;
/// assert_eq!(grid.world_from_local([1.0; 3]), [4.0; 3]);
/// grid.set_origin([-1.0, 1.0, -1.0])?;
/// assert_eq!(grid.world_from_local([1.0; 3]), [3.0, 5.0, 3.0]);
/// assert_eq!(grid.find([3.5, 5.5, 3.5])?, [1, 1, 1]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    map: IndexMap,
    spacing: [f64; 3],
    origin: [f64; 3],
    position: [f64; 3],
}

impl Grid {
    /// A grid of `dims` voxels along x, y and z, in order [`DataOrder::Xyz`], with spacing 1 and
    /// its origin and position at 0.
    ///
    /// # Errors
    /// `InvalidArgument` when a side is zero; `Overflow` when the number of voxels does not fit.
    pub fn new(dims: [usize; 3]) -> Result<Self> {
        Grid::with_order(dims, DataOrder::default())
    }

    /// As [`Grid::new`], with the given data order.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn with_order(dims: [usize; 3], order: DataOrder) -> Result<Self> {
        Ok(Grid::from_map(IndexMap::new(dims, order)?))
    }

    /// A grid without voxels: dims `[0, 0, 0]`, order XYZ, spacing 1.
    pub fn empty() -> Self {
        Grid::from_map(IndexMap::empty(DataOrder::default()))
    }

    fn from_map(map: IndexMap) -> Self {
        Grid {
            map,
            spacing: [1.0; 3],
            origin: [0.0; 3],
            position: [0.0; 3],
        }
    }

    /// The same place and spacing over another index map.
    pub(crate) fn with_map(self, map: IndexMap) -> Self {
        Grid { map, ..self }
    }

    /// The map between triples and flat indices.
    #[inline]
    pub fn map(&self) -> &IndexMap {
        &self.map
    }

    /// Voxels along x, y and z.
    #[inline]
    pub fn dims(&self) -> [usize; 3] {
        self.map.dims()
    }

    /// The order of the voxels in memory.
    pub fn order(&self) -> DataOrder {
        self.map.order()
    }

    /// The number of voxels.
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are no voxels.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The size of one voxel along x, y and z, in world units.
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Where the grid starts inside its object, in world units.
    pub fn origin(&self) -> [f64; 3] {
        self.origin
    }

    /// Where the object stands, in world units.
    pub fn position(&self) -> [f64; 3] {
        self.position
    }

    /// Sets the size of one voxel along x, y and z.
    ///
    /// # Errors
    /// `InvalidArgument` when a value is not finite or not above zero; nothing changes then.
    pub fn set_spacing(&mut self, spacing: [f64; 3]) -> Result<()> {
        // Subnormal spacings divide to infinity, so they count as zero.
        if !spacing.iter().all(|s| s.is_normal() && *s > 0.0) {
            return Err(Error::invalid(
                "grid spacing",
                "spacing",
                format_args!("{spacing:?}"),
                "three finite numbers above zero, none of them subnormal",
            ));
        }
        self.spacing = spacing;
        Ok(())
    }

    /// Sets where the grid starts inside its object.
    ///
    /// # Errors
    /// `InvalidArgument` when a value is not finite; nothing changes then.
    pub fn set_origin(&mut self, origin: [f64; 3]) -> Result<()> {
        self.origin = finite("grid origin", "origin", origin)?;
        Ok(())
    }

    /// Sets where the object stands.
    ///
    /// # Errors
    /// `InvalidArgument` when a value is not finite; nothing changes then.
    pub fn set_position(&mut self, position: [f64; 3]) -> Result<()> {
        self.position = finite("grid position", "position", position)?;
        Ok(())
    }

    /// The world coordinates of a point given in local coordinates (voxels).
    pub fn world_from_local(&self, local: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| local[a] * self.spacing[a] + (self.origin[a] + self.position[a]))
    }

    /// The local coordinates (voxels) of a point given in world coordinates: the inverse of
    /// [`world_from_local`](Grid::world_from_local), up to rounding.
    pub fn local_from_world(&self, world: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| (world[a] - (self.origin[a] + self.position[a])) / self.spacing[a])
    }

    /// The world coordinates of the middle of the voxel `[x, y, z]`.
    ///
    /// # Errors
    /// `Index` when there is no such voxel.
    pub fn voxel_centre(&self, index: [usize; 3]) -> Result<[f64; 3]> {
        self.map.map(index)?;
        // Exact: an index that names a voxel of a grid in memory is far below 2^53.
        Ok(self.world_from_local(index.map(|i| i as f64 + 0.5)))
    }

    /// The triple of the voxel that holds a point given in world coordinates: the local
    /// coordinates rounded down. The point may lie outside the grid, the triple then does too.
    ///
    /// # Errors
    /// `InvalidArgument` when a coordinate is NaN or so far away that its triple does not fit
    /// 64 bits.
    pub fn find(&self, world: [f64; 3]) -> Result<[i64; 3]> {
        let mut index = [0; 3];
        for (index, local) in index.iter_mut().zip(self.local_from_world(world)) {
            let floor = local.floor();
            // Both bounds are exact in f64, and NaN lies in no range.
            if !(-TWO_TO_63..TWO_TO_63).contains(&floor) {
                return Err(Error::invalid(
                    "grid find",
                    "point",
                    format_args!("{world:?}"),
                    "finite coordinates within 64-bit voxel indices",
                ));
            }
            *index = floor as i64;
        }
        Ok(index)
    }

    /// The voxel that holds a point given in world coordinates, or `None` when no voxel does
    /// (also for NaN). The upper faces belong to no voxel, as each voxel is half open.
    pub fn voxel_at(&self, world: [f64; 3]) -> Option<[usize; 3]> {
        let index = self.find(world).ok()?;
        // `contains` says that every coordinate is non-negative and below a usize.
        self.map
            .contains(index)
            .then(|| index.map(|i| i.unsigned_abs() as usize))
    }

    /// Whether a point given in world coordinates lies in the box of the grid, faces included.
    ///
    /// An empty grid has no inside.
    pub fn is_inside_bounds(&self, world: [f64; 3]) -> bool {
        !self.is_empty()
            && self
                .local_from_world(world)
                .iter()
                .zip(self.dims())
                .all(|(&local, side)| local >= 0.0 && local <= side as f64)
    }

    /// Whether the triple `[x, y, z]`, which may be negative, names a voxel.
    pub fn is_inside_grid(&self, index: [i64; 3]) -> bool {
        self.map.contains(index)
    }
}

/// `point`, if all of it is finite.
fn finite(op: &'static str, arg: &'static str, point: [f64; 3]) -> Result<[f64; 3]> {
    if point.iter().all(|c| c.is_finite()) {
        return Ok(point);
    }
    Err(Error::invalid(
        op,
        arg,
        format_args!("{point:?}"),
        "three finite numbers",
    ))
}
