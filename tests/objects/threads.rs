//! Objects that several threads read at once.

use ulib::core::{PreferredDevice, Result};
use ulib::math::{
    Compute, EventTable, FloatCollection, GeantEventCollection, LineCollection, MultiVoxImage,
    MuonScatterCollection, Placed, VoxImage,
};

use crate::common;

#[test]
fn every_object_can_be_sent_and_shared() {
    fn both<T: Send + Sync>() {}
    both::<VoxImage>();
    both::<MultiVoxImage>();
    both::<EventTable>();
    both::<MuonScatterCollection>();
    both::<FloatCollection>();
    both::<LineCollection>();
    both::<GeantEventCollection>();
}

#[test]
fn eight_threads_reading_cause_one_download() -> Result<()> {
    let Some(_driver) = common::gpu() else {
        return Ok(());
    };
    let mut image: VoxImage = VoxImage::new([32, 32, 32])?;
    image.set_preferred_device(PreferredDevice::Device(0))?;
    image.fill(2.0)?;
    let before = image.transfers().downloads;
    let start = std::sync::Barrier::new(8);
    let totals: Vec<Result<f32>> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8)
            .map(|thread| {
                let (image, start) = (&image, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut total = 0.0;
                    for index in (thread..image.len()).step_by(1024) {
                        total += image.value(index)?;
                    }
                    Ok(total + image.values()?.iter().take(16).sum::<f32>())
                })
            })
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect()
    });
    for total in totals {
        assert_eq!(total?, 64.0 + 32.0);
    }
    assert_eq!(image.transfers().downloads, before + 1);
    Ok(())
}
