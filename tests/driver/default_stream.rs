//! The default stream beside captures: what would spoil one is refused by name, and none begins in the middle of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::common;
use crate::support::device;
use ulib_core::{ErrorKind, Result};
use ulib_device::copy::raw::Element;
use ulib_device::memory::{DeviceMemoryResource, PoolResource};
use ulib_device::{Access, DeviceBytes, Event, Stream, StreamKind, copy};

const LEN: usize = 64;

/// A use of a stream.
type Use<'a> = dyn Fn(&Stream) -> Result<()> + Sync + 'a;

fn fill(bytes: &DeviceBytes, value: u8, stream: &Stream) -> Result<()> {
    bytes.queue_on(stream, Access::Write, || {
        #[allow(unsafe_code, reason = "a kernel, so to speak")]
        // SAFETY: the memory is alive, and remembers the stream.
        unsafe {
            copy::raw::fill(bytes.ptr(), Element::D8(value), LEN, stream)
        }
    })
}

/// Memory that was used in no other stream than its own.
fn memory() -> DeviceBytes {
    let own = Stream::non_blocking(&device()).unwrap();
    let bytes = DeviceBytes::allocate(&own, LEN).unwrap();
    copy::upload(&bytes, 0, &[9; LEN], &own).unwrap();
    bytes
}

/// What puts work into the default stream, and what became of it.
fn work_in_the_default_stream() -> Vec<(&'static str, Result<()>)> {
    let legacy = Stream::legacy(&device());
    let (one, two) = (memory(), memory());
    let (event, other) = (
        Event::new(&device()).unwrap(),
        Stream::non_blocking(&device()).unwrap(),
    );
    let before = other.record().unwrap();
    let mut back = [0; LEN];
    vec![
        ("fill", fill(&one, 1, &legacy)),
        ("copy", copy::copy_device(&one, 0, &two, 0, LEN, &legacy)),
        ("upload", copy::upload(&one, 0, &[1; LEN], &legacy)),
        ("download", copy::download(&one, 0, &mut back, &legacy)),
        ("record", event.record(&legacy)),
        ("wait", legacy.wait(&before)),
        ("notify", legacy.notify(|| {})),
        ("synchronize", legacy.synchronize()),
        ("is_done", legacy.is_done().map(drop)),
    ]
}

#[test]
fn work_that_would_spoil_a_capture_is_refused() {
    let Some(turn) = common::gpu() else { return };
    let bytes = memory();
    for (kind, refused) in [
        (StreamKind::Blocking, true),
        (StreamKind::NonBlocking, false),
    ] {
        let on = Stream::of_kind(&device(), kind, 0).unwrap();
        let capture = on.capture().unwrap();
        fill(&bytes, 5, &on).unwrap();
        let here = work_in_the_default_stream();
        let there = thread::spawn(work_in_the_default_stream).join().unwrap();
        for (what, done) in here.into_iter().chain(there) {
            match done {
                Ok(()) => assert!(!refused, "{what}"),
                Err(error) => {
                    assert!(refused, "{what}: {error}");
                    assert_eq!(*error.kind(), ErrorKind::Busy, "{what}: {error}");
                }
            }
        }
        let graph = capture.finish().unwrap();
        assert_eq!(graph.node_count().unwrap(), 1);
        graph.instantiate().unwrap().launch(&on).unwrap();
        for (what, done) in work_in_the_default_stream() {
            assert!(done.is_ok(), "{what} after the capture: {done:?}");
        }
        let mut back = [0; LEN];
        copy::download(&bytes, 0, &mut back, &on).unwrap();
        assert_eq!(back, [5; LEN]);
    }
    assert!(device().errors().is_empty());
    if let Some(session) = turn.session() {
        assert!(session.faults().is_empty(), "{:?}", session.faults());
    }
}

#[test]
fn no_capture_begins_in_the_middle_of_a_call() {
    let Some(turn) = common::gpu() else { return };
    let pool = Arc::new(PoolResource::new(&device()).unwrap());
    let (capturing, done, refused) = (AtomicU64::new(2), AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    let copied = memory();
    let uses: [&Use<'_>; 4] = [
        &|legacy| copy::upload(&copied, 0, &[1; LEN], legacy),
        &|legacy| copy::download(&copied, 0, &mut [0; LEN], legacy),
        &|legacy| legacy.record().map(drop),
        &|legacy| {
            let resource: Arc<dyn DeviceMemoryResource> = Arc::<PoolResource>::clone(&pool);
            DeviceBytes::allocate_from(resource, legacy, LEN).and_then(DeviceBytes::close)
        },
    ];
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let on = Stream::of_kind(&device(), StreamKind::Blocking, 0).unwrap();
                let bytes = memory();
                for _ in 0..500 {
                    let capture = on.capture().unwrap();
                    let ended = fill(&bytes, 1, &on).and_then(|()| capture.finish());
                    if ended.is_err() {
                        over.store(true, Ordering::Relaxed);
                    }
                    assert_eq!(ended.unwrap().node_count().unwrap(), 1);
                }
                if capturing.fetch_sub(1, Ordering::Relaxed) == 1 {
                    over.store(true, Ordering::Relaxed);
                }
            });
        }
        for one in uses {
            let (over, done, refused) = (&over, &done, &refused);
            scope.spawn(move || {
                let legacy = Stream::legacy(&device());
                while !over.load(Ordering::Relaxed) {
                    match one(&legacy) {
                        Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
                            refused.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    assert!(done.into_inner() > 0 && refused.into_inner() > 0);
    device().synchronize().unwrap();
    assert_eq!(pool.used_bytes().unwrap(), 0, "a free was lost");
    assert!(device().errors().is_empty());
    if let Some(session) = turn.session() {
        assert!(session.faults().is_empty(), "{:?}", session.faults());
    }
}
