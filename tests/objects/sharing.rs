//! Objects whose device copy somebody outside changes in place.
#![allow(
    unsafe_code,
    reason = "plays the part of a foreign library that was given a pointer"
)]

use ulib::core::{PreferredDevice, Result};
use ulib::device::block::{Lease, Released};
use ulib::device::{DeviceBytes, Stream, copy};
use ulib::math::{Compute, EventTable, Line, LineCollection, MultiVoxImage, Placed, VoxImage};
use ulib::math::{MuonScatter, MuonScatterCollection, VoxelValueCount};

use crate::common;

const DEVICE: PreferredDevice = PreferredDevice::Device(0);

/// Writes bytes through a lease as another library would: on a stream of its own, with our objects
/// none the wiser.
fn write_outside(lease: &Lease, offset: usize, bytes: &[u8]) -> Result<()> {
    let device = lease.device();
    // SAFETY: the lease keeps its memory for longer than this function runs, and the test makes no
    // other access until the function has returned.
    let memory = unsafe { DeviceBytes::foreign(device, lease.ptr(), lease.len(), Box::new(())) };
    copy::upload(&memory, offset, bytes, &Stream::non_blocking(device)?)?;
    memory.close()
}

fn float(lease: &Lease, element: usize, value: f32) -> Result<()> {
    write_outside(lease, 4 * element, &value.to_ne_bytes())
}

#[test]
fn an_image_shows_what_was_written_outside_and_keeps_what_was_not() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image: VoxImage = VoxImage::new([4, 4, 4])?;
    for voxel in image.voxels_mut()?.iter_mut() {
        *voxel = VoxelValueCount {
            Value: 1.0,
            Count: 7,
        };
    }
    image.set_preferred_device(DEVICE)?;
    let lease = image.lease()?;
    float(&lease, 2 * 5, 3.0)?;
    assert_eq!(image.value(5)?, 3.0);
    assert_eq!(image.sum()?, 66.0);

    // Set then get gives what was set, and the writer outside sees it too.
    image.set_value(6, 5.0)?;
    float(&lease, 2 * 8, 2.0)?;
    assert_eq!((image.value(6)?, image.value(8)?), (5.0, 2.0));
    assert_eq!(image.values()?.iter().sum::<f32>(), 71.0);
    image.scale(2.0)?;
    assert_eq!(image.value(5)?, 6.0);
    assert!(image.voxels()?.iter().all(|voxel| voxel.Count == 7));
    assert!(image.is_device_resident());

    drop(lease);
    assert!(!image.is_shared());
    assert_eq!(image.sum()?, 142.0);
    Ok(())
}

#[test]
fn a_lease_outlives_a_resize() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image: VoxImage = VoxImage::new([2, 2, 2])?;
    image.fill(1.0)?;
    image.set_preferred_device(DEVICE)?;
    let lease = image.lease()?;
    float(&lease, 0, 9.0)?;
    image.resize([3, 3, 3])?;
    assert_eq!((image.value(0)?, image.sum()?), (9.0, 16.0));
    // The old block is still there to write to, and no longer that of the image.
    float(&lease, 0, 4.0)?;
    assert_eq!(image.value(0)?, 9.0);
    image.update()?;
    assert_ne!(image.lease()?.ptr(), lease.ptr());
    Ok(())
}

#[test]
fn a_table_grows_under_a_lease() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut table = EventTable::new("a,b")?;
    table.add_row(&[1.0, 2.0])?;
    table.set_preferred_device(DEVICE)?;
    let lease = table.lease()?;
    write_outside(&lease, 8, &20.0_f64.to_ne_bytes())?;
    table.add_row(&[3.0, 4.0])?;
    assert_eq!(&*table.cells()?, [1.0, 20.0, 3.0, 4.0]);
    assert_eq!(lease.len(), 16);
    table.clear()?;
    assert_eq!(table.rows(), 0);
    Ok(())
}

#[test]
fn the_other_channels_and_fields_are_not_touched() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image = MultiVoxImage::new([2, 1, 1], 2, 2)?;
    image.set_preferred_device(DEVICE)?;
    image.set_active(1, 0)?;
    let lease = image.lease()?;
    float(&lease, 6, 5.0)?;
    assert_eq!(image.to_values()?, [0.0, 5.0]);
    image.set_values(&[1.0, 2.0])?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]
    );

    let mut muons = MuonScatterCollection::from_slice(&[MuonScatter::default(); 2])?;
    muons.set_preferred_device(DEVICE)?;
    let lease = muons.lease()?;
    float(&lease, 36 + 32, 4.0)?;
    let muon = muons.get(1)?;
    assert_eq!((muon.Momentum, muon.MomentumPrime), (4.0, 0.0));
    ulib::math::ops::fill(muons.field_view_mut::<f32>("MomentumPrime")?, 3.0)?;
    assert_eq!(
        (muons.get(1)?.Momentum, muons.get(1)?.MomentumPrime),
        (4.0, 3.0)
    );

    let lines = LineCollection::from_slice(&[Line::default(); 2])?;
    lines.set_preferred_device(DEVICE)?;
    let lease = lines.lease()?;
    float(&lease, 8 + 4, 6.0)?;
    assert_eq!(lines.get(1)?.direction.x, 6.0);
    Ok(())
}

#[test]
fn an_object_dropped_under_a_lease() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let image: VoxImage = VoxImage::new([4, 4, 4])?;
    image.set_preferred_device(DEVICE)?;
    let lease = image.lease()?;
    drop(image);
    float(&lease, 0, 1.0)?;
    drop(lease);
    Ok(())
}

#[test]
fn an_object_released_under_a_lease() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let image: VoxImage = VoxImage::new([4, 4, 4])?;
    image.set_preferred_device(DEVICE)?;
    let lease = image.lease()?;
    float(&lease, 0, 1.0)?;
    assert_eq!(image.release_device()?, Released::WhenLeasesEnd(1));
    assert!(!image.is_shared() && !image.is_device_resident());
    // What is written from now on is no longer the image's.
    float(&lease, 0, 2.0)?;
    assert_eq!(image.value(0)?, 1.0);
    Ok(())
}
