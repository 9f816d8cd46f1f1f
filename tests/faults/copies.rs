//! Copies and fills: bounds, shapes, and both devices.

use crate::raw::*;
use std::ptr::null_mut;
use ulib_device::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype};

#[test]
fn a_copy_must_stay_within_one_allocation() {
    let Some(raw) = Raw::begin() else { return };
    let (first, second) = (raw.allocate(256), raw.allocate(256));
    let bytes = [7_u8; 300];
    assert_eq!(raw.up(first, &bytes[..256]), OK);
    assert_eq!(raw.up(first, &bytes[..257]), INVALID_VALUE);
    assert_eq!(raw.up(first + 1, &bytes[..256]), INVALID_VALUE);
    assert_eq!(raw.up(first.wrapping_sub(1), &bytes[..2]), INVALID_VALUE);
    assert_eq!(raw.up(0, &bytes[..1]), INVALID_VALUE);
    assert_eq!(raw.down(first + 255, 2), Err(INVALID_VALUE));
    assert_eq!(
        call!(raw, cuMemcpyDtoD_v2(second + 1, first, 256)),
        INVALID_VALUE
    );
    assert_eq!(call!(raw, cuMemsetD8_v2(second, 1, 257)), INVALID_VALUE);
    assert_eq!(
        raw.now(second, 256),
        [0xCD; 256],
        "a refused copy moves nothing"
    );
    raw.free(first);
    assert_eq!(raw.up(first, &bytes[..1]), INVALID_VALUE, "freed memory");
    raw.free(second);
}

#[test]
fn a_device_address_is_no_host_address() {
    let Some(raw) = Raw::begin() else { return };
    let (first, second) = (raw.allocate(16), raw.allocate(16));
    assert_eq!(
        call!(raw, cuMemcpyHtoD_v2(first, second as *const _, 16)),
        INVALID_VALUE
    );
    assert_eq!(
        call!(raw, cuMemcpyDtoH_v2(first as *mut _, second, 16)),
        INVALID_VALUE
    );
    assert_eq!(
        call!(raw, cuMemcpyHtoD_v2(first, null_mut(), 16)),
        INVALID_VALUE
    );
    let local = [0_u8; 16];
    assert_eq!(
        call!(
            raw,
            cuMemcpyHtoD_v2(local.as_ptr() as u64, local.as_ptr().cast(), 16)
        ),
        INVALID_VALUE
    );
    assert_eq!(
        call!(raw, cuMemcpy(first, local.as_ptr() as u64, 16)),
        OK,
        "unified addresses may be either"
    );
    raw.free(first);
    raw.free(second);
}

#[test]
fn fills_write_their_elements() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(64);
    assert_eq!(call!(raw, cuMemsetD8_v2(address, 1, 64)), OK);
    assert_eq!(call!(raw, cuMemsetD16_v2(address + 2, 0x0302, 2)), OK);
    assert_eq!(call!(raw, cuMemsetD32_v2(address + 8, 0x0706_0504, 1)), OK);
    assert_eq!(
        call!(raw, cuMemsetD32_v2(address + 2, 0, 1)),
        INVALID_VALUE,
        "misaligned"
    );
    assert_eq!(
        raw.down(address, 13).unwrap(),
        [1, 1, 2, 3, 2, 3, 1, 1, 4, 5, 6, 7, 1]
    );
    assert_eq!(optional!(raw, cuMemsetD2D8_v2(address, 32, 9, 2, 2)), OK);
    assert_eq!(
        optional!(raw, cuMemsetD2D8_v2(address, 33, 9, 33, 2)),
        INVALID_VALUE,
        "beyond the end"
    );
    let bytes = raw.down(address, 64).unwrap();
    assert_eq!(
        (&bytes[..3], &bytes[32..35]),
        (&[9, 9, 2][..], &[9, 9, 1][..])
    );
    raw.free(address);
}

/// A descriptor with nothing in it.
fn rows() -> CUDA_MEMCPY2D {
    // SAFETY: plain numbers and pointers, for which zero is a value.
    unsafe { core::mem::zeroed() }
}

fn slices() -> CUDA_MEMCPY3D {
    // SAFETY: plain numbers and pointers, for which zero is a value.
    unsafe { core::mem::zeroed() }
}

#[test]
fn rows_go_where_their_pitches_say() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(4 * 16);
    let host: Vec<u8> = (0..30).collect();
    let mut copy = rows();
    copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
    copy.srcHost = host.as_ptr().cast();
    (copy.srcPitch, copy.srcXInBytes, copy.srcY) = (10, 2, 1);
    copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    (copy.dstDevice, copy.dstPitch, copy.dstXInBytes, copy.dstY) = (address, 16, 4, 2);
    (copy.WidthInBytes, copy.Height) = (3, 2);
    assert_eq!(call!(raw, cuMemcpy2D_v2(&copy)), OK);
    let bytes = raw.down(address, 64).unwrap();
    assert_eq!(bytes[36..39], [12, 13, 14]);
    assert_eq!(bytes[52..55], [22, 23, 24]);
    assert_eq!(bytes.iter().filter(|byte| **byte != 0xCD).count(), 6);
    copy.dstY = 3;
    assert_eq!(
        call!(raw, cuMemcpy2D_v2(&copy)),
        INVALID_VALUE,
        "one row too many"
    );
    (copy.dstY, copy.dstXInBytes) = (2, 14);
    assert_eq!(
        call!(raw, cuMemcpy2D_v2(&copy)),
        INVALID_VALUE,
        "wider than the pitch"
    );
    raw.free(address);
}

#[test]
fn slices_go_where_pitch_and_height_say() {
    let Some(raw) = Raw::begin() else { return };
    let volume: Vec<u8> = (0..4 * 3 * 2).collect();
    let address = raw.allocate(volume.len());
    assert_eq!(raw.up(address, &volume), OK);
    let mut out = [0_u8; 4];
    let mut copy = slices();
    copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    (
        copy.srcDevice,
        copy.srcPitch,
        copy.srcHeight,
        copy.srcXInBytes,
        copy.srcY,
    ) = (address, 4, 3, 1, 1);
    copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
    (copy.dstHost, copy.dstPitch, copy.dstHeight) = (out.as_mut_ptr().cast(), 2, 1);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (2, 1, 2);
    assert_eq!(call!(raw, cuMemcpy3D_v2(&copy)), OK);
    assert_eq!(out, [5, 6, 17, 18]);
    copy.srcZ = 1;
    assert_eq!(call!(raw, cuMemcpy3D_v2(&copy)), INVALID_VALUE);
    raw.free(address);
}

#[test]
fn bytes_cross_devices_with_and_without_peer_access() {
    let Some(raw) = Raw::begin() else { return };
    let here = raw.allocate(8);
    let other = raw.retain(1);
    let mut can = -1;
    assert_eq!(call!(raw, cuDeviceCanAccessPeer(&mut can, 0, 1)), OK);
    assert_eq!(can, 1);
    assert_eq!(call!(raw, cuCtxPushCurrent_v2(other)), OK);
    let there = raw.allocate(8);
    assert_eq!(raw.up(there, b"peerpeer"), OK);
    let mut popped = null_mut();
    assert_eq!(call!(raw, cuCtxPopCurrent_v2(&mut popped)), OK);
    assert_eq!(
        call!(raw, cuMemcpyPeer(here, raw.context, there, other, 8)),
        OK
    );
    assert_eq!(raw.down(here, 8).unwrap(), b"peerpeer");
    assert_eq!(
        call!(raw, cuMemcpyPeer(here, other, there, other, 8)),
        INVALID_VALUE,
        "not that context's memory"
    );
    assert_eq!(call!(raw, cuCtxEnablePeerAccess(other, 0)), OK);
    assert_eq!(call!(raw, cuCtxEnablePeerAccess(other, 0)), 704);
    assert_eq!(optional!(raw, cuCtxDisablePeerAccess(other)), OK);
    raw.session.peers(false);
    assert_eq!(call!(raw, cuDeviceCanAccessPeer(&mut can, 0, 1)), OK);
    assert_eq!((can, call!(raw, cuCtxEnablePeerAccess(other, 0))), (0, 217));
    raw.free(here);
    raw.free(there);
}

#[test]
fn host_copies_take_the_time_a_bandwidth_allows() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(1000);
    raw.session.bandwidth(100_000);
    let start = std::time::Instant::now();
    assert_eq!(raw.up(address, &[0; 1000]), OK);
    assert!(start.elapsed() >= std::time::Duration::from_millis(10));
    raw.free(address);
}
