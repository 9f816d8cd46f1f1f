//! [`grid_methods`]: the geometry as the methods of an image.

/// The methods that an image has from its field `grid`: a line of its inherent `impl`, so that callers need no trait.
///
/// What also moves the voxels (the order, the dimensions) is each image's own.
macro_rules! grid_methods {
    () => {
        /// The geometry: dimensions, data order, spacing, origin and position.
        pub fn grid(&self) -> &$crate::grid::Grid {
            &self.grid
        }

        /// The map between triples and flat indices.
        pub fn map(&self) -> &$crate::grid::IndexMap {
            self.grid.map()
        }

        /// Voxels along x, y and z.
        pub fn dims(&self) -> [usize; 3] {
            self.grid.dims()
        }

        /// The order of the voxels in memory.
        pub fn order(&self) -> $crate::grid::DataOrder {
            self.grid.order()
        }

        /// The number of voxels.
        pub fn len(&self) -> usize {
            self.grid.len()
        }

        /// Whether there are no voxels.
        pub fn is_empty(&self) -> bool {
            self.grid.is_empty()
        }

        /// Sets the size of one voxel, in world units.
        ///
        /// # Errors
        /// `InvalidArgument` when a value is not finite or not above zero; nothing changes then.
        pub fn set_spacing(&mut self, spacing: [f64; 3]) -> ::ulib_core::Result<()> {
            self.grid.set_spacing(spacing)
        }

        /// Sets where the grid starts inside the object, in world units.
        ///
        /// # Errors
        /// `InvalidArgument` when a value is not finite; nothing changes then.
        pub fn set_origin(&mut self, origin: [f64; 3]) -> ::ulib_core::Result<()> {
            self.grid.set_origin(origin)
        }

        /// Sets where the object stands, in world units.
        ///
        /// # Errors
        /// `InvalidArgument` when a value is not finite; nothing changes then.
        pub fn set_position(&mut self, position: [f64; 3]) -> ::ulib_core::Result<()> {
            self.grid.set_position(position)
        }
    };
}

pub(crate) use grid_methods;
