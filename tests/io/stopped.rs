//! Reads and writes that whoever watches stops.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use ulib::core::{DType, Error, ErrorKind};
use ulib::device::hooks;
use ulib::math::io::{
    ReadImage, WriteImage, read_columns, read_image, read_table, write_image, write_table,
};
use ulib::math::{EventTable, VoxImage};

use crate::support::Folder;

thread_local! {
    /// Whether operations of this thread are to stop. Other tests run beside these.
    static STOPS: Cell<bool> = const { Cell::new(false) };
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

fn watch(done: u64, total: u64) -> ControlFlow<()> {
    assert!(done <= total, "{done} of {total}");
    ASKED.set(ASKED.get() + 1);
    match STOPS.get() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Fails unless `work` is stopped, and asks once for that.
#[track_caller]
fn assert_stopped<T>(what: &str, work: impl FnOnce() -> Result<T, Error> + Send) {
    hooks::set_watch(Some(watch));
    // A thread that has not asked before does so at the first chance.
    let (error, asked) = thread::scope(|scope| {
        let stopped = scope.spawn(|| {
            STOPS.set(true);
            (work().map(drop), ASKED.get())
        });
        stopped.join().unwrap()
    });
    let error = error.expect_err(what);
    assert_eq!(error.kind(), &ErrorKind::Interrupted, "{what}: {error}");
    assert_eq!(asked, 1, "{what}");
}

/// Large enough for all threads.
fn image() -> VoxImage {
    let mut image: VoxImage = VoxImage::new([128, 128, 96]).unwrap();
    let mut values = image.values_mut().unwrap();
    for (place, value) in values.iter_mut().enumerate() {
        *value = (place % 251) as f32;
    }
    values.commit().unwrap();
    image
}

fn variants() -> Vec<(&'static str, WriteImage)> {
    let plain = WriteImage::new();
    vec![
        ("a.npy", plain.clone()),
        ("half.npy", plain.clone().dtype(DType::F16)),
        ("b.npz", plain.clone().compressed(true)),
        ("c.vti", plain.clone()),
        ("blocks.vti", plain.clone().compressed(true)),
        ("text.vti", plain.clone().ascii(true)),
        ("d.vtk", plain.clone()),
        ("text.vtk", plain.clone().ascii(true)),
        ("e.mha", plain.clone().compressed(true)),
        ("f.mhd", plain.clone()),
        ("g.nrrd", plain.clone().compressed(true)),
        ("h.nhdr", plain.clone().ascii(true)),
    ]
}

#[test]
fn a_write_that_is_stopped_leaves_the_old_file_alone() {
    let folder = Folder::new();
    let image = image();
    for (name, writer) in variants() {
        let path = folder.file(name, "old");
        let before = folder.names();
        assert_stopped(name, || writer.image(&image, &path));
        assert_eq!(std::fs::read(&path).unwrap(), b"old", "{name}");
        assert_eq!(folder.names(), before, "{name}");
    }
}

#[test]
fn a_read_that_is_stopped_is_an_interruption_and_no_damage() {
    let folder = Folder::new();
    let image = image();
    for (name, writer) in variants() {
        let path = folder.join(name);
        writer.image(&image, &path).unwrap();
        assert_stopped(name, || read_image(&path));
        let scaled = ReadImage::new().scale(2.0);
        assert_stopped(name, || scaled.multi_image(&path));
        assert_eq!(
            read_image(&path).unwrap().to_values().unwrap(),
            image.to_values().unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_base64_file_that_is_stopped() {
    let folder = Folder::new();
    // A length of 64 MiB and that many bytes, in groups of three zeros.
    let bytes = 256 * 256 * 256 * 4_u32;
    let mut text = "<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\"><ImageData WholeExtent=\"0 256 0 256 0 256\" \
                    Origin=\"0 0 0\" Spacing=\"1 1 1\"><Piece Extent=\"0 256 0 256 0 256\"><CellData>\
                    <DataArray type=\"Float32\" Name=\"v\" format=\"binary\">AAAABA=="
        .to_owned();
    text += &"AAAA".repeat(bytes as usize / 3);
    text += "AA==</DataArray></CellData></Piece></ImageData></VTKFile>";
    let path = folder.file("a.vti", text);
    assert_stopped("base64", || read_image(&path));
    assert_eq!(read_image(&path).unwrap().len(), 1 << 24);
}

#[test]
fn tables_that_are_stopped() {
    let folder = Folder::new();
    let mut table = EventTable::new("a,b").unwrap();
    table.add_rows(&vec![0.25; 200_000]).unwrap();
    for name in ["a.csv", "b.tsv", "c.parquet"] {
        let path = folder.file(name, "old");
        let before = folder.names();
        assert_stopped(name, || write_table(&table, &path));
        assert_eq!(std::fs::read(&path).unwrap(), b"old", "{name}");
        assert_eq!(folder.names(), before, "{name}");
        write_table(&table, &path).unwrap();
        assert_stopped(name, || read_table(&path));
        assert_stopped(name, || read_columns(&path, &["b"]));
        assert_eq!(read_table(&path).unwrap().rows(), 100_000, "{name}");
    }
}

#[test]
fn in_a_pool_of_one_thread_too() {
    let folder = Folder::new();
    let image = image();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let path: &Path = &folder.file("a.npy", "old");
    hooks::set_watch(Some(watch));
    pool.install(|| write_image(&image, path).unwrap());
    let read = pool.install(|| read_image(path).unwrap());
    assert_eq!(read.to_values().unwrap(), image.to_values().unwrap());
}
