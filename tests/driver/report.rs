//! What is not given back, and which launch is blamed for a broken device.
#![allow(unsafe_code, reason = "launches kernels")]

use crate::common;
use crate::support::device;
use ulib_device::memory::{Attachment, Managed};
use ulib_device::pinned::{HostFlags, HostMemory};
use ulib_device::report::{self, Kind};
use ulib_device::{Device, Event, Kernel, LaunchConfig, Module, Stream, launch};

const PTX: &str =
    ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry fakecuda_break() { ret; }\n";

const BREAK: Kernel = Kernel {
    ptx: PTX,
    entry: "fakecuda_break",
};

#[test]
fn everything_made_is_counted_until_it_is_given_back() {
    let Some(_turn) = common::gpu() else { return };
    let kinds = [Kind::Stream, Kind::Event, Kind::Module];
    let counts = || kinds.map(report::count);
    let before = counts();
    let stream = Stream::new(&device()).unwrap();
    let clone = stream.clone();
    let events = [
        Event::new(&device()).unwrap(),
        Event::timed(&device()).unwrap(),
    ];
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("fakecuda_break").unwrap();
    assert_eq!(counts(), [before[0] + 1, before[1] + 2, before[2] + 1]);
    drop((stream, events, module));
    assert_eq!(counts(), [before[0] + 1, before[1], before[2] + 1]);
    drop((clone, function));
    assert_eq!(counts(), before);
    // What is not ours is not counted.
    drop(Stream::legacy(&device()));
    assert_eq!(counts(), before);
}

#[test]
fn memory_is_counted_with_its_bytes() {
    let Some(_turn) = common::gpu() else { return };
    let find = || {
        report::live()
            .into_iter()
            .find(|live| live.kind == Kind::Allocation)
            .unwrap()
    };
    let before = find();
    let memory = ulib_device::DeviceBytes::allocate(&Stream::legacy(&device()), 1000).unwrap();
    let now = find();
    assert_eq!(
        (now.count, now.bytes),
        (before.count + 1, before.bytes + 1000)
    );
    assert!(now.to_string().contains("allocations of"), "{now}");
    drop(memory);
    assert_eq!(find(), before);
}

#[test]
fn memory_of_the_host_is_counted_with_its_bytes() {
    let Some(_turn) = common::gpu() else { return };
    let find = |kind| {
        let mut all = report::live().into_iter();
        all.find(|live| live.kind == kind)
            .map(|live| (live.count, live.bytes))
            .unwrap()
    };
    let before = [find(Kind::HostMemory), find(Kind::Managed)];
    let memory = HostMemory::new(&device(), 1000, HostFlags::default()).unwrap();
    let managed = Managed::new(&device(), 3000, Attachment::Global).unwrap();
    let [host, shared] = before;
    assert_eq!(find(Kind::HostMemory), (host.0 + 1, host.1 + 1000));
    assert_eq!(find(Kind::Managed), (shared.0 + 1, shared.1 + 3000));
    drop((memory, managed));
    assert_eq!([find(Kind::HostMemory), find(Kind::Managed)], before);
}

fn break_it(stream: &Stream, config: LaunchConfig) {
    let function = BREAK.function(stream.device()).unwrap();
    // SAFETY: the kernel has no parameters.
    unsafe { launch(&function, stream, config, &mut []) }.unwrap();
}

#[test]
fn the_launch_that_broke_a_device_is_named_wherever_it_shows() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let device = Device::new(1).unwrap();
    let stream = Stream::non_blocking(&device).unwrap();
    let shape = LaunchConfig {
        grid: [3, 2, 1],
        block: [64, 1, 1],
        shared_bytes: 0,
    };
    break_it(&stream, shape);
    let blamed =
        "most likely caused by fakecuda_break<<<(3, 2, 1), (64, 1, 1)>>>, queued as launch ";
    for error in [
        stream.synchronize().unwrap_err(),
        stream.is_done().unwrap_err(),
        device.synchronize().unwrap_err(),
        Event::new(&device).unwrap_err(),
        device.memory_info().unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(
            text.contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)") && text.contains(blamed),
            "{text}"
        );
    }
    // Other devices, and other errors, are not its fault.
    let first = Device::new(0).unwrap();
    session.fail("cuMemGetInfo_v2", 1, 1);
    assert!(
        !first
            .memory_info()
            .unwrap_err()
            .to_string()
            .contains("caused by")
    );
}

#[test]
fn launches_that_were_waited_for_are_not_blamed() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = Device::new(1).unwrap();
    device.synchronize().unwrap();
    session.break_device(1, 719);
    let text = device.synchronize().unwrap_err().to_string();
    assert!(
        text.contains("(719)") && !text.contains("caused by"),
        "{text}"
    );
}
