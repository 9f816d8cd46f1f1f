//! Surface objects: what kernels write arrays through.
#![allow(
    unsafe_code,
    reason = "creates and destroys the driver's surface objects"
)]

use std::sync::Arc;

use ulib_core::{Error, Result};

use super::Array;
use super::ending::{Outcome, Owned};
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::memory::{Access, DeviceBytes};
use crate::report::Kind;
use crate::sys::{CUDA_RESOURCE_DESC, CUresourcetype, CUsurfObject, Table};
use crate::{Device, Stream};

/// A surface for kernels: a 64-bit number that is passed to them by value (`cudaSurfaceObject_t`), through which they read
/// and write an array. Clones are the same.
///
/// It keeps the array alive, and is destroyed after the work that uses it, as a
/// [`TextureObject`](super::TextureObject) is.
#[derive(Clone, Debug)]
pub struct SurfaceObject(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Remembers the uses, and destroys the object and then lets go of the array after the last one.
    ledger: DeviceBytes,
    raw: CUsurfObject,
    outcome: Outcome,
    array: Array,
}

impl SurfaceObject {
    /// A surface over the whole of `array`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the array was not made
    /// [`with_surface`](super::ArrayDescriptor::with_surface); whatever the driver says; kind `Forked` in a forked child.
    pub fn new(array: &Array) -> Result<Self> {
        const OP: &str = "SurfaceObject::new";
        if !array.descriptor().has_surface() {
            let found = format_args!("one with flags {}", array.descriptor().flags);
            let expected = "an array that kernels may write (flag SURFACE_LDST)";
            return Err(Error::invalid(OP, "array", found, expected));
        }
        array.check_lent(OP)?;
        let device = array.device();
        let _context = device.bind()?;
        let table = device.table();
        let create = table
            .cuSurfObjectCreate
            .ok_or_else(|| missing_entry("cuSurfObjectCreate", "5.0"))?;
        // SAFETY: an all-zero structure is a valid value of it.
        let mut resource: CUDA_RESOURCE_DESC = unsafe { core::mem::zeroed() };
        resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = array.raw();
        let mut raw: CUsurfObject = 0;
        relaxed_capture(|| {
            // SAFETY: the context is current by the guard; the description lives through the call and names an array that
            // is kept alive; one integer is written.
            let status = unsafe { create(&raw mut raw, &raw const resource) };
            check(table, "cuSurfObjectCreate", status)
        })?;
        let destroy = |table: &Table, raw| {
            // SAFETY: made above, and destroyed only here: `Owned` calls this once.
            table
                .cuSurfObjectDestroy
                .map(|destroy| unsafe { destroy(raw) })
        };
        let owner = Owned::new(
            (device, raw),
            ("cuSurfObjectDestroy", destroy),
            Kind::Surface,
            array.clone(),
        );
        let outcome = owner.outcome();
        // SAFETY: nothing is ever accessed at the address of the ledger.
        let ledger = unsafe { DeviceBytes::foreign(device, raw, 1, Box::new(owner)) };
        Ok(Self(Arc::new(Inner {
            ledger,
            raw,
            outcome,
            array: array.clone(),
        })))
    }

    /// The number that kernels are given; as [`TextureObject::handle`](super::TextureObject::handle).
    #[must_use]
    pub fn handle(&self) -> CUsurfObject {
        self.0.array.ledger().set_outsiders(true);
        self.0.ledger.set_outsiders(true);
        self.0.raw
    }

    /// The number for work that is queued in [`queue_on`](Self::queue_on).
    #[must_use]
    pub fn handle_for_queue(&self) -> CUsurfObject {
        self.0.raw
    }

    /// What it writes.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.0.array
    }

    /// The device whose memory it writes.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.ledger.device()
    }

    /// Destroys it now, after the work that uses it, and says what went wrong, where dropping would only record it. Nothing
    /// happens while a clone still needs it; where a graph does, it is destroyed after that.
    ///
    /// # Errors
    /// Whatever the driver says, of the array, too, where nobody else needs that. If the surface was not destroyed, the array is
    /// not given back either.
    pub fn close(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.0) else {
            return Ok(());
        };
        let ended = inner.outcome.of(|| inner.ledger.close());
        ended.and(inner.array.close())
    }

    /// Calls `queue`, which puts work that writes through the surface into `stream`, after making that stream wait for uses
    /// of the array on other streams.
    ///
    /// # Errors
    /// Whatever the driver says, and then `queue` was not called; whatever `queue` says.
    pub fn queue_on<R>(&self, stream: &Stream, queue: impl FnOnce() -> Result<R>) -> Result<R> {
        self.0.array.ledger().use_on(stream, Access::Write)?;
        self.0.ledger.queue_on(stream, Access::Read, queue)
    }
}
