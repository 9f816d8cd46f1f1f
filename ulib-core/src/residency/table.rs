//! The table itself.

use super::Action::{
    AllocateDevice, Download, Fetch, FreeDevice, RetireDevice, SynchronizeContext,
    SynchronizeStream, Trim, Upload, WaitPending, WriteThrough,
};
use super::Residency::{DeviceNewer, HostNewer, InSync};
use super::{Action, Event, Residency, Step};

/// What `event` needs when the block is in `state`, and the state it leads to.
///
/// The arguments may be any combination; impossible ones mean the nearest possible one: without a
/// device copy the block is not shared and the host is newer, and a shared block is
/// [`DeviceNewer`](Residency::DeviceNewer). The caller asks with [`Event::PreferDevice`], a kernel event or
/// [`Event::DevicePointer`] only when the device can be used.
///
/// ```
/// use ulib_core::{Action, Event, Residency, transition};
///
/// // Reading brings the data home once ...
/// let step = transition(Residency::DeviceNewer, false, true, Event::HostRead);
/// assert_eq!(step.before, [Action::Download]);
/// assert_eq!(step.next, Residency::InSync);
///
/// // ... and costs no upload later.
/// assert!(transition(step.next, false, true, Event::KernelRead).before.is_empty());
/// ```
#[must_use]
pub fn transition(state: Residency, shared: bool, has_device_copy: bool, event: Event) -> Step {
    if !has_device_copy {
        without_device_copy(event)
    } else if shared {
        while_shared(event)
    } else {
        alone(state, event)
    }
}

const fn step(before: &'static [Action], next: Residency) -> Step {
    Step {
        before,
        after: &[],
        next,
    }
}

/// The host copy is all there is.
fn without_device_copy(event: Event) -> Step {
    match event {
        Event::PreferDevice | Event::KernelRead => step(&[AllocateDevice, Upload], InSync),
        Event::KernelWrite => step(&[AllocateDevice, Upload], DeviceNewer),
        Event::KernelOverwrite => step(&[AllocateDevice], DeviceNewer),
        Event::DevicePointer => step(&[AllocateDevice, Upload, WaitPending], DeviceNewer),
        Event::Release => step(&[Trim], HostNewer),
        Event::PreferHost
        | Event::HostRead
        | Event::HostWrite
        | Event::HostOverwrite
        | Event::Resize
        | Event::Replace
        | Event::SharingEnded => step(&[], HostNewer),
    }
}

/// There is a device copy, and only we use it.
fn alone(state: Residency, event: Event) -> Step {
    match (event, state) {
        (Event::PreferDevice | Event::KernelRead, HostNewer) => step(&[Upload], InSync),
        (Event::PreferDevice | Event::KernelRead, current) => step(&[], current),

        (Event::PreferHost | Event::Resize, DeviceNewer) => {
            step(&[Download, FreeDevice], HostNewer)
        }
        (Event::PreferHost | Event::Resize, HostNewer | InSync) => step(&[FreeDevice], HostNewer),
        (Event::Replace, _) => step(&[FreeDevice], HostNewer),

        (Event::HostRead, DeviceNewer) => step(&[Download], InSync),
        (Event::HostRead, current) => step(&[], current),
        (Event::HostWrite, DeviceNewer) => step(&[Download], HostNewer),
        (Event::HostWrite, HostNewer | InSync) => step(&[], HostNewer),
        (Event::HostOverwrite, _) => step(&[], HostNewer),

        (Event::KernelWrite, HostNewer) => step(&[Upload], DeviceNewer),
        (Event::KernelWrite, DeviceNewer | InSync) => step(&[], DeviceNewer),
        (Event::KernelOverwrite, _) => step(&[], DeviceNewer),

        (Event::DevicePointer, HostNewer) => step(&[Upload, WaitPending], DeviceNewer),
        (Event::DevicePointer, DeviceNewer | InSync) => step(&[WaitPending], DeviceNewer),

        (Event::Release, DeviceNewer) => {
            step(&[SynchronizeContext, Download, FreeDevice, Trim], HostNewer)
        }
        (Event::Release, HostNewer | InSync) => {
            step(&[SynchronizeContext, FreeDevice, Trim], HostNewer)
        }

        // Sharing had ended before: what the outside wrote is on the device.
        (Event::SharingEnded, current) => step(&[], current),
    }
}

/// Somebody outside may write the device copy at any time: it is the only truth.
fn while_shared(event: Event) -> Step {
    match event {
        Event::PreferDevice => step(&[], DeviceNewer),
        Event::PreferHost | Event::Release => step(
            &[SynchronizeContext, Download, RetireDevice, Trim],
            HostNewer,
        ),
        Event::Resize => step(&[SynchronizeContext, Download, RetireDevice], HostNewer),
        Event::Replace => step(&[RetireDevice], HostNewer),

        Event::HostRead => step(&[SynchronizeContext, Fetch], DeviceNewer),
        Event::HostWrite => Step {
            before: &[SynchronizeContext, Fetch],
            after: &[WriteThrough],
            next: DeviceNewer,
        },
        // The context is synchronised first, so that nothing queued earlier lands on top.
        Event::HostOverwrite => Step {
            before: &[SynchronizeContext],
            after: &[WriteThrough],
            next: DeviceNewer,
        },

        Event::KernelRead | Event::KernelWrite | Event::KernelOverwrite => Step {
            before: &[SynchronizeContext],
            after: &[SynchronizeStream],
            next: DeviceNewer,
        },

        Event::DevicePointer => step(&[WaitPending], DeviceNewer),
        // Work that the outside queued may still run; the wait may be put off until the next
        // access that needs the device copy, but not dropped.
        Event::SharingEnded => step(&[SynchronizeContext], DeviceNewer),
    }
}
