//! Where a device's memory comes from, and how much of it is in use.

use super::{Device, same_device};
use crate::driver::{Driver, forked};
use crate::memory::{DeviceMemoryResource, DriverResource, Held, clear_scratch, default_resource};
use std::sync::{Arc, PoisonError, RwLock};
use ulib_core::{ErrorKind, Result};

/// The memory resource of one device; empty until somebody asks.
#[derive(Default)]
pub(super) struct ResourceSlot(RwLock<Option<Arc<dyn DeviceMemoryResource>>>);

impl Device {
    /// Where allocations on this device come from: what was set, or else a stream-ordered pool of this crate's own,
    /// or the plain driver where the device has no pools. In a forked child one that refuses everything.
    #[must_use]
    pub fn memory_resource(&self) -> Arc<dyn DeviceMemoryResource> {
        if forked() {
            // The lock may be held by a thread that does not exist here.
            return Arc::new(DriverResource::new(self));
        }
        let slot = &self.0.resource.0;
        if let Some(resource) = &*slot.read().unwrap_or_else(PoisonError::into_inner) {
            return Arc::clone(resource);
        }
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(resource) = &*slot {
            return Arc::clone(resource);
        }
        let (resource, reason) = default_resource(self);
        // A pool that failed for a passing reason is tried again next time.
        if reason.is_none_or(|reason| *reason.kind() == ErrorKind::Unavailable) {
            *slot = Some(Arc::clone(&resource));
        }
        resource
    }

    /// Makes `resource` the source of all later allocations on this device, and returns the one before, if any was
    /// in use. Memory already given out goes back to the resource that gave it.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the resource is one of another device; kind `Forked` in a forked child.
    pub fn set_memory_resource(
        &self,
        resource: Arc<dyn DeviceMemoryResource>,
    ) -> Result<Option<Arc<dyn DeviceMemoryResource>>> {
        Driver::ready()?;
        same_device("set_memory_resource", self, resource.device())?;
        let before = {
            let slot = &self.0.resource.0;
            let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
            slot.replace(resource)
        };
        // Otherwise operations would go on using what they have from the one before.
        clear_scratch(self);
        Ok(before)
    }

    /// Memory of this device that owners of this crate have in use: not what a pool caches.
    #[must_use]
    pub fn held(&self) -> Held {
        self.0.held.get()
    }
}
