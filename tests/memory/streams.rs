//! Memory used on several streams and threads.

use ulib_device::memory::{Access, DeviceBytes};
use ulib_device::{Event, Stream, copy};

use crate::setup::{Card, card, fake_card, pattern};

fn deferred(card: &Card) {
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
}

fn content(bytes: &DeviceBytes, stream: &Stream) -> Vec<u8> {
    let mut host = vec![0; bytes.len()];
    copy::download(bytes, 0, &mut host, stream).unwrap();
    host
}

#[test]
fn a_read_on_another_stream_sees_the_write() {
    let Some(card) = card() else { return };
    deferred(&card);
    let other = Stream::non_blocking(&card.device).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, 5000).unwrap();
    let copied = DeviceBytes::allocate(&other, 5000).unwrap();
    copy::fill(&memory, 0, 5000, &[0x21], &card.stream).unwrap();
    copy::copy_device(&copied, 0, &memory, 0, 5000, &other).unwrap();
    assert!(content(&copied, &other).iter().all(|&byte| byte == 0x21));
}

#[test]
fn a_write_on_another_stream_waits_for_reads_and_writes() {
    let Some(card) = card() else { return };
    deferred(&card);
    let streams: Vec<_> = (0..3)
        .map(|_| Stream::non_blocking(&card.device).unwrap())
        .collect();
    let memory = DeviceBytes::allocate(&card.stream, 5000).unwrap();
    copy::fill(&memory, 0, 5000, &[1], &card.stream).unwrap();
    // Two streams read while nobody writes.
    let copies: Vec<_> = streams[..2]
        .iter()
        .map(|stream| {
            let copied = DeviceBytes::allocate(stream, 5000).unwrap();
            copy::copy_device(&copied, 0, &memory, 0, 5000, stream).unwrap();
            copied
        })
        .collect();
    copy::fill(&memory, 0, 5000, &[2], &streams[2]).unwrap();
    // Finishing the writer first must finish the readers before it.
    streams[2].synchronize().unwrap();
    for (copied, stream) in copies.iter().zip(&streams) {
        assert!(
            content(copied, stream).iter().all(|&byte| byte == 1),
            "the write overtook a read"
        );
    }
    assert!(content(&memory, &card.stream).iter().all(|&byte| byte == 2));
}

#[test]
fn alternating_streams_keep_their_order() {
    let Some(card) = card() else { return };
    deferred(&card);
    let other = Stream::non_blocking(&card.device).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, 64).unwrap();
    for round in 0..20 {
        let stream = if round % 2 == 0 { &card.stream } else { &other };
        copy::fill(&memory, 0, 64, &[round], stream).unwrap();
        copy::fill(&memory, usize::from(round), 1, &[100 + round], stream).unwrap();
    }
    let last = content(&memory, &card.stream);
    assert_eq!((last[18], last[19], last[20]), (19, 119, 19));
}

#[test]
fn memory_is_freed_after_the_work_of_every_stream() {
    let Some(card) = card() else { return };
    deferred(&card);
    let other = Stream::non_blocking(&card.device).unwrap();
    let kept = DeviceBytes::allocate(&other, 1 << 16).unwrap();
    let bytes = pattern(1 << 16, 5);
    let memory = DeviceBytes::allocate(&card.stream, 1 << 16).unwrap();
    copy::upload(&memory, 0, &bytes, &card.stream).unwrap();
    copy::copy_device(&kept, 0, &memory, 0, 1 << 16, &other).unwrap();
    drop(memory);
    // Whatever takes its place must not be seen by the copy.
    let next = DeviceBytes::allocate(&card.stream, 1 << 16).unwrap();
    copy::fill(&next, 0, 1 << 16, &[0], &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    assert!(content(&kept, &other) == bytes);
    if let Some(fake) = card.fake() {
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}

#[test]
fn dropping_on_a_thread_without_a_context_works() {
    let Some(card) = card() else { return };
    let held = card.device.held();
    let memory = DeviceBytes::allocate(&card.stream, 4096).unwrap();
    let event = Event::new(&card.device).unwrap();
    std::thread::spawn(move || drop((memory, event)))
        .join()
        .unwrap();
    assert_eq!(card.device.held(), held);
    let errors = card.device.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn synchronize_waits_for_every_use() {
    let Some(card) = card() else { return };
    deferred(&card);
    let other = Stream::non_blocking(&card.device).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, 64).unwrap();
    copy::fill(&memory, 0, 32, &[1], &card.stream).unwrap();
    copy::fill(&memory, 32, 32, &[2], &other).unwrap();
    memory.synchronize().unwrap();
    assert!(other.is_done().unwrap() && card.stream.is_done().unwrap());
    // Nothing is left to wait for: the next use on any stream makes no event.
    let made = card.fake().map(|fake| fake.count("cuEventCreate"));
    memory
        .use_on(&Stream::legacy(&card.device), Access::Write)
        .unwrap();
    assert_eq!(card.fake().map(|fake| fake.count("cuEventCreate")), made);
}

#[test]
fn many_streams_may_read_and_are_forgotten() {
    let Some(card) = card() else { return };
    let memory = DeviceBytes::allocate(&card.stream, 64).unwrap();
    copy::fill(&memory, 0, 64, &[7], &card.stream).unwrap();
    for _ in 0..100 {
        let stream = Stream::non_blocking(&card.device).unwrap();
        assert_eq!(content(&memory, &stream), [7; 64]);
    }
    if let Some(fake) = card.fake() {
        let streams = fake
            .live()
            .iter()
            .filter(|live| live.kind == fakecuda::Kind::Stream)
            .count();
        assert!(
            streams < 50,
            "{streams} streams are kept for one piece of memory"
        );
    }
    copy::fill(&memory, 0, 64, &[8], &card.stream).unwrap();
    assert_eq!(content(&memory, &card.stream), [8; 64]);
}

#[test]
fn two_wraps_of_a_foreign_stream_are_one_stream() {
    let Some(card) = card() else { return };
    let theirs = Stream::non_blocking(&card.device).unwrap();
    // SAFETY: `theirs` outlives both wraps and the memory used on them.
    let wrap = || unsafe { Stream::from_raw(&card.device, theirs.handle() as usize) };
    let memory = DeviceBytes::allocate(&wrap(), 64).unwrap();
    let made = card.fake().map(|fake| fake.count("cuEventCreate"));
    copy::fill(&memory, 0, 64, &[7], &wrap()).unwrap();
    assert_eq!(content(&memory, &wrap()), [7; 64]);
    drop(memory);
    assert_eq!(
        card.fake().map(|fake| fake.count("cuEventCreate")),
        made,
        "no events within one stream"
    );
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let Some(card) = card() else { return };
    let Ok(second) = ulib_device::Device::new(1) else {
        return;
    };
    let there = Stream::new(&second).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, 64).unwrap();
    let buffer = || {
        ulib_device::pinned::PinnedPool::global()
            .acquire(64)
            .unwrap()
    };
    let refused = [
        copy::upload(&memory, 0, &[0; 8], &there),
        copy::download(&memory, 0, &mut [0; 8], &there),
        copy::fill(&memory, 0, 8, &[0], &there),
        copy::upload_async(&memory, 0, buffer(), &there).map(drop),
        copy::download_async(&memory, 0, buffer(), &there).map(drop),
    ];
    for outcome in refused {
        let error = outcome.expect_err("a stream of device 1");
        assert_eq!(
            error.kind(),
            &ulib_core::ErrorKind::InvalidArgument,
            "{error}"
        );
    }
}

#[test]
fn a_stream_that_memory_is_lent_to_comes_after_the_work_and_is_not_remembered() {
    let Some(card) = fake_card() else { return };
    deferred(&card);
    let fake = card.fake().unwrap();
    let consumer = Stream::non_blocking(&card.device).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, 5000).unwrap();
    copy::fill(&memory, 0, 5000, &[0x5A], &card.stream).unwrap();
    let waits = fake.count("cuStreamWaitEvent");
    memory.lend(Some(&consumer)).unwrap();
    assert_eq!(fake.count("cuStreamWaitEvent"), waits + 1);
    // Another stream's work is not ordered after the consumer's, of which nobody here is told.
    memory.use_on(&card.stream, Access::Read).unwrap();
    assert_eq!(fake.count("cuStreamWaitEvent"), waits + 1);
    drop(consumer);
    assert_eq!(content(&memory, &card.stream), [0x5A; 5000]);
    let synchronised = fake.count("cuCtxSynchronize");
    memory.close().unwrap();
    assert_eq!(fake.count("cuCtxSynchronize"), synchronised + 1);
    // Nobody in particular.
    let memory = DeviceBytes::allocate(&card.stream, 8).unwrap();
    memory.lend(None).unwrap();
    memory.close().unwrap();
    assert_eq!(fake.count("cuCtxSynchronize"), synchronised + 2);
}
