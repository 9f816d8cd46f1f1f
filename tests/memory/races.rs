//! One piece of memory used, waited for and freed by several threads at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fakecuda::Session;
use ulib_device::copy::{self, Extent, Pitch, Source, Target};
use ulib_device::memory::{Access, DeviceBytes};
use ulib_device::pinned::PinnedPool;
use ulib_device::{Device, Stream};

use crate::setup::{Card, card, fake_card};

const LEN: usize = 4096;

fn deferred(card: &Card, on: bool) {
    if let Some(fake) = card.fake() {
        fake.deferred(on);
    }
}

#[test]
fn a_wait_cannot_come_between_a_use_and_its_work() {
    let Some(card) = card() else { return };
    let side = Stream::non_blocking(&card.device).unwrap();
    let source = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    copy::fill(&source, 0, LEN, &[6], &card.stream).unwrap();
    source.synchronize().unwrap();
    let memory = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    memory.synchronize().unwrap();
    deferred(&card, true);
    let (noted, waited) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            memory
                .queue_on(&side, Access::Write, || {
                    noted.wait();
                    // Long enough for the other thread to get to its wait.
                    std::thread::sleep(Duration::from_millis(50));
                    assert!(!waited.load(Ordering::SeqCst), "the wait came between");
                    queue_copy(&card.device, &memory, &source, &side);
                    Ok(())
                })
                .unwrap();
        });
        noted.wait();
        memory.synchronize().unwrap();
        waited.store(true, Ordering::SeqCst);
        assert!(side.is_done().unwrap(), "the work was waited for as well");
    });
}

/// Puts a copy of the whole of `from` to `to` into `stream`, past everything that remembers uses.
fn queue_copy(device: &Device, to: &DeviceBytes, from: &DeviceBytes, stream: &Stream) {
    let _context = device.bind().unwrap();
    let table = device.driver().table();
    // SAFETY: both are live and have that many bytes; the caller has noted the use.
    let status =
        unsafe { (table.cuMemcpyDtoDAsync_v2)(to.ptr(), from.ptr(), LEN, stream.handle()) };
    assert_eq!(status.0, 0);
}

type Use = fn(&DeviceBytes, &DeviceBytes, &Stream);

/// Everything that queues work and returns.
const USES: [(&str, Use); 5] = [
    ("fill", |memory, _, stream| {
        copy::fill(memory, 0, LEN, &[1], stream).unwrap();
    }),
    ("copy_device to it", |memory, other, stream| {
        copy::copy_device(memory, 0, other, 0, LEN, stream).unwrap();
    }),
    ("copy_device from it", |memory, other, stream| {
        copy::copy_device(other, 0, memory, 0, LEN, stream).unwrap();
    }),
    ("copy_2d to it", |memory, other, stream| {
        let rows = |offset| Pitch {
            offset,
            row: 64,
            plane: 0,
        };
        let extent = Extent {
            width: 32,
            height: 8,
            depth: 1,
        };
        let (to, from) = (Target::Device(memory), Source::Device(other));
        copy::copy_2d(to, rows(0), from, rows(32), extent, stream).unwrap();
    }),
    ("upload_async", |memory, _, stream| {
        let buffer = PinnedPool::global().acquire(LEN).unwrap();
        let _ = copy::upload_async(memory, 0, buffer, stream).unwrap();
    }),
];

/// What another thread does meanwhile, so that earlier uses are forgotten.
const FORGETS: [(&str, Use); 2] = [
    ("synchronize", |memory, _, _| memory.synchronize().unwrap()),
    ("fill elsewhere", |memory, _, stream| {
        copy::fill(memory, 0, LEN, &[2], stream).unwrap();
    }),
];

#[test]
fn memory_is_not_handed_out_again_while_a_racing_use_is_queued() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    for (name, work) in USES {
        for (against, forget) in FORGETS {
            for round in 0..60 {
                race(&card, fake, work, forget);
                let faults = fake.faults();
                assert!(
                    faults.is_empty(),
                    "{name} against {against}, {round}: {faults:?}"
                );
            }
        }
    }
}

fn race(card: &Card, fake: &Session, work: Use, forget: Use) {
    let streams = [(); 2].map(|()| Stream::non_blocking(&card.device).unwrap());
    let other = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    let memory = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    memory.synchronize().unwrap();
    fake.deferred(true);
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for _ in 0..3 {
                work(&memory, &other, &streams[0]);
            }
        });
        start.wait();
        for _ in 0..3 {
            forget(&memory, &other, &streams[1]);
        }
    });
    drop((memory, other));
    // The pool may hand the same memory out again.
    let again = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    copy::upload(&again, 0, &[7; LEN], &card.stream).unwrap();
    fake.deferred(false);
    let mut back = [0; LEN];
    copy::download(&again, 0, &mut back, &card.stream).unwrap();
    assert!(back == [7; LEN], "memory in use was handed out");
}

#[test]
fn copies_in_opposite_directions_do_not_wait_for_each_other() {
    let Some(card) = card() else { return };
    let [one, two] = [(); 2].map(|()| DeviceBytes::allocate(&card.stream, LEN).unwrap());
    let (one, two) = (&one, &two);
    std::thread::scope(|scope| {
        for (to, from) in [(one, two), (two, one)] {
            let device = &card.device;
            scope.spawn(move || {
                let stream = Stream::non_blocking(device).unwrap();
                for _ in 0..300 {
                    copy::copy_device(to, 0, from, 0, LEN, &stream).unwrap();
                }
                // Within one piece of memory there is one lock.
                copy::copy_device(to, 0, to, LEN / 2, LEN / 2, &stream).unwrap();
            });
        }
    });
}
