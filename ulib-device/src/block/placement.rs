//! Where a block should live, where it is, and why.

use std::sync::Arc;

use ulib_core::{
    ErrorKind, Event, Location, PlacementPolicy, PreferredDevice, Reason, Residency, Result,
};

use super::Block;
use super::sharing::close_all;
use super::state::{State, Wanted};
use super::target::{Target, candidate};
use super::transfers::Cause;
use crate::Device;
use crate::driver::forked;

/// What became of device memory that was to be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether the memory is free already"]
pub enum Released {
    /// There was none.
    Nothing,
    /// It is free, back at the driver.
    Freed,
    /// It is out of the block's hands, and free when this many leases have ended. Leases of what the block had before
    /// a resize or an earlier release count, too.
    WhenLeasesEnd(usize),
    /// It is out of the block's hands, and free when this many users are done, of which some are not leases but
    /// kernels of ours that read: [`DeviceRef`](super::DeviceRef).
    WhenUsesEnd(usize),
}

impl Released {
    /// Whether no device memory that the block ever had is held any more.
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Nothing | Self::Freed)
    }
}

impl Block {
    /// Records where the data should live, and moves it there now if it can. Answers whether the data is now where
    /// `preferred` says; if not, [`location`](Self::location) says why. Leaving a device frees the memory there, as
    /// [`release_device`](Self::release_device) does.
    ///
    /// # Errors
    /// Kind `Busy` while a writable host view is open (then nothing is recorded), `Forked` in a forked child for data
    /// that is only on the device, `Interrupted`, else whatever the driver says. A missing driver or device, or too
    /// little memory, is no error.
    pub fn set_preferred(&self, preferred: PreferredDevice) -> Result<bool> {
        let mut state = self.inner.state.lock("set_preferred")?;
        state.check_no_view("set_preferred")?;
        state.preferred = preferred;
        match preferred {
            PreferredDevice::Host => {
                state.refusal = None;
                self.leave(&mut state, Event::PreferHost).map(|_| true)
            }
            PreferredDevice::Device(_) => self.place(&mut state, Cause::Explicit),
        }
    }

    /// Sets who decides about placement from now on. Where the data is does not change before the next
    /// [`set_preferred`](Self::set_preferred) or [`update`](Self::update).
    ///
    /// The policy is asked while the block is locked, so it must not access the block.
    pub fn set_policy(&self, policy: Arc<dyn PlacementPolicy>) {
        let before = match self.inner.state.lock("set_policy") {
            Ok(mut state) => state.policy.replace(policy),
            Err(_) => return,
        };
        // Its destructor is somebody else's code, which may ask the block.
        drop(before);
    }

    /// Puts the data where it is preferred, if the host has the newer copy and it can be there, and waits for our own
    /// work on it. Answers whether it is now where it is preferred. With the preference `Host` it brings home what
    /// [`set_preferred`](Self::set_preferred) could not.
    ///
    /// # Errors
    /// As [`set_preferred`](Self::set_preferred).
    pub fn update(&self) -> Result<bool> {
        let mut state = self.inner.state.lock("update")?;
        state.check_no_view("update")?;
        if state.preferred == PreferredDevice::Host {
            return match state.only_on() {
                Some(_) => self.leave(&mut state, Event::PreferHost).map(|_| true),
                None => Ok(true),
            };
        }
        // An upload waits for itself, and for all our work before it.
        let uploads = state.residency == Residency::HostNewer && self.len > 0;
        if !self.place(&mut state, Cause::Explicit)? {
            return Ok(false);
        }
        if !uploads {
            state.device_copy("update")?.bytes().synchronize()?;
        }
        Ok(true)
    }

    /// Whether the newest data is on the preferred device now, and this process can reach it there: a forked child
    /// cannot.
    #[must_use]
    pub fn is_device_resident(&self) -> bool {
        let state = self.inner.state.peek("is_device_resident");
        state.is_ok_and(|state| state.resident_on().is_some())
    }

    /// Whether a device could be honoured as the preference: the one preferred now, or the first. It does not ask
    /// whether the memory suffices, unless the policy does. Where the driver failed when the data was last to go
    /// there, the answer is no until that works.
    #[must_use]
    pub fn can_use_device(&self) -> bool {
        let (ordinal, policy, held_on) = {
            let Ok(state) = self.inner.state.peek("can_use_device") else {
                return false;
            };
            if state.resident_on().is_some() {
                return true;
            }
            if matches!(state.refusal, Some(Reason::Driver(_))) {
                return false;
            }
            (
                state.preferred.ordinal().unwrap_or(0),
                state.policy.clone(),
                state.held_on(),
            )
        };
        matches!(
            candidate(ordinal, self.len, policy.as_deref(), held_on),
            Ok(Target::Device(_))
        )
    }

    /// Where the data is, and why if that is not where it is preferred. Data that only a device has is there whatever
    /// is preferred: when it could not be brought home, and in a forked child, which cannot reach it.
    #[must_use]
    pub fn location(&self) -> Location {
        let Ok(state) = self.inner.state.peek("location") else {
            let known = self.inner.state.remembered();
            return match (known.only_on, known.preferred) {
                (Some(device), _) => on(&device),
                (None, PreferredDevice::Host) => Location::Host,
                (None, PreferredDevice::Device(_)) => Location::HostBecause(Reason::Forked),
            };
        };
        if let Some(device) = state.only_on() {
            return on(&device);
        }
        if state.preferred == PreferredDevice::Host {
            return Location::Host;
        }
        if forked() {
            return Location::HostBecause(Reason::Forked);
        }
        match state.resident_on() {
            Some(device) => on(&device),
            None => Location::HostBecause(state.refusal.clone().unwrap_or(Reason::ChangedOnHost)),
        }
    }

    /// Brings the data home, gives the device memory back to the driver and ends raw exports: their addresses are
    /// invalid from now on. Memory that is leased goes when the last lease ends, memory that a kernel of ours reads
    /// when its guard ends; the answer says so. The preference stays.
    ///
    /// # Errors
    /// Kind `Busy` while a writable host view is open, `Forked` in a forked child, `Interrupted`, else whatever the
    /// driver says. If the data could not be brought home nothing has changed.
    pub fn release_device(&self) -> Result<Released> {
        let mut state = self.inner.state.lock("release_device")?;
        state.check_no_view("release_device")?;
        self.leave(&mut state, Event::Release)
    }

    /// Gives up the device copy for `event`, with the copies from before a resize.
    fn leave(&self, state: &mut State, event: Event) -> Result<Released> {
        if state.device.is_none() && state.retired.is_empty() {
            return Ok(state.still_held().unwrap_or(Released::Nothing));
        }
        let left = if state.device.is_some() {
            let sharing = state.settle_sharing("release")?;
            let left = state.run(
                event,
                sharing,
                &self.access(Cause::Explicit),
                None,
                Wanted::Nothing,
            );
            if state.device.is_some() {
                return left.map(|_| Released::Nothing);
            }
            left.map(|_| ())
        } else {
            Ok(())
        };
        let retired = std::mem::take(&mut state.retired);
        for copy in &retired {
            copy.trim_after_free();
        }
        let closed = close_all(retired);
        match event {
            Event::PreferHost => state.host_to_ordinary(self.len),
            // What is in the way of going there stays the reason.
            _ => drop(state.refusal.get_or_insert(Reason::Released)),
        }
        left.and(closed)?;
        Ok(state.still_held().unwrap_or(Released::Freed))
    }

    /// Moves the data to the preferred device, if the host has the newer copy and it can be there.
    fn place(&self, state: &mut State, cause: Cause) -> Result<bool> {
        let Target::Device(device) = self.target(state)? else {
            return Ok(false);
        };
        let sharing = state.unsettled_sharing();
        let run = state.run(
            Event::PreferDevice,
            sharing,
            &self.access(cause),
            Some(&device),
            Wanted::Nothing,
        );
        match self.noting_refusal(state, run, &device) {
            Ok(_) => {
                state.refusal = None;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::OutOfMemory { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl State {
    /// The preferred device, if the newest data is there and can be reached from this process.
    pub(super) fn resident_on(&self) -> Option<Device> {
        let device = self.device.as_ref()?.device();
        let there = self.residency != Residency::HostNewer
            && self.preferred == PreferredDevice::Device(device.ordinal());
        (there && !forked()).then(|| device.clone())
    }

    /// The device that alone has the newest data.
    pub(super) fn only_on(&self) -> Option<Device> {
        let copy = self.device.as_ref()?;
        (!self.residency.is_host_current()).then(|| copy.device().clone())
    }

    /// What keeps device memory that the block has given up, if anything does.
    fn still_held(&mut self) -> Option<Released> {
        let (mut holders, mut leases) = (0, 0);
        self.given_up.retain(|earlier| {
            let Some(copy) = earlier.copy.upgrade() else {
                return false;
            };
            copy.trim_after_free();
            // Ours is none.
            let of_copy = Arc::strong_count(&copy) - 1;
            holders += of_copy;
            leases += earlier.leases.get().min(of_copy);
            of_copy > 0
        });
        match holders {
            0 => None,
            _ if holders == leases => Some(Released::WhenLeasesEnd(leases)),
            _ => Some(Released::WhenUsesEnd(holders)),
        }
    }

    pub(super) fn held_on(&self) -> Option<u32> {
        self.device.as_ref().map(|copy| copy.device().ordinal())
    }
}

fn on(device: &Device) -> Location {
    Location::Device {
        ordinal: device.ordinal(),
        name: device.name().to_owned(),
    }
}
