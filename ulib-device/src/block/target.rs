//! Whether a block can go to the device it prefers, and getting it away from any other.

use std::sync::Arc;

use ulib_core::{
    DeviceFacts, Error, ErrorKind, Event, Placement, PlacementPolicy, PlacementRequest,
    PreferredDevice, Reason, Result,
};

use super::Block;
use super::device_copy::DeviceCopy;
use super::state::{State, Wanted};
use super::transfers::Cause;
use crate::driver::{Unavailable, forked};
use crate::{Device, Driver, copy};

/// Where the data can go.
pub(super) enum Target {
    Device(Device),
    Refused(Reason),
}

impl Block {
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

/// Whether an error is about the device and not about the access.
fn is_devices_fault(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Driver { .. } | ErrorKind::OutOfMemory { .. }
    )
}

/// Whether `len` bytes can live on the device `ordinal`, as far as can be said before trying.
pub(super) fn candidate(
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
        Placement::Device(chosen) if chosen != ordinal => refused(Reason::NotPreferredDevice {
            chosen,
            preferred: ordinal,
        }),
        Placement::Device(_) => Ok(Target::Device(device)),
        Placement::Host => refused(decision.reason),
    }
}
