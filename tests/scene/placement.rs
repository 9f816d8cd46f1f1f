//! Loading applies preferences; saving fetches once.

use ulib::math::scene::Scene;
use ulib::math::{Compute, Placed, VoxImage, VoxelValue};

use crate::Folder;

#[test]
fn loaded_data_goes_up_once_and_is_saved_with_one_download() {
    let driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let mut image = VoxImage::<VoxelValue>::new([16, 8, 4]).unwrap();
    image.fill(2.0).unwrap();
    image
        .set_preferred_device("Device".parse().unwrap())
        .unwrap();
    let mut scene = Scene::new();
    scene.insert("phantom", image).unwrap();
    scene.save(&path).unwrap();

    let mut scene = Scene::load(&path).unwrap();
    let image = scene.get_mut::<VoxImage<VoxelValue>>("phantom").unwrap();
    assert_eq!(image.preferred_device().to_string(), "Device");
    assert_eq!(image.is_device_resident(), driver.has_device());
    if !driver.has_device() {
        assert!(image.location().to_string().starts_with("Host ("));
        return;
    }
    assert_eq!(
        (image.transfers().uploads, image.transfers().downloads),
        (1, 0)
    );
    image.scale(3.0).unwrap();
    scene.refresh().unwrap();
    scene.save(&path).unwrap();
    let image = scene.get::<VoxImage<VoxelValue>>("phantom").unwrap();
    assert_eq!(
        (image.transfers().uploads, image.transfers().downloads),
        (1, 1)
    );
    assert!(image.is_device_resident());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("<property name=\"PreferredDevice\">Device</property>"));
    assert!(!text.contains("Location"));
    let again = Scene::load(&path).unwrap();
    assert_eq!(
        again
            .get::<VoxImage<VoxelValue>>("phantom")
            .unwrap()
            .sum()
            .unwrap(),
        512.0 * 6.0
    );
}

#[test]
fn a_device_that_is_not_there_keeps_nothing_from_being_loaded() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let image = VoxImage::<VoxelValue>::new([4, 4, 4]).unwrap();
    image
        .set_preferred_device("Device:63".parse().unwrap())
        .unwrap();
    let mut scene = Scene::new();
    scene.insert("phantom", image).unwrap();
    for _ in 0..2 {
        scene.save(&path).unwrap();
        scene = Scene::load(&path).unwrap();
        let image = scene.get::<VoxImage<VoxelValue>>("phantom").unwrap();
        assert_eq!(image.preferred_device().to_string(), "Device:63");
        assert!(!image.is_device_resident());
        assert!(image.location().to_string().starts_with("Host ("));
    }
}
