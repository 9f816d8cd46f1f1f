//! What a block knows about its two copies, and the execution of the transition table of `ulib-core`.
#![allow(
    unsafe_code,
    reason = "uploads from the raw host buffer under the lock of the block"
)]

use std::sync::{Arc, Weak};

use ulib_core::transition;
use ulib_core::{
    Action, Error, ErrorKind, Event, PlacementPolicy, PreferredDevice, Reason, Residency, Result,
    Step,
};

use super::device_copy::{DeviceCopy, record};
use super::host::{Count, HostBuf};
use super::host_copy::Shown;
use super::transfers::{Cause, Counters, Direction, admit};
use crate::{Device, copy};

/// Behind the lock of the block.
///
/// Invariants: without a device copy the state is `HostNewer`; while shared, and until the context was synchronised
/// after that, it is `DeviceNewer`. So a state with a current host copy means that nobody outside can change the data.
#[derive(Debug)]
pub(super) struct State {
    pub(super) residency: Residency,
    pub(super) host: Arc<HostBuf>,
    /// Earlier host buffers that read-only exports still show.
    pub(super) exported: Vec<Shown>,
    pub(super) device: Option<Arc<DeviceCopy>>,
    /// Device copies from before a resize whose address was given away without an end.
    pub(super) retired: Vec<Arc<DeviceCopy>>,
    /// Device copies that were not free when the block gave them up.
    pub(super) given_up: Vec<GivenUp>,
    pub(super) raw_exported: bool,
    /// Leases of the present device copy.
    pub(super) leases: Arc<Count>,
    pub(super) view: View,
    pub(super) preferred: PreferredDevice,
    /// `None` honours the preference.
    pub(super) policy: Option<Arc<dyn PlacementPolicy>>,
    /// Why the data is not on the preferred device, if it could not go there when that was last tried.
    pub(super) refusal: Option<Reason>,
}

/// A device copy that somebody else keeps.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) copy: Weak<DeviceCopy>,
    pub(super) leases: Arc<Count>,
}

/// The writable host view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    None,
    Open,
    /// Closed, but its address is still held and there was no memory to move the data away from it.
    Lingering,
}

/// The answer, for one access, to whether somebody outside may write the device copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sharing(pub(super) bool);

/// What an access wants of the bytes that a shared block has to fetch.
pub(super) enum Wanted<'a> {
    Nothing,
    /// Everything, into the host copy.
    Whole,
    /// `into.len()` bytes from `offset` on, past the host copy.
    Part {
        offset: usize,
        into: &'a mut [u8],
    },
}

/// The circumstances of one access.
pub(super) struct Access<'a> {
    pub(super) len: usize,
    pub(super) counters: &'a Counters,
    pub(super) cause: Cause,
}

impl State {
    pub(super) fn new(host: HostBuf) -> Self {
        Self {
            residency: Residency::HostNewer,
            host: Arc::new(host),
            exported: Vec::new(),
            device: None,
            retired: Vec::new(),
            given_up: Vec::new(),
            raw_exported: false,
            leases: Arc::default(),
            view: View::None,
            preferred: PreferredDevice::Host,
            policy: None,
            refusal: None,
        }
    }

    /// Whether somebody outside may write the device copy now.
    pub(super) fn is_shared(&self) -> bool {
        self.device.is_some() && (self.raw_exported || self.leases.get() > 0)
    }

    /// Whether host code may read the host copy right away, with nothing to be done for exports before.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.residency.is_host_current()
            && self.view == View::None
            && !self.exported.iter().any(Shown::is_due)
    }

    /// Whether a host write changes nothing but bytes: only the host copy is current, and nothing else shows it.
    #[inline]
    pub(super) fn is_private(&self) -> bool {
        self.residency == Residency::HostNewer
            && self.view == View::None
            && self.exported.is_empty()
    }

    /// Whether a host write needs nothing but that the host has the newer copy afterwards: both copies are current, and
    /// nothing else shows or changes either.
    pub(super) fn is_in_sync_alone(&self) -> bool {
        self.residency == Residency::InSync
            && self.view == View::None
            && self.exported.is_empty()
            && !self.unsettled_sharing().0
    }

    /// Refuses access while a writable host view excludes it.
    pub(super) fn check_no_view(&mut self, op: &'static str) -> Result<()> {
        if self.view == View::Lingering && self.host.holds.get() == 0 {
            self.view = View::None;
        }
        match self.view {
            View::None => Ok(()),
            View::Open => Err(Error::busy(op, "a writable host view is open")),
            View::Lingering => Err(Error::busy(
                op,
                "an array made from a closed host view is still in use",
            )),
        }
    }

    /// The device copy, which the caller knows to exist.
    pub(super) fn device_copy(&self, op: &'static str) -> Result<&Arc<DeviceCopy>> {
        self.device
            .as_ref()
            .ok_or_else(|| Error::residency(op, "there is no device copy"))
    }

    /// Waits for the work of outsiders whose sharing has ended, before the first access that needs their results.
    /// Answers whether the block is shared. That is asked once per access, because a lease may end meanwhile, and a
    /// block that was shared a moment ago is safely treated as one that still is.
    pub(super) fn settle_sharing(&mut self, op: &'static str) -> Result<Sharing> {
        let pending = self
            .device
            .as_ref()
            .is_some_and(|copy| copy.has_outsiders());
        if self.is_shared() {
            return Ok(Sharing(true));
        }
        if !pending {
            return Ok(Sharing(false));
        }
        let step = transition(self.residency, true, true, Event::SharingEnded);
        let copy = Arc::clone(self.device_copy(op)?);
        if step.before.contains(&Action::SynchronizeContext) {
            copy.device().synchronize()?;
        }
        copy.set_outsiders(false);
        self.residency = step.next;
        Ok(Sharing(false))
    }

    /// Whether the block is shared, or was, and its outsiders have not been waited for. For accesses that do not
    /// depend on what outsiders have queued.
    pub(super) fn unsettled_sharing(&self) -> Sharing {
        Sharing(
            self.device
                .as_ref()
                .is_some_and(|copy| copy.has_outsiders()),
        )
    }

    /// Does what the table wants before `event`, and moves to the state it names. When something fails before the
    /// data is safe in its new place, the state stays as it was.
    ///
    /// `target` is where a device copy is made if the event needs a new one.
    pub(super) fn run(
        &mut self,
        event: Event,
        Sharing(shared): Sharing,
        access: &Access<'_>,
        target: Option<&Device>,
        mut wanted: Wanted<'_>,
    ) -> Result<Step> {
        let had_copy = self.device.is_some();
        let step = transition(self.residency, shared, had_copy, event);
        self.admit(&step, access, &wanted)?;
        let mut late = Ok(());
        for action in step.before {
            let done = match action {
                Action::FreeDevice | Action::RetireDevice => {
                    let freed = self.let_go(event);
                    late = late.and(freed);
                    Ok(())
                }
                action => self.perform(*action, access, target, &mut wanted),
            };
            if let Err(error) = done {
                if !had_copy {
                    self.device = None;
                }
                return Err(error);
            }
        }
        self.residency = step.next;
        late.map(|()| step)
    }

    /// Asks whether the transfers of `step` may happen, before any of it does.
    fn admit(&self, step: &Step, access: &Access<'_>, wanted: &Wanted<'_>) -> Result<()> {
        if access.len == 0 {
            return Ok(());
        }
        for action in step.before.iter().chain(step.after) {
            match (action, wanted) {
                (Action::Upload | Action::WriteThrough, _) => {
                    admit(access.cause, Direction::Up, access.len)?
                }
                (Action::Fetch, Wanted::Nothing) => {}
                (Action::Fetch, Wanted::Part { into, .. }) => {
                    admit(access.cause, Direction::Down, into.len())?
                }
                (Action::Download | Action::Fetch, _) => {
                    admit(access.cause, Direction::Down, access.len)?
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn perform(
        &mut self,
        action: Action,
        access: &Access<'_>,
        target: Option<&Device>,
        wanted: &mut Wanted<'_>,
    ) -> Result<()> {
        match action {
            Action::AllocateDevice => {
                let device =
                    target.ok_or_else(|| Error::residency("allocate", "no device was chosen"))?;
                self.device = Some(Arc::new(DeviceCopy::allocate(device, access.len)?));
                Ok(())
            }
            Action::Upload => {
                let copy = Arc::clone(self.device_copy("upload")?);
                self.host_to_pinned(copy.device(), access.len);
                // SAFETY: the lock of the block is held for writing, so nothing writes the host copy meanwhile.
                let bytes = unsafe { self.host.bytes(access.len) };
                upload_part(&copy, 0, bytes, access.counters)
            }
            Action::Download => self.refresh(access),
            Action::Fetch => match wanted {
                Wanted::Nothing => Ok(()),
                Wanted::Whole => self.refresh(access),
                Wanted::Part { offset, into } => download_part(
                    self.device_copy("download")?,
                    *offset,
                    into,
                    access.counters,
                ),
            },
            Action::SynchronizeContext => self.device_copy("synchronize")?.device().synchronize(),
            Action::WaitPending => self.device_copy("wait")?.bytes().synchronize(),
            // Trimming happens where the memory is freed, which may be later than now. The other two belong after
            // the access and are done by its guard.
            _ => Ok(()),
        }
    }

    /// Gives up the device copy. Leases keep theirs; an address given away without an end keeps it alive until the
    /// block is dropped, except when the user releases it.
    pub(super) fn let_go(&mut self, event: Event) -> Result<()> {
        let Some(copy) = self.device.take() else {
            return Ok(());
        };
        let device = copy.device().clone();
        let given_up = matches!(event, Event::Release | Event::PreferHost);
        let raw = std::mem::take(&mut self.raw_exported);
        let leases = std::mem::take(&mut self.leases);
        let leased = leases.get() > 0;
        self.given_up
            .retain(|earlier| earlier.copy.strong_count() > 0);
        if Arc::strong_count(&copy) > 1 || (raw && !given_up) {
            self.given_up.push(GivenUp {
                copy: Arc::downgrade(&copy),
                leases,
            });
        }
        if given_up {
            if !leased {
                // The table had the context synchronised, and addresses given away are invalid from now on.
                copy.set_outsiders(false);
            }
            copy.trim_after_free();
        } else if raw {
            self.retired.push(copy);
            return Ok(());
        }
        let closed = Arc::into_inner(copy).map_or(Ok(()), DeviceCopy::close);
        if given_up {
            return closed;
        }
        record(&device, closed, "freeing the device copy");
        Ok(())
    }

    /// Copies `bytes` of the host to `offset` in the device copy, for a write that is passed through.
    pub(super) fn write_through(
        &self,
        offset: usize,
        bytes: &[u8],
        access: &Access<'_>,
    ) -> Result<()> {
        upload_part(self.device_copy("write")?, offset, bytes, access.counters)
    }

    /// Remembers why the data could not go to the device. Answers whether it was a lack of memory there, which is an
    /// answer and not a fault.
    pub(super) fn note_refusal(&mut self, error: &Error) -> bool {
        match *error.kind() {
            ErrorKind::OutOfMemory { needs, free } => {
                self.refusal = Some(Reason::OutOfMemory { needs, free });
                true
            }
            ErrorKind::Driver { .. } => {
                self.refusal = Some(Reason::Driver(error.to_string()));
                false
            }
            _ => false,
        }
    }
}

fn upload_part(copy: &DeviceCopy, offset: usize, bytes: &[u8], counters: &Counters) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    copy::upload(copy.bytes(), offset, bytes, copy.stream_for(bytes.len()))?;
    counters.count(Direction::Up, bytes.len());
    Ok(())
}

pub(super) fn download_part(
    copy: &DeviceCopy,
    offset: usize,
    into: &mut [u8],
    counters: &Counters,
) -> Result<()> {
    if into.is_empty() {
        return Ok(());
    }
    copy::download(copy.bytes(), offset, into, copy.stream_for(into.len()))?;
    counters.count(Direction::Down, into.len());
    Ok(())
}
