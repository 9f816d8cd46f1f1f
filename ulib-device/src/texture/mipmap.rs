//! Arrays with levels, each half as large as the one before.
#![allow(
    unsafe_code,
    reason = "creates, asks and destroys the driver's mipmapped arrays"
)]

use std::sync::Arc;

use ulib_core::{Error, Result};

use super::ending::Owned;
use super::{Array, ArrayDescriptor, ArrayKind};
use crate::Device;
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::memory::with_room;
use crate::report::Kind;
use crate::sys::{CUarray, CUmipmappedArray, Table};

/// An array at several resolutions: level 0 is the whole, each next one half as wide, high and (unless it has layers)
/// deep. Clones are the same array.
///
/// The levels are [`Array`]s of their own, to be filled one by one; each keeps the whole alive.
#[derive(Clone, Debug)]
pub struct MipmappedArray(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    descriptor: ArrayDescriptor,
    levels: Vec<Array>,
    /// Destroys the whole, after all levels.
    whole: Arc<Owned<()>>,
}

impl MipmappedArray {
    /// A new one with `levels` levels, whose content is unspecified. The last possible level has one texel.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when `levels` is 0 or more than the sizes allow, and as [`Array::new`].
    pub fn new(device: &Device, descriptor: ArrayDescriptor, levels: u32) -> Result<Self> {
        const OP: &str = "MipmappedArray::new";
        let _context = device.bind()?;
        descriptor.check(OP, device)?;
        let most = most_levels(&descriptor);
        if levels == 0 || levels > most {
            let expected = format!("1 to {most} for these sizes");
            return Err(Error::invalid(OP, "levels", levels, expected));
        }
        let table = device.table();
        let (Some(create), Some(level)) =
            (table.cuMipmappedArrayCreate, table.cuMipmappedArrayGetLevel)
        else {
            return Err(missing_entry("cuMipmappedArrayCreate", "5.0"));
        };
        let wanted = descriptor.raw();
        let mut raw: CUmipmappedArray = core::ptr::null_mut();
        with_room(device, || {
            relaxed_capture(|| {
                // SAFETY: the device's context is current, by the guard; the call reads the descriptor and writes a pointer.
                let status = unsafe { create(&raw mut raw, &raw const wanted, levels) };
                check(table, "cuMipmappedArrayCreate", status)
            })
        })?;
        let destroy = |table: &Table, raw| {
            // SAFETY: made above, and destroyed only here: `Owned` calls this once, when the last level has let go.
            table
                .cuMipmappedArrayDestroy
                .map(|destroy| unsafe { destroy(raw as CUmipmappedArray) })
        };
        let whole = Arc::new(Owned::new(
            (device, raw as u64),
            ("cuMipmappedArrayDestroy", destroy),
            Kind::MipmappedArray,
            (),
        ));
        let mut all = Vec::new();
        for index in 0..levels {
            let mut found: CUarray = core::ptr::null_mut();
            // SAFETY: as above; the whole is alive.
            let status = unsafe { level(&raw mut found, raw, index) };
            check(table, "cuMipmappedArrayGetLevel", status)?;
            let owner = Box::new(Arc::clone(&whole));
            // SAFETY: a level lives as long as the whole, which the owner keeps; nobody else knows it.
            all.push(unsafe { Array::part(device, found as usize, owner, whole.outcome()) }?);
        }
        Ok(Self(Arc::new(Inner {
            descriptor,
            levels: all,
            whole,
        })))
    }

    /// What level 0 looks like.
    #[must_use]
    pub fn descriptor(&self) -> &ArrayDescriptor {
        &self.0.descriptor
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.whole.device()
    }

    /// The levels, largest first.
    #[must_use]
    pub fn levels(&self) -> &[Array] {
        &self.0.levels
    }

    /// One level.
    ///
    /// # Errors
    /// Kind `Index` when there is no such level.
    pub fn level(&self, index: usize) -> Result<&Array> {
        let levels = self.levels();
        levels
            .get(index)
            .ok_or_else(|| Error::index("MipmappedArray::level", index, levels.len()))
    }

    /// Destroys it now, after the last use of each level, and says what went wrong, where dropping would only record it. Nothing
    /// happens while a clone, a level, a texture or a graph still needs it: then the last of them destroys it.
    ///
    /// # Errors
    /// Whatever the driver says, including failures of the work itself.
    pub fn close(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.0) else {
            return Ok(());
        };
        // All of them, whatever becomes of one.
        let ended = inner.levels.into_iter().map(Array::close);
        let ended = ended.fold(Ok(()), Result::and);
        let outcome = inner.whole.outcome();
        let whole = outcome.of(|| {
            drop(inner.whole);
            Ok(())
        });
        ended.and(whole)
    }

    /// The driver's handle; as [`Array::handle`].
    #[must_use]
    pub fn handle(&self) -> CUmipmappedArray {
        for level in self.levels() {
            level.ledger().set_outsiders(true);
        }
        self.raw()
    }

    pub(super) fn raw(&self) -> CUmipmappedArray {
        self.0.whole.raw() as CUmipmappedArray
    }
}

/// Levels until all sizes are 1.
fn most_levels(descriptor: &ArrayDescriptor) -> u32 {
    let depth = match descriptor.kind() {
        ArrayKind::Volume => descriptor.depth,
        _ => 1,
    };
    let longest = descriptor.width.max(descriptor.height).max(depth);
    longest.max(1).ilog2() + 1
}
