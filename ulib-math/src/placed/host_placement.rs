//! [`HostPlacement`]: the placement property of elements that cannot be on a device.

use std::sync::{PoisonError, RwLock};

use ulib_core::{Location, PreferredDevice, Reason};

/// The placement of elements whose bytes are not the whole of them: a recorded preference, and
/// the honest answer about it.
///
/// ```
/// use ulib_core::PreferredDevice;
/// use ulib_math::HostPlacement;
///
/// let placement = HostPlacement::new("events");
/// assert!(!placement.set_preferred(PreferredDevice::Device(0)));
/// assert_eq!(placement.preferred(), PreferredDevice::Device(0));
/// assert_eq!(
///     placement.location().to_string(),
///     "Host (these events cannot be copied to a device)"
/// );
/// assert!(placement.set_preferred(PreferredDevice::Host));
/// assert_eq!(placement.location().to_string(), "Host");
/// ```
#[derive(Debug)]
pub struct HostPlacement {
    what: &'static str,
    preferred: RwLock<PreferredDevice>,
}

impl HostPlacement {
    /// Elements called `what` in sentences, preferred on the host.
    pub fn new(what: &'static str) -> Self {
        HostPlacement {
            what,
            preferred: RwLock::new(PreferredDevice::Host),
        }
    }

    /// What the elements are called.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The recorded preference.
    pub fn preferred(&self) -> PreferredDevice {
        *self
            .preferred
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the preference; true when it is the host.
    pub fn set_preferred(&self, preferred: PreferredDevice) -> bool {
        *self
            .preferred
            .write()
            .unwrap_or_else(PoisonError::into_inner) = preferred;
        preferred == PreferredDevice::Host
    }

    /// Always the host; with the reason when a device was asked for.
    pub fn location(&self) -> Location {
        match self.preferred() {
            PreferredDevice::Host => Location::Host,
            PreferredDevice::Device(_) => {
                Location::HostBecause(Reason::NotDeviceStorable { what: self.what })
            }
        }
    }
}

impl Clone for HostPlacement {
    fn clone(&self) -> Self {
        HostPlacement {
            what: self.what,
            preferred: RwLock::new(self.preferred()),
        }
    }
}
