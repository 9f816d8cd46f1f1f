//! Managed memory: one address for the host and the devices, between which the driver moves its pages.
#![allow(
    unsafe_code,
    reason = "calls the driver's functions for managed memory"
)]

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ulib_core::{Error, Placement, Result};

use super::room::with_room;
use super::{DeviceBytes, guard, managed_guard, out_of_memory};
use crate::driver::{Driver, check, forked, missing_entry, relaxed_capture};
use crate::report::{Counted, Kind};
use crate::sys::{CUdevice, CUmem_advise as Advise, CUmemLocation, CUmemLocationType, CUresult};
use crate::{Device, Stream};

/// The driver's number for the host where it asks for a device.
const HOST: CUdevice = -1;

/// Who may access managed memory, for devices that cannot share it with the host while kernels run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// Every stream of every device.
    #[default]
    Global,
    /// The host alone, until it is attached otherwise.
    Host,
    /// The stream it is attached on alone.
    Single,
}

impl Attachment {
    fn bits(self) -> u32 {
        match self {
            Self::Global => 1,
            Self::Host => 2,
            Self::Single => 4,
        }
    }
}

/// What the driver is told about the use of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// It is mostly read, so that each reader may get a copy; or no longer.
    ReadMostly(bool),
    /// Its pages are best at this place; or at no one in particular.
    PreferredLocation(Option<Placement>),
    /// This place accesses it, wherever its pages are; or no longer.
    AccessedBy(Placement, bool),
}

/// Memory that the host and the devices access under one address. Who has the address may access it as long as it lives; nothing
/// here does.
///
/// On devices without concurrent access the host must not touch it while any kernel runs, whatever the kernel uses.
/// [`managed_guard`] is a debug mode that finds such accesses.
///
/// # Examples
/// ```no_run
/// use ulib_core::Placement;
/// use ulib_device::memory::{Attachment, Managed};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let memory = Managed::new(&device, 1 << 20, Attachment::Global)?;
/// memory.prefetch(0..memory.len(), Placement::Device(0), &Stream::legacy(&device))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Managed {
    start: u64,
    len: usize,
    /// What the driver gave: `start`, but for whole pages of a guard.
    base: u64,
    device: Device,
    _counted: Counted,
}

/// Managed memory of this process that a [`Managed`] owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManagedRange {
    /// Where it starts.
    pub start: u64,
    /// Its length in bytes.
    pub len: usize,
    /// The device it was made on.
    pub ordinal: u32,
}

static RANGES: RwLock<BTreeMap<u64, ManagedRange>> = RwLock::new(BTreeMap::new());
/// How many there are, to be asked without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The managed memory of this crate in which the host address lies. So an array of the host, or any view of one, whose bytes
/// are managed can be given to a kernel by its address. Costs one load while there is no managed memory.
#[must_use]
pub fn managed_range(address: u64) -> Option<ManagedRange> {
    if COUNT.load(Ordering::Acquire) == 0 || forked() {
        return None;
    }
    let ranges = RANGES.read().unwrap_or_else(PoisonError::into_inner);
    let (_, found) = ranges.range(..=address).next_back()?;
    (address - found.start < found.len as u64).then_some(*found)
}

impl Managed {
    /// `len` bytes, of which zero are one, with unspecified content.
    ///
    /// # Errors
    /// `InvalidArgument` for [`Attachment::Single`], which needs a stream; `OutOfMemory`; `Unavailable` where there is no
    /// managed memory; else whatever the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device, len: usize, attachment: Attachment) -> Result<Self> {
        let table = Driver::ready()?.table();
        let call = table
            .cuMemAllocManaged
            .ok_or_else(|| missing_entry("cuMemAllocManaged", "6.0"))?;
        if attachment == Attachment::Single {
            return Err(Error::invalid(
                "Managed",
                "attachment",
                "Single",
                "Global or Host; it is attached to a stream afterwards",
            ));
        }
        let (len, bits) = (len.max(1), attachment.bits());
        let (page, whole) = guarded_bytes(len)?;
        let base = with_room(device, || {
            let _context = device.bind()?;
            let mut base = 0;
            // SAFETY: a context of the device is current; the call writes one address.
            let status = relaxed_capture(|| unsafe { call(&raw mut base, whole, bits) });
            check(table, "cuMemAllocManaged", status)
                .map_err(|error| out_of_memory(device, len, error))?;
            Ok(base)
        })?;
        let start = base.next_multiple_of(page as u64);
        if managed_guard() {
            guard::add(device, start, len.next_multiple_of(page), attachment);
        }
        let range = ManagedRange {
            start,
            len,
            ordinal: device.ordinal(),
        };
        let mut ranges = RANGES.write().unwrap_or_else(PoisonError::into_inner);
        ranges.insert(start, range);
        COUNT.store(ranges.len(), Ordering::Release);
        drop(ranges);
        Ok(Self {
            start,
            len,
            base,
            device: device.clone(),
            _counted: Counted::sized(Kind::Managed, len),
        })
    }

    /// The address, for the host and for kernels.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.start
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes; there always are some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it was made on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Changes who may access it, in the order of `stream`.
    ///
    /// # Errors
    /// `InvalidArgument` when `stream` is of another device; `Unavailable` with a driver that cannot; else whatever the driver
    /// says.
    pub fn attach(&self, attachment: Attachment, stream: &Stream) -> Result<()> {
        stream.check_device("attach", &self.device)?;
        let table = Driver::ready()?.table();
        let call = table
            .cuStreamAttachMemAsync
            .ok_or_else(|| missing_entry("cuStreamAttachMemAsync", "6.0"))?;
        let _context = self.device.bind()?;
        let _queueing = stream.queueing("attach")?;
        // SAFETY: the memory is managed and alive; length 0 stands for all of it; the stream is one of the current context.
        let status = unsafe { call(stream.handle(), self.base, 0, attachment.bits()) };
        check(table, "cuStreamAttachMemAsync", status)?;
        guard::attached(self.start, attachment, stream);
        Ok(())
    }

    /// Moves the pages of a range of bytes to a place, in the order of `stream`, so that who accesses them there does not wait
    /// for each.
    ///
    /// # Errors
    /// `Index` when there are not as many bytes; `InvalidArgument` when there is no such device; else whatever the driver says,
    /// such as of devices without concurrent access.
    pub fn prefetch(&self, bytes: Range<usize>, to: Placement, stream: &Stream) -> Result<()> {
        let (start, len) = self.within("prefetch", bytes)?;
        let table = Driver::ready()?.table();
        let (place, handle) = (place(to)?, stream.handle());
        let _context = stream.device().bind()?;
        let _queueing = stream.queueing("prefetch")?;
        let (name, status) = match (table.cuMemPrefetchAsync, table.cuMemPrefetchAsync_v2) {
            // SAFETY: the range lies in this memory, which is managed and alive; the stream is one of the current context.
            (Some(call), _) => ("cuMemPrefetchAsync", unsafe {
                call(start, len, place, handle)
            }),
            // SAFETY: as above; there are no flags.
            (None, Some(call)) => ("cuMemPrefetchAsync_v2", unsafe {
                call(start, len, location(place), 0, handle)
            }),
            (None, None) => return Err(missing_entry("cuMemPrefetchAsync", "8.0")),
        };
        check(table, name, status)
    }

    /// Tells the driver how a range of bytes is used. It changes speed only.
    ///
    /// # Errors
    /// As [`prefetch`](Self::prefetch).
    pub fn advise(&self, bytes: Range<usize>, advice: Advice) -> Result<()> {
        let (start, len) = self.within("advise", bytes)?;
        let table = Driver::ready()?.table();
        let (advice, place) = match advice {
            Advice::ReadMostly(true) => (Advise::CU_MEM_ADVISE_SET_READ_MOSTLY, HOST),
            Advice::ReadMostly(false) => (Advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY, HOST),
            Advice::PreferredLocation(Some(at)) => {
                (Advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place(at)?)
            }
            Advice::PreferredLocation(None) => {
                (Advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, HOST)
            }
            Advice::AccessedBy(by, true) => (Advise::CU_MEM_ADVISE_SET_ACCESSED_BY, place(by)?),
            Advice::AccessedBy(by, false) => (Advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY, place(by)?),
        };
        let _context = self.device.bind()?;
        let (name, status) = match (table.cuMemAdvise, table.cuMemAdvise_v2) {
            // SAFETY: the range lies in this memory, which is managed and alive.
            (Some(call), _) => ("cuMemAdvise", unsafe { call(start, len, advice, place) }),
            // SAFETY: as above.
            (None, Some(call)) => ("cuMemAdvise_v2", unsafe {
                call(start, len, advice, location(place))
            }),
            (None, None) => return Err(missing_entry("cuMemAdvise", "8.0")),
        };
        check(table, name, status)
    }

    /// The memory as bytes of its device, whose uses on streams are remembered and over before it is freed.
    #[must_use]
    pub fn as_bytes(self: &Arc<Self>) -> DeviceBytes {
        let owner: Box<dyn Any + Send + Sync> = Box::new(Arc::clone(self));
        // SAFETY: the owner is the memory itself; who else accesses it answers for that, as the type says.
        unsafe { DeviceBytes::foreign(&self.device, self.start, self.len, owner) }
    }

    /// The address and the length of a range of bytes.
    fn within(&self, op: &'static str, bytes: Range<usize>) -> Result<(u64, usize)> {
        if bytes.start > bytes.end || bytes.end > self.len {
            return Err(Error::new(
                ulib_core::ErrorKind::Index,
                format!(
                    "{op}: bytes {bytes:?} are not within the {} of the memory",
                    self.len
                ),
            ));
        }
        Ok((self.start + bytes.start as u64, bytes.len()))
    }
}

/// To what the start is aligned, and how many bytes are asked for: with a guard, so many that whole pages are in them.
fn guarded_bytes(len: usize) -> Result<(usize, usize)> {
    if !managed_guard() {
        return Ok((1, len));
    }
    let page = guard::page_bytes();
    let whole = len
        .checked_next_multiple_of(page)
        .and_then(|len| len.checked_add(page));
    let whole = whole.ok_or_else(|| Error::overflow("Managed", format_args!("{len} bytes")))?;
    Ok((page, whole))
}

fn place(placement: Placement) -> Result<CUdevice> {
    match placement {
        Placement::Device(ordinal) => Ok(Device::new(ordinal)?.handle()),
        _ => Ok(HOST),
    }
}

fn location(place: CUdevice) -> CUmemLocation {
    let (type_, id) = match place {
        HOST => (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0),
        device => (CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device),
    };
    CUmemLocation { type_, id }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if forked() {
            return;
        }
        let mut ranges = RANGES.write().unwrap_or_else(PoisonError::into_inner);
        ranges.remove(&self.start);
        COUNT.store(ranges.len(), Ordering::Release);
        drop(ranges);
        guard::remove(self.start);
        let start = self.base;
        let free = |table: &crate::sys::Table| -> CUresult {
            // SAFETY: made by `new` and freed only here; the driver waits for the work that uses it.
            relaxed_capture(|| unsafe { (table.cuMemFree_v2)(start) })
        };
        self.device.in_drop("cuMemFree_v2", free);
    }
}
