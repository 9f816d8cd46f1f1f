//! What a forked child may do with blocks of its parent.
#![cfg(unix)]
#![allow(unsafe_code, reason = "forks")]

use crate::common;
use crate::support::{
    DEVICE, HOST, in_child, kernel_fill, numbers, on_device, on_host, set, values,
};
use ulib_core::{ErrorKind, Residency};
use ulib_device::{Stream, driver};

mod libc {
    //! The three calls a fork needs.
    unsafe extern "C" {
        pub(super) fn fork() -> i32;
        pub(super) fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        pub(super) fn _exit(status: i32) -> !;
    }
}

/// Forks, and fails if `work` fails in the child.
fn in_fork(work: impl FnOnce()) {
    // SAFETY: this process was started for one test, whose thread is the only one that runs; the child leaves without
    // returning into the test harness.
    match unsafe { libc::fork() } {
        0 => {
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
            // SAFETY: ends the child at once, which is what it is for.
            unsafe { libc::_exit(i32::from(failed)) }
        }
        child => {
            assert!(child > 0, "fork works");
            let mut status = 0;
            // SAFETY: waits for the child just made, and writes one integer.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child failed; its message is above");
        }
    }
}

#[test]
fn before_the_driver_was_used_the_child_is_an_ordinary_process() {
    in_child(
        "forks::before_the_driver_was_used_the_child_is_an_ordinary_process",
        &[],
        || {
            let block = on_host(1024);
            in_fork(|| {
                let Some(_driver) = common::gpu() else { return };
                assert!(!driver::forked());
                assert!(block.set_preferred(DEVICE).unwrap(), "{}", block.location());
                assert_eq!(values(&block), numbers(1024));
                drop(block);
            });
        },
    );
}

#[test]
fn after_the_driver_was_used_host_data_works_and_device_data_is_an_error() {
    in_child(
        "forks::after_the_driver_was_used_host_data_works_and_device_data_is_an_error",
        &[],
        || {
            let Some(driver) = common::gpu() else { return };
            let stream = Stream::legacy(&crate::support::device());
            let host = on_host(1024);
            let mut in_sync = on_device(1024);
            let mut newer = on_device(1024);
            kernel_fill(&mut newer, &stream, 7);
            let shared = on_device(1024);
            let lease = shared.lease().unwrap();
            let mut kernel_reads = on_device(16);
            let export = in_sync.export_host().unwrap();
            drop(export);
            if let Some(session) = driver.session() {
                session.reset_counts();
            }
            in_fork(|| {
                assert!(driver::forked());
                // What is on the host works, also the parts in pinned memory.
                assert_eq!(values(&host), numbers(1024));
                assert_eq!(values(&in_sync), numbers(1024));
                set(&mut in_sync, 0, 1);
                assert_eq!(values(&in_sync)[0], 1);
                in_sync.append(&[1, 2, 3, 4]).unwrap();
                assert_eq!(in_sync.len(), 4100);
                assert!(
                    !host.set_preferred(DEVICE).unwrap(),
                    "recorded, and not possible"
                );
                assert!(
                    host.location().to_string().starts_with("Host ("),
                    "{}",
                    host.location()
                );
                assert_eq!(values(&host.try_clone().unwrap()), numbers(1024));
                assert_eq!(values(&kernel_reads.try_clone().unwrap()), numbers(16));

                // What only the device has is an error.
                for block in [&newer, &shared] {
                    assert_eq!(*block.read().unwrap_err().kind(), ErrorKind::Forked);
                    assert_eq!(
                        *block.read_at(0, &mut [0]).unwrap_err().kind(),
                        ErrorKind::Forked
                    );
                    assert_eq!(*block.try_clone().unwrap_err().kind(), ErrorKind::Forked);
                    assert_eq!(*block.lease().unwrap_err().kind(), ErrorKind::Forked);
                    assert!(!block.is_device_resident());
                    assert!(!block.can_use_device());
                    let there = format!("Device: {}", stream.device().name());
                    assert_eq!(block.location().to_string(), there, "it is nowhere else");
                    for preferred in [HOST, DEVICE] {
                        let moved = block.set_preferred(preferred);
                        assert_eq!(*moved.unwrap_err().kind(), ErrorKind::Forked);
                        assert_eq!(*block.update().unwrap_err().kind(), ErrorKind::Forked);
                        assert_eq!(block.location().to_string(), there);
                    }
                    assert!(block.target_device().is_none());
                }
                assert_eq!(*newer.write().unwrap_err().kind(), ErrorKind::Forked);
                newer.replace(vec![1; 8]).unwrap();
                assert_eq!(&*newer.read().unwrap(), [1; 8]);
                assert_eq!(
                    *kernel_reads.device_write(&stream).unwrap_err().kind(),
                    ErrorKind::Forked
                );

                // And no destructor calls the driver.
                drop((host, in_sync, newer, shared, lease, kernel_reads));
                if let Some(session) = driver.session() {
                    assert_eq!(session.total_calls(), 0);
                }
            });
        },
    );
}

#[test]
fn guards_that_were_open_at_the_fork_end_quietly_in_the_child() {
    in_child(
        "forks::guards_that_were_open_at_the_fork_end_quietly_in_the_child",
        &[],
        || {
            let Some(driver) = common::gpu() else { return };
            let stream = Stream::legacy(&crate::support::device());
            let block = on_device(1024);
            let (guard, kernel) = (block.read().unwrap(), block.device_read(&stream).unwrap());
            if let Some(session) = driver.session() {
                session.reset_counts();
            }
            in_fork(|| {
                assert_eq!(bytemuck::cast_slice::<u8, u32>(&guard), numbers(1024));
                drop(kernel);
                drop(guard);
                let view = block.host_view().unwrap();
                view.close().unwrap();
                assert_eq!(block.residency(), Residency::HostNewer);
                if let Some(session) = driver.session() {
                    assert_eq!(session.total_calls(), 0);
                }
            });
        },
    );
}
