//! Which calls of the driver small operations make once everything they need is there: no more than the work takes.

use ulib_core::PreferredDevice;
use ulib_device::Device;
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{on_device, samples};

/// 256 KiB: a host copy from the pinned pool.
const ELEMENTS: usize = 65_536;

/// Waiting for a stream: captures are looked for and left alone.
const WAIT: [&str; 4] = [
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    "cuStreamSynchronize",
    "cuThreadExchangeStreamCaptureMode",
];

/// Checks the calls of the second run of `work`, once with the context current before and once with none.
fn makes(what: &str, work: impl Fn(&mut Block), before: impl Fn(&mut Block), calls: &[&str]) {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = Device::new(0).unwrap();
    for bound in [true, false] {
        let _context = bound.then(|| device.bind().unwrap());
        let mut block = on_device(&samples::<f32>(ELEMENTS));
        for _ in 0..2 {
            before(&mut block);
            session.record(true);
            session.reset_counts();
            work(&mut block);
            session.record(false);
        }
        let mut expected = vec!["cuCtxGetCurrent"];
        if !bound {
            expected.push("cuCtxSetCurrent");
        }
        expected.extend(calls);
        if !bound {
            expected.push("cuCtxSetCurrent");
        }
        assert_eq!(
            session.calls(),
            expected,
            "{what}, context current: {bound}"
        );
    }
}

fn scale(block: &mut Block) {
    ops::scale(ViewMut::<f32>::flat(block).unwrap(), 2.0).unwrap();
}

fn read_one(block: &mut Block) {
    block.read_at(4, &mut [0; 4]).unwrap();
}

#[test]
fn a_scale_is_a_launch() {
    makes(
        "scale",
        scale,
        |_| {},
        &["cuCtxGetCurrent", "cuLaunchKernel"],
    );
}

#[test]
fn bytes_come_home_by_one_copy_and_one_wait() {
    let mut calls = vec!["cuStreamIsCapturing", "cuMemcpyDtoHAsync_v2"];
    calls.extend(WAIT);
    makes("down", read_one, scale, &calls);
    makes("read", |block| drop(block.read().unwrap()), scale, &calls);
}

#[test]
fn changed_bytes_go_back_by_one_copy_and_one_wait() {
    // In a stream of their own, which nobody captures.
    let mut calls = vec!["cuMemcpyHtoDAsync_v2"];
    calls.extend(&WAIT[1..]);
    let change = |block: &mut Block| block.write_at(0, &[1; 4]).unwrap();
    makes(
        "up",
        |block| assert!(block.update().unwrap()),
        change,
        &calls,
    );
}

#[test]
fn a_sum_of_everything_is_a_launch_for_each_level_and_one_wait() {
    const BIND: &str = "cuCtxGetCurrent";
    let mut calls = vec![BIND, "cuStreamIsCapturing"];
    calls.extend([BIND, "cuLaunchKernel"].repeat(2));
    calls.push(BIND);
    calls.extend(WAIT);
    let sum = |block: &mut Block| {
        let view = View::<f32>::flat(block).unwrap();
        let sum: f64 = ops::sum_all(&view).unwrap();
        assert!(sum.is_finite());
    };
    makes("sum", sum, |_| {}, &calls);
}

#[test]
fn reading_and_changing_what_the_host_has_asks_nobody() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(&samples::<f32>(ELEMENTS));
    session.reset_counts();
    read_one(&mut block);
    block.write_at(0, &[1; 4]).unwrap();
    read_one(&mut block);
    assert_eq!(session.total_calls(), 0);
    assert_eq!(block.preferred(), PreferredDevice::Device(0));
}
