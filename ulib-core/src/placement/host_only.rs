//! The policy that keeps everything at home.

use super::{Decision, PlacementPolicy, PlacementRequest, PreferredDevice, Reason};

/// The host, always: for debugging, and for programs that share a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostOnly;

impl PlacementPolicy for HostOnly {
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
        Decision::host(match request.preferred {
            PreferredDevice::Host => Reason::AsPreferred,
            PreferredDevice::Device(_) => Reason::HostOnlyPolicy,
        })
    }
}
