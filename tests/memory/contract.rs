//! The contract of `DeviceMemoryResource`, for every resource and stacks of adaptors.

use std::sync::Arc;

use ulib_core::ErrorKind;
use ulib_device::memory::{
    BinnedPool, DeviceBytes, DeviceMemoryResource, DriverResource, Failing, Limiting, Logging,
    PoolResource, Statistics,
};
use ulib_device::{Device, Stream, copy};

use crate::setup::{Card, card, fake_card, pattern};

type Made = Arc<dyn DeviceMemoryResource>;

/// More than any device has.
const TOO_MUCH: usize = 1 << 48;

fn driver(device: &Device) -> Made {
    Arc::new(DriverResource::new(device))
}

fn pool(device: &Device) -> Made {
    Arc::new(PoolResource::new(device).expect("the device has pools"))
}

fn pool_that_keeps_nothing(device: &Device) -> Made {
    Arc::new(PoolResource::with_release_threshold(device, 0).expect("the device has pools"))
}

fn binned(device: &Device) -> Made {
    BinnedPool::new(device)
}

fn binned_over_a_pool(device: &Device) -> Made {
    BinnedPool::over(pool(device))
}

fn binned_that_keeps_nothing(device: &Device) -> Made {
    let pool = BinnedPool::new(device);
    pool.stop_holding();
    pool
}

fn limiting(device: &Device) -> Made {
    Arc::new(Limiting::new(driver(device), 64 << 20))
}

fn statistics(device: &Device) -> Made {
    Arc::new(Statistics::new(pool(device)))
}

fn logging(device: &Device) -> Made {
    Arc::new(Logging::with_sink(pool(device), |record| {
        assert!(!record.to_string().is_empty())
    }))
}

fn failing_never(device: &Device) -> Made {
    Arc::new(Failing::nth(driver(device), 0))
}

fn stack_on_pool(device: &Device) -> Made {
    let logging = Arc::new(Logging::new(Arc::new(Failing::nth(pool(device), 0))));
    Arc::new(Statistics::new(Arc::new(Limiting::new(logging, 64 << 20))))
}

fn stack_on_driver(device: &Device) -> Made {
    Arc::new(Limiting::new(
        Arc::new(Statistics::new(Arc::new(Logging::new(driver(device))))),
        64 << 20,
    ))
}

/// One module per resource, one test per clause.
macro_rules! contract {
    ($($make:ident),* $(,)?) => {$(
        mod $make {
            contract!(@tests $make:
                zero_bytes_are_the_pointer_zero,
                blocks_are_aligned_and_apart,
                too_much_is_out_of_memory_with_both_counts,
                any_thread_may_allocate_and_free,
                what_is_in_use_survives_a_trim,
                reuse_waits_for_the_stream_that_freed,
                other_devices_are_refused,
                no_failing_call_leaks,
            );
        }
    )*};
    (@tests $make:ident: $($clause:ident),* $(,)?) => {$(
        #[test]
        fn $clause() {
            super::$clause(super::$make);
        }
    )*};
}

contract!(
    driver,
    pool,
    pool_that_keeps_nothing,
    binned,
    binned_over_a_pool,
    binned_that_keeps_nothing,
    limiting,
    statistics,
    logging,
    failing_never,
    stack_on_pool,
    stack_on_driver,
);

fn content(bytes: &DeviceBytes, stream: &Stream) -> Vec<u8> {
    let mut host = vec![0; bytes.len()];
    copy::download(bytes, 0, &mut host, stream).expect("download");
    host
}

fn zero_bytes_are_the_pointer_zero(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let resource = make(&card.device);
    let calls = card.fake().map(|fake| fake.total_calls());
    assert_eq!(resource.allocate(0, &card.stream).unwrap(), 0);
    // SAFETY: the pointer 0 was given out for zero bytes just now.
    unsafe { resource.deallocate(0, 0, &card.stream) }.unwrap();
    assert_eq!(
        card.fake().map(|fake| fake.total_calls()),
        calls,
        "no call to the driver"
    );
    let empty = DeviceBytes::allocate_from(resource, &card.stream, 0).unwrap();
    assert_eq!((empty.ptr(), empty.len(), empty.is_empty()), (0, 0, true));
    empty.close().unwrap();
}

fn blocks_are_aligned_and_apart(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let before = card.device.held();
    let resource = make(&card.device);
    assert_eq!(resource.device().ordinal(), 0);
    assert!(!resource.name().is_empty());
    let sizes = [1, 255, 256, 257, 4096, 4097, 1 << 20];
    let blocks: Vec<_> = sizes
        .iter()
        .map(|&len| DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, len).unwrap())
        .collect();
    let held = card.device.held();
    assert_eq!(held.allocations - before.allocations, sizes.len() as u64);
    assert_eq!(
        held.bytes - before.bytes,
        sizes.iter().sum::<usize>() as u64
    );
    for (seed, block) in blocks.iter().enumerate() {
        assert_eq!(block.ptr() % 256, 0, "aligned");
        copy::upload(
            block,
            0,
            &pattern(block.len(), seed as u64 + 1),
            &card.stream,
        )
        .unwrap();
    }
    for (seed, block) in blocks.iter().enumerate() {
        assert!(
            content(block, &card.stream) == pattern(block.len(), seed as u64 + 1),
            "{block:?} kept its bytes"
        );
    }
    drop(blocks);
    assert_eq!(card.device.held(), before);
    assert!(card.device.errors().is_empty());
}

fn too_much_is_out_of_memory_with_both_counts(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let resource = make(&card.device);
    let before = card.device.held();
    let error = DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, TOO_MUCH)
        .expect_err("too much");
    let ErrorKind::OutOfMemory { needs, free } = *error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(needs, TOO_MUCH as u64);
    assert!(
        free > 0 && free <= card.device.memory_info().unwrap().total,
        "{free} bytes free"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("needs {TOO_MUCH} bytes, {free} bytes free")),
        "{error}"
    );
    assert_eq!(card.device.held(), before);
    // And the next one is served.
    let small = DeviceBytes::allocate_from(resource, &card.stream, 1000).unwrap();
    copy::upload(&small, 0, &pattern(1000, 3), &card.stream).unwrap();
    assert!(content(&small, &card.stream) == pattern(1000, 3));
}

fn any_thread_may_allocate_and_free(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let resource = make(&card.device);
    let blocks: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|seed| {
                let (resource, stream) = (Arc::clone(&resource), &card.stream);
                scope.spawn(move || {
                    let block = DeviceBytes::allocate_from(resource, stream, 5000).unwrap();
                    copy::upload(&block, 0, &pattern(5000, seed + 1), stream).unwrap();
                    block
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("allocated"))
            .collect()
    });
    for (seed, block) in blocks.iter().enumerate() {
        assert!(content(block, &card.stream) == pattern(5000, seed as u64 + 1));
    }
    // A thread on which no context is current.
    std::thread::spawn(move || drop(blocks))
        .join()
        .expect("freed");
    assert!(card.device.errors().is_empty());
    card.stream.synchronize().unwrap();
    resource.trim().unwrap();
    assert_eq!(card.live_memory(), []);
}

fn what_is_in_use_survives_a_trim(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let resource = make(&card.device);
    let kept = DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, 70_000).unwrap();
    let freed = DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, 70_000).unwrap();
    copy::upload(&kept, 0, &pattern(70_000, 9), &card.stream).unwrap();
    freed.close().unwrap();
    resource.trim().unwrap();
    assert!(content(&kept, &card.stream) == pattern(70_000, 9));
}

fn reuse_waits_for_the_stream_that_freed(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let resource = make(&card.device);
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    let other = Stream::non_blocking(&card.device).unwrap();
    for round in 0..8_u8 {
        let first =
            DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, 1 << 16).unwrap();
        copy::fill(&first, 0, 1 << 16, &[round], &card.stream).unwrap();
        drop(first);
        let second = DeviceBytes::allocate_from(Arc::clone(&resource), &other, 1 << 16).unwrap();
        let bytes = pattern(1 << 16, u64::from(round) + 1);
        copy::upload(&second, 0, &bytes, &other).unwrap();
        card.stream.synchronize().unwrap();
        assert!(
            content(&second, &other) == bytes,
            "the fill of freed memory came too late"
        );
    }
    if let Some(fake) = card.fake() {
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}

fn other_devices_are_refused(make: fn(&Device) -> Made) {
    let Some(card) = card() else { return };
    let Ok(second) = Device::new(1) else { return };
    let stream = Stream::new(&second).unwrap();
    let error =
        DeviceBytes::allocate_from(make(&card.device), &stream, 8).expect_err("wrong device");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    assert!(
        error
            .to_string()
            .starts_with("allocate: stream is one of device 1, expected"),
        "{error}"
    );
}

/// Allocates, uses and frees with the n-th call to the driver failing, for every n.
fn no_failing_call_leaks(make: fn(&Device) -> Made) {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let resource = make(&card.device);
    let used = |card: &Card| -> ulib_core::Result<()> {
        let bytes = DeviceBytes::allocate_from(Arc::clone(&resource), &card.stream, 3000)?;
        copy::fill(&bytes, 0, 3000, &[7], &card.stream)?;
        bytes.use_on(
            &Stream::legacy(&card.device),
            ulib_device::memory::Access::Read,
        )?;
        bytes.close()
    };
    used(&card).unwrap();
    fake.reset_counts();
    used(&card).unwrap();
    let calls = fake.total_calls();
    assert!(calls > 0);
    let before = card.device.held();
    let mut failures = 0;
    for nth in 1..=calls {
        fake.fail_any(nth, 999);
        failures += u64::from(used(&card).is_err());
        fake.fail_nothing();
        // Errors met where nobody could be told are here, not lost.
        failures += card.device.errors().len() as u64;
        resource.trim().unwrap();
        assert_eq!(
            card.live_memory(),
            [],
            "call {nth} of {calls} failed and something leaked"
        );
        assert_eq!(card.device.held(), before);
    }
    assert!(failures > 0);
}
