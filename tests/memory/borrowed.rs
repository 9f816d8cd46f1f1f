//! Host memory that a copy uses is not touched any more when the caller gets it back, whatever went wrong meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ulib_core::{ErrorKind, Result};
use ulib_device::copy::{self, Extent, Pitch, Source, Target};
use ulib_device::memory::DeviceBytes;
use ulib_device::pinned::PinnedPool;
use ulib_device::sys::CUstreamCaptureMode;
use ulib_device::{Device, Stream};

use crate::capture::captured;
use crate::setup::{card, fake_card};

const LEN: usize = 4096;

type Copy = fn(&DeviceBytes, &mut [u8], &Stream) -> Result<()>;

/// Every blocking copy that goes directly.
const COPIES: [(&str, Copy); 4] = [
    ("upload", |memory, host, stream| {
        copy::upload(memory, 0, host, stream)
    }),
    ("download", |memory, host, stream| {
        copy::download(memory, 0, host, stream)
    }),
    ("copy_2d up", |memory, host, stream| {
        let (to, from) = (Target::Device(memory), Source::Host(host));
        copy::copy_2d(to, ROWS, from, ROWS, BLOCK, stream)
    }),
    ("copy_2d down", |memory, host, stream| {
        let (to, from) = (Target::Host(host), Source::Device(memory));
        copy::copy_2d(to, ROWS, from, ROWS, BLOCK, stream)
    }),
];

const ROWS: Pitch = Pitch {
    offset: 0,
    row: 64,
    plane: 0,
};
const BLOCK: Extent = Extent {
    width: 32,
    height: LEN / 64,
    depth: 1,
};

/// A capture that begins just after the work was queued: the first question, before the copy, is answered as usual.
#[test]
fn a_capture_that_begins_during_a_copy_does_not_end_the_wait_for_it() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let legacy = Stream::legacy(&card.device);
    let memory = DeviceBytes::allocate(&legacy, LEN).unwrap();
    for (name, copied) in COPIES {
        let mut host = vec![3; LEN];
        fake.deferred(true);
        // It hides the default stream for three questions, and spoils nothing.
        for nth in 2..5 {
            fake.fail("cuStreamIsCapturing", nth, 906);
        }
        copied(&memory, &mut host, &legacy).unwrap();
        fake.fail_nothing();
        assert_eq!(fake.pending(), 0, "{name} returned while it was running");
        fake.deferred(false);
    }
}

#[test]
fn copies_beside_captures_that_come_and_go_are_over_when_they_return() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let legacy = Stream::legacy(&card.device);
    let memory = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    copy::upload(&memory, 0, &[5; LEN], &card.stream).unwrap();
    let (device, stop) = (&card.device, AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                come_and_go(device);
            }
        });
        for _ in 0..200 {
            let mut host = vec![0; LEN];
            fake.deferred(true);
            let copied = copy::download(&memory, 0, &mut host, &legacy);
            let as_returned = host.clone();
            fake.deferred(false);
            assert!(
                std::hint::black_box(&host) == &as_returned,
                "written after the call returned {copied:?}"
            );
            assert!(copied.is_err() || host == [5; LEN]);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A capture of a blocking stream, spoilt or not.
fn come_and_go(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let _context = device.bind().unwrap();
    let table = device.driver().table();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: a live stream of the current context.
    let status = unsafe { table.cuStreamBeginCapture_v2.unwrap()(stream.handle(), mode) };
    assert_eq!(status.0, 0);
    std::thread::sleep(Duration::from_micros(200));
    let mut graph = std::ptr::null_mut();
    // SAFETY: as above; the call writes one pointer.
    unsafe { table.cuStreamEndCapture.unwrap()(stream.handle(), &raw mut graph) };
    if !graph.is_null() {
        // SAFETY: made just now and destroyed once.
        unsafe { table.cuGraphDestroy.unwrap()(graph) };
    }
}

#[test]
fn asynchronous_copies_stay_out_of_graphs() {
    let Some(card) = card() else { return };
    let memory = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    card.stream.synchronize().unwrap();
    let buffer = |len| PinnedPool::global().acquire(len).unwrap();
    let held = PinnedPool::global().held().in_use_bytes;
    captured(&card, &card.stream, || {
        for len in [LEN, 0] {
            let copies = [
                copy::upload_async(&memory, 0, buffer(len), &card.stream),
                copy::download_async(&memory, 0, buffer(len), &card.stream),
            ];
            for copied in copies {
                let error = copied.expect_err("a graph would keep the buffer");
                assert_eq!(error.kind(), &ErrorKind::Busy, "{error}");
            }
        }
    });
    assert_eq!(PinnedPool::global().held().in_use_bytes, held);
}

#[test]
fn a_buffer_whose_copy_cannot_be_waited_for_is_never_given_out_again() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let memory = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    copy::upload(&memory, 0, &[5; LEN], &card.stream).unwrap();
    // Dropped, and refused after the copy was queued.
    for refused in [false, true] {
        let mut buffer = PinnedPool::global().acquire(LEN).unwrap();
        buffer.fill(0);
        fake.deferred(true);
        if refused {
            fake.fail_from("cuEventRecord", 1, 999);
        }
        for call in [
            "cuEventSynchronize",
            "cuStreamSynchronize",
            "cuCtxSynchronize",
        ] {
            fake.fail_from(call, 1, 999);
        }
        let pending = copy::download_async(&memory, 0, buffer, &card.stream);
        assert_eq!(pending.is_err(), refused);
        drop(pending);
        fake.fail_nothing();
        let mut again = PinnedPool::global().acquire(LEN).unwrap();
        again.fill(1);
        fake.deferred(false);
        assert!(
            std::hint::black_box(&again).iter().all(|&byte| byte == 1),
            "another copy wrote it"
        );
        assert_eq!(card.device.errors().len(), usize::from(!refused));
    }
}

#[test]
fn the_buffers_of_a_ring_that_cannot_be_waited_for_are_never_used_again() {
    const LARGE: usize = 9 << 20;
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let memory = DeviceBytes::allocate(&card.stream, LARGE).unwrap();
    copy::upload(&memory, 0, &vec![5; LARGE], &card.stream).unwrap();
    fake.deferred(true);
    for call in [
        "cuEventSynchronize",
        "cuStreamSynchronize",
        "cuCtxSynchronize",
    ] {
        fake.fail_from(call, 1, 999);
    }
    let mut host = vec![0; LARGE];
    copy::download(&memory, 0, &mut host, &card.stream).expect_err("no wait works");
    fake.fail_nothing();
    assert!(fake.pending() > 0, "something still writes the buffers");
    // None of these is one of the ring's, and the ring works with others.
    let mut buffers: Vec<_> = (0..8)
        .map(|_| PinnedPool::global().acquire(2 << 20).unwrap())
        .collect();
    buffers.iter_mut().for_each(|buffer| buffer.fill(1));
    copy::upload(&memory, 0, &vec![6; LARGE], &card.stream).unwrap();
    copy::download(&memory, 0, &mut host, &card.stream).unwrap();
    assert!(host.iter().all(|&byte| byte == 6));
    fake.deferred(false);
    for buffer in &buffers {
        assert!(std::hint::black_box(buffer).iter().all(|&byte| byte == 1));
    }
}
