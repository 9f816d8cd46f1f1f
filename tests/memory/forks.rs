//! A forked child of a process that uses the driver.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use ulib_core::ErrorKind;
use ulib_device::memory::{Access, DeviceBytes, DeviceMemoryResource, PoolResource};
use ulib_device::pinned::PinnedPool;
use ulib_device::{Kernel, copy};

use crate::setup::{card, pattern};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Runs `work` in a child; whether it came through without a panic or a signal.
fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: the child runs only `work`, which waits for no other thread, and leaves without the parent's cleanup.
    let pid = unsafe { fork() };
    assert!(pid >= 0, "fork");
    if pid == 0 {
        let passed = catch_unwind(AssertUnwindSafe(work)).is_ok();
        // SAFETY: ends the child at once.
        unsafe { _exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: the child made above, and a place for its status.
    assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
    status == 0
}

#[test]
fn a_child_reads_pinned_memory_and_its_destructors_leave_the_driver_alone() {
    let Some(card) = card() else { return };
    let bytes = pattern(50_000, 1);
    let memory = DeviceBytes::allocate(&card.stream, bytes.len()).unwrap();
    copy::upload(&memory, 0, &bytes, &card.stream).unwrap();
    let mut pinned = PinnedPool::global().acquire(bytes.len()).unwrap();
    pinned.copy_from_slice(&bytes);
    let queued = PinnedPool::global().acquire(64).unwrap();
    let queued = copy::download_async(&memory, 0, queued, &card.stream).unwrap();
    let pool = PoolResource::new(&card.device).unwrap();
    let calls = card.fake().map(|fake| fake.total_calls());
    let mut owned = Some((memory, pinned, queued, pool));
    let passed = in_child(|| {
        let (memory, pinned, queued, pool) = owned.take().expect("inherited");
        assert!(*pinned == *bytes, "the child has its own copy");
        let refused = [
            copy::upload(&memory, 0, &bytes, &card.stream).map(drop),
            copy::download(&memory, 0, &mut [0; 8], &card.stream),
            DeviceBytes::allocate(&card.stream, 8).map(drop),
            PinnedPool::global().acquire(8).map(drop),
            pool.trim(),
        ];
        for outcome in refused {
            assert_eq!(outcome.expect_err("forked").kind(), &ErrorKind::Forked);
        }
        drop((memory, pinned, queued, pool));
        assert_eq!(
            card.fake().map(|fake| fake.total_calls()),
            calls,
            "the driver was called"
        );
    });
    assert!(passed);
    // The parent goes on as if nothing had happened.
    let (memory, pinned, queued, _pool) = owned.take().expect("the parent's own");
    assert!(queued.wait().unwrap()[..] == bytes[..64] && *pinned == *bytes);
    let mut back = vec![0; bytes.len()];
    copy::download(&memory, 0, &mut back, &card.stream).unwrap();
    assert!(back == bytes);
}

/// A child forked while another thread holds the lock of a piece of memory, and waits for nobody.
#[test]
fn a_child_does_not_wait_for_locks_of_threads_it_does_not_have() {
    let Some(card) = card() else { return };
    let memory = DeviceBytes::allocate(&card.stream, 64).unwrap();
    let kernel = Kernel {
        ptx: "no program",
        entry: "nothing",
    };
    let calls = |card: &crate::setup::Card| card.fake().map(|fake| fake.total_calls());
    let (held, done) = (Barrier::new(2), Barrier::new(2));
    let memory = &memory;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            memory
                .queue_on(&card.stream, Access::Read, || {
                    held.wait();
                    done.wait();
                    Ok(())
                })
                .unwrap();
        });
        held.wait();
        let before = calls(&card);
        let passed = in_child(|| {
            let resource = card.device.memory_resource();
            let refused = [
                memory.use_on(&card.stream, Access::Write),
                memory.synchronize(),
                copy::fill(memory, 0, 64, &[1], &card.stream),
                copy::copy_device(memory, 0, memory, 32, 32, &card.stream),
                resource.allocate(8, &card.stream).map(drop),
                resource.trim(),
                card.device.set_memory_resource(resource.clone()).map(drop),
                kernel.function(&card.device).map(drop),
            ];
            for outcome in refused {
                assert_eq!(outcome.expect_err("forked").kind(), &ErrorKind::Forked);
            }
            assert_eq!(calls(&card), before, "the driver was called");
        });
        done.wait();
        assert!(passed);
    });
}
