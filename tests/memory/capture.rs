//! Memory while a stream is being captured into a graph.

use ulib_core::ErrorKind;
use ulib_device::memory::{DeviceBytes, DeviceMemoryResource, DriverResource, PoolResource};
use ulib_device::sys::{CUresult, CUstreamCaptureMode};
use ulib_device::{Driver, Stream, copy};

use crate::setup::{Card, card, pattern};

/// Begins a capture of `stream` in the strictest mode on this thread, runs `during`, and ends it.
pub fn captured(card: &Card, stream: &Stream, during: impl FnOnce()) {
    let table = Driver::get().expect("a driver").table();
    let (begin, end) = (
        table.cuStreamBeginCapture_v2.expect("graphs"),
        table.cuStreamEndCapture.expect("graphs"),
    );
    let _context = card.device.bind().unwrap();
    // SAFETY: a live stream of the current context.
    let status = unsafe {
        begin(
            stream.handle(),
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        )
    };
    assert!(status == CUresult::CUDA_SUCCESS);
    during();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the capture that was begun above; the graph is destroyed below.
    let status = unsafe { end(stream.handle(), &raw mut graph) };
    assert!(
        status == CUresult::CUDA_SUCCESS,
        "the capture was spoilt: {}",
        status.0
    );
    // SAFETY: made just now.
    unsafe { table.cuGraphDestroy.expect("graphs")(graph) };
}

#[test]
fn another_threads_capture_survives_allocations_and_frees() {
    let Some(card) = card() else { return };
    let captured_stream = Stream::non_blocking(&card.device).unwrap();
    let resources: [std::sync::Arc<dyn DeviceMemoryResource>; 2] = [
        std::sync::Arc::new(DriverResource::new(&card.device)),
        std::sync::Arc::new(PoolResource::new(&card.device).unwrap()),
    ];
    let device = &card.device;
    captured(&card, &captured_stream, || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let stream = Stream::non_blocking(device).unwrap();
                for resource in &resources {
                    let memory =
                        DeviceBytes::allocate_from(resource.clone(), &stream, 10_000).unwrap();
                    copy::upload(&memory, 0, &pattern(10_000, 1), &stream).unwrap();
                    let mut back = vec![0; 10_000];
                    copy::download(&memory, 0, &mut back, &stream).unwrap();
                    assert!(back == pattern(10_000, 1));
                    memory.close().unwrap();
                }
            });
        });
    });
    assert!(card.device.errors().is_empty());
}

#[test]
fn memory_for_a_captured_stream_is_not_part_of_the_graph() {
    let Some(card) = card() else { return };
    let pool = std::sync::Arc::new(PoolResource::new(&card.device).unwrap());
    let mut kept = None;
    captured(&card, &card.stream, || {
        let memory = DeviceBytes::allocate_from(pool.clone(), &card.stream, 4096).unwrap();
        let dropped = DeviceBytes::allocate_from(pool.clone(), &card.stream, 4096).unwrap();
        dropped.close().unwrap();
        let error = copy::upload(&memory, 0, &[1; 16], &card.stream).expect_err("it cannot wait");
        assert_eq!(error.kind(), &ErrorKind::Busy);
        kept = Some(memory);
    });
    let memory = kept.unwrap();
    copy::upload(&memory, 0, &pattern(4096, 2), &card.stream).unwrap();
    memory.close().unwrap();
    pool.trim().unwrap();
    assert_eq!(
        pool.used_bytes().unwrap(),
        0,
        "what was freed during the capture went back as well"
    );
}
