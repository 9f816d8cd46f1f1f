//! Times of allocating and freeing device memory: through a pool by its own calls and by owners, from the driver's pool, and from
//! the driver itself.
//!
//! `cargo bench --bench pool` runs on the machine's own driver, and times nothing without a GPU.
#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]
#![allow(clippy::expect_used, reason = "a bench that cannot run has failed")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use ulib_device::memory::{
    BinnedPool, DeviceBytes, DeviceMemoryResource, DriverResource, PoolResource,
};
use ulib_device::{Device, Stream};

const BYTES: usize = 1000;

fn pool(criterion: &mut Criterion) {
    let Ok(device) = Device::new(0) else { return };
    let (stream, binned) = (Stream::legacy(&device), BinnedPool::new(&device));
    let mut group = criterion.benchmark_group("pool");
    group.bench_function("binned", |bencher| {
        bencher.iter(|| {
            let ptr = binned.allocate(black_box(BYTES), &stream).expect("a block");
            // SAFETY: given out just now, for as many bytes, and not used.
            #[allow(unsafe_code, reason = "calls the contract itself")]
            unsafe { binned.deallocate(black_box(ptr), BYTES, &stream) }.expect("kept");
        });
    });
    let driver: Arc<dyn DeviceMemoryResource> = DriverResource::shared(&device);
    let mut all: Vec<(&str, Arc<dyn DeviceMemoryResource>)> = vec![("binned, owned", binned)];
    if let Ok(pool) = PoolResource::new(&device) {
        all.push(("driver's pool, owned", Arc::new(pool)));
    }
    all.push(("driver, owned", driver));
    for (name, resource) in all {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let made =
                    DeviceBytes::allocate_from(Arc::clone(&resource), &stream, black_box(BYTES));
                drop(made.expect("memory"));
            });
        });
        device.synchronize().expect("a device");
    }
    group.finish();
}

criterion_group!(benches, pool);
criterion_main!(benches);
