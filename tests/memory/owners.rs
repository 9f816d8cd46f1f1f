//! `DeviceBytes` and `DeviceMemory`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ulib_core::ErrorKind;
use ulib_device::memory::{Access, DeviceBytes, DeviceMemory, DriverResource, Limiting};
use ulib_device::{Stream, copy};

use crate::setup::{card, install};

#[test]
fn values_come_back() {
    let Some(card) = card() else { return };
    let values: Vec<u32> = (0..10_000).collect();
    let mut memory = DeviceMemory::from_slice(&values, &card.stream).unwrap();
    assert_eq!(
        (memory.len(), memory.as_bytes().len(), memory.is_empty()),
        (10_000, 40_000, false)
    );
    assert_eq!(memory.to_vec(&card.stream).unwrap(), values);
    let clone = memory.try_clone(&card.stream).unwrap();
    let doubled: Vec<u32> = values.iter().map(|value| 2 * value).collect();
    memory.copy_from_slice(&doubled, &card.stream).unwrap();
    assert_eq!(memory.to_vec(&card.stream).unwrap(), doubled);
    assert_eq!(
        clone.to_vec(&card.stream).unwrap(),
        values,
        "the clone is its own"
    );
    memory.copy_from_device(&clone, &card.stream).unwrap();
    assert_eq!(memory.to_vec(&card.stream).unwrap(), values);
    memory.close().unwrap();
}

#[test]
fn fresh_zeroes_and_nothing_at_all() {
    let Some(card) = card() else { return };
    let zeroed = DeviceMemory::<f32>::zeroed(&card.stream, 1001).unwrap();
    assert_eq!(zeroed.to_vec(&card.stream).unwrap(), vec![0.0; 1001]);
    let empty = DeviceMemory::<f64>::zeroed(&card.stream, 0).unwrap();
    assert_eq!((empty.ptr(), empty.len()), (0, 0));
    assert_eq!(empty.to_vec(&card.stream).unwrap(), Vec::<f64>::new());
    assert!(empty.try_clone(&card.stream).unwrap().is_empty());
}

#[test]
fn lengths_that_differ_or_overflow_are_errors() {
    let Some(card) = card() else { return };
    let mut memory = DeviceMemory::<u16>::new(&card.stream, 3).unwrap();
    let error = memory
        .copy_from_slice(&[1, 2], &card.stream)
        .expect_err("too short");
    assert_eq!(error.kind(), &ErrorKind::Shape);
    assert_eq!(error.op(), Some("DeviceMemory::copy_from_slice"));
    let error = DeviceMemory::<u64>::new(&card.stream, usize::MAX / 4).expect_err("overflow");
    assert_eq!(error.kind(), &ErrorKind::Overflow);
}

#[test]
fn bytes_get_a_type_when_they_fit_it() {
    let Some(card) = card() else { return };
    let bytes = DeviceBytes::allocate(&card.stream, 24).unwrap();
    let memory = DeviceMemory::<f64>::try_from(bytes).unwrap();
    assert_eq!(memory.len(), 3);
    assert_eq!(memory.into_bytes().len(), 24);
    let odd = DeviceBytes::allocate(&card.stream, 25).unwrap();
    assert_eq!(
        DeviceMemory::<f64>::try_from(odd)
            .expect_err("25 bytes")
            .kind(),
        &ErrorKind::Layout
    );
}

#[test]
fn the_device_is_full() {
    let Some(card) = card() else { return };
    let limited = Arc::new(Limiting::new(
        Arc::new(DriverResource::new(&card.device)),
        4096,
    ));
    let _installed = install(&card.device, limited);
    let first = DeviceMemory::<u8>::new(&card.stream, 3072).unwrap();
    let error = DeviceMemory::<u8>::new(&card.stream, 4096).expect_err("full");
    assert_eq!(
        error.kind(),
        &ErrorKind::OutOfMemory {
            needs: 4096,
            free: 1024
        }
    );
    assert!(
        error
            .to_string()
            .ends_with("out of device memory: needs 4096 bytes, 1024 bytes free"),
        "{error}"
    );
    drop(first);
    DeviceMemory::<u8>::new(&card.stream, 4096).unwrap();
}

/// Says when it is dropped.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn foreign_memory_keeps_its_owner_until_its_work_is_done() {
    let Some(card) = card() else { return };
    let held = card.device.held();
    let theirs = DeviceMemory::from_slice(&[1_u8, 2, 3, 4], &card.stream).unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    // SAFETY: `theirs` outlives the view, is idle, and is used only through the view until it is dropped.
    let foreign = unsafe {
        DeviceBytes::foreign(
            &card.device,
            theirs.ptr(),
            4,
            Box::new(Owner(Arc::clone(&gone))),
        )
    };
    assert_eq!(
        card.device.held().allocations - held.allocations,
        1,
        "only what is ours is held"
    );
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    copy::fill(&foreign, 1, 2, &[9], &card.stream).unwrap();
    assert!(!gone.load(Ordering::SeqCst));
    drop(foreign);
    assert!(gone.load(Ordering::SeqCst));
    if let Some(fake) = card.fake() {
        assert_eq!(
            fake.peek(theirs.ptr(), 4),
            Some(vec![1, 9, 9, 4]),
            "the fill ran before the owner went"
        );
    }
    assert_eq!(theirs.to_vec(&card.stream).unwrap(), [1, 9, 9, 4]);
}

#[test]
fn no_events_while_one_stream_uses_the_memory() {
    let Some(card) = card() else { return };
    let Some(fake) = card.fake() else { return };
    let made = || fake.count("cuEventCreate");
    let before = made();
    let memory = DeviceBytes::allocate(&card.stream, 256).unwrap();
    for _ in 0..10 {
        memory.use_on(&card.stream, Access::Write).unwrap();
        memory.use_on(&card.stream, Access::Read).unwrap();
    }
    copy::fill(&memory, 0, 256, &[1], &card.stream).unwrap();
    assert_eq!(made(), before, "one stream needs no events");
    let other = Stream::non_blocking(&card.device).unwrap();
    memory.use_on(&other, Access::Read).unwrap();
    assert_eq!(made(), before + 1, "the second stream waits for the first");
    memory.use_on(&other, Access::Read).unwrap();
    assert_eq!(made(), before + 1, "once");
}

#[test]
fn every_owner_may_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<DeviceBytes>();
    crosses::<DeviceMemory<f32>>();
    crosses::<ulib_device::pinned::PinnedBytes>();
    crosses::<copy::Pending>();
    crosses::<Arc<dyn ulib_device::memory::DeviceMemoryResource>>();
}
