//! Results that kernels write straight to the host.

use ulib_core::ErrorKind;
use ulib_device::pinned::{Mailbox, PinnedPool};
use ulib_device::{Device, Stream};

use crate::capture::captured;
use crate::setup::{Card, card, fake_card, pattern};

/// A kernel, so to speak: sets bytes at a device address.
fn store(stream: &Stream, ptr: u64, value: u8, count: usize) {
    let _context = stream.device().bind().unwrap();
    let table = stream.device().driver().table();
    // SAFETY: the context is current; the tests name ranges inside open mailboxes.
    let status = unsafe { (table.cuMemsetD8Async)(ptr, value, count, stream.handle()) };
    assert_eq!(status.0, 0);
}

fn deferred(card: &Card, on: bool) {
    if let Some(fake) = card.fake() {
        fake.deferred(on);
    }
}

#[test]
fn what_kernels_wrote_is_there_after_the_wait() {
    let Some(card) = card() else { return };
    deferred(&card, true);
    for len in [1, 8, 100, 4096, Mailbox::MOST_BYTES] {
        let mailbox = Mailbox::open(&card.stream, len).unwrap().unwrap();
        assert_eq!((mailbox.len(), mailbox.is_empty()), (len, false));
        store(&card.stream, mailbox.ptr(), 7, len);
        store(&card.stream, mailbox.ptr() + len as u64 - 1, 9, 1);
        let bytes = mailbox.wait().unwrap();
        assert_eq!(bytes.len(), len);
        assert!(bytes[..len - 1].iter().all(|&byte| byte == 7));
        assert_eq!(bytes[len - 1], 9);
    }
}

#[test]
fn a_wait_is_one_call_to_wait_and_no_copy() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    drop(Mailbox::open(&card.stream, 8).unwrap());
    fake.reset_counts();
    let mailbox = Mailbox::open(&card.stream, 8).unwrap().unwrap();
    store(&card.stream, mailbox.ptr(), 1, 8);
    mailbox.wait().unwrap();
    assert_eq!(fake.count("cuStreamSynchronize"), 1);
    for call in [
        "cuMemHostRegister_v2",
        "cuMemHostGetDevicePointer_v2",
        "cuMemcpyDtoHAsync_v2",
    ] {
        assert_eq!(fake.count(call), 0, "{call}");
    }
}

#[test]
fn a_device_with_addresses_of_its_own_is_asked() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let stream = Stream::non_blocking(&Device::new(1).unwrap()).unwrap();
    fake.reset_counts();
    let mailbox = Mailbox::open(&stream, 16).unwrap().unwrap();
    assert_eq!(fake.count("cuMemHostGetDevicePointer_v2"), 1);
    store(&stream, mailbox.ptr(), 3, 16);
    assert_eq!(*mailbox.wait().unwrap(), [3; 16]);
}

#[test]
fn dropping_waits_before_the_memory_is_used_again() {
    let Some(card) = card() else { return };
    deferred(&card, true);
    let mailbox = Mailbox::open(&card.stream, 8).unwrap().unwrap();
    store(&card.stream, mailbox.ptr(), 5, 8);
    drop(mailbox);
    // Most likely the same memory.
    let mut next = PinnedPool::global().acquire(8).unwrap();
    next.copy_from_slice(&pattern(8, 1));
    card.stream.synchronize().unwrap();
    assert!(*next == *pattern(8, 1), "a kernel wrote late");
}

#[test]
fn there_is_none_where_a_copy_is_better_or_memory_cannot_be_locked() {
    let Some(card) = card() else { return };
    for len in [0, Mailbox::MOST_BYTES + 1] {
        assert!(Mailbox::open(&card.stream, len).unwrap().is_none());
    }
    let Some(fake) = card.fake() else { return };
    PinnedPool::global().trim();
    let before = PinnedPool::global().held();
    fake.fail_from("cuMemHostRegister_v2", 1, 712);
    assert!(Mailbox::open(&card.stream, 8).unwrap().is_none());
    fake.fail_nothing();
    assert_eq!(PinnedPool::global().held(), before);
}

#[test]
fn a_failed_wait_is_an_error_and_leaks_nothing() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    drop(Mailbox::open(&card.stream, 8).unwrap());
    let before = PinnedPool::global().held();
    let mailbox = Mailbox::open(&card.stream, 8).unwrap().unwrap();
    fake.fail("cuStreamSynchronize", 1, 700);
    let error = mailbox.wait().expect_err("the wait failed");
    let call = "cuStreamSynchronize";
    assert_eq!(error.kind(), &ErrorKind::Driver { code: 700, call });
    assert_eq!(PinnedPool::global().held(), before);
    // A drop has nobody to tell but the device.
    let mailbox = Mailbox::open(&card.stream, 8).unwrap().unwrap();
    fake.fail("cuStreamSynchronize", 1, 700);
    drop(mailbox);
    fake.fail_nothing();
    let errors = card.device.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(PinnedPool::global().held(), before);
}

#[test]
fn a_stream_being_captured_is_refused() {
    let Some(card) = card() else { return };
    captured(&card, &card.stream, || {
        let error = Mailbox::open(&card.stream, 8).expect_err("a graph would write it for ever");
        assert_eq!(error.kind(), &ErrorKind::Busy);
        assert!(error.to_string().starts_with("mailbox: "), "{error}");
    });
    assert!(Mailbox::open(&card.stream, 8).unwrap().is_some());
}
