//! Where data is, where its user wants it, who decides, and the words for all of it.

mod best_by_transfer_cost;
mod device_if_fits;
mod honour_preference;
mod host_only;
mod location;
mod policy;
mod preferred;
mod reason;
mod request;

#[cfg(test)]
mod tests;

pub use best_by_transfer_cost::BestByTransferCost;
pub use device_if_fits::DeviceIfFits;
pub use honour_preference::HonourPreference;
pub use host_only::HostOnly;
pub use location::Location;
pub use policy::{Decision, PlacementPolicy};
pub use preferred::PreferredDevice;
pub use reason::Reason;
pub use request::{DeviceFacts, PlacementRequest};

/// A place that data can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// Memory of this process.
    Host,
    /// Memory of the device with this ordinal.
    Device(u32),
}

impl Placement {
    /// The ordinal, for a device.
    pub const fn ordinal(self) -> Option<u32> {
        match self {
            Self::Host => None,
            Self::Device(ordinal) => Some(ordinal),
        }
    }
}
