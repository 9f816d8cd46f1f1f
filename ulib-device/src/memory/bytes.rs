//! The owner of a piece of device memory.

mod release;

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use super::order::{SharedOrder, Ticket};
use super::room::with_room;
use super::uses::Uses;
use super::{DeviceMemoryResource, Fresh, kept};
use crate::driver::Driver;
use crate::stream::Lasting;
use crate::{Device, Stream};

/// What work on a stream does with a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only reads it: waits for earlier writes.
    Read,
    /// May change it: waits for earlier reads and writes.
    Write,
}

/// Who the memory goes back to.
enum Owner {
    Resource(Arc<dyn DeviceMemoryResource>),
    /// Kept until the last use has finished, then dropped. Never dropped in a forked child.
    Foreign(ManuallyDrop<Box<dyn Any + Send + Sync>>),
    /// Nothing to give back: no bytes, or given back already.
    Nobody,
}

/// A piece of device memory of one owner, untyped. The content is whatever was last written; fresh memory is
/// uninitialised.
///
/// The memory remembers which streams use it: [`queue_on`](Self::queue_on) makes a stream wait for conflicting work
/// that was queued on other streams, and dropping frees the memory on its own stream after the work of all others.
/// Events are made only when a second stream touches the memory. Every copy and fill of [`crate::copy`] does this by
/// itself; code that launches kernels queues them in `queue_on`, or calls [`use_on`](Self::use_on) first.
///
/// A capture by [`Stream::capture`] does nothing with the memory, and waits for nobody: each launch of its graph is a use, on the stream
/// where it is launched. The graph can use it as long as it is there: dropped or closed before, the memory is given back when the
/// graph is gone.
///
/// It may be dropped on any thread, with or without a current context. While its last use cannot be waited for, as
/// during some stream captures, the memory is kept, and freed by a later allocation or trim; where that fails twice for
/// another reason than a capture, it is leaked rather than handed out again. The same goes for a foreign owner. A failure
/// while dropping is recorded in `Device::errors`; [`close`](Self::close) returns it. In a forked child dropping does nothing with the driver.
pub struct DeviceBytes {
    ptr: u64,
    len: usize,
    /// The memory was allocated on it and is freed on it.
    stream: Lasting,
    owner: Owner,
    uses: Mutex<Uses>,
    /// Whether others may have queued work that no use remembered here stands for.
    outsiders: AtomicBool,
    /// Whether it counts as held.
    counted: bool,
}

impl DeviceBytes {
    /// Allocates `len` uninitialised bytes from the device's memory resource, ordered on `stream`. No bytes give the
    /// pointer 0.
    ///
    /// # Errors
    ///
    /// As [`DeviceMemoryResource::allocate`].
    pub fn allocate(stream: &Stream, len: usize) -> Result<Self> {
        Self::allocate_from(stream.device().memory_resource(), stream, len)
    }

    /// Allocates from `resource` instead of the device's own.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when `resource` and `stream` are of different devices, else as
    /// [`DeviceMemoryResource::allocate`].
    pub fn allocate_from(
        resource: Arc<dyn DeviceMemoryResource>,
        stream: &Stream,
        len: usize,
    ) -> Result<Self> {
        let (of_resource, of_stream) = (resource.device().ordinal(), stream.device().ordinal());
        if of_resource != of_stream {
            return Err(Error::invalid(
                "allocate",
                "stream",
                format_args!("one of device {of_stream}"),
                format!("a stream of device {of_resource}, whose memory is asked for"),
            ));
        }
        if len == 0 {
            kept::retry();
            return Ok(Self::with_owner(
                0,
                0,
                stream.into(),
                Owner::Nobody,
                Uses::default(),
            ));
        }
        Driver::ready()?;
        // What operations have left behind, or pools keep, may be what is missing, and what could not be given up before.
        let fresh = with_room(stream.device(), || resource.allocate_fresh(len, stream))?;
        Ok(Self::owned(resource, stream, fresh, len))
    }

    /// The owner of `len` bytes that `resource` gave out for `stream`.
    pub(super) fn owned(
        resource: Arc<dyn DeviceMemoryResource>,
        stream: &Stream,
        fresh: Fresh,
        len: usize,
    ) -> Self {
        let uses = match fresh.anywhere {
            true => Uses::default(),
            false => Uses::allocated_on(stream),
        };
        let owner = match fresh.ptr {
            0 => Owner::Nobody,
            _ => Owner::Resource(resource),
        };
        let mut bytes = Self::with_owner(fresh.ptr, len, stream.into(), owner, uses);
        bytes.set_counted(true);
        bytes
    }

    /// Says whether the memory counts as held: not while it is only kept to be used again. Answers whether it was the last that
    /// did.
    pub(super) fn set_counted(&mut self, counted: bool) -> bool {
        if self.counted == counted || self.len == 0 {
            return false;
        }
        self.counted = counted;
        let held = self.device().held_counts();
        if counted {
            held.add(self.len);
            return false;
        }
        held.remove(self.len)
    }

    /// Takes `len` bytes at `ptr` that something else owns. `owner` keeps them alive and is dropped after the last
    /// use known here has finished, on whichever thread finds that out, at times within an allocation. They do not
    /// count as held.
    ///
    /// # Safety
    ///
    /// While `owner` lives, `ptr .. ptr + len` is memory of `device`, or memory it can access, and nothing accesses
    /// it in conflict with the uses made through the returned value; work queued on it before the call has finished
    /// or is ordered before what will be queued.
    #[allow(unsafe_code, reason = "declares what only the caller can promise")]
    pub unsafe fn foreign(
        device: &Device,
        ptr: u64,
        len: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        let owner = Owner::Foreign(ManuallyDrop::new(owner));
        let stream = Lasting::Legacy(Stream::lasting_legacy(device));
        Self::with_owner(ptr, len, stream, owner, Uses::default())
    }

    fn with_owner(ptr: u64, len: usize, stream: Lasting, owner: Owner, uses: Uses) -> Self {
        Self {
            ptr,
            len,
            stream,
            owner,
            uses: Mutex::new(uses),
            outsiders: AtomicBool::new(false),
            counted: false,
        }
    }

    /// The device address; 0 when there are no bytes.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// The stream it was allocated on and is freed on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Calls `queue`, which puts work that touches the memory into `stream`, after making that stream wait for
    /// conflicting uses queued earlier on other streams. The use is remembered together with the work: no other thread
    /// can come between and forget the one before the other is there.
    ///
    /// `queue` must neither wait for another thread that uses this memory nor itself call this, [`use_on`](Self::use_on)
    /// or [`synchronize`](Self::synchronize) on it: all of them wait until `queue` has returned.
    ///
    /// # Errors
    ///
    /// Whatever the driver says, and then `queue` was not called; whatever `queue` says.
    pub fn queue_on<R>(
        &self,
        stream: &Stream,
        access: Access,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if self.len == 0 {
            return queue();
        }
        let mut used = None;
        self.queue_as(stream, access, &mut used, queue)
    }

    /// [`queue_on`](Self::queue_on) for who waits for the work afterwards and says so with [`waited`](Self::waited);
    /// there are bytes.
    pub(crate) fn queue_as<R>(
        &self,
        stream: &Stream,
        access: Access,
        used: &mut Option<Ticket>,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        // Before the lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        self.uses().queue(stream, access, used, queue)
    }

    /// What a graph needs to make its launches uses of the memory; nothing where there are no bytes.
    pub(crate) fn order(&self) -> Option<SharedOrder> {
        (self.len > 0).then(|| self.uses().shared())
    }

    /// The host has waited for `stream` after the use `of` on it.
    pub(crate) fn waited(&self, stream: &Stream, of: Option<Ticket>) {
        if let Some(of) = of {
            self.uses().waited(stream, of);
        }
    }

    /// [`queue_on`](Self::queue_on) for work that reads `source` and writes `self`, which may be one.
    ///
    /// # Errors
    ///
    /// As [`queue_on`](Self::queue_on).
    pub fn queue_from<R>(
        &self,
        source: &Self,
        stream: &Stream,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let (write, read) = (std::ptr::from_ref(self), std::ptr::from_ref(source));
        // Always locked in one order, so that two copies in opposite directions do not wait for each other.
        match write.cmp(&read) {
            std::cmp::Ordering::Equal => self.queue_on(stream, Access::Write, queue),
            std::cmp::Ordering::Less => self.queue_on(stream, Access::Write, || {
                source.queue_on(stream, Access::Read, queue)
            }),
            std::cmp::Ordering::Greater => source.queue_on(stream, Access::Read, || {
                self.queue_on(stream, Access::Write, queue)
            }),
        }
    }

    /// Makes work queued on `stream` from now wait for conflicting uses queued earlier on other streams, and
    /// remembers that `stream` uses the memory. For work queued by code that cannot be called from
    /// [`queue_on`](Self::queue_on).
    ///
    /// Call it before queueing the work, and let no other thread use, wait for or drop the memory until the work is
    /// queued: a use on another stream, or a wait, in between forgets this one as being over.
    ///
    /// # Errors
    ///
    /// Whatever the driver says; the use is not remembered then, so the work must not be queued.
    pub fn use_on(&self, stream: &Stream, access: Access) -> Result<()> {
        self.queue_on(stream, access, || Ok(()))
    }

    /// Lets somebody use the memory of whose work nobody here is told: what is queued on `stream` from now waits for every use so
    /// far, and the memory is given back after a wait for the whole device. The stream itself is not remembered, and may end before
    /// the memory.
    ///
    /// # Errors
    ///
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn lend(&self, stream: Option<&Stream>) -> Result<()> {
        Driver::ready()?;
        self.set_outsiders(true);
        match stream {
            Some(stream) if self.len > 0 => self.uses().all_before(stream),
            _ => Ok(()),
        }
    }

    /// Whether others may have queued work on the memory that only a wait for the whole device finds.
    pub(crate) fn has_outsiders(&self) -> bool {
        self.outsiders.load(Ordering::Relaxed)
    }

    /// Says whether others may have; if so the memory is freed after a wait for the whole device.
    pub(crate) fn set_outsiders(&self, some: bool) {
        self.outsiders.store(some, Ordering::Relaxed);
    }

    /// Waits until every use remembered so far has finished.
    ///
    /// # Errors
    ///
    /// Whatever the driver says, including failures of the work itself.
    pub fn synchronize(&self) -> Result<()> {
        Driver::ready()?;
        self.uses().synchronize()
    }

    /// Whether there is no use to wait for. Never waits itself; false where that would take a wait.
    pub(crate) fn is_idle(&self) -> bool {
        self.uses.try_lock().is_ok_and(|uses| uses.are_over())
    }

    /// Frees the memory now and says what went wrong, where dropping would only record it.
    ///
    /// # Errors
    ///
    /// Whatever the driver says, but for a stream capture in the way, after which the memory is freed. The memory is
    /// gone for the caller in any case.
    pub fn close(mut self) -> Result<()> {
        self.release()
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.begin(&self.stream);
        uses
    }
}

impl fmt::Debug for DeviceBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBytes")
            .field("ptr", &format_args!("{:#x}", self.ptr))
            .field("len", &self.len)
            .field("ordinal", &self.device().ordinal())
            .field("foreign", &matches!(self.owner, Owner::Foreign(_)))
            .finish_non_exhaustive()
    }
}
