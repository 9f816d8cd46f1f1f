//! Pictures of volumes that only a device has: what comes home for them.

use ulib::core::Residency;
use ulib::math::picture::{Axis, Profile, Projection, Render};
use ulib::math::{Compute, Placed, VoxImage};

use crate::common;
use crate::support::greys;

const SIDE: usize = 24;

/// An image of threes that only the device has, with one voxel of 1 at the host's expense before.
fn resident() -> VoxImage {
    let mut image: VoxImage = VoxImage::new([SIDE, SIDE, SIDE]).unwrap();
    image.set_value_at([3, 2, 1], 1.0).unwrap();
    assert!(
        image
            .set_preferred_device("Device".parse().unwrap())
            .unwrap()
    );
    image.scale(3.0).unwrap();
    assert_eq!(image.block().residency(), Residency::DeviceNewer);
    image
}

#[test]
fn only_the_slice_or_the_result_comes_home() {
    let Some(_driver) = common::gpu() else { return };
    let image = resident();
    let before = image.transfers();
    let check = |render: Render, at: (usize, usize)| {
        let pixels = greys(&render.image(&image).unwrap(), SIDE as u32, SIDE as u32);
        for (row, line) in pixels.iter().enumerate() {
            for (column, &grey) in line.iter().enumerate() {
                let here = (column, SIDE - 1 - row) == at;
                assert_eq!(grey, if here { 255 } else { 0 }, "{column} {row}");
            }
        }
    };
    check(Render::new().slice(1), (3, 2));
    check(Render::new().axis(Axis::Y).slice(2), (3, 1));
    check(Render::new().axis(Axis::X).slice(3), (2, 1));
    check(Render::new().projection(Projection::Maximum), (3, 2));
    check(
        Render::new().axis(Axis::X).projection(Projection::Mean),
        (2, 1),
    );
    let low = Render::new()
        .projection(Projection::Minimum)
        .image(&image)
        .unwrap();
    assert!(low.pixels().iter().all(|pixel| *pixel == [128; 3]));
    let profile = Profile::of(&image, Axis::Z).unwrap();
    let mean = 3.0 / (SIDE * SIDE) as f64;
    let expected: Vec<f64> = (0..SIDE).map(|z| if z == 1 { mean } else { 0.0 }).collect();
    assert_eq!(profile.means(), expected);
    // The block was never brought home: neither counted nor, by what it says of itself, current on the host.
    assert_eq!(image.transfers(), before);
    assert_eq!(image.block().residency(), Residency::DeviceNewer);
}
