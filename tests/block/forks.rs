//! What a forked child may do with blocks of its parent.
#![cfg(unix)]
#![allow(unsafe_code, reason = "forks")]

use crate::common;
use crate::support::{DEVICE, HOST, kernel_fill, numbers, on_device, on_host, set, values};
use ulib_core::{ErrorKind, Residency};
use ulib_device::block::Block;
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
    common::alone(
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
    common::alone(
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
    common::alone(
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

/// Forks while another thread is in the middle of a download of `block`, which takes two seconds.
fn with_a_stuck_copy(block: &Block, session: &fakecuda::Session, work: impl FnOnce()) {
    session.bandwidth(2 << 10);
    let copies = session.count("cuMemcpyDtoHAsync_v2");
    std::thread::scope(|scope| {
        scope.spawn(|| block.read().map(drop).unwrap());
        while session.count("cuMemcpyDtoHAsync_v2") == copies {
            std::thread::yield_now();
        }
        in_fork(work);
        session.bandwidth(0);
    });
}

#[test]
fn a_block_that_another_thread_was_copying_does_not_hang_the_child() {
    common::alone(
        "forks::a_block_that_another_thread_was_copying_does_not_hang_the_child",
        &[],
        || {
            let Some(session) = common::fake_only() else {
                return;
            };
            let stream = Stream::legacy(&crate::support::device());
            let there = format!("Device: {}", stream.device().name());
            let mut block = on_device(1024);
            kernel_fill(&mut block, &stream, 7);
            let other = on_host(16);
            with_a_stuck_copy(&block, &session, || {
                let errors = [
                    block.read().map(drop).unwrap_err(),
                    block.read_at(0, &mut [0]).unwrap_err(),
                    block.export_host().map(drop).unwrap_err(),
                    block.host_view().map(drop).unwrap_err(),
                    block.lease().map(drop).unwrap_err(),
                    block.export().map(drop).unwrap_err(),
                    block.end_exports().unwrap_err(),
                    block.set_preferred(HOST).unwrap_err(),
                    block.set_preferred(DEVICE).unwrap_err(),
                    block.update().unwrap_err(),
                    block.release_device().map(drop).unwrap_err(),
                    block.try_clone().map(drop).unwrap_err(),
                    block.device_read(&stream).map(drop).unwrap_err(),
                    block.device_read_if_placed(&stream).map(drop).unwrap_err(),
                ];
                for error in errors {
                    assert_eq!(*error.kind(), ErrorKind::Forked, "{error}");
                }
                assert_eq!(block.location().to_string(), there);
                assert_eq!(block.preferred(), DEVICE);
                assert_eq!(block.residency(), Residency::DeviceNewer);
                assert!(!block.is_device_resident() && !block.can_use_device());
                assert!(!block.is_shared() && block.leases() == 0 && !block.is_exported());
                assert!(block.target_device().is_none());
                assert!(format!("{block:?}").contains("DeviceNewer"));
                // Blocks that nobody used meanwhile are as in any other child.
                assert_eq!(values(&other), numbers(16));
                assert!(!other.set_preferred(DEVICE).unwrap());
            });
            assert_eq!(values(&block), [7; 1024], "the parent goes on");
        },
    );
}

#[test]
fn a_block_that_hangs_in_the_child_can_be_dropped_there() {
    common::alone(
        "forks::a_block_that_hangs_in_the_child_can_be_dropped_there",
        &[],
        || {
            let Some(session) = common::fake_only() else {
                return;
            };
            let stream = Stream::legacy(&crate::support::device());
            let mut block = on_device(1024);
            kernel_fill(&mut block, &stream, 7);
            with_a_stuck_copy(&block, &session, || {
                // SAFETY: the child never uses its copy of the original again, and leaves by `_exit`.
                drop(unsafe { std::ptr::read(&raw const block) });
            });
        },
    );
}

#[test]
fn threads_of_a_child_wait_for_each_other() {
    common::alone("forks::threads_of_a_child_wait_for_each_other", &[], || {
        let block = on_host(1024);
        in_fork(|| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..500 {
                            assert_eq!(values(&block.try_clone().unwrap()), numbers(1024));
                            let _ = block.release_device().unwrap();
                            assert_eq!(values(&block), numbers(1024));
                        }
                    });
                }
            });
        });
    });
}
