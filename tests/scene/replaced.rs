//! Documents that others replace, or reach by another name, while they are read and written.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ulib::math::FloatCollection;
use ulib::math::scene::{DocumentWriter, SaveOptions, Scene};

use crate::Folder;

const BESIDE: fn() -> SaveOptions = || {
    let mut options = SaveOptions::default();
    options.inline_bytes = 0;
    options
};

/// Numbers that are all the same, as many as they say.
fn numbers(value: u16) -> FloatCollection {
    let mut numbers = FloatCollection::new().unwrap();
    numbers.resize(1000 + usize::from(value)).unwrap();
    numbers.elements_mut().unwrap().fill(f32::from(value));
    numbers
}

/// Starts a document; what is left is to finish it.
fn begun(path: &std::path::Path, value: u16) -> DocumentWriter {
    let mut document = DocumentWriter::create(path, BESIDE()).unwrap();
    document.add("it", &numbers(value)).unwrap();
    document
}

fn value(path: &std::path::Path) -> Result<u16, ulib::core::Error> {
    let scene = Scene::load(path)?;
    let numbers = scene.get::<FloatCollection>("it").unwrap();
    let value = numbers.get(0).unwrap() as u16;
    let all = numbers.elements().unwrap();
    assert_eq!(all.len(), 1000 + usize::from(value));
    assert!(all.iter().all(|&one| one == f32::from(value)));
    Ok(value)
}

#[test]
fn of_two_documents_that_are_written_at_once_the_later_one_is_whole() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    let (first, second) = (begun(&path, 1), begun(&path, 2));
    second.finish().unwrap();
    assert_eq!(value(&path).unwrap(), 2);
    first.finish().unwrap();
    assert_eq!(value(&path).unwrap(), 1);
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn readers_get_one_of_the_documents_that_others_write() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    begun(&path, 1).finish().unwrap();
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in [1, 2] {
            let (path, end) = (&path, &end);
            scope.spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    begun(path, writer).finish().unwrap();
                    thread::sleep(Duration::from_millis(3));
                }
            });
        }
        let start = Instant::now();
        let mut failed = None;
        while start.elapsed() < Duration::from_secs(3) && failed.is_none() {
            failed = value(&path).err();
        }
        end.store(true, Ordering::Relaxed);
        assert!(failed.is_none(), "{failed:?}");
    });
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn files_of_somebody_who_is_writing_stay_and_those_of_somebody_who_was_killed_go() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join("scene.gcx");
    begun(&path, 1).finish().unwrap();
    let writing = folder.file("scene.gcx.data/it_Elements-00000000-1.bin", "new");
    let killed = folder.file("scene.gcx.data/it_Elements-00000000-2.bin", "old");
    let yesterday = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    let file = fs::OpenOptions::new().write(true).open(&killed).unwrap();
    file.set_modified(yesterday).unwrap();
    begun(&path, 2).finish().unwrap();
    assert!(writing.exists() && !killed.exists());
    assert_eq!(value(&path).unwrap(), 2);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_document_is_as_good_as_its_name() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    fs::create_dir(folder.join("real")).unwrap();
    let (path, link) = (folder.join("real/scene.gcx"), folder.join("link.gcx"));
    std::os::unix::fs::symlink("real/scene.gcx", &link).unwrap();
    begun(&link, 1).finish().unwrap();
    for name in [&link, &path] {
        assert_eq!(value(name).unwrap(), 1);
    }
    begun(&path, 2).finish().unwrap();
    assert_eq!(value(&link).unwrap(), 2);
    assert!(!folder.join("link.gcx.data").exists());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_name_may_be_as_long_as_names_may_be() {
    let _driver = crate::common::driver();
    let folder = Folder::new();
    let path = folder.join(&"n".repeat(255));
    let mut scene = Scene::new();
    scene.insert("it", numbers(0)).unwrap();
    scene.save(&path).unwrap();
    assert_eq!(
        Scene::load(&path)
            .unwrap()
            .object("it")
            .unwrap()
            .location()
            .to_string(),
        "Host"
    );
    assert_eq!(folder.names().len(), 1);
}
