//! Scenes: documents that are written and read, old ones, damaged ones, and recipes written in Rust.
//!
//! Placement runs on the driver that [`common::driver`] gives: the software one, or the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

mod common;

#[path = "scene/damaged.rs"]
mod damaged;
#[path = "scene/documents.rs"]
mod documents;
#[path = "scene/files.rs"]
mod files;
#[path = "scene/old.rs"]
mod old;
#[path = "scene/placement.rs"]
mod placement;
#[path = "scene/runs.rs"]
mod runs;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("ulib-scene-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of everything in it and in the folders in it.
    fn names(&self) -> Vec<String> {
        fn walk(folder: &Path, before: &str, names: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{before}{}", entry.file_name().to_str().unwrap());
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), &format!("{name}/"), names);
                } else {
                    names.push(name);
                }
            }
        }
        let mut names = Vec::new();
        walk(&self.0, "", &mut names);
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
