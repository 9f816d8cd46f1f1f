//! Bulk data in files beside a document.

use std::fs;

use ulib::math::scene::Scene;
use ulib::math::{Compute, VoxImage, VoxelValue};

use crate::Folder;

/// An image of 2 MiB, more than stands in a document itself.
fn large(value: f32) -> VoxImage<VoxelValue> {
    let mut image = VoxImage::new([128, 64, 64]).unwrap();
    image.fill(value).unwrap();
    image
}

fn value(path: &std::path::Path) -> f32 {
    let scene = Scene::load(path).unwrap();
    let image = scene.get::<VoxImage<VoxelValue>>("large / image").unwrap();
    assert_eq!(image.min().unwrap(), image.max().unwrap());
    image.value(0).unwrap()
}

#[test]
fn large_data_is_beside_the_document_and_follows_it() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let mut scene = Scene::new();
    scene.insert("large / image", large(1.5)).unwrap();
    scene.save(&path).unwrap();
    let first = folder.names();
    assert_eq!(first.len(), 2);
    assert!(
        first[1].starts_with("scene.gcx.data/large___image_Voxels-"),
        "{first:?}"
    );
    assert!(fs::metadata(&path).unwrap().len() < 2048);
    assert_eq!(fs::metadata(folder.join(&first[1])).unwrap().len(), 2 << 20);
    assert_eq!(value(&path), 1.5);
    // The same numbers again, then others: always one file, always the numbers of the document.
    scene.save(&path).unwrap();
    assert_eq!(folder.names().len(), 2);
    assert_eq!(value(&path), 1.5);
    scene.insert("large / image", large(2.5)).unwrap();
    scene.save(&path).unwrap();
    assert_eq!(folder.names().len(), 2);
    assert_eq!(value(&path), 2.5);
    // Somebody's own file stays, and with it the folder.
    folder.file("scene.gcx.data/notes.bin", "mine");
    Scene::new().save(&path).unwrap();
    assert_eq!(folder.names(), ["scene.gcx", "scene.gcx.data/notes.bin"]);
    fs::remove_file(folder.join("scene.gcx.data/notes.bin")).unwrap();
    Scene::new().save(&path).unwrap();
    assert_eq!(folder.names(), ["scene.gcx"]);
    assert!(!folder.join("scene.gcx.data").exists());
}

#[test]
fn a_document_that_fails_leaves_what_was_there() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let mut scene = Scene::new();
    scene.insert("large / image", large(1.0)).unwrap();
    scene.save(&path).unwrap();
    let before = folder.names();
    scene.insert("large / image", large(2.0)).unwrap();
    let bad = ulib::math::scene::Recipe::new("\0");
    scene.insert("bad", bad).unwrap();
    scene.save(&path).unwrap_err();
    assert_eq!(folder.names(), before);
    assert_eq!(value(&path), 1.0);
    // Neither does one in a folder that is not there.
    let error = scene.save(folder.join("missing/scene.gcx")).unwrap_err();
    assert!(error.to_string().contains("missing/scene.gcx"), "{error}");
}

#[test]
fn data_files_have_to_be_in_the_folder_whole_and_undamaged() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let mut scene = Scene::new();
    scene.insert("large / image", large(1.0)).unwrap();
    scene.save(&path).unwrap();
    let name = folder.names().remove(1);
    let file = folder.join(&name);
    let document = fs::read_to_string(&path).unwrap();
    let fails = |expected: &str| {
        let error = Scene::load(&path).unwrap_err().to_string();
        for part in [expected, "scene.gcx", "object 'large / image'"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    for elsewhere in ["/etc/passwd", "../scene.gcx", "a/../../b", "./x", ""] {
        fs::write(&path, document.replace(&name, elsewhere)).unwrap();
        fails("a name inside the document's folder");
    }
    fs::write(&path, &document).unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    damaged[1 << 20] ^= 1;
    fs::write(&file, damaged).unwrap();
    fails("the data was damaged");
    fs::write(&file, &bytes[1..]).unwrap();
    fails("a file of 2097152 bytes");
    fs::remove_file(&file).unwrap();
    fails("No such file");
    fs::create_dir(&file).unwrap();
    fails("a file of 2097152 bytes");
}
