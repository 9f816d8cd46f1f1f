//! [`BulkArray`]: what the array an object offers looks like.

use ulib_core::{DType, Layout, Result};

use super::Placed;

/// An object whose numbers can be seen as one array in its block.
///
/// This is the array that `__cuda_array_interface__`, DLPack and the host buffer show. Shapes and
/// strides count elements of the dtype, and the layout starts at the first byte of the block.
///
/// | object | dtype | shape | strides |
/// |---|---|---|---|
/// | `VoxImage<V>` | f32 (each voxel's Value) | `(n,)` | voxel size / 4 |
/// | `MultiVoxImage` | f32 (active channel and component) | `(n,)` | channels x components |
/// | `EventTable` | f64 | `(rows, columns)` | packed |
/// | `Collection<f32>` | f32 | `(n,)` | packed |
/// | `Collection<Line>` | f32 | `(n, 2, 4)` | packed |
/// | `MuonScatterCollection` | u8 (the records' raw bytes) | `(144 n,)` | packed |
pub trait BulkArray: Placed {
    /// The element type of the array.
    fn dtype(&self) -> DType;

    /// Shape, strides and offset of the array in elements of [`dtype`](BulkArray::dtype).
    ///
    /// # Errors
    /// `Overflow` when the array reaches past the address range.
    fn layout(&self) -> Result<Layout>;

    /// The fields that [`field`](BulkArray::field) knows, outermost first; empty when the elements
    /// are plain numbers. Fields inside a field are named with a dot (`LineIn.origin`).
    fn field_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The array of one field of every element: dtype and layout in elements of that dtype.
    ///
    /// The leading axis runs over the elements. A field that is itself a record of equal numbers
    /// adds one axis per level (`LineIn.origin` of n muons: f32, shape `(n, 4)`). A field in
    /// another can also be named without the dot, in capitals: `LineInOrigin`.
    ///
    /// # Errors
    /// `Index` when there is no such field, naming those there are.
    fn field(&self, name: &str) -> Result<(DType, Layout)>;
}
