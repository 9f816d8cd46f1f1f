//! The policy that does what the user said.

use super::policy::usable_target;
use super::{Decision, PlacementPolicy, PlacementRequest};

/// The preferred device whenever it can be used at all. The default.
///
/// Free memory is not looked at: the allocation itself is the only honest test, because a pool may hold
/// memory that the driver no longer counts as free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HonourPreference;

impl PlacementPolicy for HonourPreference {
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
        match usable_target(request) {
            Ok(_) => Decision::as_preferred(request),
            Err(decision) => decision,
        }
    }
}
