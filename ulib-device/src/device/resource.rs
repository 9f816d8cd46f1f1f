//! Where a device's memory comes from.

use super::Device;
use crate::memory::DeviceMemoryResource;
use std::sync::{Arc, PoisonError, RwLock};

/// The memory resource of one device; empty until somebody asks.
#[derive(Default)]
pub(super) struct ResourceSlot(RwLock<Option<Arc<dyn DeviceMemoryResource>>>);

impl Device {
    /// Makes `resource` the source of all later allocations on this device, and returns the one before, if any was
    /// in use. Memory already given out goes back to the resource that gave it.
    pub fn set_memory_resource(
        &self,
        resource: Arc<dyn DeviceMemoryResource>,
    ) -> Option<Arc<dyn DeviceMemoryResource>> {
        let mut slot = self.0.resource.0.write().unwrap_or_else(PoisonError::into_inner);
        slot.replace(resource)
    }
}
