//! Lesson 1 in Rust: an object that knows where it is.
//!
//! Says where an image should live, and asks where it is after each step. On a machine with no GPU
//! the answers differ and the numbers do not.
//!
//! ```sh
//! cargo run --example 01_placement
//! ```

use ulib::core::Result;
use ulib::math::{Compute, GeantEvent, GeantEventCollection, Placed, VoxImage};

fn main() -> Result<()> {
    // 64 x 64 x 64 voxels of a value and a count. All of them are zero, and in host memory.
    let mut image: VoxImage = VoxImage::new([64, 64, 64])?;
    say("a new image", &image);

    // The preference is recorded whether or not it can be honoured; the answer says whether it was.
    let moved = image.set_preferred_device("Device".parse()?)?;
    say("with the preference Device", &image);
    println!(
        "    moved: {moved}, a device could be used: {}",
        image.can_use_device()
    );

    // These run where the voxels are.
    image.fill(1.5)?;
    image.scale(2.0)?;
    say("filled with 1.5 and scaled by 2", &image);
    println!("    the sum is {}", image.sum()?);

    // Reading one value brings the block home and changes nothing, so both copies are current.
    println!("    voxel [1, 2, 3] is {}", image.value_at([1, 2, 3])?);
    say("after a read on the host", &image);

    // A change on the host makes the host copy the newer one, until the next update.
    image.set_value_at([1, 2, 3], 100.0)?;
    say("after a change on the host", &image);
    image.update()?;
    say("after an update", &image);
    println!("    the sum is {}", image.sum()?);

    let copies = image.transfers();
    println!(
        "    copied so far: {} up ({} bytes), {} down ({} bytes)",
        copies.uploads, copies.bytes_up, copies.downloads, copies.bytes_down
    );

    let released = image.release_device()?;
    say("released: home again, the memory given back", &image);
    println!("    device memory: {released:?}");

    // Elements that own something elsewhere cannot go, and say so.
    let events = GeantEventCollection::from_iter([GeantEvent::new("run-7.root", "mu-")]);
    events.set_preferred_device("Device".parse()?)?;
    say("Geant events with the preference Device", &events);
    Ok(())
}

fn say(step: &str, object: &impl Placed) {
    println!("{step}\n    {}", object.location());
}
