//! The policy that weighs the trip against the work.

use super::policy::usable_target;
use super::{Decision, PlacementPolicy, PlacementRequest, Reason};

/// The preferred device if going there is expected to be faster than staying.
///
/// # Definition
///
/// With `b` bytes and `u` expected uses, each of which reads the data once,
///
/// ```text
/// host   = u * b / host_bytes_per_s
/// device = trips * (transfer_ns + b / link_bytes_per_s) + u * (launch_ns + b / device_bytes_per_s)
/// ```
///
/// where `trips` is 2 (there, and the result home), or 1 if the data is on the device already. The device is
/// chosen when `device <= host` and the bytes are free there. Times are whole nanoseconds, each term rounded up.
/// Uses are counted because a single pass over the data never pays for the trip on a machine whose memory is
/// faster than its link.
///
/// The defaults are rounded from measurements on an H200 with 16 host cores: 104 GB/s host sum, 49 GB/s
/// link in both directions, 4.5 TB/s device sum, 13 us for a small transfer, 10 us for a launch with its
/// synchronisation.
///
/// ```
/// use ulib_core::{
///     BestByTransferCost, DeviceFacts, Placement, PlacementPolicy, PlacementRequest, PreferredDevice,
/// };
/// let facts = [DeviceFacts { ordinal: 0, free: 8 << 30, total: 8 << 30 }];
/// let request = PlacementRequest::new(PreferredDevice::Device(0), 1 << 30, &facts);
/// let policy = BestByTransferCost::default();
/// assert_eq!(policy.decide(&request).placement, Placement::Host);
/// assert_eq!(policy.decide(&request.with_expected_uses(10)).placement, Placement::Device(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BestByTransferCost {
    /// Bytes per second that the host works through.
    pub host_bytes_per_s: u64,
    /// Bytes per second between host and device.
    pub link_bytes_per_s: u64,
    /// Bytes per second that the device works through.
    pub device_bytes_per_s: u64,
    /// What every transfer costs besides its bytes, in nanoseconds.
    pub transfer_ns: u64,
    /// What every operation on the device costs besides its bytes, in nanoseconds.
    pub launch_ns: u64,
}

impl Default for BestByTransferCost {
    fn default() -> Self {
        Self {
            host_bytes_per_s: 104_000_000_000,
            link_bytes_per_s: 49_000_000_000,
            device_bytes_per_s: 4_500_000_000_000,
            transfer_ns: 13_000,
            launch_ns: 10_000,
        }
    }
}

impl BestByTransferCost {
    /// The estimate for staying on the host, in nanoseconds, saturating.
    pub fn host_ns(&self, bytes: u64, uses: u32) -> u64 {
        narrow(u128::from(uses) * pass_ns(bytes, self.host_bytes_per_s))
    }

    /// The estimate for `trips` transfers and the work on the device, in nanoseconds, saturating.
    pub fn device_ns(&self, bytes: u64, uses: u32, trips: u32) -> u64 {
        let trip = u128::from(self.transfer_ns) + pass_ns(bytes, self.link_bytes_per_s);
        let work = u128::from(self.launch_ns) + pass_ns(bytes, self.device_bytes_per_s);
        narrow(u128::from(trips) * trip + u128::from(uses) * work)
    }
}

impl PlacementPolicy for BestByTransferCost {
    fn decide(&self, request: &PlacementRequest<'_>) -> Decision {
        let facts = match usable_target(request) {
            Ok(facts) => facts,
            Err(decision) => return decision,
        };
        let held = request.is_held_on_target();
        if !held && request.bytes > facts.free {
            return Decision::host(Reason::DoesNotFit {
                needs: request.bytes,
                free: facts.free,
                margin: 0,
            });
        }
        let uses = request.expected_uses.max(1);
        let host_ns = self.host_ns(request.bytes, uses);
        let device_ns = self.device_ns(request.bytes, uses, if held { 1 } else { 2 });
        if device_ns <= host_ns {
            Decision::as_preferred(request)
        } else {
            Decision::host(Reason::NotWorthTransfer { host_ns, device_ns })
        }
    }
}

/// Nanoseconds for one pass over `bytes`, rounded up; a speed of zero never ends.
fn pass_ns(bytes: u64, bytes_per_s: u64) -> u128 {
    if bytes_per_s == 0 {
        return u128::from(u64::MAX);
    }
    (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bytes_per_s))
}

fn narrow(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}
