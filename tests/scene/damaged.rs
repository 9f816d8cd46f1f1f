//! Damaged and hostile documents: a clear error that names file, object and cause, and nothing loaded.

use std::fs;
use std::time::{Duration, Instant};

use ulib::core::{Error, ErrorKind};
use ulib::math::scene::Scene;

use crate::Folder;

const GOOD: &str = include_str!("../data/by_hand.gcx");

fn load(folder: &Folder, document: impl AsRef<[u8]>) -> Result<Scene, Error> {
    let path = folder.join("damaged.gcx");
    fs::write(&path, document).unwrap();
    Scene::load(path)
}

#[test]
fn every_error_names_the_file_the_object_and_the_cause() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let phantom = "object 'phantom'";
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            "<gcx version=\"1\">",
            "<gcx version=\"2\">",
            "",
            "version is 2, expected 1",
        ),
        (
            "<gcx version=\"1\">",
            "<gcx>",
            "",
            "attribute version of <gcx> is missing",
        ),
        (
            "<gcx version=\"1\">",
            "<gcx version=\"-1\">",
            "",
            "is '-1', expected a number",
        ),
        (
            "class=\"VoxImage\" version=\"2\"",
            "class=\"VoxImage\" version=\"3\"",
            phantom,
            "version of class VoxImage is 3, expected 1 to 2",
        ),
        (
            "class=\"VoxImage\" version=\"2\"",
            "class=\"VoxImage\" version=\"0\"",
            phantom,
            "version of class VoxImage is 0",
        ),
        (
            "class=\"VoxImage\"",
            "class=\"VoxelImage\"",
            phantom,
            "class is 'VoxelImage', expected one of EventTable",
        ),
        (
            "class=\"EventTable\" version=\"2\"",
            "class=\"EventTable\" version=\"9\"",
            "object 'profile'",
            "version of class EventTable is 9",
        ),
        (
            "Value:&lt;f4",
            "Value:&lt;f8",
            phantom,
            "voxel is 'Value:<f8', expected one of Value:<f4,Count:<u4; Value:<f4",
        ),
        ("Value:&lt;f4", "&bomb;", phantom, "entity is &bomb;"),
        (
            "<gcx",
            "<!DOCTYPE gcx [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><gcx",
            "",
            "document type is given, expected none",
        ),
        (
            ">2 2 1<",
            ">2 2 2<",
            phantom,
            "size of data 'Voxels' is 16 bytes, expected 32 bytes",
        ),
        (
            ">2 2 1<",
            ">2 2<",
            phantom,
            "property 'Dims' is '2 2', expected 3 numbers, not 2",
        ),
        (
            ">2 2 1<",
            ">2 2 x<",
            phantom,
            "property 'Dims' is '2 2 x', expected 3 numbers (invalid digit",
        ),
        (">2 2 1<", ">2 -2 1<", phantom, "property 'Dims'"),
        (">2 2 1<", ">2 0 2<", phantom, "dims"),
        (
            ">2 2 1<",
            ">4294967296 4294967296 4294967296<",
            phantom,
            "too large",
        ),
        (
            "bytes=\"16\"",
            "bytes=\"17\"",
            phantom,
            "size of data 'Voxels' is 17 bytes",
        ),
        (
            "<property name=\"Dims\">2 2 1</property>",
            "",
            phantom,
            "property 'Dims' is missing, expected one in every VoxImage of version 2",
        ),
        (
            "<property name=\"Dims\">",
            "<property name=\"Colour\">red</property><property name=\"Dims\">",
            phantom,
            "property is 'Colour', expected what VoxImage version 2 has",
        ),
        (
            "<property name=\"Dims\">",
            "<property name=\"Dims\">1 1 1</property><property name=\"Dims\">",
            phantom,
            "'Dims' twice",
        ),
        (
            "<property name=\"Dims\">",
            "<property>",
            phantom,
            "attribute name of <property> is missing",
        ),
        (
            "<property name=\"Dims\">2 2 1</property>",
            "<dims/>",
            phantom,
            "attribute name of <dims> is missing",
        ),
        (
            "<property name=\"Dims\">2 2 1</property>",
            "<dims name=\"a\"/>",
            phantom,
            "element in <object> is <dims>",
        ),
        (
            ">2 2 1<",
            "><b/>2 2 1<",
            phantom,
            "element in <property> is <b>",
        ),
        (">XYZ<", ">XYY<", phantom, "property 'DataOrder' is 'XYY'"),
        (">0.5 0.5 2.0<", ">0.5 0.5 NaN<", phantom, "pacing"),
        (">0.5 0.5 2.0<", ">0.5 0.5 -1<", phantom, "pacing"),
        (
            ">Device<",
            ">GPU<",
            phantom,
            "property 'PreferredDevice' is 'GPU'",
        ),
        ("crc32 ", "crc32 0", phantom, "checksum"),
        ("crc32 ", "md5 ", phantom, "checksum is 'md5 "),
        (
            "encoding=\"zlib base64\"",
            "encoding=\"base64\"",
            phantom,
            "data is encoding 'base64'",
        ),
        (
            "encoding=\"zlib base64\"",
            "",
            phantom,
            "data is encoding ''",
        ),
        (
            "encoding=\"zlib base64\">",
            "encoding=\"zlib base64\">!",
            phantom,
            "content of data 'Voxels'",
        ),
        (
            "encoding=\"zlib base64\">",
            "encoding=\"zlib base64\">AAAA",
            phantom,
            "content of data 'Voxels'",
        ),
        (
            "name=\"profile\"",
            "name=\"phantom\"",
            phantom,
            "name is taken",
        ),
        (
            "name=\"profile\"",
            "name=\"\"",
            "object ''",
            "name is empty",
        ),
        (
            ">0</property>",
            ">5</property>",
            "object 'profile'",
            "size of data 'Cells' is 0 bytes, expected 80 bytes",
        ),
        (
            ">0</property>",
            ">18446744073709551615</property>",
            "object 'profile'",
            "too large",
        ),
        ("slice,total", "slice,slice", "object 'profile'", "slice"),
        ("</gcx>", "</gcx><gcx/>", "", "more after </gcx>"),
        ("</gcx>", "", "", "truncated"),
        ("</object>", "</objekt>", phantom, "XML"),
        (
            "<object name=\"profile\"",
            "text <object name=\"profile\"",
            "",
            "text between elements is 'text'",
        ),
        ("<object", "<thing", "", "element in <gcx> is <thing>"),
    ];
    assert!(load(&folder, GOOD).is_ok());
    for &(from, to, object, cause) in cases {
        assert!(GOOD.contains(from), "{from}");
        let error = load(&folder, GOOD.replacen(from, to, 1)).unwrap_err();
        let text = error.to_string();
        for part in ["damaged.gcx", object, cause] {
            assert!(
                text.contains(part),
                "{from} -> {to}: {part:?} is not in: {text}"
            );
        }
    }
}

#[test]
fn a_flipped_bit_of_the_data_is_found() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let start = GOOD.find("zlib base64\">").unwrap() + 13;
    let end = start + GOOD[start..].find('<').unwrap();
    let mut found = 0;
    for at in start..end {
        for replacement in [b'A', b'B', b'/', b'z'] {
            let mut document = GOOD.as_bytes().to_vec();
            if document[at] == replacement {
                continue;
            }
            document[at] = replacement;
            match load(&folder, &document) {
                // Bits that zlib has no use for.
                Ok(scene) => {
                    let image =
                        scene.get::<ulib::math::VoxImage<ulib::math::VoxelValue>>("phantom");
                    assert_eq!(image.unwrap().to_values().unwrap(), [1.0, 2.0, 3.0, 4.0]);
                }
                Err(error) => {
                    assert!(error.to_string().contains("object 'phantom'"), "{error}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn truncated_anywhere_it_is_refused() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let end = GOOD.trim_end().len();
    for len in 0..end {
        let error = load(&folder, &GOOD.as_bytes()[..len]).unwrap_err();
        assert!(error.to_string().contains("damaged.gcx"), "{len}: {error}");
        assert_eq!(error.kind(), &ErrorKind::Format, "{len}: {error}");
    }
}

#[test]
fn a_small_document_cannot_ask_for_much() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    // 1 TiB of voxels that a few characters claim to hold.
    let huge = GOOD.replacen(">2 2 1<", ">65536 65536 64<", 1).replacen(
        "bytes=\"16\"",
        "bytes=\"1099511627776\"",
        1,
    );
    let error = load(&folder, huge).unwrap_err().to_string();
    assert!(
        error.contains("characters of the document can hold"),
        "{error}"
    );
    // Deep nesting and endless attributes are read once, and refused.
    let started = Instant::now();
    let deep = GOOD.replacen(
        "<object",
        &"<object name=\"a\" class=\"b\" version=\"1\">".repeat(100_000),
        1,
    );
    load(&folder, deep).unwrap_err();
    let attributes: String = (0..20_000).map(|i| format!(" a{i}=\"1\"")).collect();
    load(
        &folder,
        GOOD.replacen("<gcx", &format!("<gcx{attributes}"), 1),
    )
    .ok();
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_no_document_is_refused() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    for document in [
        &b""[..],
        b"\0\0\0",
        b"\xff\xfe<\0",
        b"{}",
        b"<html/>",
        b"\xef\xbb\xbf",
    ] {
        let error = load(&folder, document).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Format, "{document:?}: {error}");
    }
    let error = Scene::load(folder.join("missing.gcx")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Io);
    assert!(error.to_string().contains("missing.gcx"), "{error}");
    let error = Scene::load(folder.path()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Io, "{error}");
}
