//! Many threads at one block.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common;
use crate::support::{
    DEVICE, HOST, Outsider, device, kernel_fill, moved, numbers, on_device, value, values,
};
use ulib_core::{PreferredDevice, Residency};
use ulib_device::block::{
    Block, DeviceMut, DeviceRef, HostExport, HostHold, HostMut, HostRef, HostView, Lease, RawExport,
};
use ulib_device::{Stream, transfers};

#[test]
fn everything_may_go_to_another_thread_and_be_shared() {
    fn assert<T: Send + Sync>() {}
    assert::<Block>();
    assert::<HostRef<'_>>();
    assert::<HostMut<'_>>();
    assert::<DeviceRef<'_>>();
    assert::<DeviceMut<'_>>();
    assert::<Lease>();
    assert::<RawExport>();
    assert::<HostExport>();
    assert::<HostView>();
    assert::<HostHold>();
    assert::<transfers::Transfers>();
}

#[test]
fn eight_threads_reading_at_once_cause_one_download() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(1 << 16);
    kernel_fill(&mut block, &Stream::non_blocking(&device()).unwrap(), 9);
    let since = block.transfers();
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for index in 0..8 {
            let (block, start) = (&block, &start);
            scope.spawn(move || {
                start.wait();
                if index % 2 == 0 {
                    assert_eq!(value(block, index), 9);
                } else {
                    assert!(values(block).iter().all(|&value| value == 9));
                }
            });
        }
    });
    assert_eq!(moved(&block, since), (0, 1, 0, 1 << 18));
    assert_eq!(block.residency(), Residency::InSync);
}

#[test]
fn eight_threads_reading_a_shared_block_see_whole_states() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(1024);
    let lease = block.lease().unwrap();
    let outsider = Outsider::new();
    outsider.fill(lease.ptr(), 1, 1024);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let guard = block.read().unwrap();
                    let first: Vec<u8> = guard.to_vec();
                    thread::yield_now();
                    assert_eq!(*guard, *first, "a guard's bytes never change");
                }
            });
        }
        for round in 2..50 {
            outsider.fill(lease.ptr(), round, 1024);
            assert_eq!(value(&block, 0), round);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(values(&block), [49; 1024]);
}

#[test]
fn leases_come_and_go_on_other_threads_while_the_host_reads() {
    let Some(driver) = common::gpu() else { return };
    let block = on_device(256);
    thread::scope(|scope| {
        for seed in 1..5_u32 {
            let block = &block;
            scope.spawn(move || {
                let outsider = Outsider::new();
                for round in 0..20 {
                    let lease = block.lease().unwrap();
                    outsider.fill(lease.ptr() + u64::from(seed) * 4, seed * 100 + round, 1);
                    drop(lease);
                    // Other threads write other numbers; this one is ours and was written before.
                    assert_eq!(value(block, seed as usize), seed * 100 + round);
                }
            });
        }
    });
    assert_eq!(values(&block)[1..5], [119, 219, 319, 419]);
    drop(block);
    assert_eq!(device().held().allocations, 0);
    if let Some(session) = driver.session() {
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

#[test]
fn readers_and_releases_at_once() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(256);
    let expected = values(&block);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(values(&block), expected);
                }
            });
        }
        scope.spawn(|| {
            let stream = Stream::non_blocking(&device()).unwrap();
            for _ in 0..50 {
                block.device_read(&stream).unwrap().finish().unwrap();
            }
        });
        for _ in 0..50 {
            let _ = block.release_device().unwrap();
            assert!(block.update().is_ok());
        }
    });
    assert_eq!(values(&block), expected);
}

#[test]
fn a_preference_that_changed_since_the_question_moves_the_work() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(256);
    let stream = Stream::legacy(&block.target_device().unwrap());
    assert!(block.device_read_if_placed(&stream).unwrap().is_some());
    for elsewhere in [HOST, PreferredDevice::Device(1), PreferredDevice::Device(7)] {
        let _ = block.set_preferred(elsewhere).unwrap();
        assert!(block.device_read(&stream).is_err());
        let since = block.transfers();
        assert!(block.device_read_if_placed(&stream).unwrap().is_none());
        assert_eq!(moved(&block, since).0, 0, "nothing was uploaded for it");
        assert_eq!(values(&block), numbers(256));
    }
    assert!(block.set_preferred(DEVICE).unwrap());
    let there = block.device_read_if_placed(&stream).unwrap();
    there.unwrap().finish().unwrap();
}

#[test]
fn operations_go_on_while_another_thread_changes_the_preference() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(256);
    let expected = values(&block);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let there = block.target_device().map(|device| {
                        let read = block.device_read_if_placed(&Stream::legacy(&device));
                        read.unwrap().map(|guard| guard.finish().unwrap())
                    });
                    if there.flatten().is_none() {
                        assert_eq!(values(&block), expected);
                    }
                }
            });
        }
        for _ in 0..200 {
            assert!(block.set_preferred(HOST).unwrap());
            assert!(block.set_preferred(DEVICE).unwrap());
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(values(&block), expected);
}
