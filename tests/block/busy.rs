//! Who may look at the host copy while others change it.
#![allow(
    unsafe_code,
    reason = "reads and writes through the addresses that were given away"
)]

use crate::common;
use crate::support::{
    CHANGED, DEVICE, HOST, Outsider, device, numbers, on_device, on_host, set, values,
};
use ulib_core::{Error, ErrorKind};
use ulib_device::Stream;
use ulib_device::block::{Block, HostExport};

/// What a NumPy view of the export shows.
fn shown(export: &HostExport) -> Vec<u32> {
    // SAFETY: the export keeps the memory, and nothing writes it during this call.
    let bytes = unsafe { std::slice::from_raw_parts(export.as_ptr(), export.len()) };
    bytemuck::cast_slice(bytes).to_vec()
}

#[test]
fn a_refresh_never_overwrites_memory_under_a_guard() {
    let Some(_driver) = common::gpu() else { return };
    for n in [4_u32, 4096] {
        let block = on_device(n);
        let before = block.read().unwrap();
        let lease = block.lease().unwrap();
        Outsider::new().fill(lease.ptr(), 5, n as usize);
        let after = block.read().unwrap();
        assert_eq!(bytemuck::cast_slice::<u8, u32>(&before), numbers(n));
        assert_eq!(bytemuck::cast_slice::<u8, u32>(&after), vec![5; n as usize]);
        drop(before);
        assert_eq!(values(&block), vec![5; n as usize]);
        assert_eq!(bytemuck::cast_slice::<u8, u32>(&after), vec![5; n as usize]);
    }
}

#[test]
fn a_forgotten_guard_is_only_a_leak() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    std::mem::forget(block.read().unwrap());
    let lease = block.lease().unwrap();
    Outsider::new().fill(lease.ptr(), 5, 4);
    assert_eq!(values(&block), [5; 4]);
    drop(lease);
    std::mem::forget(block.read().unwrap());
    set(&mut block, 0, 1);
    block.append(&2_u32.to_ne_bytes()).unwrap();
    assert_eq!(values(&block), [1, 5, 5, 5, 2]);
}

#[test]
fn an_export_shows_the_host_copy_as_of_the_last_read() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let export = block.export_host().unwrap();
    assert_eq!(shown(&export), numbers(4));
    let lease = block.lease().unwrap();
    Outsider::new().fill(lease.ptr(), 5, 4);
    assert_eq!(shown(&export), numbers(4), "nobody has read yet");
    let _ = values(&block);
    assert_eq!(shown(&export), [5; 4]);

    // A guard makes the refresh go elsewhere; once it is gone the export catches up.
    let guard = block.read().unwrap();
    Outsider::new().fill(lease.ptr(), 6, 4);
    assert_eq!(values(&block), [6; 4]);
    assert_eq!(shown(&export), [5; 4]);
    assert_eq!(bytemuck::cast_slice::<u8, u32>(&guard), [5; 4]);
    drop(guard);
    assert_eq!(values(&block), [6; 4]);
    assert_eq!(shown(&export), [6; 4]);

    // The same for a write, which needs no refresh.
    let guard = block.read().unwrap();
    Outsider::new().fill(lease.ptr(), 7, 4);
    drop(lease);
    let _ = values(&block);
    drop(guard);
    set(&mut block, 0, 1);
    assert_eq!(shown(&export), [1, 7, 7, 7]);
    assert_eq!(values(&block), [1, 7, 7, 7]);
    drop(export);
    assert_eq!(block.host_exports(), 0);
}

#[test]
fn an_export_outlives_the_block() {
    let block = on_host(4);
    let export = block.export_host().unwrap();
    drop(block);
    assert_eq!(shown(&export), numbers(4));
}

#[test]
fn an_open_host_view_excludes_everything_at_once() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let view = block.host_view().unwrap();
    let stream = Stream::legacy(&device());
    let busy = |error: Error| {
        assert_eq!(*error.kind(), ErrorKind::Busy);
        assert!(
            error
                .to_string()
                .ends_with("not possible now: a writable host view is open"),
            "{error}"
        );
    };
    busy(block.read().unwrap_err());
    busy(block.read_at(0, &mut [0]).unwrap_err());
    busy(block.export_host().unwrap_err());
    busy(block.host_view().unwrap_err());
    busy(block.lease().unwrap_err());
    busy(block.export().unwrap_err());
    busy(block.device_read(&stream).unwrap_err());
    busy(block.set_preferred(HOST).unwrap_err());
    busy(block.set_preferred(DEVICE).unwrap_err());
    busy(block.update().unwrap_err());
    busy(block.release_device().unwrap_err());
    busy(block.try_clone().unwrap_err());
    busy(block.write().unwrap_err());
    busy(block.overwrite().unwrap_err());
    busy(block.write_at(0, &[0]).unwrap_err());
    busy(block.resize(8).unwrap_err());
    busy(block.append(&[1]).unwrap_err());
    busy(block.replace(vec![1]).unwrap_err());
    busy(block.device_write(&stream).unwrap_err());
    busy(block.device_overwrite(&stream).unwrap_err());
    assert_eq!(block.target_device(), None);
    assert_eq!(block.preferred(), DEVICE);
    view.close().unwrap();
    assert_eq!(values(&block), numbers(4));
}

#[test]
fn what_a_host_view_writes_is_the_content() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let mut view = block.host_view().unwrap();
    view.bytes_mut().unwrap()[..4].copy_from_slice(&1_u32.to_ne_bytes());
    // SAFETY: the view keeps the memory and nothing else accesses it.
    unsafe { view.as_ptr().add(4).cast::<u32>().write(2) };
    view.close().unwrap();
    assert_eq!(block.location().to_string(), CHANGED);
    assert_eq!(values(&block)[..2], [1, 2]);
    drop(block.host_view().unwrap());
    assert!(block.update().unwrap());
    let lease = block.lease().unwrap();
    assert_eq!(Outsider::new().read(lease.ptr(), 2), [1, 2]);
}

#[test]
fn an_array_kept_from_a_closed_view_is_cut_off() {
    let block = on_host(4);
    let mut view = block.host_view().unwrap();
    let hold = view.hold();
    assert_eq!(*view.bytes_mut().unwrap_err().kind(), ErrorKind::Busy);
    // SAFETY: the hold keeps the memory; the view excludes every other access.
    unsafe { hold.as_ptr().cast::<u32>().write(1) };
    view.close().unwrap();
    assert_eq!(values(&block)[0], 1);
    let guard = block.read().unwrap();
    // SAFETY: the hold keeps the memory, which is not the block's any more.
    unsafe { hold.as_ptr().cast::<u32>().write(2) };
    assert_eq!(guard[..4], 1_u32.to_ne_bytes());
    assert_eq!(hold.len(), 16);
}

#[test]
fn a_host_view_does_not_open_under_others() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let refused = |block: &Block, why: &str| {
        let error = block.host_view().unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Busy);
        assert_eq!(
            error.to_string(),
            format!("host_view: not possible now: {why}")
        );
    };
    let lease = block.lease().unwrap();
    refused(&block, "the device copy is shared");
    drop(lease);
    block.export().unwrap();
    refused(&block, "the device copy is shared");
    block.end_exports().unwrap();
    let guard = block.read().unwrap();
    refused(&block, "the host copy is being read");
    drop(guard);
    let export = block.export_host().unwrap();
    refused(&block, "a read-only host view is in use");
    drop(export);
    let kernel = block.device_read(&Stream::legacy(&device())).unwrap();
    refused(&block, "a kernel reads the device copy");
    kernel.finish().unwrap();
    block.host_view().unwrap().close().unwrap();
}

#[test]
fn a_view_or_a_guard_does_not_keep_the_block() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let view = block.host_view().unwrap();
    drop(block);
    assert_eq!(device().held().allocations, 0);
    // SAFETY: the view keeps the memory.
    assert_eq!(unsafe { view.as_ptr().cast::<u32>().read() }, numbers(1)[0]);
    view.close().unwrap();
}

#[test]
fn host_bytes_can_be_cast_to_any_element() {
    let Some(_driver) = common::gpu() else { return };
    for len in [0, 1, 63, 64, 4095, 4096, 100_000, 5 << 20] {
        let mut block = Block::zeroed(len).unwrap();
        assert_eq!(block.export_host().unwrap().as_ptr().addr() % 64, 0);
        block.set_preferred(DEVICE).unwrap();
        assert_eq!(block.export_host().unwrap().as_ptr().addr() % 64, 0);
        block.append(&[1]).unwrap();
        assert_eq!(block.export_host().unwrap().as_ptr().addr() % 64, 0);
    }
}
