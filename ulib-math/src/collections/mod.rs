//! [`Collection`]: elements one after the other in a coherent block.

mod line;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{bytes_of, bytes_of_mut, cast_slice};
use ulib_core::{DType, DeviceStorable, Error, Layout, Result, byte_count};
use ulib_device::block::Block;

use crate::host::{HostSlice, HostSliceMut};
use crate::placed::{Bulk, BulkArray, Placed, array_of_records, field_array, field_names};
use crate::view::{Element, View, ViewMut};

pub use line::{Line, Vector4};

/// Numbers, one after the other: an array of `f32`, shape `(n,)`.
pub type FloatCollection = Collection<f32>;

/// Lines, one after the other: an array of `f32`, shape `(n, 2, 4)`.
pub type LineCollection = Collection<Line>;

/// Elements of any [`DeviceStorable`] type, one after the other, packed, in one coherent block.
///
/// # Array
/// Numbers are an array of their dtype, shape `(n,)`. Records of equal numbers add an axis per
/// level. Other records are their raw bytes (`u8`, shape `(n * size,)`), and each of their fields is a
/// strided array by name ([`field_view`](Collection::field_view)).
///
/// # Placement
/// See [`Placed`]. Whatever changes the number of elements gives them a new block; leases and
/// exports of the old one keep seeing the old elements.
///
/// ```
/// use ulib_math::{BulkArray, FloatCollection, Line, LineCollection};
///
/// let mut floats = FloatCollection::from_slice(&[1.0, 2.0])?;
/// floats.push(3.0)?;
/// assert_eq!(floats.elements()?.iter().sum::<f32>(), 6.0);
///
/// let lines = LineCollection::from_slice(&[Line::new([0.0; 3], [0.0, -1.0, 0.0])])?;
/// assert_eq!(lines.layout()?.shape(), [1, 2, 4]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub struct Collection<T: DeviceStorable> {
    block: Block,
    len: usize,
    items: PhantomData<fn() -> T>,
}

impl<T: DeviceStorable> Collection<T> {
    /// A collection without elements.
    ///
    /// # Errors
    /// `Layout` for a type of zero bytes, whose elements have no place.
    pub fn new() -> Result<Self> {
        Collection::from_slice(&[])
    }

    /// A collection of these elements.
    ///
    /// # Errors
    /// As [`new`](Collection::new), and those of an allocation.
    pub fn from_slice(items: &[T]) -> Result<Self> {
        if size_of::<T>() == 0 {
            return Err(Error::layout("collection", "elements of zero bytes"));
        }
        Ok(Collection {
            block: Block::from_slice(items)?,
            len: items.len(),
            items: PhantomData,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at `index`.
    ///
    /// # Errors
    /// `Index` when `index` is not below [`len`](Collection::len); `Driver` when the device breaks.
    pub fn get(&self, index: usize) -> Result<T> {
        let mut item = T::zeroed();
        self.block
            .read_at(self.byte(index)?, bytes_of_mut(&mut item))?;
        Ok(item)
    }

    /// Replaces the element at `index`.
    ///
    /// # Errors
    /// As [`get`](Collection::get).
    pub fn set(&mut self, index: usize, item: T) -> Result<()> {
        let byte = self.byte(index)?;
        self.block.write_at(byte, bytes_of(&item))
    }

    /// As [`get`](Collection::get) where that takes no lock, no wait and no transfer; `None` where it does. For who has the
    /// collection alone.
    ///
    /// # Errors
    /// `Index` as there.
    pub fn get_at_hand(&mut self, index: usize) -> Result<Option<T>> {
        let (byte, mut item) = (self.byte(index)?, T::zeroed());
        let here = self.block.read_at_hand(byte, bytes_of_mut(&mut item))?;
        Ok(here.then_some(item))
    }

    /// As [`set`](Collection::set) where that takes no lock, no wait and no transfer; false, with nothing changed, where it
    /// does.
    ///
    /// # Errors
    /// `Index` as there.
    pub fn set_at_hand(&mut self, index: usize, item: T) -> Result<bool> {
        let byte = self.byte(index)?;
        self.block.write_at_hand(byte, bytes_of(&item))
    }

    /// Adds one element at the end.
    ///
    /// # Errors
    /// `Busy` while somebody holds a host view; those of an allocation and of the device.
    pub fn push(&mut self, item: T) -> Result<()> {
        self.extend_from_slice(&[item])
    }

    /// Adds elements at the end.
    ///
    /// # Errors
    /// As [`push`](Collection::push).
    pub fn extend_from_slice(&mut self, items: &[T]) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let len = self.len.saturating_add(items.len());
        byte_count(len, size_of::<T>())?;
        self.block.append(cast_slice(items))?;
        self.len = len;
        Ok(())
    }

    /// Makes the collection `len` elements long: the first ones are kept, new ones are zero.
    ///
    /// # Errors
    /// `Overflow` when the elements do not fit the address range; as [`push`](Collection::push).
    pub fn resize(&mut self, len: usize) -> Result<()> {
        self.block.resize(byte_count(len, size_of::<T>())?)?;
        self.len = len;
        Ok(())
    }

    /// Removes all elements.
    ///
    /// # Errors
    /// As [`push`](Collection::push).
    pub fn clear(&mut self) -> Result<()> {
        self.block.clear()?;
        self.len = 0;
        Ok(())
    }

    /// The elements, for reading.
    ///
    /// # Errors
    /// `Driver` when the elements have to come home and the device breaks.
    pub fn elements(&self) -> Result<HostSlice<'_, T>> {
        HostSlice::read(&self.block)
    }

    /// The elements, for reading and writing.
    ///
    /// # Errors
    /// As [`elements`](Collection::elements).
    pub fn elements_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        HostSliceMut::write(&mut self.block)
    }

    /// Replaces every element, keeping their number. The old ones are not brought home for it.
    ///
    /// # Errors
    /// `Shape` when there are not as many; nothing changes then.
    pub fn set_all(&mut self, items: &[T]) -> Result<()> {
        if items.len() != self.len {
            return Err(Error::shape("set all", &[self.len], &[items.len()]));
        }
        let mut guard = HostSliceMut::overwrite(&mut self.block)?;
        guard.copy_from_slice(items);
        guard.commit()
    }

    /// The elements as an array of numbers (see the section on arrays above), where they are.
    ///
    /// # Errors
    /// `DType` when the numbers are not `N`.
    pub fn view<N: Element>(&self) -> Result<View<'_, N>> {
        View::new(&self.block, typed::<N>(self.array()?)?)
    }

    /// As [`view`](Collection::view), for writing.
    ///
    /// # Errors
    /// As [`view`](Collection::view).
    pub fn view_mut<N: Element>(&mut self) -> Result<ViewMut<'_, N>> {
        let layout = typed::<N>(self.array()?)?;
        ViewMut::new(&mut self.block, layout)
    }

    /// One field of every element, by name, where they are (see [`BulkArray::field`]).
    ///
    /// # Errors
    /// `Index` when there is no such field, `DType` when its numbers are not `N`.
    pub fn field_view<N: Element>(&self, name: &str) -> Result<View<'_, N>> {
        View::new(&self.block, typed::<N>(self.field(name)?)?)
    }

    /// As [`field_view`](Collection::field_view), for writing.
    ///
    /// # Errors
    /// As [`field_view`](Collection::field_view).
    pub fn field_view_mut<N: Element>(&mut self, name: &str) -> Result<ViewMut<'_, N>> {
        let layout = typed::<N>(self.field(name)?)?;
        ViewMut::new(&mut self.block, layout)
    }

    /// The coherent block of the elements.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// A copy with its own block. When the device has the newer elements the copy is made there; the
    /// preference is copied too.
    ///
    /// # Errors
    /// Those of an allocation and of the device.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Collection {
            block: self.block.try_clone()?,
            len: self.len,
            items: PhantomData,
        })
    }

    /// The first byte of an element.
    fn byte(&self, index: usize) -> Result<usize> {
        if index >= self.len {
            return Err(Error::index("element", index, self.len));
        }
        // Cannot overflow: the element lies in the block.
        Ok(index * size_of::<T>())
    }

    fn array(&self) -> Result<(DType, Layout)> {
        array_of_records::<T>(self.len)
    }
}

/// The layout of an array whose numbers are `N`.
fn typed<N: Element>((dtype, layout): (DType, Layout)) -> Result<Layout> {
    if dtype == N::dtype() {
        Ok(layout)
    } else {
        Err(Error::dtype("collection view", dtype, N::dtype()))
    }
}

impl<T: DeviceStorable> fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection")
            .field("element", &T::dtype())
            .field("len", &self.len)
            .field("location", &self.location().to_string())
            .finish()
    }
}

impl<T: DeviceStorable> Placed for Collection<T> {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::Block(&self.block)
    }

    fn what(&self) -> &'static str {
        "elements"
    }
}

impl<T: DeviceStorable> BulkArray for Collection<T> {
    fn dtype(&self) -> DType {
        // The dtype does not depend on the length, and no elements always fit.
        array_of_records::<T>(0).map_or_else(|_| T::dtype(), |(dtype, _)| dtype)
    }

    fn layout(&self) -> Result<Layout> {
        Ok(self.array()?.1)
    }

    fn field_names(&self) -> Vec<String> {
        field_names::<T>()
    }

    fn field(&self, name: &str) -> Result<(DType, Layout)> {
        field_array::<T>(self.len, name)
    }
}
