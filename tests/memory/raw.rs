//! Copies and fills of plain addresses, and memory of other processes.

use ulib_core::ErrorKind;
use ulib_device::copy::raw::{self, Element};
use ulib_device::memory::{
    DriverResource, ImportedMemory, PointerInfo, address_range, export_memory, memory_handle,
};
use ulib_device::sys::{CUDA_MEMCPY2D, CUmemorytype};
use ulib_device::{Device, DeviceBytes, Stream, copy};

use crate::setup::{card, fake_card, pattern};

fn content(bytes: &DeviceBytes, stream: &Stream) -> Vec<u8> {
    let mut host = vec![0; bytes.len()];
    copy::download(bytes, 0, &mut host, stream).expect("download");
    host
}

#[test]
fn addresses_are_copied_and_filled() {
    let Some(card) = card() else { return };
    let driver = DriverResource::shared(&card.device);
    let (first, second) = (
        driver.allocate_bytes(1000).unwrap(),
        driver.allocate_bytes(1000).unwrap(),
    );
    let (want, mut back) = (pattern(1000, 7), vec![0; 1000]);
    // SAFETY: both allocations have 1000 bytes, as the vectors, which live until the stream was waited for.
    unsafe {
        raw::upload(first.ptr(), want.as_ptr(), 1000, &card.stream).unwrap();
        raw::copy(second.ptr(), first.ptr(), 1000, &card.stream).unwrap();
        raw::fill(second.ptr(), Element::D16(0x0102), 5, &card.stream).unwrap();
        raw::fill_2d(
            second.ptr() + 100,
            100,
            Element::D8(9),
            (3, 4),
            &card.stream,
        )
        .unwrap();
        raw::download(back.as_mut_ptr(), second.ptr(), 1000, &card.stream).unwrap();
        // Nothing is done about no bytes, whatever the address.
        raw::upload(0, want.as_ptr(), 0, &card.stream).unwrap();
        raw::copy(0, 0, 0, &card.stream).unwrap();
        raw::fill_2d(0, 0, Element::D32(0), (0, 5), &card.stream).unwrap();
    }
    card.stream.synchronize().unwrap();
    let mut expected = want;
    for pair in expected[..10].chunks_mut(2) {
        pair.copy_from_slice(&0x0102_u16.to_ne_bytes());
    }
    for row in 1..5 {
        expected[row * 100..row * 100 + 3].fill(9);
    }
    assert!(back == expected);
}

#[test]
fn rows_are_copied_as_described() {
    let Some(card) = card() else { return };
    let bytes = DriverResource::shared(&card.device)
        .allocate_bytes(200)
        .unwrap();
    copy::fill(&bytes, 0, 200, &[0], &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    let rows = pattern(50, 1);
    // SAFETY: all zeros are a description of nothing.
    let mut description: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
    description.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
    description.srcHost = rows.as_ptr().cast();
    description.srcPitch = 10;
    description.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    description.dstDevice = bytes.ptr();
    description.dstPitch = 40;
    description.WidthInBytes = 10;
    description.Height = 5;
    let mut expected = vec![0; 200];
    for row in 0..5 {
        expected[row * 40..row * 40 + 10].copy_from_slice(&rows[row * 10..][..10]);
    }
    // SAFETY: 5 rows of 10 bytes are in the vector, which lives until the stream was waited for, and in 200 bytes.
    unsafe { raw::copy_2d(&description, &card.stream) }.unwrap();
    card.stream.synchronize().unwrap();
    assert!(content(&bytes, &card.stream) == expected);
    copy::fill(&bytes, 0, 200, &[0], &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    // SAFETY: as above.
    unsafe { raw::copy_2d_unaligned(&description, &card.device) }.unwrap();
    assert!(content(&bytes, &card.stream) == expected);
}

#[test]
fn addresses_of_two_devices_are_copied() {
    let Some(card) = fake_card() else { return };
    let second = Device::new(1).expect("the software driver has two");
    let (here, there) = (
        DriverResource::shared(&card.device)
            .allocate_bytes(64)
            .unwrap(),
        DriverResource::shared(&second).allocate_bytes(64).unwrap(),
    );
    let stream = Stream::legacy(&second);
    copy::upload(&here, 0, &pattern(64, 2), &card.stream).unwrap();
    // SAFETY: both have 64 bytes on their devices.
    unsafe {
        raw::copy_peer(
            (there.ptr(), &second),
            (here.ptr(), &card.device),
            64,
            &stream,
        )
    }
    .unwrap();
    assert!(content(&there, &stream) == pattern(64, 2));
}

#[test]
fn what_the_driver_knows_about_addresses() {
    let Some(card) = card() else { return };
    let bytes = DriverResource::shared(&card.device)
        .allocate_bytes(3000)
        .unwrap();
    let (start, len) = address_range(&card.device, bytes.ptr() + 2999).unwrap();
    assert!(start == bytes.ptr() && len >= 3000);
    let info = PointerInfo::of(bytes.ptr() + 5).unwrap().expect("known");
    assert_eq!((info.ordinal, info.start, info.len), (0, start, len as u64));
    assert_eq!((info.host, info.device), (None, Some(bytes.ptr() + 5)));
    let error = address_range(&card.device, 4096).expect_err("nothing is there");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    let local = 0_u8;
    assert_eq!(
        PointerInfo::of(std::ptr::from_ref(&local) as u64).unwrap(),
        None
    );
}

#[test]
fn the_software_driver_shares_nothing_with_other_processes() {
    let Some(card) = fake_card() else { return };
    let bytes = DriverResource::shared(&card.device)
        .allocate_bytes(10)
        .unwrap();
    for error in [
        export_memory(&card.device, bytes.ptr()).expect_err("not here"),
        ImportedMemory::open(&card.device, &[0; 64], 1).expect_err("not here"),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 801, .. }),
            "{error:?}"
        );
    }
    assert_eq!(memory_handle(&[7; 64]).unwrap(), [7; 64]);
    assert_eq!(
        memory_handle(&[7; 63]).expect_err("one too few").kind(),
        &ErrorKind::InvalidArgument
    );
}
