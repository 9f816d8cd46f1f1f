//! Where a block should live, where it is, and why.

use std::sync::Arc;

use ulib_core::{
    DeviceFacts, Error, ErrorKind, Event, Location, Placement, PlacementPolicy, PlacementRequest,
    PreferredDevice, Reason, Residency, Result,
};

use super::Block;
use super::device_copy::DeviceCopy;
use super::sharing::close_all;
use super::state::{State, Wanted};
use super::transfers::Cause;
use crate::driver::{Unavailable, forked};
use crate::{Device, Driver, copy};

/// What became of device memory that was to be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether the memory is free already"]
pub enum Released {
    /// There was none.
    Nothing,
    /// It is free, back at the driver.
    Freed,
    /// It is out of the block's hands, and free when this many leases have ended.
    WhenLeasesEnd(usize),
}

/// Where the data can go.
pub(super) enum Target {
    Device(Device),
    Refused(Reason),
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
        let mut state = self.inner.lock();
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
        self.inner.lock().policy = Some(policy);
    }

    /// Puts the data where it is preferred, if the host has the newer copy and it can be there, and waits for our own
    /// work on it. Answers whether it is on the preferred device now. With the preference `Host` it brings home what
    /// [`set_preferred`](Self::set_preferred) could not, and answers false.
    ///
    /// # Errors
    /// As [`set_preferred`](Self::set_preferred).
    pub fn update(&self) -> Result<bool> {
        let mut state = self.inner.lock();
        state.check_no_view("update")?;
        if state.preferred == PreferredDevice::Host {
            return match state.only_on() {
                Some(_) => self.leave(&mut state, Event::PreferHost).map(|_| false),
                None => Ok(false),
            };
        }
        if !self.place(&mut state, Cause::Explicit)? {
            return Ok(false);
        }
        state.device_copy("update")?.bytes().synchronize()?;
        Ok(true)
    }

    /// Whether the newest data is on the preferred device now, and this process can reach it there: a forked child
    /// cannot.
    #[must_use]
    pub fn is_device_resident(&self) -> bool {
        self.inner.peek().resident_on().is_some()
    }

    /// Whether a device could be honoured as the preference: the one preferred now, or the first. It does not ask
    /// whether the memory suffices, unless the policy does. Where the driver failed when the data was last to go
    /// there, the answer is no until that works.
    #[must_use]
    pub fn can_use_device(&self) -> bool {
        let (ordinal, policy, held_on) = {
            let state = self.inner.peek();
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
        let state = self.inner.peek();
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
    /// invalid from now on. Memory that is leased goes when the last lease ends. The preference stays.
    ///
    /// # Errors
    /// Kind `Busy` while a writable host view is open, `Forked` in a forked child, `Interrupted`, else whatever the
    /// driver says. If the data could not be brought home nothing has changed.
    pub fn release_device(&self) -> Result<Released> {
        let mut state = self.inner.lock();
        state.check_no_view("release_device")?;
        self.leave(&mut state, Event::Release)
    }

    /// Gives up the device copy for `event`, with the copies from before a resize.
    fn leave(&self, state: &mut State, event: Event) -> Result<Released> {
        if state.device.is_none() && state.retired.is_empty() {
            return Ok(Released::Nothing);
        }
        let leases = state.leases.get();
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
        if event == Event::PreferHost {
            state.host_to_ordinary(self.len);
        }
        left.and(closed)?;
        Ok(if leases > 0 {
            Released::WhenLeasesEnd(leases)
        } else {
            Released::Freed
        })
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

    /// Where the data can go. A copy on a device where it must not be is brought home and given up.
    pub(super) fn target(&self, state: &mut State) -> Result<Target> {
        let Some(ordinal) = state.preferred.ordinal() else {
            return Ok(Target::Refused(Reason::AsPreferred));
        };
        if let Some(device) = state.resident_on() {
            return Ok(Target::Device(device));
        }
        let target = candidate(ordinal, self.len, state.policy.as_deref(), state.held_on());
        match &target {
            Ok(Target::Device(_)) => {}
            Ok(Target::Refused(reason)) => state.refusal = Some(reason.clone()),
            Err(error) => {
                state.note_refusal(error);
            }
        }
        let Ok(decided) = &target else { return target };
        let to = match decided {
            Target::Device(device) => Some(device),
            Target::Refused(_) => None,
        };
        let elsewhere = state
            .device
            .as_ref()
            .is_some_and(|copy| to != Some(copy.device()));
        if elsewhere && !self.move_across(state, to)? {
            let sharing = state.settle_sharing("move")?;
            let access = self.access(Cause::Explicit);
            state.run(Event::Resize, sharing, &access, None, Wanted::Nothing)?;
        }
        target
    }

    /// Copies newest data from one device straight to another. Answers false, with everything as it was, where the
    /// host has the newest data or the other device cannot take it; then the way is through the host.
    fn move_across(&self, state: &mut State, to: Option<&Device>) -> Result<bool> {
        let (Some(to), Some(from)) = (to, state.device.clone()) else {
            return Ok(false);
        };
        if !state.residency.is_device_current() || forked() {
            return Ok(false);
        }
        if state.settle_sharing("move")?.0 {
            from.device().synchronize()?;
        }
        let copied = DeviceCopy::allocate(to, self.len).and_then(|copy| {
            let stream = copy.bytes().stream();
            copy::copy_device(copy.bytes(), 0, from.bytes(), 0, self.len, stream)?;
            stream.synchronize()?;
            Ok(copy)
        });
        let Ok(copy) = copied else { return Ok(false) };
        drop(from);
        state.let_go(Event::Resize)?;
        state.device = Some(Arc::new(copy));
        Ok(true)
    }

    /// The device for an access that cannot do without one.
    pub(super) fn device_or_reason(&self, state: &mut State, op: &'static str) -> Result<Device> {
        if state.preferred == PreferredDevice::Host {
            return Err(Error::residency(op, "the preferred device is Host"));
        }
        match self.target(state)? {
            Target::Device(device) => Ok(device),
            Target::Refused(reason) => Err(Error::from(reason)),
        }
    }

    /// The device where an operation of ours can work on the data. `None` means the host, with the reason kept: also
    /// when the driver cannot so much as begin with the device, as long as the host has the newest data.
    pub(super) fn working_place(&self, state: &mut State) -> Result<Option<Device>> {
        let reached = match self.target(state) {
            Ok(Target::Refused(_)) => return Ok(None),
            Ok(Target::Device(device)) if state.device.is_some() => return Ok(Some(device)),
            // The first use of a device makes its context.
            Ok(Target::Device(device)) => {
                let context = device.primary_context();
                self.noting_refusal(state, context, &device).map(|_| device)
            }
            Err(error) => Err(error),
        };
        match reached {
            Ok(device) => Ok(Some(device)),
            Err(error) if state.residency.is_host_current() && is_devices_fault(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the reason why the data could not go to the device, and passes the result on.
    pub(super) fn noting_refusal<R>(
        &self,
        state: &mut State,
        run: Result<R>,
        device: &Device,
    ) -> Result<R> {
        run.map_err(|error| {
            let error = match error.kind() {
                // From a call that does not know what the memory is for.
                ErrorKind::OutOfMemory { needs: 0, .. } => {
                    let free = device.memory_info().map_or(0, |memory| memory.free);
                    Error::out_of_memory(self.len as u64, free)
                }
                _ => error,
            };
            state.note_refusal(&error);
            error
        })
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

    fn held_on(&self) -> Option<u32> {
        self.device.as_ref().map(|copy| copy.device().ordinal())
    }
}

/// Whether an error is about the device and not about the access.
fn is_devices_fault(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Driver { .. } | ErrorKind::OutOfMemory { .. }
    )
}

fn on(device: &Device) -> Location {
    Location::Device {
        ordinal: device.ordinal(),
        name: device.name().to_owned(),
    }
}

/// Whether `len` bytes can live on the device `ordinal`, as far as can be said before trying.
fn candidate(
    ordinal: u32,
    len: usize,
    policy: Option<&dyn PlacementPolicy>,
    held_on: Option<u32>,
) -> Result<Target> {
    let refused = |reason| Ok(Target::Refused(reason));
    let driver = match Driver::get() {
        Ok(driver) => driver,
        Err(Unavailable::Forked) => return refused(Reason::Forked),
        Err(reason) => return refused(Reason::Unavailable(reason.to_string())),
    };
    let count = driver.device_count();
    if ordinal >= count {
        return refused(Reason::NoSuchDevice { ordinal, count });
    }
    let device = match Device::new(ordinal) {
        Ok(device) => device,
        Err(error) if *error.kind() == ErrorKind::Unavailable => {
            return refused(Reason::Unavailable(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let Some(policy) = policy else {
        return Ok(Target::Device(device));
    };
    let memory = device.memory_info()?;
    let facts = [DeviceFacts {
        ordinal,
        free: memory.free,
        total: memory.total,
    }];
    let request = PlacementRequest::new(PreferredDevice::Device(ordinal), len as u64, &facts)
        .with_device_count(count)
        .with_held_on(held_on);
    let decision = policy.decide(&request);
    match decision.placement {
        Placement::Device(_) => Ok(Target::Device(device)),
        Placement::Host => refused(decision.reason),
    }
}
