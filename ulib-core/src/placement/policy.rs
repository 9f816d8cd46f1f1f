//! [`PlacementPolicy`]: who decides where data lives.

use std::fmt::Debug;

use super::{DeviceFacts, Placement, PlacementRequest, Reason};

/// What a policy decided, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Where the data should live.
    pub placement: Placement,
    /// Why; [`Reason::AsPreferred`] when it is what the user asked for.
    pub reason: Reason,
}

impl Decision {
    /// The host, for that reason.
    pub fn host(reason: Reason) -> Self {
        Self {
            placement: Placement::Host,
            reason,
        }
    }

    /// The preferred place.
    pub fn as_preferred(request: &PlacementRequest<'_>) -> Self {
        Self {
            placement: request.preferred.placement(),
            reason: Reason::AsPreferred,
        }
    }
}

/// Decides where data lives, as a pure function of the request.
///
/// The contract:
///
/// 1. The same request gets the same decision; nothing is asked of the driver.
/// 2. A request with [`obstacle`](PlacementRequest::obstacle) is never answered with a device.
/// 3. If the host is preferred, the answer is the host.
/// 4. A device in the answer is the preferred one. Another one is not honoured: the data stays on the host, with
///    [`Reason::NotPreferredDevice`]. Who wants the data elsewhere changes the preference.
/// 5. The reason is [`Reason::AsPreferred`] exactly when the answer is the preferred place.
///
/// A decision for a device is an intention: the allocation can still fail, and then the data stays on
/// the host with [`Reason::OutOfMemory`].
///
/// ```
/// use ulib_core::{
///     Decision, DeviceFacts, DeviceIfFits, Placement, PlacementPolicy, PlacementRequest, PreferredDevice,
/// };
///
/// /// Only large data goes to a device.
/// #[derive(Debug)]
/// struct LargeOnly;
/// impl PlacementPolicy for LargeOnly {
///     fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
///         if request.bytes < 1 << 20 {
///             return ulib_core::HostOnly.decide(request);
///         }
///         DeviceIfFits { margin_bytes: 0 }.decide(request)
///     }
/// }
///
/// let facts = [DeviceFacts { ordinal: 0, free: 1 << 30, total: 1 << 30 }];
/// let request = PlacementRequest::new(PreferredDevice::Device(0), 4096, &facts);
/// assert_eq!(LargeOnly.decide(&request).placement, Placement::Host);
/// ```
pub trait PlacementPolicy: Debug + Send + Sync {
    /// The decision for `request`.
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision;
}

/// The part that every shipped policy shares: the decision if there is nothing left to weigh, else the
/// device that was asked for.
pub(super) fn usable_target<'a>(
    request: &PlacementRequest<'a>,
) -> Result<&'a DeviceFacts, Decision> {
    if let Some(obstacle) = request.obstacle() {
        return Err(Decision::host(obstacle));
    }
    request
        .target()
        .ok_or_else(|| Decision::as_preferred(request))
}
