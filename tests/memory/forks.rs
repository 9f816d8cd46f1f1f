//! A forked child of a process that uses the driver.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ulib_core::ErrorKind;
use ulib_device::copy;
use ulib_device::memory::{DeviceBytes, DeviceMemoryResource, PoolResource};
use ulib_device::pinned::PinnedPool;

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
