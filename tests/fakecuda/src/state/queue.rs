//! Streams, events and the order of work.
//!
//! Every piece of work gets a number that only grows, and the list of what must have run before it: the legacy stream
//! waits for all blocking streams of its context and they for it; a non-blocking stream waits for nobody; a wait for an
//! event adds what the event stood for. As dependencies always have smaller numbers, running what is needed in the order
//! of numbers is right. With deferral off, work runs as soon as it is given.

use super::capture::Place;
use super::work::Work;
use super::{State, Tag};
use crate::gate::{Outcome, code};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Legacy,
    /// The per-thread default stream of one thread.
    PerThread,
    Blocking,
    NonBlocking,
}

impl Kind {
    /// Whether the legacy stream and this one wait for each other.
    fn is_ordered(self) -> bool {
        matches!(self, Self::Blocking | Self::PerThread)
    }
}

struct Task {
    number: u64,
    /// Streams, and the number up to which each must have run.
    after: Vec<(u64, u64)>,
    work: Work,
}

pub(crate) struct Stream {
    pub(crate) context: u64,
    pub(crate) kind: Kind,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    queue: VecDeque<Task>,
    /// Number of the last task given.
    last: u64,
    /// Destroyed by the user; goes when its work is done.
    pub(crate) destroyed: bool,
    /// Where it is in the capture that it is part of.
    pub(crate) capture: Option<Place>,
    pub(crate) session: u64,
}

impl Stream {
    fn done(&self, number: u64) -> bool {
        self.queue.front().is_none_or(|task| task.number > number)
    }
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: u64,
    pub(crate) flags: u32,
    /// Stream and number of its last record, unless that was in a captured stream.
    pub(crate) recorded: Option<(u64, u64)>,
    /// Where it is in the capture that it was last recorded in.
    pub(crate) captured: Option<Place>,
    pub(crate) time: Option<Instant>,
    pub(crate) session: u64,
}

impl State {
    pub(crate) fn new_stream(
        &mut self,
        context: u64,
        kind: Kind,
        flags: u32,
        priority: i32,
    ) -> u64 {
        let handle = self.new_handle(Tag::Stream);
        let session = self.session;
        let queue = VecDeque::new();
        let (last, destroyed, capture) = (0, false, None);
        let made = Stream {
            context,
            kind,
            flags,
            priority,
            queue,
            last,
            destroyed,
            capture,
            session,
        };
        self.streams.insert(handle, made);
        handle
    }

    /// Gives work to a stream; runs it now unless streams are deferred.
    pub(crate) fn enqueue(
        &mut self,
        stream: u64,
        work: Work,
        mut after: Vec<(u64, u64)>,
    ) -> Outcome {
        let Some(work) = self.write_down(stream, work)? else {
            return Ok(());
        };
        let target = self.streams.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let (kind, context) = (target.kind, target.context);
        let captured = self.reaches_into(stream);
        if !captured.is_empty() {
            for captured in captured {
                self.spoil(captured);
            }
            return Err(code::CAPTURE_IMPLICIT);
        }
        if kind == Kind::Legacy {
            let ordered = self.streams.iter().filter(|(_, other)| {
                other.context == context && other.kind.is_ordered() && !other.queue.is_empty()
            });
            after.extend(ordered.map(|(handle, other)| (*handle, other.last)));
        } else if kind.is_ordered()
            && let Some((legacy, other)) = self.legacy_of(context)
            && !other.queue.is_empty()
        {
            after.push((legacy, other.last));
        }
        let number = self.next_task;
        self.next_task += 1;
        if let Work::Record(event) = work
            && let Some(event) = self.events.get_mut(&event)
        {
            event.recorded = Some((stream, number));
            event.time = None;
        }
        if let Some(target) = self.streams.get_mut(&stream) {
            target.queue.push_back(Task {
                number,
                after,
                work,
            });
            target.last = number;
        }
        if !self.deferred {
            self.drain(vec![(stream, number)]);
        }
        Ok(())
    }

    /// The captured streams into whose graphs a use of this stream would reach: for the legacy stream all that it waits
    /// for, else none.
    pub(crate) fn reaches_into(&self, stream: u64) -> Vec<u64> {
        let Some(legacy) = self
            .streams
            .get(&stream)
            .filter(|stream| stream.kind == Kind::Legacy)
        else {
            return Vec::new();
        };
        let captured = self.streams.iter().filter(|(_, other)| {
            other.context == legacy.context && other.kind.is_ordered() && other.capture.is_some()
        });
        captured.map(|(handle, _)| *handle).collect()
    }

    pub(crate) fn is_legacy(&self, stream: u64) -> bool {
        let stream = self.streams.get(&stream);
        stream.is_some_and(|stream| stream.kind == Kind::Legacy)
    }

    fn legacy_of(&self, context: u64) -> Option<(u64, &Stream)> {
        let legacy = self.contexts.get(&context)?.legacy;
        Some((legacy, self.streams.get(&legacy)?))
    }

    /// Runs each stream up to its number, and before that whatever it must wait for.
    pub(crate) fn drain(&mut self, mut wanted: Vec<(u64, u64)>) {
        let mut reach: BTreeMap<u64, u64> = BTreeMap::new();
        while let Some((handle, number)) = wanted.pop() {
            let known = reach.entry(handle).or_insert(0);
            if *known >= number {
                continue;
            }
            let from = std::mem::replace(known, number);
            if let Some(stream) = self.streams.get(&handle) {
                let fresh = stream
                    .queue
                    .iter()
                    .filter(|task| task.number > from && task.number <= number);
                wanted.extend(fresh.flat_map(|task| task.after.iter().copied()));
            }
        }
        let mut ready = Vec::new();
        for (handle, number) in reach {
            if let Some(stream) = self.streams.get_mut(&handle) {
                while stream
                    .queue
                    .front()
                    .is_some_and(|task| task.number <= number)
                {
                    if let Some(task) = stream.queue.pop_front() {
                        ready.push((task.number, stream.context, task.work));
                    }
                }
            }
        }
        ready.sort_by_key(|(number, ..)| *number);
        for (_, context, work) in ready {
            self.run(context, &work);
        }
        self.streams
            .retain(|_, stream| !stream.destroyed || !stream.queue.is_empty());
    }

    pub(crate) fn drain_stream(&mut self, stream: u64) {
        if let Some(last) = self.streams.get(&stream).map(|stream| stream.last) {
            self.drain(vec![(stream, last)]);
        }
    }

    pub(crate) fn drain_context(&mut self, context: u64) {
        let of_it = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context);
        let wanted = of_it
            .map(|(handle, stream)| (*handle, stream.last))
            .collect();
        self.drain(wanted);
    }

    /// Runs all work on every context of a device.
    pub(crate) fn drain_device(&mut self, device: usize) {
        let contexts = self
            .contexts
            .iter()
            .filter(|(_, context)| context.device == device);
        for context in contexts.map(|(handle, _)| *handle).collect::<Vec<_>>() {
            self.drain_context(context);
        }
    }

    pub(crate) fn is_done(&self, (stream, number): (u64, u64)) -> bool {
        self.streams
            .get(&stream)
            .is_none_or(|stream| stream.done(number))
    }

    /// Whether a stream has nothing left to run, itself or before it.
    pub(crate) fn is_idle(&self, stream: u64) -> bool {
        let Some(stream) = self.streams.get(&stream) else {
            return true;
        };
        stream.queue.is_empty()
            && (stream.kind != Kind::Legacy
                || self.streams.values().all(|other| {
                    other.context != stream.context
                        || other.kind == Kind::NonBlocking
                        || other.queue.is_empty()
                }))
    }

    /// Work given and not yet run, over all streams.
    pub(crate) fn pending(&self) -> usize {
        self.streams.values().map(|stream| stream.queue.len()).sum()
    }
}
