//! The staging ring: large copies of ordinary memory through pinned buffers, by several threads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::thread::{self, Scope};

use ulib_core::Result;

use super::gate::Gate;
use super::lane::{BUFFER_BYTES, Lane};
use super::linear::Staged;
use super::work::{WATCH_PERIOD, Work};
use crate::{Device, Stream, hooks};

/// More threads than this do not fill the bus any faster.
const MOST_LANES: usize = 16;

/// Smaller chunks cost more in calls than they gain by being spread.
const LEAST_CHUNK_BYTES: usize = 1 << 20;

/// A copy waits so many periods of the watch for the ring, then goes without. The ring's user may itself wait: its watch
/// for a lock that the thread which calls this copy holds.
const MOST_PERIODS: u32 = 10;

/// The lanes of each device, made as copies first need them and kept. One copy at a time uses the ring, since it
/// takes all cores there are.
#[derive(Debug, Default)]
struct Ring {
    lanes: BTreeMap<u32, Vec<Lane>>,
}

static RING: Gate<Ring> = Gate::new(Ring {
    lanes: BTreeMap::new(),
});

thread_local! {
    /// Whether this thread waits for a staged copy: its watch may copy as well, and must not wait for itself.
    static STAGING: Cell<bool> = const { Cell::new(false) };
}

/// Copies `src` to the device address `to`, ordered after `stream`, and waits. The caller has checked the range.
pub(super) fn upload(to: u64, src: &[u8], stream: &Stream) -> Result<Staged> {
    let plan = Plan::of(src.len());
    let chunks = (0_u64..)
        .step_by(plan.chunk_bytes)
        .zip(src.chunks(plan.chunk_bytes));
    run(
        plan,
        Work::new(chunks, src.len() as u64),
        stream,
        |lane, work| lane.upload(work, to),
    )
}

/// Copies from the device address `from` to `dst`, ordered after `stream`, and waits. The caller has checked the
/// range.
pub(super) fn download(from: u64, dst: &mut [u8], stream: &Stream) -> Result<Staged> {
    let (plan, total) = (Plan::of(dst.len()), dst.len() as u64);
    let chunks = (0_u64..)
        .step_by(plan.chunk_bytes)
        .zip(dst.chunks_mut(plan.chunk_bytes));
    run(plan, Work::new(chunks, total), stream, |lane, work| {
        lane.download(work, from)
    })
}

/// How a copy is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    chunk_bytes: usize,
    lanes: usize,
}

impl Plan {
    fn of(bytes: usize) -> Self {
        Self::with_threads(
            bytes,
            thread::available_parallelism().map_or(1, usize::from),
        )
    }

    /// Two chunks a thread where the copy is large enough, no thread without a chunk, and four threads where that
    /// leaves one for each.
    fn with_threads(bytes: usize, threads: usize) -> Self {
        let threads = threads.clamp(1, MOST_LANES);
        let chunk_bytes = bytes
            .div_ceil(2 * threads)
            .next_multiple_of(LEAST_CHUNK_BYTES)
            .clamp(LEAST_CHUNK_BYTES, BUFFER_BYTES);
        let chunks = bytes.div_ceil(chunk_bytes);
        let lanes = threads.min(chunks.div_ceil(2).max(chunks.min(4))).max(1);
        Self { chunk_bytes, lanes }
    }
}

fn run<C, I>(
    plan: Plan,
    work: Work<I>,
    stream: &Stream,
    each: impl Fn(&mut Lane, &Work<I>) + Sync,
) -> Result<Staged>
where
    C: Send,
    I: Iterator<Item = (u64, C)> + Send,
{
    if STAGING.get() {
        return Ok(Staged::NoRing);
    }
    let _staging = Staging::enter();
    let ask = || hooks::poll(0, work.total());
    let Some(mut ring) = RING.borrow(WATCH_PERIOD, MOST_PERIODS, ask)? else {
        return Ok(Staged::NoRing);
    };
    ring.with(|ring| {
        let device = stream.device();
        let lanes = ring.lanes_of(device, plan.lanes);
        if lanes.is_empty() {
            return Ok(Staged::NoRing);
        }
        let start = stream.record()?;
        for lane in &mut *lanes {
            lane.stream.wait(&start)?;
        }
        run_lanes(lanes, &work, &each);
        work.outcome().map(|()| Staged::Done)
    })
}

/// One thread a lane, the calling thread among them, which also asks the watch. Returns when every thread has ended
/// and its lane is idle.
fn run_lanes<C, I>(lanes: &mut [Lane], work: &Work<I>, each: &(impl Fn(&mut Lane, &Work<I>) + Sync))
where
    C: Send,
    I: Iterator<Item = (u64, C)> + Send,
{
    thread::scope(|scope| {
        run_tree(scope, lanes, work, each);
        work.watch();
    });
}

/// Starts a thread for each half of the lanes but the first, which again start halves: sixteen threads run after four
/// times the time it takes to start one. Then works on the first lane.
fn run_tree<'scope, C, I, F>(
    scope: &'scope Scope<'scope, '_>,
    lanes: &'scope mut [Lane],
    work: &'scope Work<I>,
    each: &'scope F,
) where
    C: Send + 'scope,
    I: Iterator<Item = (u64, C)> + Send,
    F: Fn(&mut Lane, &Work<I>) + Sync,
{
    let Some((first, mut rest)) = lanes.split_first_mut() else {
        return;
    };
    while !rest.is_empty() {
        let (left, right) = rest.split_at_mut(rest.len() / 2);
        rest = left;
        let running = work.start();
        let builder = thread::Builder::new().name("ulib-staging".into());
        let thread = builder.spawn_scoped(scope, move || {
            let _running = running;
            run_tree(scope, right, work, each);
        });
        if thread.is_err() {
            // The machine has no more threads: those that run take all chunks.
            break;
        }
    }
    each(first, work);
}

impl Ring {
    /// Up to `count` lanes of `device`, fewer when no more can be made.
    fn lanes_of(&mut self, device: &Device, count: usize) -> &mut [Lane] {
        let lanes = self.lanes.entry(device.ordinal()).or_default();
        // Never dropped: their buffers would go back to the pool.
        let lost = lanes.extract_if(.., |lane| lane.is_lost());
        lost.for_each(std::mem::forget);
        while lanes.len() < count {
            match Lane::new(device) {
                Ok(lane) => lanes.push(lane),
                Err(error) => {
                    log::debug!(
                        "device {}: {} staging lanes instead of {count}: {error}",
                        device.ordinal(),
                        lanes.len()
                    );
                    break;
                }
            }
        }
        let usable = lanes.len().min(count);
        &mut lanes[..usable]
    }
}

/// Marks this thread as waiting for a staged copy.
struct Staging;

impl Staging {
    fn enter() -> Self {
        STAGING.set(true);
        Self
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        STAGING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn chunks_fit_the_buffers_and_every_lane_has_one() {
        for threads in [0, 1, 2, 7, 16, 200] {
            for bytes in [1, 4 * MIB, 4 * MIB + 1, 33 * MIB, 1 << 30, usize::MAX / 2] {
                let plan = Plan::with_threads(bytes, threads);
                assert!(
                    (LEAST_CHUNK_BYTES..=BUFFER_BYTES).contains(&plan.chunk_bytes),
                    "{plan:?}"
                );
                assert!(
                    (1..=MOST_LANES).contains(&plan.lanes) && plan.lanes <= threads.max(1),
                    "{plan:?}"
                );
                assert!(
                    plan.lanes <= bytes.div_ceil(plan.chunk_bytes),
                    "{plan:?} for {bytes}"
                );
            }
        }
        let plan = |mib, chunk_mib, lanes| {
            let expected = Plan {
                chunk_bytes: chunk_mib * MIB,
                lanes,
            };
            assert_eq!(Plan::with_threads(mib * MIB, 16), expected, "{mib} MiB");
        };
        plan(4, 1, 4);
        plan(16, 1, 8);
        plan(40, 2, 10);
        plan(1 << 10, 2, 16);
    }
}
