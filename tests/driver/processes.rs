//! What is decided once per process: kinds of drivers, forks, and the end. Each in a process of its own, with the
//! software driver.
#![allow(unsafe_code, reason = "installs the software driver, and forks")]

use crate::common;
use crate::support::device;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;
use ulib_core::ErrorKind;
use ulib_device::driver::forked;
use ulib_device::sys::{CUdevice, CUdevice_attribute, CUresult, proto};
use ulib_device::{Device, Driver, Event, Stream, Unavailable};

/// The software driver without some names, as the driver of this process.
fn install_without(
    missing: &'static [&'static str],
) -> Result<&'static Driver, &'static Unavailable> {
    let resolve = move |name: &str| {
        if missing.contains(&name) {
            None
        } else {
            fakecuda::resolve(name)
        }
    };
    // SAFETY: the software driver's functions have the driver's prototypes and stay in memory.
    unsafe { Driver::install(resolve) }
}

fn install() -> Result<&'static Driver, &'static Unavailable> {
    install_without(&[])
}

#[test]
fn no_device() {
    common::alone("processes::no_device", &[("FAKECUDA_DEVICES", "0")], || {
        assert_eq!(install().unwrap_err(), &Unavailable::NoDevice);
        assert_eq!(*Device::count().unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(Device::all().is_empty());
    });
}

#[test]
fn a_stub_library() {
    common::alone(
        "processes::a_stub_library",
        &[("FAKECUDA_INIT", "34")],
        || {
            let reason = install().unwrap_err();
            assert!(
                matches!(reason, Unavailable::StubLibrary { .. }),
                "{reason:?}"
            );
            assert!(
                reason
                    .to_string()
                    .ends_with("is the CUDA toolkit's stub library, not an NVIDIA driver")
            );
        },
    );
}

#[test]
fn a_driver_that_does_not_start() {
    common::alone(
        "processes::a_driver_that_does_not_start",
        &[("FAKECUDA_INIT", "999")],
        || {
            let expected = Unavailable::Init {
                code: 999,
                name: "CUDA_ERROR_UNKNOWN".into(),
            };
            assert_eq!(install().unwrap_err(), &expected);
            assert_eq!(
                Device::new(0).unwrap_err().to_string(),
                "the NVIDIA driver does not start: CUDA_ERROR_UNKNOWN (999)"
            );
        },
    );
}

#[test]
fn a_driver_below_the_floor() {
    common::alone(
        "processes::a_driver_below_the_floor",
        &[("FAKECUDA_VERSION", "10020")],
        || {
            let expected = Unavailable::DriverTooOld {
                found: 10_020,
                need: 11_000,
            };
            assert_eq!(install().unwrap_err(), &expected);
        },
    );
}

#[test]
fn a_driver_that_lacks_what_every_driver_has() {
    common::alone(
        "processes::a_driver_that_lacks_what_every_driver_has",
        &[],
        || {
            let reason = install_without(&["cuMemcpyHtoDAsync_v2"]).unwrap_err();
            assert!(
                reason.to_string().ends_with("lacks cuMemcpyHtoDAsync_v2"),
                "{reason}"
            );
        },
    );
}

#[test]
fn the_oldest_driver_works_without_newer_entries() {
    let name = "processes::the_oldest_driver_works_without_newer_entries";
    common::alone(name, &[("FAKECUDA_VERSION", "11000")], || {
        let driver = install().unwrap();
        assert_eq!(driver.version(), 11_000);
        assert!(driver.table().cuMemAllocAsync.is_none());
        assert!(driver.table().cuDeviceGetUuid_v2.is_none());
        assert_ne!(device().uuid(), [0; 16]);
        assert_eq!(device().memory_resource().name(), "driver");
        let stream = Stream::new(&device()).unwrap();
        let (before, after) = (
            Event::timed(&device()).unwrap(),
            Event::timed(&device()).unwrap(),
        );
        before.record(&stream).unwrap();
        after.record(&stream).unwrap();
        stream.synchronize().unwrap();
        assert!(after.elapsed_ms(&before).unwrap() >= 0.0);
        // SAFETY: no such function exists, so no pointer comes out.
        assert!(unsafe { driver.symbol::<fn()>("cuMemPrefetchBatchAsync") }.is_none());
        assert!(device().errors().is_empty());
    });
}

#[test]
fn a_driver_without_any_optional_entry_still_works() {
    common::alone(
        "processes::a_driver_without_any_optional_entry_still_works",
        &[],
        || {
            install_without(ulib_device::sys::Table::OPTIONAL).unwrap();
            assert_eq!(device().uuid(), [0; 16]);
            let stream = Stream::non_blocking(&device()).unwrap();
            stream.synchronize().unwrap();
            device().synchronize().unwrap();
            let event = stream.record().unwrap();
            let error = event.elapsed_ms(&event).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unavailable);
            assert!(error.to_string().contains("cuEventElapsedTime"), "{error}");
        },
    );
}

/// Devices of compute capability 5.2; everything else is the software driver's answer.
unsafe extern "C" fn old_attribute(
    value: *mut i32,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> CUresult {
    let capability = match attribute {
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 5,
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 2,
        _ => {
            let address =
                fakecuda::resolve("cuDeviceGetAttribute").expect("the software driver has it");
            // SAFETY: the software driver's function under this name has this prototype.
            let ask = unsafe {
                std::mem::transmute::<NonNull<c_void>, proto::cuDeviceGetAttribute>(address)
            };
            // SAFETY: the caller's pointer, handed on.
            return unsafe { ask(value, attribute, device) };
        }
    };
    // SAFETY: the caller passes a pointer to an integer.
    unsafe { *value = capability };
    CUresult::CUDA_SUCCESS
}

#[test]
fn a_device_below_the_floor() {
    common::alone("processes::a_device_below_the_floor", &[], || {
        let resolve = |name: &str| match name {
            "cuDeviceGetAttribute" => NonNull::new(old_attribute as *mut c_void),
            _ => fakecuda::resolve(name),
        };
        // SAFETY: the software driver's functions, and one with the prototype of its name.
        unsafe { Driver::install(resolve) }.unwrap();
        assert_eq!(Device::count().unwrap(), 2);
        let error = Device::new(1).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert_eq!(
            error.to_string(),
            "GPU 1 (Fake GPU 1) is too old: compute capability 5.2, and 6.0 is needed"
        );
        assert!(Device::all().is_empty());
    });
}

#[test]
fn an_installed_driver_stays() {
    common::alone("processes::an_installed_driver_stays", &[], || {
        let first = install().unwrap();
        assert!(std::ptr::eq(first, install_without(&["cuInit"]).unwrap()));
        assert!(std::ptr::eq(first, Driver::get().unwrap()));
    });
}

mod libc {
    //! The three calls a fork needs.
    unsafe extern "C" {
        pub(super) fn fork() -> i32;
        pub(super) fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        pub(super) fn _exit(status: i32) -> !;
    }
}

/// Forks, runs `work` in the child, and gives the number it answers.
fn in_fork(work: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child only runs `work` and leaves without returning into the test harness.
    match unsafe { libc::fork() } {
        0 => {
            let answer =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(255);
            // SAFETY: ends the child at once, which is what it is for.
            unsafe { libc::_exit(i32::from(answer)) }
        }
        child => {
            assert!(child > 0, "fork works");
            let mut status = 0;
            // SAFETY: waits for the child just made, and writes one integer.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status & 0x7f, 0, "the child was not killed by a signal");
            (status >> 8) & 0xff
        }
    }
}

#[test]
fn a_child_forked_after_use_gets_an_error_and_drops_quietly() {
    common::alone(
        "processes::a_child_forked_after_use_gets_an_error_and_drops_quietly",
        &[],
        || {
            install().unwrap();
            let stream = Stream::new(&device()).unwrap();
            let event = stream.record().unwrap();
            let device = device();
            let guard = device.bind().unwrap();
            let calls = fakecuda::Session::begin();
            let answer = in_fork(|| {
                assert!(forked());
                assert_eq!(Driver::get().unwrap_err(), &Unavailable::Forked);
                let errors = [
                    Device::new(0).map(drop),
                    Device::count().map(drop),
                    device.memory_info().map(drop),
                    device.synchronize(),
                    device.bind().map(drop),
                    device.pci_bus_id().map(drop),
                    Stream::new(&device).map(drop),
                    stream.synchronize(),
                    stream.record().map(drop),
                    event.is_done().map(drop),
                    event.record(&stream),
                ];
                for result in errors {
                    assert_eq!(*result.unwrap_err().kind(), ErrorKind::Forked);
                }
                // What the child holds is the parent's: dropping it here must not reach the driver.
                drop((stream.clone(), guard));
                drop(Event::new(&device));
                assert_eq!(calls.total_calls(), 0);
                assert!(device.errors().is_empty());
                42
            });
            assert_eq!(answer, 42);
            assert!(!forked());
            stream.synchronize().unwrap();
        },
    );
}

#[test]
fn a_child_forked_before_use_starts_the_driver_itself() {
    common::alone(
        "processes::a_child_forked_before_use_starts_the_driver_itself",
        &[],
        || {
            let answer = in_fork(|| {
                install().unwrap();
                Stream::new(&device()).unwrap().synchronize().unwrap();
                u8::from(!forked())
            });
            assert_eq!(answer, 1);
            install().unwrap();
            Stream::new(&device()).unwrap().synchronize().unwrap();
        },
    );
}

#[test]
fn a_forked_child_without_a_driver_still_hears_why() {
    let name = "processes::a_forked_child_without_a_driver_still_hears_why";
    common::alone(name, &[("FAKECUDA_DEVICES", "0")], || {
        install().unwrap_err();
        let answer = in_fork(|| {
            assert_eq!(Driver::get().unwrap_err(), &Unavailable::NoDevice);
            7
        });
        assert_eq!(answer, 7);
    });
}

/// Everything at once alive when the process ends: statics, thread-locals, a thread that still runs.
#[test]
fn the_process_ends_quietly_whatever_is_still_alive() {
    static KEPT: OnceLock<(Stream, Event)> = OnceLock::new();
    thread_local!(static LOCAL: OnceLock<Stream> = const { OnceLock::new() });
    common::alone(
        "processes::the_process_ends_quietly_whatever_is_still_alive",
        &[],
        || {
            install().unwrap();
            let stream = Stream::new(&device()).unwrap();
            let event = stream.record().unwrap();
            assert!(KEPT.set((stream.clone(), event)).is_ok());
            LOCAL.with(|local| assert!(local.set(stream).is_ok()));
            std::mem::forget(device().bind().unwrap());
            std::thread::spawn(|| {
                let stream = Stream::non_blocking(&device()).unwrap();
                loop {
                    if stream.synchronize().is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        },
    );
}
