//! Long copies that the host waits for, in pieces, so that it can be stopped in between.

use std::thread;
use std::time::{Duration, Instant};

use ulib_core::Result;

use super::linear::settle;
use super::work::WATCH_PERIOD;
use crate::{Event, Stream, hooks};

/// The size of a piece. A piece is on its way while the one before is waited for, so that nothing is lost between them.
pub(super) const PIECE_BYTES: usize = 16 << 20;

/// How long a wait for what comes before sleeps at a time: an eighth of what it has waited already, within these.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Asks the watch every now and then.
struct Asking {
    total: u64,
    asked: Instant,
}

impl Asking {
    fn ask(&mut self, done: u64) -> Result<()> {
        if self.asked.elapsed() >= WATCH_PERIOD {
            hooks::poll(done, self.total)?;
            self.asked = Instant::now();
        }
        Ok(())
    }
}

/// Puts a copy of `total` bytes between host and device into `stream`, piece by piece, and waits for it. `pieces` gives each piece
/// with its bytes to `queue`, which puts it into the stream.
///
/// A copy of more than one piece begins when what is in the stream is done, and asks [`hooks::poll`] before and between its
/// pieces. When this returns, whatever it returns, the stream uses the memory of the host no more.
///
/// # Errors
/// `Interrupted` when the watch says so, and then any part may have been copied; those of `queue`; else whatever the driver says.
pub fn in_pieces<P>(
    stream: &Stream,
    total: u64,
    pieces: impl IntoIterator<Item = (P, usize)>,
    queue: impl FnMut(P) -> Result<()>,
) -> Result<()> {
    if total <= PIECE_BYTES as u64 {
        let queued = pieces
            .into_iter()
            .map(|(piece, _)| piece)
            .try_for_each(queue);
        return settle(queued, stream);
    }
    let mut asking = Asking {
        total,
        asked: Instant::now(),
    };
    wait_for(&stream.record()?, &mut asking)?;
    let queued = queue_all(stream, &mut asking, pieces, queue);
    settle(queued, stream)
}

/// Waits for what is in the stream before anything of the copy is, so that the copy can be given up.
fn wait_for(before: &Event, asking: &mut Asking) -> Result<()> {
    let begin = Instant::now();
    while !before.is_done()? {
        thread::sleep((begin.elapsed() / 8).clamp(SLEEPS[0], SLEEPS[1]));
        asking.ask(0)?;
    }
    Ok(())
}

fn queue_all<P>(
    stream: &Stream,
    asking: &mut Asking,
    pieces: impl IntoIterator<Item = (P, usize)>,
    mut queue: impl FnMut(P) -> Result<()>,
) -> Result<()> {
    // Behind the last two pieces, by turns.
    let events = [
        Event::private(stream.device())?,
        Event::private(stream.device())?,
    ];
    let (mut done, mut before) = (0, None);
    for ((piece, bytes), event) in pieces.into_iter().zip(events.iter().cycle()) {
        queue(piece)?;
        event.record(stream)?;
        if let Some((event, bytes)) = before.replace((event, bytes)) {
            let event: &Event = event;
            event.synchronize()?;
            done += bytes as u64;
        }
        asking.ask(done)?;
    }
    Ok(())
}
