//! Read-only addresses of the host copy: what they show when the host copy has to move from under a guard.
#![allow(
    unsafe_code,
    reason = "reads host memory by the addresses that were given out"
)]

use ulib_device::Stream;
use ulib_device::block::{Block, HostExport};

use crate::common;
use crate::support::{Outsider, device, kernel_fill, on_device, set, value, values};

fn shown(export: &HostExport) -> u32 {
    // SAFETY: the export keeps the memory, which is aligned, and no other thread writes it.
    unsafe { export.as_ptr().cast::<u32>().read_volatile() }
}

/// Three exports of three buffers of a shared block, since guards kept the content of the earlier ones.
fn three_buffers(block: &Block, change: &mut dyn FnMut(u32)) -> [HostExport; 3] {
    let first = block.export_host().unwrap();
    let guard = block.read().unwrap();
    change(1);
    let second = block.export_host().unwrap();
    let other_guard = block.read().unwrap();
    change(2);
    let third = block.export_host().unwrap();
    assert_eq!(shown(&third), 2);
    let places = [first.as_ptr(), second.as_ptr(), third.as_ptr()];
    assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
    assert_eq!(
        (guard[0], other_guard[0]),
        (0x5A, 1),
        "guards keep their content"
    );
    [first, second, third]
}

#[test]
fn every_export_shows_the_last_read_of_a_shared_block() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let lease = block.lease().unwrap();
    let outsider = Outsider::new();
    let exports = three_buffers(&block, &mut |value| outsider.fill(lease.ptr(), value, 4));
    for value in 3..6 {
        outsider.fill(lease.ptr(), value, 4);
        assert_eq!(values(&block), [value; 4]);
        assert_eq!(exports.each_ref().map(shown), [value; 3]);
    }
    drop(lease);
    outsider.fill(block.export().unwrap().ptr, 9, 4);
    block.end_exports().unwrap();
    // Not shared: one fetch, and reads without one after it.
    let guard = block.read().unwrap();
    assert_eq!(guard[0], 9);
    assert_eq!(exports.each_ref().map(shown), [9; 3]);
}

#[test]
fn an_export_that_a_guard_kept_behind_shows_the_next_read() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let outsider = Outsider::new();
    let export = block.export_host().unwrap();
    let guard = block.read().unwrap();
    let before = shown(&export);
    let lease = block.lease().unwrap();
    outsider.fill(lease.ptr(), 7, 4);
    drop(lease);
    assert_eq!(values(&block), [7; 4]);
    assert_eq!(shown(&export), before, "the guard keeps the content");
    drop(guard);
    // Nothing is fetched for this one, since the host copy is current.
    let since = block.transfers();
    assert_eq!(values(&block), [7; 4]);
    assert_eq!(shown(&export), 7);
    assert_eq!(block.transfers(), since);
}

#[test]
fn every_export_shows_the_last_write() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let lease = block.lease().unwrap();
    let outsider = Outsider::new();
    let exports = three_buffers(&block, &mut |value| outsider.fill(lease.ptr(), value, 4));
    let see = || exports.each_ref().map(shown);
    // Shared: the guard passes through.
    block.write().unwrap().fill(3);
    assert_eq!(see(), [0x0303_0303; 3]);
    assert_eq!(outsider.read(lease.ptr(), 1), [0x0303_0303]);
    drop(lease);
    block.overwrite().unwrap().fill(4);
    assert_eq!(see(), [0x0404_0404; 3]);
    set(&mut block, 0, 5);
    assert_eq!(see(), [5; 3]);
    kernel_fill(&mut block, &Stream::non_blocking(&device()).unwrap(), 6);
    assert_eq!(value(&block, 0), 6);
    assert_eq!(see(), [6; 3]);
    // Those that are gone are forgotten.
    let [first, second, third] = exports;
    drop((second, third));
    set(&mut block, 0, 8);
    assert_eq!((shown(&first), block.host_exports()), (8, 1));
    drop(first);
    set(&mut block, 0, 9);
    assert_eq!(value(&block, 0), 9);
    block.resize(4).unwrap();
}
