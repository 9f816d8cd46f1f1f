//! What this crate has made and not given back, counted by kind.

use crate::{Device, Driver};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a thing of the driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Device memory that somebody owns, on all devices.
    Allocation,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// A loaded program.
    Module,
    /// A graph of captured work.
    Graph,
    /// A graph made ready to run.
    GraphExec,
    /// Page-locked memory of the host ([`HostMemory`](crate::pinned::HostMemory)), also what a pool of it keeps.
    HostMemory,
    /// Memory of the program that is page-locked ([`Registration`](crate::pinned::Registration)).
    Registration,
    /// Managed memory.
    Managed,
    /// Memory of another process.
    Imported,
    /// An array for textures and surfaces.
    Array,
    /// An array with levels.
    MipmappedArray,
    /// A texture object.
    Texture,
    /// A surface object.
    Surface,
    /// A registered object of OpenGL.
    Graphics,
}

/// How many things of a kind there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// What they are.
    pub kind: Kind,
    /// How many.
    pub count: u64,
    /// Their bytes, of memory whose length is known here: allocations, page-locked and managed memory. Else 0.
    pub bytes: u64,
}

const COUNTED: [Kind; 14] = [
    Kind::Stream,
    Kind::Event,
    Kind::Module,
    Kind::Graph,
    Kind::GraphExec,
    Kind::HostMemory,
    Kind::Registration,
    Kind::Managed,
    Kind::Imported,
    Kind::Array,
    Kind::MipmappedArray,
    Kind::Texture,
    Kind::Surface,
    Kind::Graphics,
];

/// How many of a kind there are, and their bytes.
struct Slot {
    count: AtomicU64,
    bytes: AtomicU64,
}

static COUNTS: [Slot; COUNTED.len()] = [const {
    Slot {
        count: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    }
}; COUNTED.len()];

/// What there is now, of every kind, in the order of [`Kind`]: what the program holds, and what this crate keeps for it (the
/// programs of kernels that have run, a stream and events of memory in use).
///
/// # Examples
/// ```no_run
/// use ulib_device::report::{self, Kind};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let before = report::count(Kind::Stream);
/// let stream = Stream::new(&Device::new(0)?)?;
/// assert_eq!(report::count(Kind::Stream), before + 1);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn live() -> Vec<Live> {
    let (count, bytes) = held();
    let mut all = vec![Live {
        kind: Kind::Allocation,
        count,
        bytes,
    }];
    all.extend(COUNTED.map(|kind| Live {
        kind,
        count: count_of(kind),
        bytes: slot(kind).map_or(0, |slot| slot.bytes.load(Ordering::Relaxed)),
    }));
    all
}

/// How many there are now of one kind.
#[must_use]
pub fn count(kind: Kind) -> u64 {
    match kind {
        Kind::Allocation => held().0,
        _ => count_of(kind),
    }
}

/// Number and bytes of allocations on all devices.
fn held() -> (u64, u64) {
    // Asking for devices would open the driver.
    if !Driver::is_asked_for() {
        return (0, 0);
    }
    Device::all().iter().fold((0, 0), |(count, bytes), device| {
        let held = device.held();
        (count + held.allocations, bytes + held.bytes)
    })
}

fn slot(kind: Kind) -> Option<&'static Slot> {
    let at = COUNTED.iter().position(|known| *known == kind)?;
    COUNTS.get(at)
}

fn count_of(kind: Kind) -> u64 {
    slot(kind).map_or(0, |slot| slot.count.load(Ordering::Relaxed))
}

/// One thing, counted as long as this lives.
#[derive(Debug)]
pub(crate) struct Counted {
    kind: Kind,
    bytes: u64,
}

impl Counted {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::sized(kind, 0)
    }

    /// One that is memory of so many bytes.
    pub(crate) fn sized(kind: Kind, bytes: usize) -> Self {
        let bytes = bytes as u64;
        if let Some(slot) = slot(kind) {
            slot.count.fetch_add(1, Ordering::Relaxed);
            slot.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Self { kind, bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(slot) = slot(self.kind) {
            slot.count.fetch_sub(1, Ordering::Relaxed);
            slot.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::Allocation => "allocations",
            Kind::Stream => "streams",
            Kind::Event => "events",
            Kind::Module => "modules",
            Kind::Graph => "graphs",
            Kind::GraphExec => "executable graphs",
            Kind::HostMemory => "page-locked allocations",
            Kind::Registration => "registrations",
            Kind::Managed => "managed allocations",
            Kind::Imported => "allocations of other processes",
            Kind::Array => "arrays",
            Kind::MipmappedArray => "mipmapped arrays",
            Kind::Texture => "texture objects",
            Kind::Surface => "surface objects",
            Kind::Graphics => "objects of OpenGL",
        };
        match self.bytes {
            0 => write!(f, "{} {name}", self.count),
            bytes => write!(f, "{} {name} of {bytes} bytes", self.count),
        }
    }
}
