//! What every test here starts from.

use std::sync::Arc;

use fakecuda::{Kind, Live, Session};
use ulib_device::memory::DeviceMemoryResource;
use ulib_device::{Device, Stream};

use crate::common::{self, Mode};

/// A device to test on, for one test at a time.
pub struct Card {
    pub device: Device,
    /// A stream of its own, ordered with nothing.
    pub stream: Stream,
    // Last: the turn ends after everything above is gone.
    mode: Mode,
}

/// Device 0 of the driver under test; `None` when there is none, which has been said aloud.
pub fn card() -> Option<Card> {
    let mode = common::gpu()?;
    let device = Device::new(0).expect("device 0");
    let stream = Stream::non_blocking(&device).expect("a stream");
    Some(Card {
        device,
        stream,
        mode,
    })
}

/// A test of what only the software driver can show; on a real card there is nothing to do.
pub fn fake_card() -> Option<Card> {
    if common::wants_real() { None } else { card() }
}

impl Card {
    pub fn fake(&self) -> Option<&Session> {
        self.mode.session()
    }

    /// Device memory that is alive, by the software driver's account; nothing on a card.
    pub fn live_memory(&self) -> Vec<Live> {
        let mut live = self.fake().map_or_else(Vec::new, Session::live);
        live.retain(|live| live.kind == Kind::Memory);
        live
    }
}

/// The device allocates from `resource` until this is dropped.
pub struct Installed {
    device: Device,
    before: Option<Arc<dyn DeviceMemoryResource>>,
}

pub fn install(device: &Device, resource: Arc<dyn DeviceMemoryResource>) -> Installed {
    let _ = device.memory_resource();
    let before = device
        .set_memory_resource(resource)
        .expect("a resource of this device");
    Installed {
        device: device.clone(),
        before,
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            let _ = self.device.set_memory_resource(before);
        }
    }
}

/// Bytes that differ from their neighbours and from a shifted copy of themselves.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = vec![0; len];
    for chunk in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
    bytes
}
