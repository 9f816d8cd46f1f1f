//! Captures, and the graphs that they become.
//!
//! A capture begins on one stream. Another one joins it by waiting for an event that was recorded in a stream of it, and stays until the
//! end. Every node has those before it that its stream had come to, or waited for; at the end there must be a way from every node to
//! where the first stream has come to.

use super::work::Work;
use super::{State, Tag};
use crate::gate::{Outcome, code};
use std::collections::BTreeSet;
use std::thread::ThreadId;
use ulib_device::sys::CUgraphNodeType;

/// A piece of captured work.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) work: Work,
    /// The handles of those that come before it.
    pub(crate) after: Vec<u64>,
}

/// A capture in progress.
pub(crate) struct Capture {
    /// The stream that it began on.
    pub(crate) origin: u64,
    pub(crate) mode: u32,
    pub(crate) thread: ThreadId,
    pub(crate) nodes: Vec<Node>,
    pub(crate) invalid: bool,
}

/// Where a stream, or an event, is in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The capture's number, never used before.
    pub(crate) capture: u64,
    /// The handles of the nodes that come before whatever comes next.
    pub(crate) after: Vec<u64>,
}

/// Captured work, as a graph or an executable one. Nodes come after those that they depend on.
#[derive(Clone)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Made ready to be launched.
    pub(crate) ready: bool,
    pub(crate) session: u64,
}

/// What a piece of work is as a node; nothing for what only orders others.
pub(crate) fn kind(work: &Work) -> Option<CUgraphNodeType> {
    Some(match work {
        Work::Wait | Work::Record(_) => return None,
        Work::Copy(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
        Work::Fill(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
        Work::Kernel(_) | Work::Break(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
        Work::Host(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
        Work::Free(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
    })
}

impl Capture {
    /// Whether there is a node that nothing leads from to these.
    fn has_unjoined(&self, ends: &[u64]) -> bool {
        let mut joined: BTreeSet<u64> = ends.iter().copied().collect();
        // Those before a node are in front of it.
        for node in self.nodes.iter().rev() {
            if !joined.contains(&node.handle) {
                return true;
            }
            joined.extend(&node.after);
        }
        false
    }
}

impl Graph {
    /// What it does, in an order that its edges allow: of several pieces of work that could be next the last one, so that an edge
    /// that is missing shows.
    pub(crate) fn order(&self) -> Vec<Work> {
        let mut waiting: Vec<&Node> = self.nodes.iter().collect();
        let mut work = Vec::new();
        while !waiting.is_empty() {
            let open: BTreeSet<u64> = waiting.iter().map(|node| node.handle).collect();
            let is_free = |node: &&Node| node.after.iter().all(|before| !open.contains(before));
            let Some(next) = waiting.iter().rposition(is_free) else {
                break;
            };
            work.push(waiting.remove(next).work.clone());
        }
        work
    }

    /// The places, in the list of nodes, of those before each.
    pub(crate) fn edges(&self) -> Vec<BTreeSet<usize>> {
        let place = |handle: &u64| self.nodes.iter().position(|node| node.handle == *handle);
        let before = |node: &Node| node.after.iter().filter_map(place).collect();
        self.nodes.iter().map(before).collect()
    }
}

impl State {
    /// The capture that a stream is part of.
    pub(crate) fn capture_of(&self, stream: u64) -> Option<&Capture> {
        let place = self.streams.get(&stream)?.capture.as_ref()?;
        self.captures.get(&place.capture)
    }

    pub(crate) fn begin_capture(&mut self, stream: u64, mode: u32) -> Outcome {
        let target = self.streams.get_mut(&stream).ok_or(code::INVALID_HANDLE)?;
        if mode > crate::api::stream::RELAXED || target.capture.is_some() {
            return Err(code::ILLEGAL_STATE);
        }
        self.captures_begun += 1;
        let (capture, after) = (self.captures_begun, Vec::new());
        target.capture = Some(Place { capture, after });
        let begun = Capture {
            origin: stream,
            mode,
            thread: std::thread::current().id(),
            nodes: Vec::new(),
            invalid: false,
        };
        self.captures.insert(capture, begun);
        Ok(())
    }

    /// Ends the capture of a stream, for all streams of it.
    pub(crate) fn end_capture(&mut self, stream: u64) -> Outcome<Vec<Node>> {
        let place = self.streams[&stream].capture.clone();
        let place = place.ok_or(code::CAPTURE_UNMATCHED)?;
        let capture = self
            .captures
            .get(&place.capture)
            .ok_or(code::CAPTURE_UNMATCHED)?;
        if capture.origin != stream {
            return Err(code::CAPTURE_UNMATCHED);
        }
        let elsewhere = capture.thread != std::thread::current().id();
        if elsewhere && capture.mode != crate::api::stream::RELAXED {
            return Err(code::CAPTURE_WRONG_THREAD);
        }
        self.forget_capture(place.capture)
            .map_or(Err(code::CAPTURE_UNMATCHED), |capture| {
                if capture.invalid {
                    Err(code::CAPTURE_INVALIDATED)
                } else if capture.has_unjoined(&place.after) {
                    Err(code::CAPTURE_UNJOINED)
                } else {
                    Ok(capture.nodes)
                }
            })
    }

    fn forget_capture(&mut self, number: u64) -> Option<Capture> {
        for stream in self.streams.values_mut() {
            if stream.capture.as_ref().map(|place| place.capture) == Some(number) {
                stream.capture = None;
            }
        }
        self.captures.remove(&number)
    }

    /// Forgets captures whose first stream is gone.
    pub(crate) fn forget_captures(&mut self) {
        let gone = self.captures.iter();
        let gone = gone.filter(|(_, capture)| !self.streams.contains_key(&capture.origin));
        for number in gone.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.forget_capture(number);
        }
    }

    /// Spoils the capture that a stream is part of, if there is one.
    pub(crate) fn spoil(&mut self, stream: u64) -> bool {
        let place = self.streams.get(&stream).and_then(|it| it.capture.as_ref());
        let number = place.map(|place| place.capture);
        number.is_some_and(|number| self.spoil_capture(number))
    }

    /// Spoils a capture, if it is in progress.
    pub(crate) fn spoil_capture(&mut self, number: u64) -> bool {
        let capture = self.captures.get_mut(&number);
        capture.map(|capture| capture.invalid = true).is_some()
    }

    /// Makes a node of work that is given to a captured stream; gives the work back where the stream is not captured.
    pub(crate) fn write_down(&mut self, stream: u64, work: Work) -> Outcome<Option<Work>> {
        let target = self.streams.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let Some(place) = target.capture.clone() else {
            return Ok(Some(work));
        };
        let handle = self.new_handle(Tag::Graph);
        let capture = self.captures.get_mut(&place.capture);
        let capture = capture.ok_or(code::CAPTURE_INVALIDATED)?;
        if capture.invalid {
            return Err(code::CAPTURE_INVALIDATED);
        }
        let after = place.after;
        capture.nodes.push(Node {
            handle,
            work,
            after,
        });
        let target = self.streams.get_mut(&stream);
        if let Some(place) = target.and_then(|target| target.capture.as_mut()) {
            place.after = vec![handle];
        }
        Ok(None)
    }

    /// Records an event: of a captured stream it stands for where that is in the graph.
    pub(crate) fn record(&mut self, stream: u64, event: u64) -> Outcome {
        let place = self.streams[&stream].capture.clone();
        if place.is_some() && self.capture_of(stream).is_none_or(|it| it.invalid) {
            return Err(code::CAPTURE_INVALIDATED);
        }
        if place.is_none() {
            self.enqueue(stream, Work::Record(event), Vec::new())?;
        }
        if let Some(found) = self.events.get_mut(&event) {
            found.captured = place;
            if found.captured.is_some() {
                (found.recorded, found.time) = (None, None);
            }
        }
        Ok(())
    }

    /// Lets a stream wait for an event: one of a capture takes the stream into that.
    pub(crate) fn wait(&mut self, stream: u64, event: u64) -> Outcome {
        let event = self.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        let (recorded, captured) = (event.recorded, event.captured.clone());
        let place = self.streams[&stream].capture.clone();
        let Some(captured) = captured else {
            if place.is_some() && recorded.is_some() {
                self.spoil(stream);
                return Err(code::CAPTURE_ISOLATION);
            }
            if place.is_some() {
                return Ok(());
            }
            return self.enqueue(stream, Work::Wait, recorded.into_iter().collect());
        };
        let capture = self.captures.get(&captured.capture);
        let capture = capture.ok_or(code::CAPTURED_EVENT)?;
        if capture.invalid {
            return Err(code::CAPTURE_INVALIDATED);
        }
        let number = captured.capture;
        if place.as_ref().is_some_and(|place| place.capture != number) {
            self.spoil(stream);
            self.spoil_capture(number);
            return Err(code::CAPTURE_MERGE);
        }
        if self.is_legacy(stream) {
            self.spoil_capture(number);
            return Err(code::CAPTURE_IMPLICIT);
        }
        if let Some(target) = self.streams.get_mut(&stream) {
            let (capture, after) = (number, Vec::new());
            let place = target.capture.get_or_insert(Place { capture, after });
            for before in captured.after {
                if !place.after.contains(&before) {
                    place.after.push(before);
                }
            }
        }
        Ok(())
    }

    /// Refuses to tell how far an event of a capture is, which also spoils the capture, if it is in progress. Of one that has ended the
    /// event is no more than a wrong value.
    pub(crate) fn refuse_captured_event(&mut self, event: u64) -> Outcome {
        let event = self.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        let Some(number) = event.captured.as_ref().map(|place| place.capture) else {
            return Ok(());
        };
        if !self.captures.contains_key(&number) {
            return Err(code::INVALID_VALUE);
        }
        self.spoil_capture(number);
        Err(code::CAPTURED_EVENT)
    }

    /// What a call that is unsafe during a capture gets: an error that also spoils the capture, unless the capture or the
    /// calling thread's mode allows it.
    pub(crate) fn refuse_during_capture(&mut self, mode: u32) -> Outcome {
        if mode == crate::api::stream::RELAXED {
            return Ok(());
        }
        let caller = std::thread::current().id();
        let mut refused = false;
        for capture in self.captures.values_mut() {
            let own = capture.thread == caller;
            let global = capture.mode == 0 && mode == 0;
            if capture.mode != crate::api::stream::RELAXED && (own || global) {
                capture.invalid = true;
                refused = true;
            }
        }
        if refused {
            Err(code::CAPTURE_UNSUPPORTED)
        } else {
            Ok(())
        }
    }
}
