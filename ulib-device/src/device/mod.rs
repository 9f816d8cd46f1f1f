//! Devices: which there are, what they are, and the primary context of each.
#![allow(
    unsafe_code,
    reason = "asks the driver about devices and switches contexts"
)]

mod attributes;
mod context;
mod drops;
mod limits;
mod peers;
mod profiler;
mod query;
mod resource;
mod settings;
mod stack;

pub use attributes::Attribute;
pub use context::ContextGuard;
pub use limits::Limits;
pub use peers::PeerAccess;
pub use settings::PrimaryState;
pub use stack::Context;

use crate::driver::{Driver, Unavailable, check, relaxed_capture};
use crate::launch::Recent;
use crate::memory::HeldCounts;
use crate::module::Cache;
use crate::stream::Stream;
use crate::sys;
use drops::DropErrors;
use resource::ResourceSlot;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use ulib_core::{Error, ErrorKind, Reason, Result};

/// The lowest compute capability the embedded kernels are built for.
pub const MINIMUM_COMPUTE_CAPABILITY: (i32, i32) = (6, 0);

/// One NVIDIA GPU, by its ordinal. Cloning is free: all clones are the same device.
///
/// Its *primary context* is retained when something first needs it, is the only context this crate ever uses, and is
/// not released before the process ends.
///
/// # Examples
/// ```no_run
/// use ulib_device::Device;
///
/// # fn main() -> ulib_core::Result<()> {
/// for ordinal in 0..Device::count()? {
///     let device = Device::new(ordinal)?;
///     println!("{ordinal}: {} ({} bytes free)", device.name(), device.memory_info()?.free);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Device(&'static Inner);

/// What is known about a device, and what belongs to it. Never freed: there is one per physical device.
struct Inner {
    driver: &'static Driver,
    ordinal: u32,
    raw: sys::CUdevice,
    name: String,
    uuid: [u8; 16],
    total_bytes: u64,
    compute_capability: (i32, i32),
    limits: Limits,
    /// The primary context as an integer; 0 before it is retained.
    context: OnceLock<usize>,
    retaining: Mutex<()>,
    resource: ResourceSlot,
    drop_errors: DropErrors,
    modules: Cache,
    recent: Recent,
    held: HeldCounts,
    /// The legacy stream, once somebody has asked for it.
    legacy: OnceLock<Stream>,
    /// For copies that the host waits for, once there was one.
    copies: OnceLock<Stream>,
}

/// Free and total memory of a device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes the driver could still allocate, for any process.
    pub free: u64,
    /// Bytes the device has.
    pub total: u64,
}

/// One slot per ordinal, filled when that device is first asked for.
static REGISTRY: OnceLock<Box<[OnceLock<Device>]>> = OnceLock::new();
/// Only one thread at a time describes a device.
static REGISTERING: Mutex<()> = Mutex::new(());

impl Device {
    /// How many devices this process sees, at least 1.
    ///
    /// # Errors
    /// Kind `Unavailable` with the reason when there is no driver or no device, `Forked` in a forked child.
    pub fn count() -> Result<u32> {
        Ok(Driver::ready()?.device_count())
    }

    /// The device with this ordinal, counted from 0.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is no such device, naming the ordinal and the number of devices; `Unavailable`
    /// when there is no driver, or the device is too old for the kernels of this library; `Forked` in a forked child;
    /// `Driver` when the driver cannot describe it.
    pub fn new(ordinal: u32) -> Result<Self> {
        let driver = Driver::ready()?;
        let slots = REGISTRY.get_or_init(|| {
            (0..driver.device_count())
                .map(|_| OnceLock::new())
                .collect()
        });
        let Some(slot) = slots.get(ordinal as usize) else {
            let count = driver.device_count();
            return Err(Reason::NoSuchDevice { ordinal, count }.into());
        };
        if let Some(device) = slot.get() {
            return Ok(device.clone());
        }
        let _one_at_a_time = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = slot.get() {
            return Ok(device.clone());
        }
        let device = Self(Box::leak(Box::new(Inner::describe(driver, ordinal)?)));
        Ok(slot.get_or_init(|| device).clone())
    }

    /// All devices this process sees that can be used, in the order of their ordinals; empty without a driver.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let count = Self::count().unwrap_or(0);
        (0..count)
            .filter_map(|ordinal| Self::new(ordinal).ok())
            .collect()
    }

    /// The ordinal, counted from 0 among the devices this process sees.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.0.ordinal
    }

    /// The name, such as `NVIDIA H200`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        &self.0.name
    }

    /// The driver's identifier of the device, which stays the same across processes and orders of devices. All zero
    /// when the driver does not tell.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.0.uuid
    }

    /// Total memory in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.0.total_bytes
    }

    /// Compute capability: major and minor version of the hardware's instruction set.
    #[must_use]
    pub fn compute_capability(&self) -> (i32, i32) {
        self.0.compute_capability
    }

    /// Number of multiprocessors.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.0.limits.multiprocessors
    }

    /// What a launch on this device may ask for.
    #[must_use]
    pub fn limits(&self) -> &'static Limits {
        &self.0.limits
    }

    /// The driver this device belongs to.
    #[must_use]
    pub fn driver(&self) -> &'static Driver {
        self.0.driver
    }

    /// The driver's own handle, an integer.
    #[must_use]
    pub fn handle(&self) -> sys::CUdevice {
        self.0.raw
    }

    /// The one wrap of the legacy stream, made by `wrap` when it is first asked for.
    pub(crate) fn legacy_stream(&self, wrap: impl FnOnce() -> Stream) -> &'static Stream {
        self.0.legacy.get_or_init(wrap)
    }

    /// A stream that is ordered with nothing and captured by nobody, for copies that the host waits for and that have to
    /// wait for nothing themselves. `None` where the driver makes none.
    pub(crate) fn copy_stream(&self) -> Option<&'static Stream> {
        if let Some(stream) = self.0.copies.get() {
            return Some(stream);
        }
        let made = relaxed_capture(|| Stream::private(self)).ok()?;
        Some(self.0.copies.get_or_init(|| made))
    }

    /// How much of its memory is in use.
    pub(crate) fn held_counts(&self) -> &'static HeldCounts {
        &self.0.held
    }

    /// The last launches.
    pub(crate) fn recent(&self) -> &'static Recent {
        &self.0.recent
    }

    /// Modules already loaded for embedded kernels.
    pub(crate) fn module_cache(&self) -> &'static Cache {
        &self.0.modules
    }

    /// Entry points, for code that holds a guard of this device.
    pub(crate) fn table(&self) -> &'static sys::Table {
        self.0.driver.table()
    }
}

impl Inner {
    fn describe(driver: &'static Driver, ordinal: u32) -> Result<Self> {
        let table = driver.table();
        let mut raw: sys::CUdevice = 0;
        let number = i32::try_from(ordinal).map_err(|_| Error::overflow("Device::new", ordinal))?;
        // SAFETY: the driver is initialised, since `driver` exists; the call writes one integer.
        let status = unsafe { (table.cuDeviceGet)(&raw mut raw, number) };
        check(table, "cuDeviceGet", status)?;
        let name = query::name(table, raw)?;
        let compute_capability = query::compute_capability(table, raw)?;
        if compute_capability < MINIMUM_COMPUTE_CAPABILITY {
            let found = compute_capability;
            let need = MINIMUM_COMPUTE_CAPABILITY;
            return Err(Unavailable::DeviceTooOld {
                ordinal,
                name,
                found,
                need,
            }
            .into());
        }
        Ok(Self {
            driver,
            ordinal,
            raw,
            name,
            uuid: query::uuid(table, raw)?,
            total_bytes: query::total_bytes(table, raw)?,
            compute_capability,
            limits: Limits::of(table, raw)?,
            context: OnceLock::new(),
            retaining: Mutex::new(()),
            resource: ResourceSlot::default(),
            drop_errors: DropErrors::default(),
            modules: Cache::default(),
            recent: Recent::default(),
            held: HeldCounts::default(),
            legacy: OnceLock::new(),
            copies: OnceLock::new(),
        })
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.0.ordinal == other.0.ordinal
    }
}

impl Eq for Device {}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.ordinal.hash(state);
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {:?})", self.0.ordinal, self.0.name)
    }
}

/// `Device: NAME`, or `Device 1: NAME` for another ordinal than 0, as in every message to the user.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.ordinal {
            0 => write!(f, "Device: {}", self.0.name),
            ordinal => write!(f, "Device {ordinal}: {}", self.0.name),
        }
    }
}

/// The error for two things of one operation that belong to different devices.
pub(crate) fn same_device(op: &'static str, first: &Device, second: &Device) -> Result<()> {
    if first == second {
        return Ok(());
    }
    Err(Error::in_op(
        ErrorKind::InvalidArgument,
        op,
        format!("{first} and {second} are different devices"),
    ))
}
