//! The host copy of a block: one allocation, shared by the block and by everybody who was given its address.
#![allow(
    unsafe_code,
    reason = "owns raw memory that Rust guards, Python views and copies reach under rules of the block"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use ulib_core::{Error, ErrorKind, Result};

use crate::Device;
use crate::pinned::{PinnedBytes, PinnedPool};

/// Host copies start at a multiple of this many bytes: a cache line, and the widest vector register.
pub(super) const ALIGNMENT: usize = 64;

/// Host copies of this many bytes come from the pinned pool when their block lives on a device. Smaller ones would
/// waste most of a page, and the driver copies them through its own buffers anyway.
pub(super) const PINNED_SIZES: std::ops::RangeInclusive<usize> = 4096..=16 << 20;

/// Bytes of host memory, zero when fresh, and counts of who may look at them.
///
/// The rule that makes handing out references sound, kept by the block:
/// 1. a `&[u8]` is handed out only while `guards` counts it, and `guards` grows only under the lock of the block;
/// 2. the bytes are written only (a) through `&mut Block`, (b) by a refresh that holds the lock of the block for
///    writing and saw `guards == 0`, or (c) through an open host view, during which `guards` cannot grow and at whose
///    opening it was 0;
/// 3. whoever has only an address (`exports`, `holds`) never turns it into a Rust reference in this crate.
pub(super) struct HostBuf {
    ptr: NonNull<u8>,
    capacity: usize,
    memory: Memory,
    /// Live [`HostRef`](super::HostRef) guards.
    pub(super) guards: Count,
    /// Live read-only exports: addresses given to foreign code.
    pub(super) exports: Count,
    /// Live handles that keep the address of a writable host view.
    pub(super) holds: Count,
}

enum Memory {
    /// No bytes.
    Nothing,
    /// From the global allocator; freed with the same address and layout.
    Heap(NonNull<u8>, Layout),
    /// From the pinned pool; the field keeps it.
    Pinned { _bytes: PinnedBytes },
}

// SAFETY: the memory is owned by this value alone and not tied to a thread; concurrent access follows the rule at
// the type, which the block enforces with its lock and the counts, all of them atomic.
unsafe impl Send for HostBuf {}
// SAFETY: as for `Send`: through `&HostBuf` only the atomic counts and the address are reachable; dereferencing the
// address is unsafe and follows the rule at the type.
unsafe impl Sync for HostBuf {}

impl HostBuf {
    /// `capacity` zeroed bytes of ordinary memory.
    ///
    /// # Errors
    /// Kind `OutOfMemory` when the allocator has not that much, `Overflow` when nothing has.
    pub(super) fn zeroed(capacity: usize) -> Result<Self> {
        if capacity == 0 {
            return Ok(Self::new(dangling(), 0, Memory::Nothing));
        }
        // Room to align by hand: the allocator zeroes lazily (fresh pages) only at its own alignment.
        let layout = capacity
            .checked_add(ALIGNMENT)
            .and_then(|bytes| Layout::from_size_align(bytes, 16).ok())
            .ok_or_else(|| {
                Error::overflow("allocate host memory", format_args!("{capacity} bytes"))
            })?;
        // SAFETY: the layout has more than zero bytes.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| out_of_host_memory(capacity as u64))?;
        let gap = base.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        // SAFETY: `gap <= ALIGNMENT`, and `layout` has `ALIGNMENT` bytes more than `capacity`, so the start and all
        // `capacity` bytes after it are inside the allocation.
        let ptr = unsafe { base.add(gap) };
        prefer_huge_pages(ptr, capacity);
        Ok(Self::new(ptr, capacity, Memory::Heap(base, layout)))
    }

    /// `capacity` bytes of ordinary memory that start with `bytes`, or with as many of them as fit.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub(super) fn copy_of(bytes: &[u8], capacity: usize) -> Result<Self> {
        let fresh = Self::zeroed(capacity)?;
        let len = bytes.len().min(capacity);
        // SAFETY: nobody else knows the fresh buffer.
        unsafe { fresh.bytes_mut(len) }.copy_from_slice(&bytes[..len]);
        Ok(fresh)
    }

    /// `capacity` bytes from the pinned pool, content undefined but initialised.
    ///
    /// # Errors
    /// As [`PinnedPool::acquire_for`].
    pub(super) fn pinned(device: &Device, capacity: usize) -> Result<Self> {
        let mut bytes = PinnedPool::global().acquire_for(device, capacity)?;
        let Some(ptr) = NonNull::new(bytes.as_mut_ptr()).filter(|_| capacity > 0) else {
            return Self::zeroed(0);
        };
        Ok(Self::new(ptr, capacity, Memory::Pinned { _bytes: bytes }))
    }

    /// A zeroed buffer of `capacity` bytes, pinned if `self` is and such memory is to be had.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub(super) fn sibling(&self, device: &Device, capacity: usize) -> Result<Self> {
        if self.is_pinned()
            && PINNED_SIZES.contains(&capacity)
            && let Ok(fresh) = Self::pinned(device, capacity)
        {
            // SAFETY: nobody else knows the fresh buffer, which has `capacity` bytes.
            unsafe { fresh.ptr.write_bytes(0, capacity) };
            return Ok(fresh);
        }
        Self::zeroed(capacity)
    }

    fn new(ptr: NonNull<u8>, capacity: usize, memory: Memory) -> Self {
        let (guards, exports, holds) = Default::default();
        Self {
            ptr,
            capacity,
            memory,
            guards,
            exports,
            holds,
        }
    }

    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn is_pinned(&self) -> bool {
        matches!(self.memory, Memory::Pinned { .. })
    }

    /// The first `len` bytes, to read.
    ///
    /// # Safety
    /// Nothing writes them while the reference lives: it is counted in `guards`, or the caller holds the lock of the
    /// block, or nobody else knows the buffer.
    pub(super) unsafe fn bytes(&self, len: usize) -> &[u8] {
        debug_assert!(len <= self.capacity);
        // SAFETY: `len` bytes are inside the allocation (every caller passes a length the buffer was made for) and
        // initialised, since fresh memory is zeroed; the caller keeps writers out.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), len.min(self.capacity)) }
    }

    /// The first `len` bytes, to change.
    ///
    /// # Safety
    /// No other Rust reference to them exists while this one lives: `guards` is 0 and cannot grow, because the caller
    /// holds the lock of the block for writing, or `&mut` of the block, or nobody else knows the buffer.
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory is raw; exclusiveness is the caller's promise"
    )]
    pub(super) unsafe fn bytes_mut(&self, len: usize) -> &mut [u8] {
        debug_assert!(len <= self.capacity);
        // SAFETY: in bounds and initialised as in `bytes`; the caller promises exclusiveness.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), len.min(self.capacity)) }
    }
}

impl Drop for HostBuf {
    fn drop(&mut self) {
        if let Memory::Heap(base, layout) = self.memory {
            // SAFETY: `base` came from the global allocator with `layout` in `zeroed`, and is freed here once; every
            // reference or address counted somewhere is held beside an `Arc` of this value, so none is left.
            unsafe { dealloc(base.as_ptr(), layout) };
        }
    }
}

impl fmt::Debug for HostBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuf")
            .field("ptr", &self.ptr)
            .field("capacity", &self.capacity)
            .field("pinned", &self.is_pinned())
            .field("guards", &self.guards)
            .field("exports", &self.exports)
            .finish_non_exhaustive()
    }
}

/// A count of live handles: dropping one publishes what was done through it to whoever sees the count fall.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicUsize);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

/// From this size on, memory is asked to come in huge pages: touching a fresh buffer for the first time is what makes
/// a large download slow otherwise.
#[cfg(target_os = "linux")]
const HUGE_FROM_BYTES: usize = 4 << 20;

/// Advises the whole pages of a fresh allocation. The answer does not matter.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(start: NonNull<u8>, len: usize) {
    const PAGE: usize = 4096;
    if len < HUGE_FROM_BYTES {
        return;
    }
    let gap = start.as_ptr().align_offset(PAGE).min(len);
    let whole = (len - gap) / PAGE * PAGE;
    // SAFETY: the range lies inside the allocation; the advice changes how it is backed, not what it contains. On a
    // system with larger pages the call fails.
    unsafe { libc::madvise(start.as_ptr().add(gap).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_start: NonNull<u8>, _len: usize) {}

fn dangling() -> NonNull<u8> {
    NonNull::<Aligned>::dangling().cast()
}

#[repr(align(64))]
struct Aligned;

/// Kind `OutOfMemory` with both numbers of bytes, for an allocation of host memory that failed.
#[must_use]
pub fn out_of_host_memory(needs: u64) -> Error {
    let free = available_bytes();
    Error::new(
        ErrorKind::OutOfMemory { needs, free },
        format!("out of host memory: needs {needs} bytes, {free} bytes free"),
    )
}

/// Physical memory that is free now, as far as the system tells.
#[cfg(target_os = "linux")]
fn available_bytes() -> u64 {
    // SAFETY: `sysconf` only reads; it answers -1 for what it does not know.
    let (pages, size) = unsafe {
        (
            libc::sysconf(libc::_SC_AVPHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    u64::try_from(pages)
        .unwrap_or(0)
        .saturating_mul(u64::try_from(size).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn available_bytes() -> u64 {
    0
}
