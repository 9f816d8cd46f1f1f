//! The policy that leaves room for others.

use super::policy::usable_target;
use super::{Decision, PlacementPolicy, PlacementRequest, Reason};

/// The preferred device if `margin_bytes` stay free there once the data has arrived.
///
/// Data whose room is set aside already stays where it is.
///
/// ```
/// use ulib_core::{
///     DeviceFacts, DeviceIfFits, Placement, PlacementPolicy, PlacementRequest, PreferredDevice, Reason,
/// };
/// let facts = [DeviceFacts { ordinal: 0, free: 1000, total: 2000 }];
/// let policy = DeviceIfFits { margin_bytes: 100 };
/// let request = |bytes| PlacementRequest::new(PreferredDevice::Device(0), bytes, &facts);
/// assert_eq!(policy.decide(&request(900)).placement, Placement::Device(0));
/// assert_eq!(
///     policy.decide(&request(901)).reason,
///     Reason::DoesNotFit { needs: 901, free: 1000, margin: 100 },
/// );
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceIfFits {
    /// Bytes that have to stay free on the device.
    pub margin_bytes: u64,
}

impl PlacementPolicy for DeviceIfFits {
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
        let facts = match usable_target(request) {
            Ok(facts) => facts,
            Err(decision) => return decision,
        };
        let fits = request
            .bytes
            .checked_add(self.margin_bytes)
            .is_some_and(|wanted| wanted <= facts.free);
        if fits || request.is_held_on_target() {
            Decision::as_preferred(request)
        } else {
            Decision::host(Reason::DoesNotFit {
                needs: request.bytes,
                free: facts.free,
                margin: self.margin_bytes,
            })
        }
    }
}
