//! Memory that an operation needs only while it runs, kept between operations so that a loop allocates once.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, ErrorKind, Result};

use super::{Access, DeviceBytes, is_out_of_memory};
use crate::driver::{Driver, forked};
use crate::{Device, Stream};

/// Larger pieces are not kept.
const LARGEST: usize = 64 << 20;

/// All kept pieces of one device together are at most this many bytes, and at most this many.
const MOST_BYTES: usize = 128 << 20;
const MOST_PIECES: usize = 8;

/// Pieces are at least this large, and a power of two.
const SMALLEST: usize = 4096;

/// A piece of device memory for the time of one operation, with undefined content.
///
/// It comes from what earlier operations on the device left behind, if some of that is large enough and not much larger;
/// else it is allocated. When it is dropped, it is left behind for later operations, which are ordered after the work
/// queued on it by the uses it remembers, as for all [`DeviceBytes`].
///
/// What is left behind does not count as [held](Device::held), as what a pool caches does not. It is freed when the last
/// block of the device is, when a block's device memory is released, when an allocation runs out of memory, and by
/// [`trim`](crate::memory::DeviceMemoryResource::trim).
///
/// # Examples
/// ```no_run
/// use ulib_device::memory::{Access, Scratch};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let stream = Stream::current(&device);
/// let scratch = Scratch::take(&stream, 4096)?;
/// scratch.use_on(&stream, Access::Write)?;
/// // ... kernels on `stream` that use `scratch.ptr()` ...
/// drop(scratch);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Scratch {
    /// `None` only while being dropped.
    bytes: Option<DeviceBytes>,
    len: usize,
    /// What it is to be used on; it is looked for again for this stream first.
    stream: Stream,
}

/// What is left behind on one device.
struct Left {
    bytes: DeviceBytes,
    /// The identity of the stream that used it last.
    stream: u64,
}

/// Whether anything is left behind, to be asked without the lock.
static SOME: AtomicBool = AtomicBool::new(false);
static LEFT: Mutex<Vec<Vec<Left>>> = Mutex::new(Vec::new());

impl Scratch {
    /// At least `len` bytes for work on `stream`. No bytes give the pointer 0.
    ///
    /// # Errors
    /// Kind `Busy` while `stream` is being captured, since the graph would use the memory later than it is kept, unless
    /// `len` is 0; else as [`DeviceBytes::allocate`].
    pub fn take(stream: &Stream, len: usize) -> Result<Self> {
        if len > 0 && stream.is_capturing()? {
            return Err(Error::busy(
                "scratch",
                "the stream is being captured into a graph, and scratch memory does not live as long as that",
            ));
        }
        Self::take_outside(stream, len)
    }

    /// [`take`](Self::take) for who has asked already that `stream` is not being captured.
    pub(crate) fn take_outside(stream: &Stream, len: usize) -> Result<Self> {
        let bytes = match len {
            0 => DeviceBytes::allocate(stream, 0)?,
            _ => Self::find(stream, len)?,
        };
        Ok(Self {
            bytes: Some(bytes),
            len,
            stream: stream.clone(),
        })
    }

    fn find(stream: &Stream, len: usize) -> Result<DeviceBytes> {
        // Before the lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        if let Some(mut found) = pick(stream, len) {
            found.set_counted(true);
            return Ok(found);
        }
        let rounded = len.checked_next_power_of_two().unwrap_or(len).max(SMALLEST);
        if rounded <= LARGEST {
            match DeviceBytes::allocate(stream, rounded) {
                Err(error) if is_out_of_memory(&error) && rounded > len => {}
                outcome => return outcome,
            }
        }
        DeviceBytes::allocate(stream, len)
    }

    /// The device address; 0 when there are no bytes.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.bytes.as_ref().map_or(0, DeviceBytes::ptr)
    }

    /// The bytes asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no bytes were asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As [`DeviceBytes::use_on`]; call it before work is queued.
    ///
    /// # Errors
    /// As [`DeviceBytes::use_on`].
    pub fn use_on(&self, stream: &Stream, access: Access) -> Result<()> {
        self.bytes()?.use_on(stream, access)
    }

    /// The memory, for [copies](crate::copy); at least [`len`](Self::len) bytes.
    ///
    /// # Errors
    /// Never, in a value that can be reached.
    pub fn bytes(&self) -> Result<&DeviceBytes> {
        self.bytes
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Residency, "scratch: it has been given back"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(mut bytes) = self.bytes.take() else {
            return;
        };
        // A stream that somebody else may destroy is not remembered beyond the operation.
        if bytes.is_empty() || bytes.len() > LARGEST || forked() || !self.stream.is_kept() {
            return;
        }
        let device = bytes.device().clone();
        bytes.set_counted(false);
        let left = Left {
            bytes,
            stream: self.stream.id(),
        };
        // Freed without the lock.
        drop(leave(&device, left));
        // Asked afterwards, so that of this and the release of the last block the later one clears.
        if device.held().allocations == 0 {
            clear(&device);
        }
    }
}

/// What fits best: last used on the same stream if possible, and on another one only when no more may be kept.
fn pick(stream: &Stream, len: usize) -> Option<DeviceBytes> {
    let most = len.saturating_mul(4).max(SMALLEST);
    let mut all = lock();
    let left = of(&mut all, stream.device());
    let fits = |left: &Left| (len..=most).contains(&left.bytes.len());
    let smallest = |mine: bool, left: &[Left]| {
        let candidates = left.iter().enumerate();
        candidates
            .filter(|(_, left)| fits(left) && (left.stream == stream.id()) == mine)
            // Of equal ones the one used last.
            .min_by_key(|(at, left)| (left.bytes.len(), Reverse(*at)))
            .map(|(at, _)| at)
    };
    let at = smallest(true, left).or_else(|| {
        let full = left.len() >= MOST_PIECES;
        full.then(|| smallest(false, left)).flatten()
    })?;
    Some(left.remove(at).bytes)
}

/// Leaves a piece behind, and gives back what is too much, oldest first.
fn leave(device: &Device, new: Left) -> Vec<Left> {
    let mut all = lock();
    // Before it is asked whether anybody owns anything.
    SOME.store(true, Ordering::SeqCst);
    let left = of(&mut all, device);
    left.push(new);
    let mut total: usize = left.iter().map(|left| left.bytes.len()).sum();
    let mut gone = 0;
    while left.len() - gone > MOST_PIECES || total > MOST_BYTES {
        total -= left[gone].bytes.len();
        gone += 1;
    }
    left.drain(..gone).collect()
}

/// Frees everything that is left behind on `device`. Answers whether there was something.
pub(crate) fn clear(device: &Device) -> bool {
    if !SOME.load(Ordering::SeqCst) || forked() {
        return false;
    }
    // Freed without the lock: freeing may come back here.
    let left = {
        let mut all = lock();
        let left = std::mem::take(of(&mut all, device));
        SOME.store(all.iter().any(|left| !left.is_empty()), Ordering::SeqCst);
        left
    };
    !left.is_empty()
}

/// Whether anything is left behind on any device.
pub(super) fn is_left() -> bool {
    SOME.load(Ordering::Relaxed)
}

fn lock() -> MutexGuard<'static, Vec<Vec<Left>>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of<'a>(all: &'a mut Vec<Vec<Left>>, device: &Device) -> &'a mut Vec<Left> {
    let index = device.ordinal() as usize;
    if all.len() <= index {
        all.resize_with(index + 1, Vec::new);
    }
    &mut all[index]
}
