//! Documents that are made to hang a program, to take long, or to be read and never written again.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ulib::core::{Error, ErrorKind};
use ulib::math::scene::{Recipe, Scene};

use crate::Folder;

/// Loads a document, and fails where that never ends.
fn load(path: &Path) -> Result<Scene, Error> {
    let (send, receive) = mpsc::channel();
    let path: PathBuf = path.to_path_buf();
    thread::spawn(move || send.send(Scene::load(path)));
    receive
        .recv_timeout(Duration::from_secs(20))
        .expect("loading ends")
}

fn object(class: &str, version: u32, inside: &str) -> String {
    format!(
        "<gcx version=\"1\"><object name=\"it\" class=\"{class}\" version=\"{version}\">\
         <property name=\"PreferredDevice\">Host</property>{inside}</object></gcx>"
    )
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_no_documents() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
        let error = load(path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Io);
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
    // Neither are they data beside one.
    let data = "<property name=\"Count\">1</property>\
                <data name=\"Elements\" bytes=\"4\" checksum=\"crc32 00000000\" file=\"pipe\"/>";
    let path = folder.file("scene.gcx", object("FloatCollection", 2, data));
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("expected a file of 4 bytes"), "{error}");
}

#[test]
fn many_names_are_read_in_proportion() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let many = |element: fn(u32) -> String| (0..100_000).map(element).collect::<String>();
    let source = "<property name=\"Source\">x</property>";
    let items = many(|i| format!("<item name=\"p{i}\">{i}</item>")) + source;
    let properties = many(|i| format!("<property name=\"p{i}\"/>")) + source;
    let start = Instant::now();
    let path = folder.file("scene.gcx", object("Recipe", 1, &items));
    let scene = load(&path).unwrap();
    let parameters = scene.get::<Recipe>("it").unwrap().parameters();
    assert_eq!(parameters.len(), 100_000);
    assert_eq!(
        parameters[99_999],
        ("p99999".to_owned(), "99999".to_owned())
    );
    folder.file("scene.gcx", object("Recipe", 1, &properties));
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("property is 'p0'"), "{error}");
    let attributes = many(|i| format!(" a{i}=\"\""));
    folder.file(
        "scene.gcx",
        format!("<gcx version=\"1\"{attributes}></gcx>"),
    );
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("attributes is too many"), "{error}");
    // Comparing each with each takes minutes.
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn of_two_parameters_with_one_name_the_later_one_stays_in_the_place_of_the_first() {
    let mut recipe = Recipe::new("");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    recipe.set_parameters([pair("a", "1"), pair("b", "2"), pair("a", "3")]);
    assert_eq!(recipe.parameters(), [pair("a", "3"), pair("b", "2")]);
}

#[test]
fn what_no_object_can_be_is_an_error_of_the_document() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let image = |dims: &str, spacing: &str| {
        let inside = format!(
            "<property name=\"Channels\">1</property><property name=\"Components\">1</property>\
             <property name=\"Active\">7 0</property><property name=\"Dims\">{dims}</property>\
             <property name=\"DataOrder\">XYZ</property><property name=\"Spacing\">{spacing}</property>\
             <property name=\"Origin\">0 0 0</property><property name=\"Position\">0 0 0</property>\
             <data name=\"Values\" bytes=\"4\" checksum=\"crc32 2144df1c\" encoding=\"zlib base64\">eJxjYGBgAAAABAAB</data>"
        );
        object("MultiVoxImage", 2, &inside)
    };
    let table = |columns: &str| {
        let inside = format!(
            "<property name=\"Columns\">{columns}</property><property name=\"Rows\">0</property>\
             <data name=\"Cells\" bytes=\"0\" checksum=\"crc32 00000000\" encoding=\"zlib base64\">eJwDAAAAAAE=</data>"
        );
        object("EventTable", 2, &inside)
    };
    for (document, expected) in [
        (image("0 5 5", "1 1 1"), "dims is [0, 5, 5]"),
        (image("1 1 1", "0 1 1"), "spacing is [0.0, 1.0, 1.0]"),
        (image("1 1 1", "1 1 1"), "index 7 is out of range"),
        (
            image("4294967296 4294967296 4294967296", "1 1 1"),
            "too large",
        ),
        (table("a,a"), "columns is \"a,a\""),
        (table("a").replace("\"it\"", "\"\""), "name is empty"),
    ] {
        let path = folder.file("scene.gcx", document);
        let error = load(&path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Format, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains("scene.gcx: object '"), "{error}");
    }
}

#[test]
fn characters_that_could_not_be_written_again_are_not_read() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    for bad in ["\u{1b}", "&#27;", "\0", "\u{ffff}", "&#x1;"] {
        let source = format!("<property name=\"Source\">a{bad}</property>");
        let in_text = object("Recipe", 1, &source);
        let in_name = object("Recipe", 1, "<property name=\"Source\"/>")
            .replace("\"it\"", &format!("\"a{bad}\""));
        for document in [in_text, in_name] {
            let path = folder.file("scene.gcx", document);
            let error = load(&path).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Format, "{bad:?}: {error}");
        }
    }
}
