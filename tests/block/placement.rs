//! Policies, lack of memory, and transfers that nobody asked for.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use crate::common;
use crate::support::{
    CHANGED, DEVICE, Implicit, NOTHING, RELEASED, device, kernel_fill, moved, numbers, on_device,
    on_host, set, value, values,
};
use ulib_core::{
    Decision, DeviceIfFits, ErrorKind, HonourPreference, HostOnly, Placement, PlacementPolicy,
    PlacementRequest, Reason, Residency,
};
use ulib_device::block::Block;
use ulib_device::transfers::{self, ImplicitTransfers};
use ulib_device::{Stream, hooks};

#[test]
fn a_policy_decides_before_anything_moves() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_host(1024);
    block.set_policy(Arc::new(DeviceIfFits {
        margin_bytes: u64::MAX / 2,
    }));
    assert!(!block.set_preferred(DEVICE).unwrap());
    assert!(
        block
            .location()
            .to_string()
            .starts_with("Host (does not fit on the device: needs 4096 bytes, ")
    );
    let error = block.lease().unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency);
    assert_eq!(block.transfers(), Default::default());
    block.set_policy(Arc::new(DeviceIfFits { margin_bytes: 0 }));
    assert!(block.update().unwrap());
}

#[test]
fn a_policy_that_changes_its_mind_frees_the_device_copy() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(1024);
    block.set_policy(Arc::new(HostOnly));
    assert!(
        block.is_device_resident(),
        "where the data is does not change by itself"
    );
    set(&mut block, 0, 1);
    assert!(!block.update().unwrap());
    assert_eq!(device().held().allocations, 0);
    assert_eq!(
        block.location().to_string(),
        "Host (kept on the host by the placement policy)"
    );
    block.set_policy(Arc::new(HonourPreference));
    assert!(block.update().unwrap());
    assert_eq!(value(&block, 0), 1);
}

#[test]
fn out_of_memory_says_both_counts_and_a_later_try_works() {
    let Some(session) = common::fake_only() else {
        return;
    };
    // Memory cached by earlier tests would be given out beside the limit.
    let _ = on_device(16).release_device().unwrap();
    session.memory_limit(5000);
    let first = on_device(1024);
    let mut second = on_host(1024);
    assert!(!second.set_preferred(DEVICE).unwrap());
    assert_eq!(second.preferred(), DEVICE, "recorded all the same");
    let sentence = second.location().to_string();
    let free = sentence
        .strip_prefix("Host (out of device memory: needs 4096 bytes, ")
        .and_then(|rest| rest.strip_suffix(" bytes free)"))
        .unwrap_or_else(|| panic!("{sentence}"));
    assert!(free.parse::<u64>().unwrap() < 4096, "{sentence}");
    let error = second.export().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OutOfMemory { needs: 4096, .. }),
        "{error:?}"
    );
    assert_eq!(values(&second), numbers(1024));
    drop(first);
    assert!(second.update().unwrap());
    assert!(second.is_device_resident());
    set(&mut second, 0, 1);
    assert_eq!(
        second.location().to_string(),
        CHANGED,
        "the old reason is gone"
    );
    assert_eq!(session.live_bytes(), 4096);
}

#[test]
fn forbidden_transfers_are_errors_that_name_direction_and_bytes() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    let _forbid = Implicit::set(ImplicitTransfers::Forbid);
    let since = block.transfers();
    let error = block.read().unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency);
    assert_eq!(
        error.to_string(),
        "read: implicit transfers are forbidden, and this one needs 16 bytes moved from device to host"
    );
    assert!(block.read_at(0, &mut [0; 4]).is_err());
    assert!(block.write().is_err());
    assert!(block.write_at(0, &[1]).is_err());
    assert!(block.export_host().is_err());
    assert!(block.resize(4).is_err());
    assert_eq!(
        (moved(&block, since), block.residency()),
        (NOTHING, Residency::DeviceNewer)
    );

    // What is there is there, and what is asked for moves.
    block
        .device_read(&Stream::legacy(&device()))
        .unwrap()
        .finish()
        .unwrap();
    let _ = block.release_device().unwrap();
    assert_eq!(values(&block), [7; 4]);
    let error = block.lease().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("16 bytes moved from host to device"),
        "{error}"
    );
    assert!(block.device_read(&Stream::legacy(&device())).is_err());
    assert!(block.device_write(&Stream::legacy(&device())).is_err());
    assert_eq!(block.location().to_string(), RELEASED);
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, since), (1, 1, 16, 16));

    // While shared every access is a transfer; part of the data is less of one.
    let _lease = block.lease().unwrap();
    let error = block.read_at(4, &mut [0; 4]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("needs 4 bytes moved from device to host"),
        "{error}"
    );
    assert!(block.write_at(4, &[0; 4]).is_err());
    assert!(block.overwrite().is_err());
    assert_eq!(moved(&block, since), (1, 1, 16, 16));
}

#[test]
fn other_settings_only_say_something() {
    let Some(_driver) = common::gpu() else { return };
    for setting in [ImplicitTransfers::Log, ImplicitTransfers::Warn] {
        let _setting = Implicit::set(setting);
        assert_eq!(transfers::implicit_transfers(), setting);
        let mut block = on_device(4);
        kernel_fill(&mut block, &Stream::legacy(&device()), 7);
        assert_eq!(values(&block), [7; 4]);
    }
}

#[test]
fn the_process_counts_what_blocks_count() {
    let Some(_driver) = common::gpu() else { return };
    let before = transfers::total();
    let mut block = on_device(4);
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    let _ = values(&block);
    drop(block);
    let now = transfers::total();
    assert_eq!(
        (
            now.uploads - before.uploads,
            now.bytes_down - before.bytes_down
        ),
        (1, 16)
    );
}

fn stop(_done: u64, _total: u64) -> ControlFlow<()> {
    ControlFlow::Break(())
}

struct Watched;

impl Drop for Watched {
    fn drop(&mut self) {
        hooks::set_watch(None);
    }
}

#[test]
fn an_interrupted_copy_leaves_the_state_as_it_was() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(8 << 20);
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    session.bandwidth(64 << 20);
    let since = block.transfers();
    let watched = Watched;
    hooks::set_watch(Some(stop));
    for _ in 0..2 {
        assert_eq!(*block.read().unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(block.residency(), Residency::DeviceNewer);
    }
    assert_eq!(
        *block.release_device().unwrap_err().kind(),
        ErrorKind::Interrupted
    );
    assert!(block.is_device_resident());
    drop(watched);
    session.bandwidth(0);
    assert!(
        block
            .read()
            .unwrap()
            .chunks(4)
            .all(|bytes| bytes == 7_u32.to_ne_bytes())
    );
    assert_eq!(moved(&block, since).1, 1, "only what succeeded counts");

    // Upwards the host copy stays the truth.
    set(&mut block, 0, 1);
    session.bandwidth(64 << 20);
    let _watched = Watched;
    hooks::set_watch(Some(stop));
    assert_eq!(*block.update().unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(block.location().to_string(), CHANGED);
    assert_eq!(value(&block, 0), 1);
}

/// Says that where the data is preferred is fine, and asks the block when it is dropped.
#[derive(Debug)]
struct AsksWhenDropped {
    block: Weak<Block>,
    heard: mpsc::Sender<String>,
}

impl PlacementPolicy for AsksWhenDropped {
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
        Decision::as_preferred(request)
    }
}

impl Drop for AsksWhenDropped {
    fn drop(&mut self) {
        if let Some(block) = self.block.upgrade() {
            self.heard.send(block.location().to_string()).unwrap();
        }
    }
}

#[test]
fn a_policy_may_ask_the_block_when_it_is_replaced() {
    let (heard, hear) = mpsc::channel();
    // On a thread of its own, so that one that waits for itself fails the test and does not hang it.
    std::thread::spawn(move || {
        let block = Arc::new(on_host(1));
        block.set_policy(Arc::new(AsksWhenDropped {
            block: Arc::downgrade(&block),
            heard,
        }));
        block.set_policy(Arc::new(HostOnly));
    });
    let answer = hear.recv_timeout(Duration::from_secs(20));
    assert_eq!(answer.as_deref(), Ok("Host"));
}

/// Answers with a device whatever is preferred.
#[derive(Debug)]
struct Always(u32);

impl PlacementPolicy for Always {
    fn decide(&self, _request: &PlacementRequest<'_>) -> Decision {
        Decision {
            placement: Placement::Device(self.0),
            reason: Reason::AsPreferred,
        }
    }
}

#[test]
fn a_policy_that_answers_another_device_is_not_honoured() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_host(4);
    block.set_policy(Arc::new(Always(1)));
    assert!(!block.can_use_device());
    assert!(!block.set_preferred(DEVICE).unwrap());
    assert!(!block.is_device_resident());
    assert_eq!(
        block.location().to_string(),
        "Host (the placement policy chose device 1, and device 0 is preferred)"
    );
    assert_eq!(*block.lease().unwrap_err().kind(), ErrorKind::Residency);
    assert_eq!(device().held().allocations, 0);
    block.set_policy(Arc::new(Always(0)));
    assert!(block.update().unwrap() && block.is_device_resident());
}
