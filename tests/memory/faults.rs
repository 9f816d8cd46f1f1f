//! Calls that fail, one by one.

use ulib_core::{ErrorKind, Result};
use ulib_device::memory::DeviceBytes;
use ulib_device::pinned::PinnedPool;
use ulib_device::{Stream, copy};

use crate::setup::{Card, fake_card, pattern};

/// A bit of everything, ending with nothing in use.
fn script(card: &Card, bytes: &[u8]) -> Result<()> {
    let other = Stream::non_blocking(&card.device)?;
    let memory = DeviceBytes::allocate(&card.stream, bytes.len())?;
    copy::upload(&memory, 0, bytes, &card.stream)?;
    copy::fill(&memory, 0, 4096, &[1, 2], &other)?;
    let second = DeviceBytes::allocate(&other, 8192)?;
    copy::copy_device(&second, 0, &memory, 4096, 8192, &other)?;
    let down = copy::download_async(
        &second,
        0,
        PinnedPool::global().acquire(8192)?,
        &card.stream,
    )?;
    let down = down.wait()?;
    assert!(
        down[..] == bytes[4096..12_288],
        "a success has the right bytes"
    );
    let mut back = vec![0; bytes.len()];
    copy::download(&memory, 0, &mut back, &other)?;
    assert!(back[4096..] == bytes[4096..] && back[..4096].chunks(2).all(|pair| pair == [1, 2]));
    second.close()?;
    memory.close()
}

/// Everything alive but for what the process keeps on purpose.
fn leftovers(card: &Card) -> Vec<String> {
    PinnedPool::global().trim();
    card.device.memory_resource().trim().expect("trim");
    card.fake()
        .expect("software driver")
        .live()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn every_call_fails_once(code: u32) {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let bytes = pattern(5 << 20, 1);
    // What the process makes once is made now.
    script(&card, &bytes).expect("nothing fails yet");
    let before = leftovers(&card);
    let held = card.device.held();
    fake.reset_counts();
    script(&card, &bytes).expect("nothing fails yet");
    let calls = fake.total_calls();
    let (mut failures, mut reported) = (0_u64, 0);
    for nth in 1..=calls + 20 {
        fake.fail_any(nth, code);
        let outcome = script(&card, &bytes);
        fake.fail_nothing();
        let recorded = card.device.errors();
        if let Err(error) = &outcome {
            failures += 1;
            let expected = match code {
                2 => matches!(error.kind(), ErrorKind::OutOfMemory { .. }),
                _ => matches!(error.kind(), ErrorKind::Driver { .. }),
            };
            assert!(expected, "call {nth}: {error:?}");
        }
        assert_eq!(
            card.device.held(),
            held,
            "call {nth}: {outcome:?} {recorded:?}"
        );
        card.device.memory_resource().trim().expect("trim");
        assert_eq!(
            card.live_memory(),
            [],
            "call {nth}: {outcome:?} {recorded:?}"
        );
        // What a destructor was not allowed to destroy is on record; nothing else may be left. A lane of the ring
        // that was given up and made again is not left.
        reported += recorded.len();
        let left = leftovers(&card);
        assert!(
            left.len() <= before.len() + reported,
            "call {nth}: {outcome:?} {recorded:?}\nbefore {before:?}\nafter {left:?}"
        );
    }
    assert!(failures > calls / 4, "{failures} of {calls}");
    script(&card, &bytes).expect("all is well again");
}

#[test]
fn an_unknown_failure_of_any_call_leaks_nothing() {
    every_call_fails_once(12_345);
}

#[test]
fn out_of_memory_in_any_call_leaks_nothing() {
    every_call_fails_once(2);
}

#[test]
fn out_of_memory_tells_what_was_free() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    card.device.memory_resource().trim().unwrap();
    let in_use = card.device.memory_info().unwrap();
    let in_use = in_use.total - in_use.free;
    fake.memory_limit(in_use + (1 << 20));
    let error = DeviceBytes::allocate(&card.stream, 2 << 20).expect_err("full");
    let free = card.device.memory_info().unwrap().free;
    assert_eq!(
        error.kind(),
        &ErrorKind::OutOfMemory {
            needs: 2 << 20,
            free
        }
    );
    assert_eq!(
        error.to_string(),
        format!("out of device memory: needs 2097152 bytes, {free} bytes free")
    );
    DeviceBytes::allocate(&card.stream, 1 << 19).unwrap();
}

#[test]
fn memory_freed_on_another_stream_is_found_before_giving_up() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    card.device.memory_resource().trim().unwrap();
    let info = card.device.memory_info().unwrap();
    fake.memory_limit(info.total - info.free + (3 << 20));
    fake.deferred(true);
    let other = Stream::non_blocking(&card.device).unwrap();
    let first = DeviceBytes::allocate(&other, 2 << 20).unwrap();
    copy::fill(&first, 0, 2 << 20, &[1], &other).unwrap();
    drop(first);
    // The memory of the first is still waiting for its stream.
    DeviceBytes::allocate(&card.stream, 2 << 20).expect("trimming made room");
}

#[test]
fn a_broken_context_is_reported_and_dropping_stays_quiet() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let memory = DeviceBytes::allocate(&card.stream, 4096).unwrap();
    fake.break_device(0, 700);
    let error = copy::upload(&memory, 0, &[0; 16], &card.stream).expect_err("broken");
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 700, .. }),
        "{error:?}"
    );
    drop(memory);
    assert!(
        !card.device.errors().is_empty(),
        "the failed free is on record"
    );
}

#[test]
fn a_lost_free_is_made_up_for_later() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let _ = card.device.memory_resource();
    let memory = DeviceBytes::allocate(&card.stream, 4096).unwrap();
    fake.fail("cuMemFreeAsync", 1, 1);
    let error = memory.close().expect_err("refused");
    assert_eq!(
        error.kind(),
        &ErrorKind::Driver {
            code: 1,
            call: "cuMemFreeAsync"
        }
    );
    assert_eq!(card.live_memory().len(), 1);
    card.device.memory_resource().trim().unwrap();
    assert_eq!(card.live_memory(), []);
}
