//! Managed memory: one address for both sides, found by any address within it, and what the driver is told about it.

use std::sync::Arc;

use ulib_core::{ErrorKind, Placement};
use ulib_device::memory::{
    Advice, Attachment, DriverResource, Managed, PointerInfo, PointerKind, managed_range,
};
use ulib_device::pinned::{HostFlags, HostMemory, Registration};
use ulib_device::report::{self, Kind};
use ulib_device::{Stream, copy};

use crate::setup::{card, fake_card, pattern};

#[test]
fn any_address_within_it_is_found_until_it_is_gone() {
    let Some(card) = card() else { return };
    let memory = Managed::new(&card.device, 10_000, Attachment::Global).unwrap();
    let other = Managed::new(&card.device, 1, Attachment::Host).unwrap();
    for address in [memory.ptr(), memory.ptr() + 1, memory.ptr() + 9_999] {
        let found = managed_range(address).expect("within");
        assert_eq!(
            (found.start, found.len, found.ordinal),
            (memory.ptr(), 10_000, 0)
        );
    }
    let local = 0_u8;
    for address in [memory.ptr() + 10_000, std::ptr::from_ref(&local) as u64, 0] {
        assert!(managed_range(address).is_none_or(|found| found.start != memory.ptr()));
    }
    assert_eq!(managed_range(other.ptr()).map(|found| found.len), Some(1));
    let info = PointerInfo::of(memory.ptr() + 5).unwrap().expect("known");
    assert_eq!(
        (info.kind, info.start),
        (PointerKind::Managed, memory.ptr())
    );
    let start = memory.ptr();
    drop(memory);
    assert_eq!(managed_range(start), None);
}

#[test]
fn memory_of_every_kind_is_counted_until_it_is_gone() {
    let Some(card) = card() else { return };
    let kinds = [Kind::HostMemory, Kind::Registration, Kind::Managed];
    let counts = || kinds.map(report::count);
    let before = counts();
    let pages = vec![0_u8; 4096];
    let memory = HostMemory::new(&card.device, 10, HostFlags::PORTABLE).unwrap();
    // SAFETY: the vector outlives the registration.
    let registration = unsafe {
        Registration::new(
            &card.device,
            pages.as_ptr() as u64,
            4096,
            HostFlags::default(),
        )
    };
    let managed = Managed::new(&card.device, 10, Attachment::Global).unwrap();
    assert_eq!(counts(), before.map(|count| count + 1));
    registration.unwrap().release().unwrap();
    drop((memory, managed));
    assert_eq!(counts(), before);
}

#[test]
fn both_sides_see_the_same_bytes() {
    let Some(card) = card() else { return };
    let memory = Arc::new(Managed::new(&card.device, 4096, Attachment::default()).unwrap());
    let bytes = memory.as_bytes();
    copy::upload(&bytes, 0, &pattern(4096, 3), &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    // SAFETY: 4096 bytes of managed memory, which no work uses now.
    let seen = unsafe { std::slice::from_raw_parts(memory.ptr() as *const u8, 4096) };
    assert!(seen == pattern(4096, 3));
    copy::fill(&bytes, 10, 5, &[9], &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    assert_eq!(&seen[10..15], [9; 5]);
    let (start, _) = (memory.ptr(), drop(memory));
    assert!(managed_range(start).is_some(), "the bytes keep it");
    drop(bytes);
    assert_eq!(managed_range(start), None);
}

#[test]
fn advice_and_attachment_are_taken() {
    let Some(card) = card() else { return };
    let memory = Managed::new(&card.device, 8192, Attachment::Global).unwrap();
    let here = Placement::Device(0);
    for attachment in [Attachment::Single, Attachment::Global] {
        memory.attach(attachment, &card.stream).unwrap();
        card.stream.synchronize().unwrap();
    }
    for advice in [
        Advice::ReadMostly(true),
        Advice::ReadMostly(false),
        Advice::PreferredLocation(Some(here)),
        Advice::PreferredLocation(None),
        Advice::AccessedBy(here, true),
        Advice::AccessedBy(here, false),
    ] {
        memory.advise(0..8192, advice).unwrap();
    }
    memory.prefetch(0..4096, here, &card.stream).unwrap();
    memory
        .prefetch(100..200, Placement::Host, &card.stream)
        .unwrap();
    card.stream.synchronize().unwrap();
    let error = memory
        .prefetch(0..8193, here, &card.stream)
        .expect_err("one byte too many");
    assert_eq!(error.kind(), &ErrorKind::Index);
    let error = Managed::new(&card.device, 10, Attachment::Single).expect_err("no stream");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
}

#[test]
fn newer_drivers_have_other_entries() {
    let Some(card) = fake_card() else { return };
    let memory = Managed::new(&card.device, 64, Attachment::Global).unwrap();
    let fake = card.fake().expect("fake");
    fake.reset_counts();
    memory
        .prefetch(0..64, Placement::Host, &card.stream)
        .unwrap();
    memory.advise(0..64, Advice::ReadMostly(true)).unwrap();
    assert_eq!(
        fake.count("cuMemPrefetchAsync") + fake.count("cuMemPrefetchAsync_v2"),
        1
    );
    assert_eq!(fake.count("cuMemAdvise") + fake.count("cuMemAdvise_v2"), 1);
}

#[test]
fn no_failing_call_leaks_it() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("fake");
    let used = || -> ulib_core::Result<()> {
        let memory = Managed::new(&card.device, 100, Attachment::Global)?;
        memory.attach(Attachment::Host, &Stream::legacy(&card.device))?;
        memory.prefetch(0..100, Placement::Host, &card.stream)
    };
    used().unwrap();
    fake.reset_counts();
    used().unwrap();
    let calls = fake.total_calls();
    let mut failures = 0;
    for nth in 1..=calls {
        fake.fail_any(nth, 999);
        failures += usize::from(used().is_err());
        fake.fail_nothing();
        failures += card.device.errors().len();
    }
    assert!(failures > 2);
}

#[test]
fn memory_of_the_driver_is_usable_on_every_stream_at_once() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("fake");
    let driver = DriverResource::shared(&card.device);
    let bytes = driver.allocate_bytes(100).unwrap();
    fake.reset_counts();
    copy::fill(&bytes, 0, 100, &[1], &card.stream).unwrap();
    assert_eq!(fake.count("cuEventRecord"), 0, "it waits for nothing");
    let (rows, pitch) = driver.allocate_pitched(10, 3, 16).unwrap();
    assert!(pitch >= 10 && rows.len() == 3 * pitch);
}
