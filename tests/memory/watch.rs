//! Interrupting long copies.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;

use ulib_core::ErrorKind;
use ulib_device::memory::DeviceBytes;
use ulib_device::pinned::PinnedPool;
use ulib_device::texture::{Array, ArrayDescriptor, Format};
use ulib_device::{copy, hooks};

use crate::setup::{Card, card, fake_card, pattern};

static CALLS: AtomicU64 = AtomicU64::new(0);
static SEEN: Mutex<Vec<(ThreadId, u64, u64)>> = Mutex::new(Vec::new());

/// Takes the watch away when dropped.
struct Watched;

impl Watched {
    fn by(watch: hooks::Watch) -> Self {
        CALLS.store(0, Ordering::SeqCst);
        SEEN.lock().unwrap().clear();
        hooks::set_watch(Some(watch));
        Self
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        hooks::set_watch(None);
    }
}

fn stop_at_once(done: u64, total: u64) -> ControlFlow<()> {
    CALLS.fetch_add(1, Ordering::SeqCst);
    SEEN.lock()
        .unwrap()
        .push((std::thread::current().id(), done, total));
    ControlFlow::Break(())
}

fn go_on(done: u64, total: u64) -> ControlFlow<()> {
    SEEN.lock()
        .unwrap()
        .push((std::thread::current().id(), done, total));
    ControlFlow::Continue(())
}

/// Large enough to take much longer than the watch's period: on a card by its size (fresh host pages are slow as
/// well), on the software driver by its bandwidth.
fn slow(card: &Card) -> usize {
    match card.fake() {
        Some(fake) => {
            fake.bandwidth(100_000_000);
            24 << 20
        }
        None => 4 << 30,
    }
}

fn fast(card: &Card) {
    if let Some(fake) = card.fake() {
        fake.bandwidth(0);
    }
}

#[test]
fn an_interrupted_copy_leaves_everything_usable() {
    let Some(card) = card() else { return };
    let size = slow(&card);
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    let mut host = vec![0; size];
    {
        let _watched = Watched::by(stop_at_once);
        let error = copy::download(&device, 0, &mut host, &card.stream).expect_err("stopped");
        assert_eq!(error.kind(), &ErrorKind::Interrupted);
        assert_eq!(
            CALLS.load(Ordering::SeqCst),
            1,
            "asked no more once it said stop"
        );
        let seen = SEEN.lock().unwrap();
        let (thread, done, total) = seen[0];
        assert_eq!(thread, std::thread::current().id(), "on the calling thread");
        assert!(done <= total && total == size as u64, "{done} of {total}");
    }
    fast(&card);
    let part = size.min(24 << 20);
    let bytes = pattern(part, 6);
    copy::upload(&device, 0, &bytes, &card.stream).unwrap();
    copy::download(&device, 0, &mut host[..part], &card.stream).unwrap();
    assert!(host[..part] == bytes[..]);
}

#[test]
fn an_interrupted_upload_has_finished_its_chunks() {
    let Some(card) = fake_card() else { return };
    let size = slow(&card);
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    let bytes = pattern(size, 2);
    let _watched = Watched::by(stop_at_once);
    let error = copy::upload(&device, 0, &bytes, &card.stream).expect_err("stopped");
    assert_eq!(error.kind(), &ErrorKind::Interrupted);
    assert!(
        error.to_string().contains(&format!("of {size} bytes")),
        "{error}"
    );
    assert_eq!(
        card.fake().expect("checked").pending(),
        0,
        "nothing runs any more"
    );
}

#[test]
fn a_watch_that_goes_on_sees_progress() {
    let Some(card) = fake_card() else { return };
    let size = slow(&card);
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    let bytes = pattern(size, 2);
    let _watched = Watched::by(go_on);
    copy::upload(&device, 0, &bytes, &card.stream).unwrap();
    let seen = SEEN.lock().unwrap();
    assert!(!seen.is_empty());
    assert!(
        seen.windows(2).all(|pair| pair[0].1 <= pair[1].1),
        "the count only grows"
    );
    assert!(
        seen.iter()
            .all(|&(_, done, total)| done <= total && total == size as u64)
    );
}

#[test]
fn a_watch_may_copy_itself() {
    fn copies(_done: u64, _total: u64) -> ControlFlow<()> {
        if CALLS.fetch_add(1, Ordering::SeqCst) == 0 {
            let device = ulib_device::Device::new(0).unwrap();
            let stream = ulib_device::Stream::non_blocking(&device).unwrap();
            let bytes = pattern(5 << 20, 3);
            let memory = DeviceBytes::allocate(&stream, bytes.len()).unwrap();
            copy::upload(&memory, 0, &bytes, &stream).unwrap();
            let mut back = vec![0; bytes.len()];
            copy::download(&memory, 0, &mut back, &stream).unwrap();
            assert!(back == bytes);
        }
        ControlFlow::Continue(())
    }
    let Some(card) = fake_card() else { return };
    let size = slow(&card);
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    let _watched = Watched::by(copies);
    copy::upload(&device, 0, &pattern(size, 2), &card.stream).unwrap();
    assert!(CALLS.load(Ordering::SeqCst) > 0);
}

/// A watch that waits for a lock which another thread holds while it copies, as a block's lock is held.
#[test]
fn a_watch_may_wait_for_another_thread_that_copies() {
    static LOCK: Mutex<()> = Mutex::new(());
    static WATCHER: Mutex<Option<ThreadId>> = Mutex::new(None);
    fn waits(_done: u64, _total: u64) -> ControlFlow<()> {
        if *WATCHER.lock().unwrap() == Some(std::thread::current().id())
            && CALLS.fetch_add(1, Ordering::SeqCst) == 0
        {
            // The other thread gets the lock, and then waits for the ring that this one uses.
            while LOCK.try_lock().is_ok() {
                std::thread::yield_now();
            }
            drop(LOCK.lock().unwrap());
        }
        ControlFlow::Continue(())
    }
    let Some(card) = fake_card() else { return };
    let size = slow(&card);
    let watched = DeviceBytes::allocate(&card.stream, size).unwrap();
    let other = ulib_device::Stream::non_blocking(&card.device).unwrap();
    let locked = DeviceBytes::allocate(&other, 5 << 20).unwrap();
    let bytes = pattern(5 << 20, 4);
    let _watched = Watched::by(waits);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *WATCHER.lock().unwrap() = Some(std::thread::current().id());
            copy::upload(&watched, 0, &pattern(size, 2), &card.stream).unwrap();
        });
        scope.spawn(|| {
            while CALLS.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            let _lock = LOCK.lock().unwrap();
            copy::upload(&locked, 0, &bytes, &other).unwrap();
        });
    });
    fast(&card);
    let mut back = vec![0; bytes.len()];
    copy::download(&locked, 0, &mut back, &other).unwrap();
    assert!(back == bytes);
}

/// One copy of 40 MiB, by its name.
type Copy<'a> = (&'a str, Box<dyn FnMut() -> ulib_core::Result<()> + 'a>);

#[test]
fn copies_that_the_driver_does_alone_are_stopped_between_pieces() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("software");
    let (row, rows, planes) = (1 << 20, 10, 4);
    let size = row * rows * planes;
    let extent = copy::Extent {
        width: row - 5,
        height: rows,
        depth: planes,
    };
    let pitch = copy::Pitch {
        offset: 3,
        row,
        plane: row * rows,
    };
    let memory = DeviceBytes::allocate(&card.stream, size).unwrap();
    let described = ArrayDescriptor::volume(16384, 40, 4, Format::U32, 4);
    let array = Array::new(&card.device, described).unwrap();
    let bytes = pattern(size, 5);
    let mut locked = PinnedPool::global().acquire(size).unwrap();
    locked.copy_from_slice(&bytes);
    let mut back = vec![0; size];
    let stream = &card.stream;
    let device = || copy::Target::Device(&memory);
    let copies: [Copy<'_>; 4] = [
        (
            "locked",
            Box::new(|| copy::upload(&memory, 0, &locked, stream)),
        ),
        (
            "planes up",
            Box::new(|| {
                copy::copy_3d(
                    device(),
                    pitch,
                    copy::Source::Host(&bytes),
                    pitch,
                    extent,
                    stream,
                )
            }),
        ),
        (
            "array",
            Box::new(|| {
                copy::copy_to_array(
                    &array,
                    [0; 3],
                    copy::Source::Host(&bytes),
                    array.packed(),
                    array.whole(),
                    stream,
                )
            }),
        ),
        (
            "planes down",
            Box::new(|| {
                let (to, from) = (copy::Target::Host(&mut back), copy::Source::Device(&memory));
                copy::copy_3d(to, pitch, from, pitch, extent, stream)
            }),
        ),
    ];
    for (name, mut copy) in copies {
        fake.bandwidth(200_000_000);
        {
            let _watched = Watched::by(stop_at_once);
            let error = copy().expect_err(name);
            assert_eq!(error.kind(), &ErrorKind::Interrupted, "{name}");
            let seen = SEEN.lock().unwrap();
            let total = if name.starts_with("planes") {
                (row - 5) * rows * planes
            } else {
                size
            };
            assert_eq!(seen[0].2, total as u64, "{name}");
            assert!(seen[0].1 < seen[0].2, "{name}");
        }
        fast(&card);
        {
            let _watched = Watched::by(go_on);
            copy().expect(name);
        }
    }
    for (z, plane) in back.chunks(row * rows).enumerate() {
        for (y, line) in plane.chunks(row).enumerate() {
            let from = (z * rows + y) * row;
            assert!(
                line[3..row - 2] == bytes[from + 3..from + row - 2],
                "{z} {y}"
            );
        }
    }
    let texels: Vec<[u32; 4]> = array.to_vec(stream).unwrap();
    let want = bytes
        .chunks_exact(4)
        .map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]));
    assert!(texels.iter().flatten().copied().eq(want));
    assert_eq!(fake.faults(), Vec::<String>::new());
}
