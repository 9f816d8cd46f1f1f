//! Launches of graphs: each is an operation on the blocks that the captured work uses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common;
use crate::support::{
    DEVICE, HOST, Implicit, NOTHING, device, fill, kernel_fill, moved, numbers, on_device, set,
    value, values,
};
use ulib_core::{ErrorKind, Residency};
use ulib_device::block::Block;
use ulib_device::transfers::ImplicitTransfers;
use ulib_device::{GraphExec, Stream, copy};

fn stream() -> Stream {
    Stream::non_blocking(&device()).unwrap()
}

/// A graph that sets the first `count` numbers.
fn filling(block: &mut Block, on: &Stream, value: u32, count: usize) -> GraphExec<'static> {
    let capture = on.capture().unwrap();
    let guard = block.device_write(on).unwrap();
    fill(on, guard.ptr(), value, count);
    guard.finish().unwrap();
    capture.finish().unwrap().instantiate().unwrap()
}

/// A graph that copies one block to another one.
fn copying(to: &mut Block, from: &Block, on: &Stream) -> GraphExec<'static> {
    let capture = on.capture().unwrap();
    let len = from.len();
    let (to, from) = (to.device_write(on).unwrap(), from.device_read(on).unwrap());
    // SAFETY: both blocks are alive in every test, or their memory is kept by the graph.
    #[allow(unsafe_code, reason = "a kernel, so to speak")]
    unsafe { copy::raw::copy(to.ptr(), from.ptr(), len, on) }.unwrap();
    to.finish().unwrap();
    from.finish().unwrap();
    capture.finish().unwrap().instantiate().unwrap()
}

#[test]
fn a_launch_makes_the_host_copy_stale() {
    let Some(driver) = common::gpu() else { return };
    if let Some(session) = driver.session() {
        session.deferred(true);
    }
    let (mut block, on, other) = (on_device(4), stream(), stream());
    let mut exec = filling(&mut block, &on, 7, 4);
    let read: [fn(&Block) -> Vec<u32>; 4] = [
        values,
        |block| (0..4).map(|at| value(block, at)).collect(),
        |block| values(&block.try_clone().unwrap()),
        |block| {
            let view = block.export_host().unwrap();
            assert_eq!(view.len(), 16);
            values(block)
        },
    ];
    for (number, read) in (10..).zip(read) {
        kernel_fill(&mut block, &other, number);
        assert_eq!(read(&block), [number; 4]);
        assert_eq!(values(&block), [number; 4], "the host copy is current");
        exec.launch(&on).unwrap();
        assert_eq!(block.residency(), Residency::DeviceNewer);
        assert_eq!(read(&block), [7; 4]);
    }
    // What a launch has written comes home before the device memory goes.
    kernel_fill(&mut block, &other, 1);
    assert_eq!(values(&block), [1; 4]);
    exec.launch(&on).unwrap();
    block.set_preferred(HOST).unwrap();
    assert_eq!(values(&block), [7; 4]);
}

#[test]
fn a_launch_uploads_what_the_host_changed() {
    let Some(_driver) = common::gpu() else { return };
    let (mut block, mut target, on) = (on_device(4), on_device(4), stream());
    let mut exec = filling(&mut block, &on, 7, 2);
    set(&mut block, 0, 1);
    set(&mut block, 3, 2);
    exec.launch(&on).unwrap();
    assert_eq!(values(&block), [7, 7, numbers(4)[2], 2]);
    // What is only read.
    let mut exec = copying(&mut target, &block, &on);
    set(&mut block, 2, 3);
    exec.launch(&on).unwrap();
    assert_eq!(block.residency(), Residency::InSync);
    assert_eq!(values(&target), [7, 7, 3, 2]);
    // Nothing more is moved by further ones.
    let since = block.transfers();
    exec.launch(&on).unwrap();
    on.synchronize().unwrap();
    assert_eq!(moved(&block, since), NOTHING);
    set(&mut block, 2, 4);
    let forbidden = Implicit::set(ImplicitTransfers::Forbid);
    let error = exec.launch(&on).unwrap_err();
    drop(forbidden);
    assert_eq!(*error.kind(), ErrorKind::Residency, "{error}");
    assert_eq!(values(&target), [7, 7, 3, 2]);
}

#[test]
fn a_launch_that_would_not_reach_its_block_is_refused() {
    let Some(driver) = common::gpu() else { return };
    let on = stream();
    let give_up: [fn(&mut Block); 4] = [
        |block| assert!(block.release_device().unwrap().is_complete()),
        |block| assert!(block.set_preferred(HOST).unwrap()),
        |block| block.resize(8).unwrap(),
        |block| block.replace([0; 4]).unwrap(),
    ];
    for give_up in give_up {
        let (mut read, mut written) = (on_device(4), on_device(4));
        let mut exec = copying(&mut written, &read, &on);
        exec.launch(&on).unwrap();
        for given_up in [&mut read, &mut written] {
            give_up(given_up);
            let error = exec.launch(&on).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Residency, "{error}");
            let words = error.to_string();
            assert!(
                words.contains("an object of 16 bytes has given up"),
                "{words}"
            );
            assert!(words.contains("on the host now"), "{words}");
        }
        // Nothing was launched, and other device memory is not that of the graph.
        for back in [&read, &written] {
            back.set_preferred(DEVICE).unwrap();
            back.update().unwrap();
        }
        let error = exec.launch(&on).unwrap_err().to_string();
        assert!(error.contains("other device memory"), "{error}");
    }
    assert!(device().errors().is_empty());
    if let Some(session) = driver.session() {
        assert!(session.faults().is_empty(), "{:?}", session.faults());
    }
}

#[test]
fn a_launch_leaves_open_views_alone() {
    let Some(_driver) = common::gpu() else { return };
    let (mut block, on) = (on_device(4), stream());
    let mut exec = filling(&mut block, &on, 7, 1);
    let mut view = block.host_view().unwrap();
    assert_eq!(*exec.launch(&on).unwrap_err().kind(), ErrorKind::Busy);
    view.bytes_mut().unwrap().fill(0);
    view.close().unwrap();
    exec.launch(&on).unwrap();
    assert_eq!(values(&block), [7, 0, 0, 0]);
}

#[test]
fn a_block_that_has_gone_is_nothing_to_ask() {
    let Some(_driver) = common::gpu() else { return };
    let (mut target, on) = (on_device(4), stream());
    let source = on_device(4);
    let mut exec = copying(&mut target, &source, &on);
    drop(source);
    exec.launch(&on).unwrap();
    assert_eq!(values(&target), numbers(4));
    drop(target);
    exec.launch(&on).unwrap();
    exec.synchronize().unwrap();
}

#[test]
fn launches_and_readers_do_not_wait_for_each_other_for_ever() {
    let Some(_driver) = common::gpu() else { return };
    let (mut one, mut two) = (on_device(4), on_device(4));
    let (on, there) = (stream(), stream());
    kernel_fill(&mut one, &on, 5);
    kernel_fill(&mut two, &on, 5);
    // Opposite uses of the two.
    let mut execs = [
        (copying(&mut one, &two, &on), &on),
        (copying(&mut two, &one, &there), &there),
    ];
    let (over, blocks) = (AtomicBool::new(false), [&one, &two]);
    thread::scope(|scope| {
        for block in blocks {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    assert_eq!(values(block), [5; 4]);
                }
            });
        }
        let launching: Vec<_> = execs
            .iter_mut()
            .map(|(exec, on)| {
                scope.spawn(move || {
                    for _ in 0..200 {
                        exec.launch(on).unwrap();
                    }
                })
            })
            .collect();
        let ends: Vec<_> = launching.into_iter().map(|one| one.join()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ends.iter().all(Result::is_ok));
    });
    assert_eq!(values(&one), [5; 4]);
    assert_eq!(values(&two), [5; 4]);
}
