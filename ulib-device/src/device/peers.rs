//! Direct access of one device to the memory of another.

use super::Device;
use crate::driver::{check, missing_entry};
use crate::sys::{CUcontext, CUresult};
use std::sync::{Mutex, MutexGuard, PoisonError};
use ulib_core::{Error, Result};

/// While it lives, kernels and copies of one device reach the memory of another directly.
///
/// Several for the same two devices may live at once: access ends with the last one. Access that somebody else has
/// enabled is used and left enabled.
#[must_use = "the access ends when this is dropped"]
#[derive(Debug)]
pub struct PeerAccess {
    device: Device,
    peer: Device,
    open: bool,
}

/// For each pair in use, how many objects use it and whether it was enabled here.
static OPEN: Mutex<Vec<Pair>> = Mutex::new(Vec::new());

struct Pair {
    device: u32,
    peer: u32,
    users: usize,
    ours: bool,
}

fn pairs() -> MutexGuard<'static, Vec<Pair>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Whether kernels of this device reach memory of `other`: its own, and that of devices which it has
    /// [peer access](Self::enable_peer_access) to by an object that is alive.
    #[must_use]
    pub fn reaches(&self, other: &Self) -> bool {
        let pair = (self.ordinal(), other.ordinal());
        self == other || pairs().iter().any(|open| (open.device, open.peer) == pair)
    }

    /// Lets this device reach the memory of `peer` directly, until the result is closed or dropped.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for a device and itself; kind `Driver` when they cannot reach each other; kind `Forked`
    /// in a forked child.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<PeerAccess> {
        if self == peer {
            let expected = "another device";
            return Err(Error::invalid("enable_peer_access", "peer", peer, expected));
        }
        let theirs = peer.primary_context()? as CUcontext;
        let _context = self.bind()?;
        let mut pairs = pairs();
        let known = pairs
            .iter_mut()
            .find(|pair| (pair.device, pair.peer) == (self.ordinal(), peer.ordinal()));
        if let Some(pair) = known {
            pair.users += 1;
        } else {
            // SAFETY: this device's context is current, by the guard, and the other one is never released. No flags
            // exist.
            let status = unsafe { (self.table().cuCtxEnablePeerAccess)(theirs, 0) };
            let ours = status != CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
            if ours {
                check(self.table(), "cuCtxEnablePeerAccess", status)?;
            }
            pairs.push(Pair {
                device: self.ordinal(),
                peer: peer.ordinal(),
                users: 1,
                ours,
            });
        }
        Ok(PeerAccess {
            device: self.clone(),
            peer: peer.clone(),
            open: true,
        })
    }
}

impl PeerAccess {
    /// The device that reaches.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The device that is reached.
    #[must_use]
    pub fn peer(&self) -> &Device {
        &self.peer
    }

    /// Ends the access, unless another object uses it.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        let _context = self.device.bind_to_end()?;
        let theirs = self.peer.primary_context()? as CUcontext;
        self.open = false;
        let mut pairs = pairs();
        let mine = (self.device.ordinal(), self.peer.ordinal());
        let Some(at) = pairs
            .iter()
            .position(|pair| (pair.device, pair.peer) == mine)
        else {
            return Ok(());
        };
        pairs[at].users -= 1;
        if pairs[at].users > 0 || !pairs.swap_remove(at).ours {
            return Ok(());
        }
        let table = self.device.table();
        let call = table
            .cuCtxDisablePeerAccess
            .ok_or_else(|| missing_entry("cuCtxDisablePeerAccess", "4.0"))?;
        // SAFETY: the device's context is current, by the guard, and the other one is never released.
        check(table, "cuCtxDisablePeerAccess", unsafe { call(theirs) })
    }
}

impl Drop for PeerAccess {
    fn drop(&mut self) {
        if crate::driver::forked() {
            return;
        }
        if let Err(error) = self.end() {
            self.device.dropped_with(error);
        }
    }
}
