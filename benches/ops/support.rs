//! The four places an operation is timed in.

use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use ulib_core::{Layout, PreferredDevice, Result};
use ulib_device::{Device, block::Block};
use ulib_math::view::{View, ViewMut};

/// Elements a run of `f32` is timed with.
pub(crate) fn sizes() -> Vec<usize> {
    let mut sizes = vec![32 * 32 * 32, 256 * 256 * 256];
    if std::env::var("ULIB_BENCH_LARGE").is_ok_and(|value| value == "1") {
        sizes.push(1 << 28);
    }
    sizes
}

pub(crate) fn config() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args()
}

/// `count` values of `f32`, side by side or each with 4 other bytes after it; the name, the block's bytes, the layout.
pub(crate) fn layouts(count: usize) -> [(&'static str, usize, Layout); 2] {
    let line = |stride: isize| Layout::new(vec![count], vec![stride], 0).expect("a line");
    [
        ("packed", 4 * count, line(1)),
        ("voxels", 8 * count, line(2)),
    ]
}

/// A block of ones.
pub(crate) fn block(bytes: usize) -> Block {
    Block::from_slice(&vec![1.0_f32; bytes / 4]).expect("a block")
}

/// The device, if the machine has one.
pub(crate) fn device() -> Option<Device> {
    Device::new(0).ok()
}

/// Times `work` on a block of `bytes` in all four places; `touched` is what one call reads and writes.
pub(crate) fn everywhere(
    criterion: &mut Criterion,
    name: &str,
    bytes: usize,
    touched: u64,
    mut work: impl FnMut(&mut Block) + Send,
) {
    let mut group: BenchmarkGroup<'_, WallTime> = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(touched));
    let mut data = block(bytes);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    group.bench_function("host seq", |bencher| {
        one.install(|| bencher.iter(|| work(&mut data)))
    });
    group.bench_function("host par", |bencher| bencher.iter(|| work(&mut data)));
    if let Some(device) = device() {
        if data
            .set_preferred(PreferredDevice::Device(0))
            .expect("placement")
        {
            group.bench_function("device resident", |bencher| {
                bencher.iter(|| {
                    work(&mut data);
                    device.synchronize().expect("a device");
                });
            });
            group.bench_function("device with transfers", |bencher| {
                bencher.iter(|| {
                    drop(data.write().expect("the host copy"));
                    work(&mut data);
                    drop(data.read().expect("the host copy"));
                });
            });
        } else {
            println!("{name}: no room on the device: {}", data.location());
        }
    }
    group.finish();
}

/// Times an elementwise operation on `f32`, packed and as voxels: `work` changes a view in place and may read another one of
/// its shape; `arrays` is how many times a call reads or writes a whole array.
pub(crate) fn elementwise(
    criterion: &mut Criterion,
    name: &str,
    arrays: u64,
    mut work: impl FnMut(ViewMut<'_, f32>, &View<'_, f32>) -> Result<()> + Send,
) {
    for count in sizes() {
        for (form, bytes, layout) in layouts(count) {
            // The other follows the first one to where it is.
            let other = block(bytes);
            everywhere(
                criterion,
                &format!("{name} f32/{form}/{count}"),
                bytes,
                arrays * bytes as u64,
                |own| {
                    if other.preferred() != own.preferred() {
                        other.set_preferred(own.preferred()).expect("placement");
                    }
                    let view = View::new(&other, layout.clone()).expect("a view");
                    let out = ViewMut::new(own, layout.clone()).expect("a view");
                    work(out, &view).expect(name);
                },
            );
        }
    }
}
