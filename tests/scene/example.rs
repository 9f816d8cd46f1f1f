//! The scene of the examples, as `examples/02_images_on_the_gpu.rs` builds it.

use ulib::math::scene::{Recipe, Scene};
use ulib::math::{EventTable, VoxImage};

#[path = "../../examples/02_images_on_the_gpu.rs"]
#[allow(
    dead_code,
    reason = "the test uses the scene of the example, not its main"
)]
mod program;

const COMMITTED: &str = include_str!("../../assets/examples/math/02_images_on_the_gpu.gcx");

/// A document without the texts of its data, which another release of the compressor may write in another way. Their sizes
/// and checksums stay.
fn without_data(document: &str) -> Vec<&str> {
    document
        .lines()
        .map(|line| match line.split_once("encoding=\"zlib base64\">") {
            Some((start, _)) => start,
            None => line,
        })
        .collect()
}

#[test]
fn the_committed_document_is_what_the_example_builds() {
    let _driver = crate::common::driver();
    let folder = crate::Folder::new();
    let path = folder.join("scene.gcx");
    program::scene().unwrap().save(&path).unwrap();
    let built = std::fs::read_to_string(&path).unwrap();
    assert!(
        without_data(&built) == without_data(COMMITTED),
        "the document is older than the example: cargo run --example 02_images_on_the_gpu -- \
         --scene assets/examples/math/02_images_on_the_gpu.gcx"
    );

    std::fs::write(&path, COMMITTED).unwrap();
    let scene = Scene::load(&path).unwrap();
    let names: Vec<&str> = scene.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["phantom", "profile", "sum slices"]);
    for (name, object) in scene.iter() {
        assert_eq!(object.preferred_device().to_string(), "Device", "{name}");
    }
    let phantom: &VoxImage = scene.get("phantom").unwrap();
    assert_eq!(phantom.dims(), [32; 3]);
    // The middle is in the core, a corner outside of the ball.
    assert_eq!(phantom.value_at([16, 16, 16]).unwrap(), 3.5);
    assert_eq!(phantom.value_at([31, 0, 0]).unwrap(), 31.0 / 32.0);
    assert_eq!(scene.get::<EventTable>("profile").unwrap().rows(), 0);
    let recipe: &Recipe = scene.get("sum slices").unwrap();
    assert!(recipe.source().contains("def run(ctx):"));
}
