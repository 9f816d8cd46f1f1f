//! The placement property: what every object with bulk numbers answers about where they are.
//!
//! [`Placed`] is the property itself, the same for images, tables and collections, and also for
//! objects whose elements can never be on a device. [`BulkArray`] adds what the array on the
//! device looks like, for the objects that have one.

mod bulk_array;
mod fields;
mod host_placement;

pub use bulk_array::BulkArray;
pub(crate) use fields::{array_of_records, field_array, field_names};
pub use host_placement::HostPlacement;

use std::sync::Arc;

use ulib_core::{Error, Location, PlacementPolicy, PreferredDevice, Result};
use ulib_device::block::{Block, Lease, RawExport, Released, Transfers};

/// What holds the numbers of an object.
#[derive(Clone, Copy, Debug)]
pub enum Bulk<'a> {
    /// A coherent block: the numbers can be on the host, on a device or on both.
    Block(&'a Block),
    /// Elements that own something elsewhere and can never be on a device.
    HostOnly(&'a HostPlacement),
}

/// An object that knows where its bulk numbers are and where they should be.
///
/// Implementers give [`bulk`](Placed::bulk) and [`what`](Placed::what); everything else follows.
///
/// # Contract
/// 1. The preference is always recorded, whether or not it can be honoured.
/// 2. Asking never moves data. [`set_preferred_device`](Placed::set_preferred_device),
///    [`update`](Placed::update), [`lease`](Placed::lease) and [`export`](Placed::export) upload
///    when needed; [`release_device`](Placed::release_device) brings home.
/// 3. With the preference `Host` the location reads `Host`, unless a failure keeps the numbers on a
///    device: the location never names a place where they are not.
///
/// ```
/// use ulib_math::{GeantEvent, GeantEventCollection, Placed};
///
/// let events = GeantEventCollection::from_iter([GeantEvent::new("run.root", "mu-")]);
/// assert!(!events.set_preferred_device("Device".parse()?)?);
/// assert_eq!(
///     events.location().to_string(),
///     "Host (these events cannot be copied to a device)"
/// );
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub trait Placed {
    /// What holds the numbers.
    fn bulk(&self) -> Bulk<'_>;

    /// What the elements are called in sentences, in the plural: `voxels`, `rows`, `events`.
    fn what(&self) -> &'static str;

    /// Where the user wants the numbers to be.
    fn preferred_device(&self) -> PreferredDevice {
        match self.bulk() {
            Bulk::Block(block) => block.preferred(),
            Bulk::HostOnly(host) => host.preferred(),
        }
    }

    /// Records where the numbers should be and moves them there if that can be done now.
    ///
    /// Answers whether they are where `preferred` says; [`location`](Placed::location) has the
    /// reason when they are not.
    ///
    /// # Errors
    /// `Busy` while a writable host view is open, `Driver` when the device breaks. No GPU, no device of
    /// that ordinal or no memory left on it is no error: the answer is `false`.
    fn set_preferred_device(&self, preferred: PreferredDevice) -> Result<bool> {
        match self.bulk() {
            Bulk::Block(block) => block.set_preferred(preferred),
            Bulk::HostOnly(host) => Ok(host.set_preferred(preferred)),
        }
    }

    /// Replaces the rule that decides from the preference and the state of the devices where the
    /// numbers go. Objects that can never be on a device ignore it.
    fn set_policy(&self, policy: Arc<dyn PlacementPolicy>) {
        if let Bulk::Block(block) = self.bulk() {
            block.set_policy(policy);
        }
    }

    /// Whether the preference is a device and the numbers there are current right now.
    fn is_device_resident(&self) -> bool {
        match self.bulk() {
            Bulk::Block(block) => block.is_device_resident(),
            Bulk::HostOnly(_) => false,
        }
    }

    /// Whether the preference for a device could be honoured at all on this machine.
    fn can_use_device(&self) -> bool {
        match self.bulk() {
            Bulk::Block(block) => block.can_use_device(),
            Bulk::HostOnly(_) => false,
        }
    }

    /// Where the numbers are, with the reason when they are not where they are preferred. The
    /// [`Display`](std::fmt::Display) text is the sentence for the user.
    fn location(&self) -> Location {
        match self.bulk() {
            Bulk::Block(block) => block.location(),
            Bulk::HostOnly(host) => host.location(),
        }
    }

    /// Brings the numbers home and gives the device memory back to the driver.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    fn release_device(&self) -> Result<Released> {
        match self.bulk() {
            Bulk::Block(block) => block.release_device(),
            Bulk::HostOnly(_) => Ok(Released::Nothing),
        }
    }

    /// Puts the numbers back where they are preferred, as after a change on the host. Answers whether
    /// they are there now. With the host preferred it brings home what could not be brought home before.
    ///
    /// # Errors
    /// As [`set_preferred_device`](Placed::set_preferred_device).
    fn update(&self) -> Result<bool> {
        match self.bulk() {
            Bulk::Block(block) => block.update(),
            Bulk::HostOnly(host) => Ok(host.preferred() == PreferredDevice::Host),
        }
    }

    /// How often and how many bytes were copied to and from a device for this object.
    fn transfers(&self) -> Transfers {
        match self.bulk() {
            Bulk::Block(block) => block.transfers(),
            Bulk::HostOnly(_) => Transfers::default(),
        }
    }

    /// Lends the device copy to somebody outside until the lease is dropped, uploading first
    /// when the host copy is newer. The object is shared while the lease lives: every host read
    /// waits for the device and fetches.
    ///
    /// # Errors
    /// `Residency` when the host is preferred or the elements can never be on a device;
    /// `Unavailable`, `OutOfMemory` or `InvalidArgument` for the reason that the
    /// [`location`](Placed::location) gives; `Busy` while a writable host view is open.
    fn lease(&self) -> Result<Lease> {
        match self.bulk() {
            Bulk::Block(block) => block.lease(),
            Bulk::HostOnly(host) => Err(no_device(host, "lease")),
        }
    }

    /// As [`lease`](Placed::lease), without an end that we are told: the object stays shared
    /// until [`end_exports`](Placed::end_exports), [`release_device`](Placed::release_device) or
    /// its drop.
    ///
    /// # Errors
    /// As [`lease`](Placed::lease).
    fn export(&self) -> Result<RawExport> {
        match self.bulk() {
            Bulk::Block(block) => block.export(),
            Bulk::HostOnly(host) => Err(no_device(host, "export")),
        }
    }

    /// Declares that nobody uses the pointers of earlier [`export`](Placed::export)s any more.
    ///
    /// # Errors
    /// `Driver` when waiting for the device fails.
    fn end_exports(&self) -> Result<()> {
        match self.bulk() {
            Bulk::Block(block) => block.end_exports(),
            Bulk::HostOnly(_) => Ok(()),
        }
    }

    /// Whether somebody outside may be using the device copy.
    fn is_shared(&self) -> bool {
        match self.bulk() {
            Bulk::Block(block) => block.is_shared(),
            Bulk::HostOnly(_) => false,
        }
    }
}

/// The refusal of a device pointer by elements that have none.
fn no_device(host: &HostPlacement, op: &'static str) -> Error {
    Error::residency(
        op,
        format!("these {} cannot be copied to a device", host.what()),
    )
}
