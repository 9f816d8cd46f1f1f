//! A driver that fails: every call of a program in turn, and a context that a consumer has broken.

use crate::common;
use crate::program::{Machine, PROGRAM};
use crate::support::{DEVICE, Outsider, device, kernel_fill, numbers, on_device, on_host, values};
use fakecuda::Session;
use ulib_core::{Error, ErrorKind, PreferredDevice, Residency};
use ulib_device::block::Released;
use ulib_device::{Device, Stream};

const LENGTH: u32 = 2048;

fn assert_typed(error: &Error, code: u32, step: &str) {
    let text = error.to_string();
    match *error.kind() {
        ErrorKind::Driver { code: found, call } => {
            assert_eq!(found, code.cast_signed(), "{step}: {text}");
            assert!(call.starts_with("cu"), "{step}: {text}");
            assert!(text.contains(call), "{step}: {text}");
            assert!(text.contains(&code.to_string()), "{step}: {text}");
        }
        ErrorKind::OutOfMemory { .. } | ErrorKind::Residency if code == 2 => {}
        ref kind => panic!("{step}: {kind:?}: {text}"),
    }
}

/// How often a call fails.
#[derive(Clone, Copy, Debug)]
enum Times {
    Once,
    /// And every call after it, until the program notices.
    FromThenOn,
}

/// Runs the program with the `n`th call failing, or none. At every step the content is what it was before or what the
/// step makes of it, a step that failed works when it is tried again, and at the end nothing is left.
fn run(session: &Session, n: Option<(u64, Times)>, code: u32) -> usize {
    let stream = Stream::non_blocking(&device()).unwrap();
    let mut machine = Machine {
        block: on_host(LENGTH),
        stream,
        lease: None,
    };
    let mut content = numbers(LENGTH);
    let mut errors = 0;
    session.reset_counts();
    match n {
        Some((n, Times::Once)) => session.fail_any(n, code),
        Some((n, Times::FromThenOn)) => session.fail_any_from(n, code),
        None => {}
    }
    for step in PROGRAM {
        let before = content.clone();
        (step.effect)(&mut content);
        let Err(error) = (step.run)(&mut machine) else {
            continue;
        };
        errors += 1;
        assert_typed(&error, code, step.name);
        session.fail_nothing();
        let found = values(&machine.block);
        assert!(
            found == before || found == content,
            "call {n:?}, {}: content lost after {error}",
            step.name
        );
        if found != content || before == content {
            (step.run)(&mut machine)
                .unwrap_or_else(|error| panic!("call {n:?}, {} again: {error}", step.name));
        }
    }
    session.fail_nothing();
    assert_eq!(values(&machine.block), content, "call {n:?}");
    drop(machine);
    for device in Device::all() {
        device.memory_resource().trim().unwrap();
        assert_eq!(device.held().allocations, 0, "call {n:?}");
        let _ = device.errors();
    }
    if !matches!(n, Some((_, Times::FromThenOn))) {
        assert_eq!(session.live_bytes(), 0, "call {n:?}");
    }
    assert_eq!(session.faults(), Vec::<String>::new(), "call {n:?}");
    errors
}

/// Every call in turn.
fn every_call_fails(code: u32, times: Times) {
    let Some(session) = common::fake_only() else {
        return;
    };
    assert_eq!(run(&session, None, code), 0);
    assert_eq!(run(&session, None, code), 0);
    let calls = session.total_calls();
    assert!(calls > 50, "{calls} calls are a program");
    let errors: usize = (1..=calls)
        .map(|n| run(&session, Some((n, times)), code))
        .sum();
    // The others hit calls that only put something back, or that have a second way.
    assert!(
        errors as u64 > calls / 4,
        "{errors} of {calls} failures were reported"
    );
}

#[test]
fn every_call_fails_once_with_a_launch_failure() {
    every_call_fails(719, Times::Once);
}

#[test]
fn every_call_fails_once_with_out_of_memory() {
    every_call_fails(2, Times::Once);
}

#[test]
fn every_call_fails_once_with_a_code_nobody_knows() {
    every_call_fails(31_337, Times::Once);
}

/// In a process of its own: memory that work may still use, as far as can be told, is kept for good.
#[test]
fn from_every_call_on_all_fail() {
    common::alone("faults::from_every_call_on_all_fail", &[], || {
        every_call_fails(719, Times::FromThenOn);
    });
}

#[test]
fn a_context_that_a_consumer_broke_speaks_in_the_drivers_words() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let block = on_device(4);
    let lease = block.lease().unwrap();
    session.break_device(0, 700);
    let errors = [
        block.read().map(drop).unwrap_err(),
        block.read_at(0, &mut [0]).unwrap_err(),
        block.export_host().map(drop).unwrap_err(),
        block
            .device_read(&Stream::legacy(&device()))
            .map(drop)
            .unwrap_err(),
        block.release_device().map(drop).unwrap_err(),
        block.set_preferred(PreferredDevice::Host).unwrap_err(),
        block.try_clone().map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 700, .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
            "{error}"
        );
    }
    assert_eq!(block.residency(), Residency::DeviceNewer);
    drop(block);
    drop(lease);
    let errors = device().errors();
    assert!(
        errors
            .iter()
            .any(|error| error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS")),
        "{errors:?}"
    );
}

#[test]
fn a_fault_is_not_disguised_as_a_missing_device() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let block = on_host(4);
    block.set_preferred(DEVICE).unwrap();
    let _ = block.release_device().unwrap();
    session.break_device(0, 719);
    let error = block.lease().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 719, .. }),
        "{error:?}"
    );
    assert!(block.update().is_err());
    let sentence = block.location().to_string();
    assert!(sentence.contains("CUDA_ERROR_LAUNCH_FAILED"), "{sentence}");
    assert_eq!(
        values(&block),
        numbers(4),
        "what is on the host stays usable"
    );
}

#[test]
fn a_failing_free_after_coming_home_is_reported_and_the_data_is_home() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(1024);
    kernel_fill(&mut block, &Stream::legacy(&device()), 3);
    for call in ["cuMemFreeAsync", "cuMemFree_v2"] {
        session.fail(call, 1, 719);
    }
    let error = block.release_device().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 719, .. }),
        "{error:?}"
    );
    assert_eq!(block.residency(), Residency::HostNewer);
    assert_eq!(values(&block), [3; 1024]);
    assert_eq!(block.release_device().unwrap(), Released::Nothing);
}

#[test]
fn a_failed_write_through_in_a_destructor_is_recorded() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let _ = device().errors();
    let mut block = on_device(4);
    let lease = block.lease().unwrap();
    {
        let mut bytes = block.write().unwrap();
        bytes.fill(0);
        session.fail("cuMemcpyHtoDAsync_v2", 1, 719);
    }
    let errors = device().errors();
    assert!(
        errors
            .iter()
            .any(|error| error.to_string().contains("CUDA_ERROR_LAUNCH_FAILED")),
        "{errors:?}"
    );
    assert_eq!(Outsider::new().read(lease.ptr(), 4), numbers(4));
    assert_eq!(values(&block), numbers(4), "the device stays the truth");
}

/// In a process of its own: a device that was described once needs no description again.
#[test]
fn a_device_that_cannot_be_described_is_the_reason_in_the_drivers_words() {
    common::alone(
        "faults::a_device_that_cannot_be_described_is_the_reason_in_the_drivers_words",
        &[],
        || {
            let Some(session) = common::fake_only() else {
                return;
            };
            for call in ["cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"] {
                session.fail_from(call, 1, 999);
                assert_unreachable(&session, call);
            }
        },
    );
}

/// In a process of its own: a context is made once.
#[test]
fn a_context_that_cannot_be_made_leaves_operations_to_the_host() {
    common::alone(
        "faults::a_context_that_cannot_be_made_leaves_operations_to_the_host",
        &[],
        || {
            let Some(session) = common::fake_only() else {
                return;
            };
            session.fail_from("cuDevicePrimaryCtxRetain", 1, 999);
            assert_unreachable(&session, "cuDevicePrimaryCtxRetain");
        },
    );
}

/// A block on the host that prefers a device of which `call` fails, now and until told otherwise.
fn assert_unreachable(session: &Session, call: &'static str) {
    let block = on_host(8);
    let error = block.set_preferred(DEVICE).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 999, call: found } if *found == call),
        "{error:?}"
    );
    assert_eq!(block.preferred(), DEVICE, "recorded all the same");
    let sentence = format!("Host ({error})");
    assert_eq!(block.location().to_string(), sentence);
    assert!(!block.is_device_resident() && !block.can_use_device());
    assert!(block.target_device().is_none(), "{call}");
    assert!(block.lease().is_err() && block.update().is_err(), "{call}");
    assert_eq!(block.location().to_string(), sentence);
    assert_eq!(values(&block), numbers(8));

    // With a preference that was recorded before anybody tried, the first operation finds out.
    let fresh = block.try_clone().unwrap();
    assert!(fresh.target_device().is_none());
    assert_eq!(fresh.location().to_string(), sentence);

    session.fail_nothing();
    if call != "cuDevicePrimaryCtxRetain" {
        return;
    }
    assert!(block.update().unwrap(), "once it works, it works");
    assert!(block.can_use_device() && block.is_device_resident());
}

/// Both are possible, and the error does not tell: that of the copy comes before the bytes, that of the wait after.
#[test]
fn a_failed_write_while_shared_leaves_old_or_new_bytes_on_the_device() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut outcomes = Vec::new();
    for nth in 1.. {
        let mut block = on_device(4);
        let lease = block.lease().unwrap();
        let mut new = numbers(4);
        new[1] = 77;
        session.reset_counts();
        session.fail_any(nth, 719);
        let written = block.write_at(4, &77_u32.to_ne_bytes());
        let calls = session.total_calls();
        session.fail_nothing();
        let found = Outsider::new().read(lease.ptr(), 4);
        assert!(found == numbers(4) || found == new, "call {nth}: {found:?}");
        assert_eq!(values(&block), found, "the device is the truth");
        match written {
            Err(error) => {
                assert_typed(&error, 719, "write_at");
                outcomes.push(found == new);
            }
            Ok(()) => assert_eq!(found, new, "call {nth}"),
        }
        if calls < nth {
            break;
        }
    }
    assert!(
        outcomes.contains(&false) && outcomes.contains(&true),
        "{outcomes:?}"
    );
}
