//! Files that appear whole or not at all.

use std::io::Write;
use std::path::Path;

use ulib::core::ErrorKind;
use ulib::math::io::{AtomicFile, write_image, write_table};
use ulib::math::{EventTable, VoxImage};

use crate::support::Folder;

#[test]
fn an_abandoned_file_leaves_what_was_there() {
    let folder = Folder::new();
    let path = folder.file("a.txt", "old");
    let file = AtomicFile::create(&path).unwrap();
    file.file().write_all(b"half").unwrap();
    assert_eq!(folder.names().len(), 2);
    drop(file);
    assert_eq!(folder.names(), ["a.txt"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_committed_file_replaces_it() {
    let folder = Folder::new();
    let path = folder.file("a.txt", "old");
    let file = AtomicFile::create(&path).unwrap();
    file.file().write_all(b"new").unwrap();
    file.sync().unwrap();
    file.commit().unwrap();
    assert_eq!(folder.names(), ["a.txt"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

#[test]
fn no_folder_and_no_ordinary_file() {
    let folder = Folder::new();
    for path in [folder.join("none/a.txt"), folder.path().to_path_buf()] {
        let error = AtomicFile::create(&path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Io);
        assert!(
            error
                .to_string()
                .starts_with(&format!("writing {}: create: ", path.display())),
            "{error}"
        );
    }
    assert!(folder.names().is_empty());
}

#[test]
fn functions_that_write_name_the_file_once() {
    let folder = Folder::new();
    let image: VoxImage = VoxImage::new([4, 3, 2]).unwrap();
    let table = EventTable::new("a,b").unwrap();
    for name in ["none/a.npy", "none/a.npz", "none/a.vti", "none/a.mha"] {
        let path = folder.join(name);
        let error = write_image(&image, &path).unwrap_err().to_string();
        assert_once(&error, &path);
    }
    for name in ["none/a.csv", "none/a.parquet"] {
        let path = folder.join(name);
        let error = write_table(&table, &path).unwrap_err().to_string();
        assert_once(&error, &path);
    }
}

#[track_caller]
fn assert_once(error: &str, path: &Path) {
    let prefix = format!("writing {}: create: ", path.display());
    assert!(error.starts_with(&prefix), "{error}");
    assert_eq!(error.matches("writing").count(), 1, "{error}");
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new();
    let inner = folder.join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("real.txt"), "old").unwrap();
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(inner.join("real.txt"), mode).unwrap();
    symlink("inner/real.txt", folder.join("link")).unwrap();
    symlink("link", folder.join("second")).unwrap();
    let file = AtomicFile::create(folder.join("second")).unwrap();
    file.file().write_all(b"new").unwrap();
    file.commit().unwrap();
    assert!(
        std::fs::symlink_metadata(folder.join("second"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(std::fs::read(inner.join("real.txt")).unwrap(), b"new");
    let mode = std::fs::metadata(inner.join("real.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);

    // A link to what is not there yet makes it; one that goes round is refused.
    symlink("inner/fresh.txt", folder.join("dangling")).unwrap();
    AtomicFile::create(folder.join("dangling"))
        .unwrap()
        .commit()
        .unwrap();
    assert!(inner.join("fresh.txt").is_file());
    symlink("round", folder.join("round")).unwrap();
    assert!(AtomicFile::create(folder.join("round")).is_err());
}
