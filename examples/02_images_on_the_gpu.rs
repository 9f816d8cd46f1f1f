//! Lesson 2 in Rust: an image and a table beside it that both prefer the GPU, and a profile summed there.
//!
//! Fills an image with a phantom, or with a volume from a file, sums every slice of constant x
//! where the voxels are, and writes the sums into an event table. It prints where everything is at each
//! step; on a machine with no GPU it prints that instead and computes the same numbers.
//!
//! ```sh
//! cargo run --example 02_images_on_the_gpu
//! cargo run --example 02_images_on_the_gpu -- --volume anatomical.f32 33 41 25
//! cargo run --example 02_images_on_the_gpu -- --scene assets/examples/math/02_images_on_the_gpu.gcx
//! ```
//!
//! The last one writes the same job as a scene: the phantom, an empty table, and a recipe in Python that sums the slices. `gcompose`
//! runs it. A volume is `NX * NY * NZ` little-endian 32-bit floats, x fastest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ulib::core::{Error, Result};
use ulib::math::scene::{Recipe, Scene};
use ulib::math::{BulkArray, EventTable, Placed, VoxImage, ops};

/// Voxels along each side of the phantom.
const SIDE: usize = 32;

fn main() -> ExitCode {
    match Input::from_arguments(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("02_images_on_the_gpu: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(input: Input) -> Result<()> {
    let (image, what) = match &input {
        Input::Phantom => (phantom()?, "the phantom".to_owned()),
        Input::Volume { file, dims } => (
            volume(file, *dims)?,
            file.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ),
        Input::Scene { file } => return scene()?.save(file),
    };
    let mut table = EventTable::new("slice,total")?;
    let [nx, ny, nz] = image.dims();
    println!("{what}: {nx} x {ny} x {nz} voxels, order {}", image.order());
    where_is("made on the host", &image, &table);

    // Both should live on the GPU. Where that cannot be, they stay on the host and say why.
    image.set_preferred_device("Device".parse()?)?;
    table.set_preferred_device("Device".parse()?)?;
    where_is("both prefer Device", &image, &table);
    if !image.can_use_device() {
        println!("no GPU can be used here: the same numbers are computed on the host");
    }

    // The array is indexed [z, y, x]. Summing over z and y leaves one total per slice of constant x.
    let profile = ops::sum(&image.grid_view()?, &[0, 1])?;
    where_is("profile summed where the voxels are", &image, &table);

    // Rows are added on the host; the update takes the table back to where it is preferred.
    table.set_columns("slice,total")?;
    table.clear()?;
    for (slice, total) in profile.iter().enumerate() {
        table.add_row(&[slice as f64, *total])?;
    }
    where_is("table filled", &image, &table);
    table.update()?;
    where_is("table updated", &image, &table);

    // The column is a strided view of the table, summed where the table is.
    let grand_total = ops::sum_all(&table.column_view("total")?)?;
    println!(
        "array of the table: {} {:?}",
        table.dtype(),
        table.layout()?.shape()
    );
    println!("slice  total");
    for row in table.cells()?.chunks(2) {
        println!("{:>5}  {}", row[0], row[1]);
    }
    println!("total of all slices: {grand_total}");
    where_is("table printed from the host", &image, &table);

    let copies = image.transfers();
    println!(
        "the image was copied {} times up and {} times down",
        copies.uploads, copies.downloads
    );
    check(&image, &table)
}

/// The job as a scene: both objects prefer the GPU, and so does the recipe, as what works there.
pub(crate) fn scene() -> Result<Scene> {
    let phantom = phantom()?;
    let profile = EventTable::new("slice,total")?;
    let recipe = Recipe::new(include_str!("recipes/02_sum_slices.py"));
    for object in [&phantom as &dyn Placed, &profile, &recipe] {
        object.set_preferred_device("Device".parse()?)?;
    }
    let mut scene = Scene::new();
    scene.insert("phantom", phantom)?;
    scene.insert("profile", profile)?;
    scene.insert("sum slices", recipe)?;
    Ok(scene)
}

/// Prints where both objects are.
fn where_is(step: &str, image: &VoxImage, table: &EventTable) {
    println!("{step}:");
    println!("    image  {}", image.location());
    println!("    table  {}", table.location());
}

/// A ball of density 1 around the middle with a core of density 3, under a slope of 1/32 per voxel
/// along x. Every value is a multiple of 1/32, so the sums are exact whatever their order.
fn phantom() -> Result<VoxImage> {
    let mut image: VoxImage = VoxImage::new([SIDE; 3])?;
    let map = *image.map();
    let mut values = image.values_mut()?;
    for (flat, value) in values.iter_mut().enumerate() {
        let [x, y, z] = map.unmap(flat)?;
        // Twice the distance from the middle, which lies between two voxels.
        let [dx, dy, dz] = [x, y, z].map(|i| 2 * i as i64 - (SIDE as i64 - 1));
        let density = match dx * dx + dy * dy + dz * dz {
            0..=144 => 3.0,   // radius 6
            145..=784 => 1.0, // radius 14
            _ => 0.0,
        };
        *value = density + x as f32 / 32.0;
    }
    values.commit()?;
    Ok(image)
}

/// The volume in `file`.
fn volume(file: &Path, dims: [usize; 3]) -> Result<VoxImage> {
    let mut image: VoxImage = VoxImage::new(dims)?;
    let bytes = std::fs::read(file).map_err(|cause| Error::io("read the volume", cause))?;
    if bytes.len() != image.len() * size_of::<f32>() {
        return Err(Error::invalid(
            "read the volume",
            "the size of the file",
            format_args!("{} bytes", bytes.len()),
            format!("{} voxels of 4 bytes", image.len()),
        ));
    }
    let (numbers, _) = bytes.as_chunks::<4>();
    let values: Vec<f32> = numbers
        .iter()
        .map(|number| f32::from_le_bytes(*number))
        .collect();
    image.set_values(&values)?;
    Ok(image)
}

/// Compares the table with sums of the same values in `f64`, one after the other.
///
/// Both sides round each addition to `f64`, in different orders, so a total of n values may differ
/// by n roundings of the sum of their magnitudes.
fn check(image: &VoxImage, table: &EventTable) -> Result<()> {
    let [nx, ny, nz] = image.dims();
    let (mut totals, mut magnitudes) = (vec![0.0_f64; nx], vec![0.0_f64; nx]);
    for (flat, value) in image.values()?.iter().enumerate() {
        let [x, ..] = image.map().unmap(flat)?;
        totals[x] += f64::from(value);
        magnitudes[x] += f64::from(value).abs();
    }
    let mut equal = 0;
    for (x, found) in table.column("total")?.into_iter().enumerate() {
        let allowed = (ny * nz) as f64 * f64::EPSILON * magnitudes[x];
        if (found - totals[x]).abs() > allowed {
            return Err(Error::invalid(
                "check the profile",
                format!("the total of slice {x}"),
                found,
                format!("{} up to {allowed}", totals[x]),
            ));
        }
        equal += usize::from(found == totals[x]);
    }
    let others = match equal < nx {
        true => ", the others are within rounding",
        false => "",
    };
    println!(
        "checked against sums one after the other: {equal} of {nx} totals have the same bits{others}"
    );
    Ok(())
}

/// What the image is filled with, and where.
enum Input {
    Phantom,
    Volume {
        file: PathBuf,
        dims: [usize; 3],
    },
    /// Nothing: the job is written to this document.
    Scene {
        file: PathBuf,
    },
}

impl Input {
    fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let arguments: Vec<String> = arguments.collect();
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Ok(Input::Phantom),
            ["--volume", file, nx, ny, nz] => {
                let mut dims = [0; 3];
                for (side, text) in dims.iter_mut().zip([nx, ny, nz]) {
                    *side = text.parse().map_err(|_| usage(&arguments))?;
                }
                Ok(Input::Volume {
                    file: file.into(),
                    dims,
                })
            }
            ["--scene", file] => Ok(Input::Scene { file: file.into() }),
            _ => Err(usage(&arguments)),
        }
    }
}

fn usage(arguments: &[String]) -> Error {
    Error::invalid(
        "arguments",
        "the command line",
        format_args!("{:?}", arguments.join(" ")),
        "nothing, --volume FILE NX NY NZ, or --scene FILE",
    )
}
