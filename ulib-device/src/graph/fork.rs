//! Events that take streams into captures.

use super::beginning::Begins;
use super::open::{Start, any_capture, is_open, joined, number_of};
use crate::event::{Event, Recorded, of_capture};
use crate::stream::Stream;
use ulib_core::{Error, Result};

const OP: &str = "Stream::wait";

/// What an event that is recorded in `stream` now stands for.
pub(crate) fn place_of(stream: &Stream) -> Result<Recorded> {
    // The default stream is never part of a graph.
    if !any_capture() || stream.is_legacy() {
        return Ok(Recorded::Outside);
    }
    let ours = number_of(stream)?.filter(|capture| is_open(*capture));
    Ok(ours.map_or(Recorded::Outside, Recorded::InCapture))
}

/// Calls `wait`, which lets `stream` wait for `event`. Where that is of a capture, the stream becomes part of it. What would spoil
/// a capture of ours is refused.
pub(crate) fn wait(
    stream: &Stream,
    event: &Event,
    wait: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let capture = match event.recorded() {
        Recorded::InCapture(capture) if is_open(capture) => capture,
        Recorded::InCapture(_) => return Err(of_capture(OP)),
        Recorded::Outside if any_capture() && is_in_ours(stream)? => {
            return Err(Error::busy(
                OP,
                "the stream is being captured into a graph, which cannot wait for work outside it, as that before the event is",
            ));
        }
        Recorded::Outside | Recorded::Never => return wait(),
    };
    if stream.is_legacy() {
        return Err(Error::busy(
            OP,
            "the event is of a stream that is being captured into a graph, of which the default stream cannot become part",
        ));
    }
    // A capture of one more stream begins.
    let _begins = Begins::new();
    match number_of(stream)? {
        Some(own) if own == capture => wait(),
        Some(_) => Err(Error::busy(
            OP,
            "the stream is being captured into another graph than the one that the event is of",
        )),
        None if stream.is_capturing()? => wait(),
        None => {
            let start = Start::of(stream)?;
            wait()?;
            joined(capture, start);
            Ok(())
        }
    }
}

/// Whether a stream is part of a capture of ours.
pub(crate) fn is_in_ours(stream: &Stream) -> Result<bool> {
    if !any_capture() || stream.is_legacy() {
        return Ok(false);
    }
    Ok(number_of(stream)?.is_some_and(is_open))
}
