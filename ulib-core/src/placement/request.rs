//! [`PlacementRequest`]: everything a policy may know.

use super::{PreferredDevice, Reason};

/// What is known about one device when a decision is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceFacts {
    /// The ordinal of the device.
    pub ordinal: u32,
    /// Bytes that an allocation can get: free at the driver, or cached by the memory resource in use.
    pub free: u64,
    /// Bytes of memory the device has.
    pub total: u64,
}

/// The question to a [`PlacementPolicy`](super::PlacementPolicy): where should this data live?
///
/// ```
/// use ulib_core::{DeviceFacts, PlacementRequest, PreferredDevice, Reason};
/// let facts = [DeviceFacts { ordinal: 0, free: 1 << 30, total: 2 << 30 }];
/// let request = PlacementRequest::new(PreferredDevice::Device(0), 4096, &facts);
/// assert_eq!(request.obstacle(), None);
///
/// let request = PlacementRequest::new(PreferredDevice::Device(3), 4096, &facts);
/// assert_eq!(request.obstacle(), Some(Reason::NoSuchDevice { ordinal: 3, count: 1 }));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlacementRequest<'a> {
    /// What the user asked for.
    pub preferred: PreferredDevice,
    /// Bytes of the data.
    pub bytes: u64,
    /// The devices that were looked at, which include the preferred one if it exists; others may be missing,
    /// because asking a device for its free memory wakes it up.
    pub devices: &'a [DeviceFacts],
    /// How many devices the machine has.
    pub device_count: u32,
    /// Why no device can be used at all, if that is so.
    pub unavailable: Option<&'a Reason>,
    /// What the elements are called (`voxels`), if their bytes are not the whole of them.
    pub not_device_storable: Option<&'static str>,
    /// How many operations are expected to use the data before the host needs it again; at least 1.
    pub expected_uses: u32,
    /// The device that has room for the data set aside already, if any: staying there needs no memory.
    pub held_on: Option<u32>,
}

impl<'a> PlacementRequest<'a> {
    /// A request for elements that can be copied, on a machine whose devices are exactly `devices`,
    /// with one expected use and nothing held yet.
    pub fn new(preferred: PreferredDevice, bytes: u64, devices: &'a [DeviceFacts]) -> Self {
        Self {
            preferred,
            bytes,
            devices,
            device_count: u32::try_from(devices.len()).unwrap_or(u32::MAX),
            unavailable: None,
            not_device_storable: None,
            expected_uses: 1,
            held_on: None,
        }
    }

    /// The same request on a machine with `count` devices, of which only some were looked at.
    #[must_use]
    pub fn with_device_count(mut self, count: u32) -> Self {
        self.device_count = count;
        self
    }

    /// The same request where no device can be used.
    #[must_use]
    pub fn with_unavailable(mut self, reason: Option<&'a Reason>) -> Self {
        self.unavailable = reason;
        self
    }

    /// The same request for elements that cannot be copied to a device; `what` is their plural.
    #[must_use]
    pub fn with_not_device_storable(mut self, what: Option<&'static str>) -> Self {
        self.not_device_storable = what;
        self
    }

    /// The same request with that many expected uses; 0 counts as 1.
    #[must_use]
    pub fn with_expected_uses(mut self, uses: u32) -> Self {
        self.expected_uses = uses.max(1);
        self
    }

    /// The same request for data that has its room on the device `ordinal` already.
    #[must_use]
    pub fn with_held_on(mut self, ordinal: Option<u32>) -> Self {
        self.held_on = ordinal;
        self
    }

    /// The facts of the preferred device; `None` for the host or for a device that does not exist.
    pub fn target(&self) -> Option<&'a DeviceFacts> {
        let ordinal = self.preferred.ordinal()?;
        self.devices.iter().find(|facts| facts.ordinal == ordinal)
    }

    /// Why the preferred device cannot be used whatever the policy is; `None` if it can, or if the host is preferred.
    ///
    /// In this order: the elements cannot be copied, no device can be used, there is no such device.
    pub fn obstacle(&self) -> Option<Reason> {
        let ordinal = self.preferred.ordinal()?;
        if let Some(what) = self.not_device_storable {
            return Some(Reason::NotDeviceStorable { what });
        }
        if let Some(reason) = self.unavailable {
            return Some(reason.clone());
        }
        if self.target().is_none() {
            return Some(Reason::NoSuchDevice {
                ordinal,
                count: self.device_count,
            });
        }
        None
    }

    /// True when the preferred device has the room set aside already.
    pub fn is_held_on_target(&self) -> bool {
        self.held_on.is_some() && self.held_on == self.preferred.ordinal()
    }
}
