//! [`Values`] and [`ValuesMut`]: the `f32` values of an image, one per voxel, strided in its block.

use ulib_core::{Error, Layout, Result};
use ulib_device::block::Block;

use super::{HostSlice, HostSliceMut};
use crate::ops::copy::between_slices;
use crate::voxel::ValuePlace;

/// Where `len` values are among the words of their voxels.
fn line(place: ValuePlace, len: usize) -> Result<Layout> {
    Layout::new(vec![len], vec![place.step.cast_signed()], place.offset)
}

/// The current values of an image in memory order, for reading.
///
/// ```
/// use ulib_math::VoxImage;
///
/// let mut image: VoxImage = VoxImage::new([2, 2, 1])?;
/// image.set_values(&[1.0, 2.0, 3.0, 4.0])?;
/// let values = image.values()?;
/// assert_eq!(values.get(2), Some(3.0));
/// assert_eq!(values.iter().sum::<f32>(), 10.0);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Values<'a> {
    items: HostSlice<'a, f32>,
    place: ValuePlace,
    len: usize,
}

impl<'a> Values<'a> {
    pub(crate) fn read(block: &'a Block, place: ValuePlace, len: usize) -> Result<Self> {
        Ok(Values {
            items: HostSlice::read(block)?,
            place,
            len,
        })
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of the voxel with flat index `index`, or `None` outside.
    pub fn get(&self, index: usize) -> Option<f32> {
        if index >= self.len {
            return None;
        }
        self.items
            .get(self.place.offset + index * self.place.step)
            .copied()
    }

    /// The values in memory order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f32> + Clone + '_ {
        self.items
            .get(self.place.offset..)
            .unwrap_or_default()
            .iter()
            .step_by(self.place.step)
            .copied()
    }

    /// The words of the voxels, and where among them the values are.
    pub(crate) fn words(&self) -> (&[f32], ValuePlace) {
        (&self.items, self.place)
    }

    /// Copies the values, in memory order, into `target`.
    ///
    /// # Errors
    /// `Shape` when the lengths differ; nothing is written then.
    pub fn copy_to(&self, target: &mut [f32]) -> Result<()> {
        if target.len() != self.len {
            return Err(Error::shape("copy values", &[target.len()], &[self.len]));
        }
        let layout = Layout::contiguous(&[self.len])?;
        between_slices(&self.items, &line(self.place, self.len)?, target, &layout);
        Ok(())
    }
}

/// The current values of an image in memory order, for reading and writing; nothing else of a
/// voxel can be reached through it.
///
/// The guard ends as [`HostSliceMut`] does.
///
/// ```
/// use ulib_math::VoxImage;
///
/// let mut image: VoxImage = VoxImage::new([2, 2, 1])?;
/// let mut values = image.values_mut()?;
/// for (i, value) in values.iter_mut().enumerate() {
///     *value = i as f32;
/// }
/// values.commit()?;
/// assert_eq!(image.value(3)?, 3.0);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ValuesMut<'a> {
    items: HostSliceMut<'a, f32>,
    place: ValuePlace,
    len: usize,
}

impl<'a> ValuesMut<'a> {
    pub(crate) fn write(block: &'a mut Block, place: ValuePlace, len: usize) -> Result<Self> {
        Ok(ValuesMut {
            items: HostSliceMut::write(block)?,
            place,
            len,
        })
    }

    /// As [`write`](ValuesMut::write), for a caller that sets every value. The old content is only
    /// left behind when there is nothing in it but values.
    pub(crate) fn overwrite(block: &'a mut Block, place: ValuePlace, len: usize) -> Result<Self> {
        let items = match place.step {
            1 => HostSliceMut::overwrite(block)?,
            _ => HostSliceMut::write(block)?,
        };
        Ok(ValuesMut { items, place, len })
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of the voxel with flat index `index`, or `None` outside.
    pub fn get(&self, index: usize) -> Option<f32> {
        if index >= self.len {
            return None;
        }
        self.items
            .get(self.place.offset + index * self.place.step)
            .copied()
    }

    /// The place of the value of the voxel with flat index `index`, or `None` outside.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut f32> {
        if index >= self.len {
            return None;
        }
        self.items
            .get_mut(self.place.offset + index * self.place.step)
    }

    /// The values in memory order, to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut f32> + '_ {
        let ValuePlace { offset, step } = self.place;
        self.items
            .get_mut(offset..)
            .unwrap_or_default()
            .iter_mut()
            .step_by(step)
    }

    /// As [`Values::words`].
    pub(crate) fn words_mut(&mut self) -> (&mut [f32], ValuePlace) {
        (&mut self.items, self.place)
    }

    /// Sets every value from `source`, in memory order.
    ///
    /// # Errors
    /// `Shape` when the lengths differ; nothing is written then.
    pub fn copy_from(&mut self, source: &[f32]) -> Result<()> {
        if source.len() != self.len {
            return Err(Error::shape("set values", &[self.len], &[source.len()]));
        }
        let layout = Layout::contiguous(&[self.len])?;
        between_slices(
            source,
            &layout,
            &mut self.items,
            &line(self.place, self.len)?,
        );
        Ok(())
    }

    /// Ends the guard: an object shared with somebody outside is written through now.
    ///
    /// # Errors
    /// `Driver` when writing through fails.
    pub fn commit(self) -> Result<()> {
        self.items.commit()
    }
}
