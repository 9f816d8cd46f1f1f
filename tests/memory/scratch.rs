//! Scratch memory: kept between operations, found again, ordered, bounded, given back.

use std::sync::Arc;

use ulib_core::{ErrorKind, PreferredDevice};
use ulib_device::memory::{
    Access, DeviceBytes, DeviceMemoryResource, DriverResource, Limiting, PoolResource, Scratch,
};
use ulib_device::{Block, Stream, copy};

use crate::capture::captured;
use crate::setup::{card, fake_card, install, pattern};

/// Allocations that reach the driver, whichever way they go.
fn allocations(session: &fakecuda::Session) -> u64 {
    [
        "cuMemAlloc_v2",
        "cuMemAllocAsync",
        "cuMemAllocFromPoolAsync",
        "cuMemHostAlloc",
        "cuMemHostRegister_v2",
    ]
    .iter()
    .map(|call| session.count(call))
    .sum()
}

#[test]
fn it_is_found_again() {
    let Some(card) = card() else { return };
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    let first = Scratch::take(&card.stream, 5000).unwrap();
    assert_eq!((first.len(), first.is_empty()), (5000, false));
    assert!(first.bytes().unwrap().len() >= 5000);
    let held = card.device.held();
    assert!(held.bytes >= 5016, "in use it counts: {held:?}");
    let ptr = first.ptr();
    let second = Scratch::take(&card.stream, 5000).unwrap();
    assert_ne!(second.ptr(), ptr, "not given out twice");
    drop((first, second));
    assert_eq!(card.device.held().allocations, 1, "left behind it does not");
    let mut found = Vec::new();
    for len in [5000, 8192, 4000] {
        found.push(Scratch::take(&card.stream, len).unwrap().ptr());
    }
    assert!(found.iter().all(|&again| again == found[0]));
    assert_eq!(card.device.held().bytes, 16);
}

#[test]
fn nothing_is_a_length() {
    let Some(card) = card() else { return };
    let nothing = Scratch::take(&card.stream, 0).unwrap();
    assert_eq!((nothing.ptr(), nothing.is_empty()), (0, true));
    nothing.use_on(&card.stream, Access::Write).unwrap();
}

#[test]
fn a_loop_allocates_once() {
    let Some(card) = fake_card() else { return };
    let session = card.fake().unwrap();
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    let other = Stream::non_blocking(&card.device).unwrap();
    let mut before = 0;
    for turn in 0..20 {
        for stream in [&card.stream, &other] {
            for len in [100_000, 4096, 90_000] {
                let scratch = Scratch::take(stream, len).unwrap();
                scratch.use_on(stream, Access::Write).unwrap();
            }
        }
        if turn == 0 {
            before = allocations(session);
            session.reset_counts();
        }
    }
    assert!(before > 0);
    assert_eq!(allocations(session), 0);
    assert_eq!(
        session.count("cuStreamWaitEvent"),
        0,
        "each stream has its own"
    );
}

#[test]
fn late_work_of_another_stream_is_waited_for() {
    let Some(card) = card() else { return };
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    let streams: Vec<_> = (0..12)
        .map(|_| Stream::non_blocking(&card.device).unwrap())
        .collect();
    // More streams than pieces are kept, so that they take each other's.
    let results: Vec<_> = streams
        .iter()
        .enumerate()
        .map(|(i, stream)| {
            let kept = DeviceBytes::allocate(stream, 6000).unwrap();
            let scratch = Scratch::take(stream, 6000).unwrap();
            copy::fill(scratch.bytes().unwrap(), 0, 6000, &[i as u8 + 1], stream).unwrap();
            copy::copy_device(&kept, 0, scratch.bytes().unwrap(), 0, 6000, stream).unwrap();
            kept
        })
        .collect();
    for (i, kept) in results.iter().enumerate() {
        let mut back = vec![0; 6000];
        copy::download(kept, 0, &mut back, &card.stream).unwrap();
        assert_eq!(back, vec![i as u8 + 1; 6000]);
    }
}

#[test]
fn it_goes_with_the_last_block() {
    let Some(card) = fake_card() else { return };
    let resource = Arc::new(DriverResource::new(&card.device));
    let _installed = install(&card.device, resource);
    let block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    drop(Scratch::take(&card.stream, 5000).unwrap());
    assert_eq!(card.live_memory().len(), 2);
    drop(block);
    assert_eq!(card.live_memory(), []);
    drop(Scratch::take(&card.stream, 5000).unwrap());
    assert_eq!(card.live_memory(), [], "without a block nothing is left");
}

#[test]
fn releasing_a_block_gives_it_back() {
    let Some(card) = card() else { return };
    let pool = Arc::new(PoolResource::with_release_threshold(&card.device, u64::MAX).unwrap());
    let _installed = install(&card.device, pool.clone());
    let [first, second] = [1, 2].map(|value| Block::from_bytes(&[value; 10_000]).unwrap());
    for block in [&first, &second] {
        assert!(block.set_preferred(PreferredDevice::Device(0)).unwrap());
    }
    drop(Scratch::take(&card.stream, 1 << 20).unwrap());
    assert!(pool.used_bytes().unwrap() >= 1 << 20);
    assert!(first.release_device().unwrap().is_complete());
    assert!(pool.used_bytes().unwrap() < 1 << 20);
    assert_eq!(card.device.held().allocations, 1);
    drop(second);
}

#[test]
fn trim_and_a_new_resource_give_it_back() {
    let Some(card) = card() else { return };
    for resource in [
        Arc::new(DriverResource::new(&card.device)) as Arc<dyn DeviceMemoryResource>,
        Arc::new(PoolResource::new(&card.device).unwrap()),
    ] {
        let limited = Arc::new(Limiting::new(resource, 1 << 20));
        let installed = install(&card.device, limited.clone());
        let block = DeviceBytes::allocate(&card.stream, 16).unwrap();
        drop(Scratch::take(&card.stream, 5000).unwrap());
        assert_eq!(limited.used_bytes(), 16 + 8192);
        limited.trim().unwrap();
        assert_eq!(limited.used_bytes(), 16);
        drop(Scratch::take(&card.stream, 5000).unwrap());
        drop(installed);
        assert_eq!(limited.used_bytes(), 16);
        drop(block);
    }
}

#[test]
fn it_makes_room_for_others() {
    let Some(card) = card() else { return };
    let inner = Arc::new(DriverResource::new(&card.device));
    let limited = Arc::new(Limiting::new(inner, 10_000));
    let _installed = install(&card.device, limited.clone());
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    drop(Scratch::take(&card.stream, 5000).unwrap());
    let large = DeviceBytes::allocate(&card.stream, 9000).unwrap();
    assert_eq!(limited.used_bytes(), 9016);
    // What would be rounded up to more than there is comes as it is.
    drop(large);
    let exact = Scratch::take(&card.stream, 9500).unwrap();
    assert_eq!(exact.bytes().unwrap().len(), 9500);
    drop(exact);
    let error = Scratch::take(&card.stream, 20_000).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OutOfMemory { needs: 20_000, .. }),
        "{error}"
    );
}

#[test]
fn much_is_not_kept() {
    let Some(card) = card() else { return };
    let resource = Arc::new(PoolResource::new(&card.device).unwrap());
    let _installed = install(&card.device, resource.clone());
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    // One that is too large, and more than are kept.
    drop(Scratch::take(&card.stream, (64 << 20) + 1).unwrap());
    assert!(resource.used_bytes().unwrap() < 1 << 20);
    let many: Vec<_> = (0..20)
        .map(|_| Scratch::take(&card.stream, 8 << 10).unwrap())
        .collect();
    drop(many);
    assert!(resource.used_bytes().unwrap() <= (8 << 13) + 4096);
    let large: Vec<_> = (0..4)
        .map(|_| Scratch::take(&card.stream, 64 << 20).unwrap())
        .collect();
    drop(large);
    assert!(resource.used_bytes().unwrap() <= (128 << 20) + 4096);
}

#[test]
#[allow(unsafe_code, reason = "wraps a foreign stream")]
fn a_stream_that_may_go_is_not_remembered() {
    let Some(card) = fake_card() else { return };
    let _installed = install(&card.device, Arc::new(DriverResource::new(&card.device)));
    let owner = Stream::non_blocking(&card.device).unwrap();
    let _block = DeviceBytes::allocate(&card.stream, 16).unwrap();
    let handle = owner.handle() as usize;
    // SAFETY: `owner` outlives the wrapping stream and what is used on it.
    let borrowed = unsafe { Stream::from_raw(&card.device, handle) };
    drop(Scratch::take(&borrowed, 5000).unwrap());
    assert_eq!(card.live_memory().len(), 1);
    // SAFETY: `owner` is kept by the stream.
    let kept = unsafe { Stream::from_raw_kept(&card.device, handle, Box::new(owner)) };
    drop(Scratch::take(&kept, 5000).unwrap());
    assert_eq!(card.live_memory().len(), 2);
    drop((borrowed, kept));
    let session = card.fake().unwrap();
    assert_eq!(
        session.count("cuStreamDestroy_v2"),
        0,
        "what is left keeps it"
    );
    card.device.memory_resource().trim().unwrap();
    assert_eq!(session.count("cuStreamDestroy_v2"), 1);
    assert_eq!(session.faults(), Vec::<String>::new());
}

#[test]
fn a_graph_gets_none() {
    let Some(card) = card() else { return };
    captured(&card, &card.stream, || {
        let error = Scratch::take(&card.stream, 16).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Busy);
        Scratch::take(&card.stream, 0).unwrap();
    });
    let memory = DeviceBytes::allocate(&card.stream, 4096).unwrap();
    copy::upload(&memory, 0, &pattern(4096, 4), &card.stream).unwrap();
}
