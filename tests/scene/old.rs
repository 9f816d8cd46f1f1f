//! Documents written before objects had a preferred device.

use ulib::core::PreferredDevice;
use ulib::math::scene::Scene;
use ulib::math::{
    EventTable, FloatCollection, GeantEventCollection, LineCollection, MultiVoxImage,
    MuonScatterCollection, VoxImage,
};

use crate::Folder;

const OLD: &str = include_str!("../data/class_version_1.gcx");

#[test]
fn they_load_on_the_host_and_are_saved_as_new_ones() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    std::fs::write(&path, OLD).unwrap();
    let scene = Scene::load(&path).unwrap();
    assert_eq!(scene.len(), 7);
    for (name, object) in scene.iter() {
        assert_eq!(object.preferred_device(), PreferredDevice::Host, "{name}");
        assert_eq!(object.location().to_string(), "Host", "{name}");
    }
    let phantom: &VoxImage = scene.get("phantom").unwrap();
    assert_eq!(phantom.order().name(), "YXZ");
    assert_eq!(
        (phantom.value(1).unwrap(), phantom.voxel(1).unwrap().Count),
        (1.5, 9)
    );
    let channels: &MultiVoxImage = scene.get("channels").unwrap();
    assert_eq!(channels.to_values().unwrap(), [2.0, 4.0]);
    let profile: &EventTable = scene.get("profile").unwrap();
    assert_eq!(profile.row(0).unwrap(), [0.0, 12.5]);
    let floats: &FloatCollection = scene.get("floats").unwrap();
    assert_eq!(*floats.elements().unwrap(), [0.25, -8.0]);
    let lines: &LineCollection = scene.get("lines").unwrap();
    assert_eq!(lines.get(0).unwrap().direction.y, -1.0);
    let muons: &MuonScatterCollection = scene.get("muons").unwrap();
    assert_eq!(muons.get(0).unwrap().MomentumPrime, 33.0);
    let events: &GeantEventCollection = scene.get("events").unwrap();
    assert_eq!(events.get(0).unwrap().path, "run-7.root");

    scene.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("version=\"2\"").count(), 7);
    assert_eq!(text.matches(">Host</property>").count(), 7);
}

#[test]
fn a_property_of_a_later_version_is_none_of_an_older_one() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let preferred =
        "<property name=\"PreferredDevice\">Device</property>\n    <property name=\"Count\">2";
    std::fs::write(&path, OLD.replace("<property name=\"Count\">2", preferred)).unwrap();
    let error = Scene::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("object 'floats': gcx: property is 'PreferredDevice', expected what FloatCollection version 1 has"),
        "{error}"
    );
}
