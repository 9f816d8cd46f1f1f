//! The placement property of every object: the truth table, the words, and the numbers with and
//! without a device.

use ulib::core::{ErrorKind, HostOnly, PreferredDevice, Result};
use ulib::device::Device;
use ulib::device::block::{Released, Transfers};
use ulib::math::{
    BulkArray, Compute, EventTable, FloatCollection, GeantEvent, GeantEventCollection, Line,
    LineCollection, MultiVoxImage, MuonScatter, MuonScatterCollection, Placed, VoxImage,
    VoxelValue,
};

use crate::common;

const DEVICE: PreferredDevice = PreferredDevice::Device(0);

/// Walks an object through the rows of the truth table. `read` reads it on the host, `write` changes
/// it there.
fn walk<O: BulkArray>(
    mut object: O,
    read: impl Fn(&O) -> Result<()>,
    write: impl Fn(&mut O) -> Result<()>,
) -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let on_device = format!("Device: {}", Device::new(0)?.name());
    assert_eq!(object.preferred_device(), PreferredDevice::Host);
    assert_eq!(object.location().to_string(), "Host");
    assert!(!object.is_device_resident() && object.can_use_device());
    assert_eq!(object.lease().unwrap_err().kind(), &ErrorKind::Residency);

    assert!(object.set_preferred_device(DEVICE)?);
    assert_eq!(object.preferred_device(), DEVICE);
    assert_eq!(object.location().to_string(), on_device);
    assert!(object.is_device_resident());

    // A read leaves both copies current.
    read(&object)?;
    assert!(object.is_device_resident());
    assert_eq!(object.location().to_string(), on_device);

    write(&mut object)?;
    assert!(!object.is_device_resident());
    assert_eq!(
        object.location().to_string(),
        "Host (changed on the host; back on the device at the next update)"
    );
    assert!(object.update()?);
    assert!(object.is_device_resident());

    // A pointer for somebody outside: the device is the only truth until it is given back.
    let lease = object.lease()?;
    assert!(object.is_shared() && lease.ptr() != 0);
    let item = object.dtype().size();
    object.layout()?.check_within(lease.len() / item)?;
    write(&mut object)?;
    assert!(
        object.is_device_resident(),
        "a shared object is written through"
    );
    drop(lease);
    let export = object.export()?;
    assert_eq!((export.ordinal, object.is_shared()), (0, true));
    object.end_exports()?;
    assert!(!object.is_shared());

    assert_eq!(object.release_device()?, Released::Freed);
    assert_eq!(object.release_device()?, Released::Nothing);
    assert!(!object.is_device_resident());
    assert_eq!(object.preferred_device(), DEVICE);
    read(&object)?;
    assert!(object.update()?);

    assert!(object.set_preferred_device(PreferredDevice::Host)?);
    assert_eq!(object.location().to_string(), "Host");
    assert!(!object.is_device_resident() && object.update()?);
    assert_eq!(object.lease().unwrap_err().kind(), &ErrorKind::Residency);
    read(&object)
}

#[test]
fn a_vox_image() -> Result<()> {
    walk(
        VoxImage::<ulib::math::VoxelValueCount>::new([3, 4, 5])?,
        |image| image.value(7).map(drop),
        |image| image.set_value(7, 1.0),
    )?;
    walk(
        VoxImage::<VoxelValue>::new([3, 4, 5])?,
        |image| image.values().map(drop),
        |image| image.set_values(&[1.0; 60]),
    )
}

#[test]
fn a_multi_vox_image() -> Result<()> {
    let mut image = MultiVoxImage::new([3, 4, 5], 2, 3)?;
    image.set_active(1, 1)?;
    walk(
        image,
        |image| image.value(7).map(drop),
        |image| image.set_value(7, 1.0),
    )
}

#[test]
fn an_event_table() -> Result<()> {
    let mut table = EventTable::new("slice,total")?;
    table.add_rows(&[0.0; 10])?;
    walk(
        table,
        |table| table.row(1).map(drop),
        |table| table.set_cell(1, 1, 2.0),
    )
}

#[test]
fn a_muon_scatter_collection() -> Result<()> {
    walk(
        MuonScatterCollection::from_slice(&[MuonScatter::default(); 3])?,
        |muons| muons.get(1).map(drop),
        |muons| muons.set(1, MuonScatter::default()),
    )
}

#[test]
fn collections_of_floats_and_lines() -> Result<()> {
    walk(
        FloatCollection::from_slice(&[1.0; 9])?,
        |floats| floats.elements().map(drop),
        |floats| floats.set(0, 2.0),
    )?;
    walk(
        LineCollection::from_slice(&[Line::default(); 9])?,
        |lines| lines.get(8).map(drop),
        |lines| lines.set(8, Line::new([1.0; 3], [2.0; 3])),
    )
}

#[test]
fn geant_events_never_go() -> Result<()> {
    let _driver = common::driver();
    let events = GeantEventCollection::from_iter([GeantEvent::new("a", "b")]);
    assert_eq!(events.location().to_string(), "Host");
    assert!(!events.set_preferred_device(DEVICE)?);
    assert_eq!(events.preferred_device(), DEVICE);
    let sentence = "Host (these events cannot be copied to a device)";
    assert_eq!(events.location().to_string(), sentence);
    assert!(!events.can_use_device() && !events.is_device_resident() && !events.update()?);
    let error = events.lease().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Residency);
    assert!(
        error
            .to_string()
            .contains("these events cannot be copied to a device")
    );
    assert!(events.export().is_err());
    events.end_exports()?;
    assert_eq!(events.release_device()?, Released::Nothing);
    assert_eq!(events.transfers(), Transfers::default());
    assert!(events.set_preferred_device(PreferredDevice::Host)? && events.update()?);
    Ok(())
}

#[test]
fn a_second_device_is_named_by_its_ordinal() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    if Device::count()? < 2 {
        return Ok(());
    }
    let mut image: VoxImage = VoxImage::new([4, 4, 4])?;
    assert!(image.set_preferred_device("Device:1".parse()?)?);
    let sentence = format!("Device 1: {}", Device::new(1)?.name());
    assert_eq!(image.location().to_string(), sentence);
    assert_eq!(image.export()?.ordinal, 1);
    image.end_exports()?;
    image.fill(2.0)?;
    assert_eq!(image.sum()?, 128.0);
    Ok(())
}

#[test]
fn an_unknown_device_is_said_so() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    for word in ["device", "GPU", "Device:", "Device:-1", "Device:x", ""] {
        let error = word.parse::<PreferredDevice>().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument, "{word}");
    }
    let mut image: VoxImage = VoxImage::new([4, 4, 4])?;
    assert!(!image.set_preferred_device(PreferredDevice::Device(99))?);
    assert!(!image.is_device_resident() && !image.can_use_device());
    let sentence = image.location().to_string();
    assert!(
        sentence.starts_with("Host (no device 99: this machine has "),
        "{sentence}"
    );
    assert_eq!(
        image.lease().unwrap_err().kind(),
        &ErrorKind::InvalidArgument
    );
    image.fill(1.0)?;
    assert_eq!(image.sum()?, 64.0);
    Ok(())
}

#[test]
fn an_empty_object_has_pointer_zero() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let image: VoxImage = VoxImage::empty()?;
    image.set_preferred_device(DEVICE)?;
    assert_eq!(image.export()?.ptr, 0);
    let mut table = EventTable::new("a,b")?;
    table.set_preferred_device(DEVICE)?;
    assert_eq!(table.lease()?.ptr(), 0);
    table.add_row(&[1.0, 2.0])?;
    assert!(table.update()?);
    assert_ne!(table.lease()?.ptr(), 0);
    assert_eq!(table.row(0)?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn computing_happens_where_the_voxels_are() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image: VoxImage = VoxImage::new([16, 8, 4])?;
    image.set_preferred_device(DEVICE)?;
    let before = image.transfers();
    image.fill(1.5)?;
    image.scale(2.0)?;
    assert_eq!(image.sum()?, 3.0 * 512.0);
    assert_eq!(image.sum_axes(&[0, 1])?.as_slice(), Some(&[96.0; 16][..]));
    assert_eq!(image.transfers(), before, "nothing crossed");
    assert!(image.is_device_resident());
    assert_eq!(image.value(100)?, 3.0);
    assert_eq!(image.transfers().downloads, before.downloads + 1);
    assert_eq!(image.value(101)?, 3.0);
    assert_eq!(
        image.transfers().downloads,
        before.downloads + 1,
        "home once"
    );
    Ok(())
}

#[test]
fn a_clone_of_a_device_image_is_made_on_the_device() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image: VoxImage = VoxImage::new([16, 8, 4])?;
    image.set_preferred_device(DEVICE)?;
    image.fill(2.0)?;
    let before = image.transfers();
    let mut copy = image.try_clone()?;
    assert_eq!(copy.preferred_device(), DEVICE);
    assert!(copy.is_device_resident());
    copy.scale(3.0)?;
    assert_eq!((image.sum()?, copy.sum()?), (1024.0, 3072.0));
    assert_eq!(image.transfers(), before);
    Ok(())
}

#[test]
fn a_policy_can_keep_an_object_at_home() -> Result<()> {
    let _driver = common::driver();
    let image: VoxImage = VoxImage::new([4, 4, 4])?;
    image.set_policy(std::sync::Arc::new(HostOnly));
    assert!(!image.set_preferred_device(DEVICE)?);
    let sentence = image.location().to_string();
    assert!(
        sentence.starts_with("Host (") && !image.is_device_resident(),
        "{sentence}"
    );
    Ok(())
}

#[test]
fn too_large_for_the_card() -> Result<()> {
    let Some(session) = common::fake_only() else {
        return Ok(());
    };
    session.memory_limit(4096);
    let mut image: VoxImage = VoxImage::new([32, 32, 32])?;
    assert!(!image.set_preferred_device(DEVICE)?);
    let sentence = image.location().to_string();
    assert!(
        sentence.starts_with("Host (out of device memory: needs 262144 bytes, ")
            && sentence.ends_with(" bytes free)"),
        "{sentence}"
    );
    image.fill(0.5)?;
    assert_eq!(image.sum()?, 16_384.0);
    Ok(())
}

/// The same program on the device, and in a process that has none.
fn numbers(device: bool) -> Result<Vec<u64>> {
    let mut image: VoxImage = VoxImage::new([17, 9, 5])?;
    let map = *image.map();
    for (flat, value) in image.values_mut()?.iter_mut().enumerate() {
        let [x, y, z] = map.unmap(flat)?;
        *value = 0.1 + (x as f32).sqrt() / (1 + y + 3 * z) as f32;
    }
    assert_eq!(image.set_preferred_device(DEVICE)?, device);
    image.scale(1.7)?;
    let mut bits: Vec<u64> = image
        .sum_axes(&[0, 1])?
        .iter()
        .map(|sum| sum.to_bits())
        .collect();
    bits.push(image.sum()?.to_bits());
    Ok(bits)
}

#[test]
fn the_numbers_without_a_driver() -> Result<()> {
    if !common::in_child() {
        return Ok(());
    }
    for bits in numbers(false)? {
        println!("bits {bits}");
    }
    let image: VoxImage = VoxImage::new([2, 2, 2])?;
    image.set_preferred_device(DEVICE)?;
    println!("where {}", image.location());
    Ok(())
}

#[test]
fn the_same_bits_with_and_without_a_device() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let here = numbers(true)?;
    let child = common::child(
        "placement::the_numbers_without_a_driver",
        &[("ULIB_CUDA_DRIVER", "none")],
    );
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    let there: Vec<u64> = output
        .lines()
        .filter_map(|line| line.split("bits ").nth(1)?.trim().parse().ok())
        .collect();
    assert_eq!(here, there);
    assert!(output.contains("where Host ("), "{output}");
    Ok(())
}
