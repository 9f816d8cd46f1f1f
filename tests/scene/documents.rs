//! What is saved is what is loaded.

use ulib::core::ErrorKind;
use ulib::math::scene::{Recipe, Scene, SceneObject};
use ulib::math::{
    DataOrder, EventTable, FloatCollection, GeantEvent, GeantEventCollection, Line, LineCollection,
    MultiVoxImage, MuonScatter, MuonScatterCollection, Placed, VoxImage, VoxelValue,
    VoxelValueCount,
};

use crate::Folder;

/// One object of every class, with numbers that only survive if every bit does.
fn everything() -> Scene {
    let mut scene = Scene::new();
    let mut image = VoxImage::<VoxelValueCount>::with_order([3, 2, 4], DataOrder::Yxz).unwrap();
    image.set_spacing([0.1, 1e-300, 2.5]).unwrap();
    image.set_origin([-0.0, 1.0 / 3.0, 1e300]).unwrap();
    image.set_position([1.0, 2.0, f64::MIN_POSITIVE]).unwrap();
    for i in 0..24 {
        let voxel = VoxelValueCount {
            Value: i as f32 - 11.5,
            Count: u32::MAX - i as u32,
        };
        image.set_voxel(i, voxel).unwrap();
    }
    image.set_value(5, f32::from_bits(0x7fc0_1234)).unwrap();
    image.set_value(6, f32::NEG_INFINITY).unwrap();
    scene.insert("phantom", image).unwrap();
    let mut plain = VoxImage::<VoxelValue>::new([2, 1, 1]).unwrap();
    plain.set_values(&[0.25, -0.0]).unwrap();
    scene.insert("plain", plain).unwrap();
    scene
        .insert("none", VoxImage::<VoxelValue>::empty().unwrap())
        .unwrap();
    let mut multi = MultiVoxImage::new([2, 2, 1], 2, 3).unwrap();
    multi.set_active(1, 2).unwrap();
    multi.set_values(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    scene.insert("two channels", multi).unwrap();
    let mut table = EventTable::new("slice,total").unwrap();
    table.add_row(&[0.0, f64::MAX]).unwrap();
    table.add_row(&[1.0, f64::NAN]).unwrap();
    scene.insert("profile", table).unwrap();
    scene
        .insert("no columns", EventTable::new("").unwrap())
        .unwrap();
    let floats = FloatCollection::from_slice(&[0.5, f32::MIN_POSITIVE]).unwrap();
    scene.insert("floats", floats).unwrap();
    let line = Line::new([1.0, 2.0, 3.0], [0.0, -1.0, 0.0]);
    scene
        .insert("lines", LineCollection::from_slice(&[line]).unwrap())
        .unwrap();
    let muon = MuonScatter {
        Momentum: 3.5,
        Padding: [1, 2, 3, 4, 5, 6, 7, 8],
        ..MuonScatter::new(line, line)
    };
    let muons = MuonScatterCollection::from_slice(&[muon; 2]).unwrap();
    scene.insert("muons", muons).unwrap();
    let events = GeantEventCollection::from_iter([
        GeantEvent::new("a b/run.root", "mu-"),
        GeantEvent::new("  <&>\"'\r\n\tü ", ""),
    ]);
    scene.insert("events", events).unwrap();
    let mut recipe = Recipe::new("\ndef run(ctx):\r\n\tctx.log('<&> \"µ\"')  \n\n");
    recipe.set_parameter("side", " 32 ");
    recipe.set_parameter("text", "a\nb\tc");
    scene.insert("recipe \"<&>'\n\t", recipe).unwrap();
    for (i, (_, object)) in scene.iter().enumerate() {
        let preferred = ["Host", "Device", "Device:3"][i % 3];
        object
            .set_preferred_device(preferred.parse().unwrap())
            .unwrap();
    }
    scene
}

/// Everything that can be asked of an object, as text.
fn told(object: &dyn SceneObject) -> String {
    let any = object as &dyn std::any::Any;
    let mut told = format!(
        "{:?} {} {:?} ",
        object.class(),
        object.size(),
        object.preferred_device()
    );
    if let Some(image) = any.downcast_ref::<VoxImage<VoxelValueCount>>() {
        let bits = |voxel: &VoxelValueCount| (voxel.Value.to_bits(), voxel.Count);
        let voxels: Vec<_> = image.voxels().unwrap().iter().map(bits).collect();
        told += &format!("{:?} {voxels:?}", image.grid());
    } else if let Some(image) = any.downcast_ref::<VoxImage<VoxelValue>>() {
        told += &format!("{:?} {:?}", image.grid(), image.to_values());
    } else if let Some(image) = any.downcast_ref::<MultiVoxImage>() {
        let elements = image.elements().unwrap();
        told += &format!("{:?} {:?} {:?}", image.grid(), image.active(), &*elements);
    } else if let Some(table) = any.downcast_ref::<EventTable>() {
        told += &format!("{:?} {:?}", table.columns(), &*table.cells().unwrap());
    } else if let Some(floats) = any.downcast_ref::<FloatCollection>() {
        told += &format!("{:?}", &*floats.elements().unwrap());
    } else if let Some(lines) = any.downcast_ref::<LineCollection>() {
        told += &format!("{:?}", &*lines.elements().unwrap());
    } else if let Some(muons) = any.downcast_ref::<MuonScatterCollection>() {
        told += &format!("{:?}", &*muons.elements().unwrap());
    } else if let Some(events) = any.downcast_ref::<GeantEventCollection>() {
        told += &format!("{:?}", events.iter().collect::<Vec<_>>());
    } else if let Some(recipe) = any.downcast_ref::<Recipe>() {
        told += &format!("{:?} {:?}", recipe.source(), recipe.parameters());
    } else {
        panic!("an object of a class without a test");
    }
    told
}

fn all_told(scene: &Scene) -> Vec<(String, String)> {
    scene
        .iter()
        .map(|(name, object)| (name.to_owned(), told(object)))
        .collect()
}

#[test]
fn every_object_is_what_it_was() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let scene = everything();
    let expected = all_told(&scene);
    for name in ["a.gcx", "b.gcx"] {
        scene.save(folder.join(name)).unwrap();
        assert_eq!(all_told(&Scene::load(folder.join(name)).unwrap()), expected);
    }
    // What was loaded is saved as the same document.
    Scene::load(folder.join("a.gcx"))
        .unwrap()
        .save(folder.join("b.gcx"))
        .unwrap();
    let text = |name| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(text("a.gcx"), text("b.gcx"));
    assert_eq!(folder.names(), ["a.gcx", "b.gcx"]);
}

/// The format as `docs/gcx.md` has it, written by hand.
#[test]
fn a_document_written_by_hand_is_read() {
    let _driver = crate::common::driver();
    let document = include_str!("../data/by_hand.gcx");
    let documentation = include_str!("../../docs/gcx.md");
    assert!(
        documentation.contains(document),
        "docs/gcx.md has another example"
    );
    let folder = Folder::new();
    folder.file("scene.gcx", document);
    let scene = Scene::load(folder.join("scene.gcx")).unwrap();
    let names: Vec<&str> = scene.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["phantom", "profile", "sum slices"]);
    let phantom = scene.get::<VoxImage<VoxelValue>>("phantom").unwrap();
    assert_eq!(phantom.to_values().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(phantom.grid().spacing(), [0.5, 0.5, 2.0]);
    assert_eq!(phantom.preferred_device().to_string(), "Device");
    let profile = scene.get::<EventTable>("profile").unwrap();
    assert_eq!(profile.columns(), ["slice", "total"]);
    assert_eq!(profile.rows(), 0);
    let recipe = scene.get::<Recipe>("sum slices").unwrap();
    assert_eq!(recipe.source(), "def run(ctx):\n    ctx.log('1 < 2')\n");
    assert_eq!(recipe.parameters(), [("side".to_owned(), "2".to_owned())]);
}

#[test]
fn objects_are_found_by_name_and_type() {
    let _driver = crate::common::driver();
    let mut scene = Scene::new();
    let table = || EventTable::new("x").unwrap();
    assert!(scene.insert("table", table()).unwrap().is_none());
    assert!(scene.insert("table", table()).unwrap().is_some());
    assert_eq!(scene.len(), 1);
    let wrong = scene.get::<FloatCollection>("table").unwrap_err();
    assert_eq!(wrong.kind(), &ErrorKind::InvalidArgument);
    assert!(
        wrong
            .to_string()
            .contains("an EventTable, 0 rows x 1 column,"),
        "{wrong}"
    );
    let missing = scene.get::<EventTable>("tabel").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the scene has no object 'tabel', only table"
    );
    assert_eq!(
        scene.insert("", table()).unwrap_err().kind(),
        &ErrorKind::InvalidArgument
    );
    scene
        .get_mut::<EventTable>("table")
        .unwrap()
        .add_row(&[1.0])
        .unwrap();
    assert_eq!(scene.remove("table").unwrap().size(), "1 row x 1 column");
    assert_eq!(
        scene.remove("table").unwrap_err().to_string(),
        "the scene has no object 'table', it has no objects"
    );
}

#[test]
fn what_xml_cannot_hold_is_refused_and_leaves_the_document_as_it_was() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let mut scene = Scene::new();
    scene.insert("recipe", Recipe::new("pass\n")).unwrap();
    scene.save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    for text in ["\0", "a\u{1}b", "\u{ffff}", "\u{b}"] {
        scene.insert("recipe", Recipe::new(text)).unwrap();
        let error = scene.save(&path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("object 'recipe'"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(folder.names(), ["scene.gcx"]);
}
