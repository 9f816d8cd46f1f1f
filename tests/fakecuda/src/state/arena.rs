//! Device memory: a window without access rights over a memory file, the file's readable mapping, and an allocator.
#![allow(unsafe_code, reason = "mmap and translated pointers")]

use crate::gate::{Outcome, code};
use std::collections::BTreeMap;

/// Every allocation starts at a multiple of this.
const ALIGNMENT: u64 = 256;
/// Bytes behind every allocation that nobody may write.
const GUARD: u64 = 256;
/// Addresses of a window; more than the memory reported, so that guards and gaps never cost capacity.
const WINDOW: u64 = 2 << 30;
/// Small allocations rotate through this much of the window, so that a freed address is not handed out again at once.
const SMALL_REGION: u64 = 64 << 20;
/// Allocations from this size on take the first gap, which bounds the memory really used.
const LARGE: u64 = 1 << 20;

const FRESH: u8 = 0xCD;
const FREED: u8 = 0xDD;
const GUARDED: u8 = 0xFD;

/// One living allocation.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) bytes: u64,
    /// The pool it came from; 0 for none.
    pub(crate) pool: u64,
    /// The session in which it was made.
    pub(crate) session: u64,
    /// Number of the allocation, never reused.
    pub(crate) serial: u64,
    /// A stream-ordered free has been asked for.
    pub(crate) freeing: bool,
    /// Belongs to a module (a global variable).
    pub(crate) internal: bool,
}

/// The memory of one device.
#[derive(Debug)]
pub(crate) struct Arena {
    window: u64,
    mirror: u64,
    free: BTreeMap<u64, u64>,
    live: BTreeMap<u64, Allocation>,
    cursor: u64,
    serial: u64,
}

impl Arena {
    pub(crate) fn map() -> Outcome<Self> {
        // SAFETY: plain system calls on a file made here; the mappings are never removed, so addresses stay valid.
        let (window, mirror) = unsafe {
            let file = libc::memfd_create(c"fakecuda".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 || libc::ftruncate(file, WINDOW as libc::off_t) != 0 {
                return Err(code::OPERATING_SYSTEM);
            }
            let null = core::ptr::null_mut();
            let length = WINDOW as usize;
            let window = libc::mmap(null, length, libc::PROT_NONE, libc::MAP_SHARED, file, 0);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let mirror = libc::mmap(null, length, access, libc::MAP_SHARED, file, 0);
            libc::close(file);
            (window, mirror)
        };
        if window == libc::MAP_FAILED || mirror == libc::MAP_FAILED {
            return Err(code::OPERATING_SYSTEM);
        }
        Ok(Self {
            window: window as u64,
            mirror: mirror as u64,
            free: BTreeMap::from([(0, WINDOW)]),
            live: BTreeMap::new(),
            cursor: 0,
            serial: 0,
        })
    }

    /// Whether the address lies in the window, allocated or not.
    pub(crate) fn covers(&self, address: u64) -> bool {
        address >= self.window && address - self.window < WINDOW
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (u64, &Allocation)> {
        self.live
            .iter()
            .map(|(address, allocation)| (*address, allocation))
    }

    pub(crate) fn get(&self, address: u64) -> Option<&Allocation> {
        self.live.get(&address)
    }

    pub(crate) fn get_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        self.live.get_mut(&address)
    }

    /// The living allocation that holds this address, with its start.
    pub(crate) fn containing(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (base, found) = self.live.range(..=address).next_back()?;
        (address - base < found.bytes.max(1)).then_some((*base, found))
    }

    pub(crate) fn allocate(&mut self, bytes: u64, pool: u64, session: u64) -> Outcome<u64> {
        let length = bytes
            .checked_next_multiple_of(ALIGNMENT)
            .and_then(|rounded| rounded.checked_add(GUARD))
            .ok_or(code::OUT_OF_MEMORY)?;
        let start = if length >= LARGE {
            SMALL_REGION
        } else {
            self.cursor
        };
        let gap = self
            .gap(start, length)
            .or_else(|| self.gap(0, length))
            .ok_or(code::OUT_OF_MEMORY)?;
        let (hole, size, offset) = gap;
        self.free.remove(&hole);
        if offset > hole {
            self.free.insert(hole, offset - hole);
        }
        if hole + size > offset + length {
            self.free
                .insert(offset + length, hole + size - offset - length);
        }
        if length < LARGE {
            let next = offset + length;
            self.cursor = if next < SMALL_REGION { next } else { 0 };
        }
        self.serial += 1;
        let address = self.window + offset;
        let (serial, freeing, internal) = (self.serial, false, false);
        self.live.insert(
            address,
            Allocation {
                bytes,
                pool,
                session,
                serial,
                freeing,
                internal,
            },
        );
        self.fill(offset, bytes, FRESH);
        self.fill(offset + bytes, length - bytes, GUARDED);
        Ok(address)
    }

    /// The first gap that has `length` bytes at or behind `start`: its start, its size, and where to allocate.
    fn gap(&self, start: u64, length: u64) -> Option<(u64, u64, u64)> {
        let before = self.free.range(..start).next_back();
        before
            .into_iter()
            .chain(self.free.range(start..))
            .find_map(|(hole, size)| {
                let offset = (*hole).max(start).next_multiple_of(ALIGNMENT);
                (offset + length <= hole + size).then_some((*hole, *size, offset))
            })
    }

    /// Frees an allocation. The number is that of overwritten guard bytes behind it.
    pub(crate) fn release(&mut self, address: u64) -> Outcome<(Allocation, usize)> {
        let gone = self.live.remove(&address).ok_or(code::INVALID_VALUE)?;
        let offset = address - self.window;
        let length = gone.bytes.next_multiple_of(ALIGNMENT) + GUARD;
        let guard = self.mirror_of(offset + gone.bytes);
        let guard_length = (length - gone.bytes) as usize;
        // SAFETY: the bytes lie in the mirror, which stays mapped; the caller holds the lock on the state.
        let guard = unsafe { core::slice::from_raw_parts(guard, guard_length) };
        let broken = guard.iter().filter(|byte| **byte != GUARDED).count();
        self.fill(offset, length, FREED);
        let (mut start, mut end) = (offset, offset + length);
        if let Some((before, size)) = self.free.range(..offset).next_back()
            && before + size == start
        {
            start = *before;
        }
        if let Some(size) = self.free.remove(&end) {
            end += size;
        }
        self.free.insert(start, end - start);
        Ok((gone, broken))
    }

    /// Where the bytes of `[address, address + bytes)` really are, if they lie in one living allocation.
    pub(crate) fn translate(&self, address: u64, bytes: u64) -> Outcome<*mut u8> {
        let (base, found) = self.containing(address).ok_or(code::INVALID_VALUE)?;
        let end = (address - base)
            .checked_add(bytes)
            .ok_or(code::INVALID_VALUE)?;
        if end > found.bytes {
            return Err(code::INVALID_VALUE);
        }
        Ok(self.mirror_of(address - self.window))
    }

    /// Opens or closes the window for dereference.
    pub(crate) fn set_open(&self, open: bool) {
        let access = if open {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_NONE
        };
        let window = self.window as *mut libc::c_void;
        let length = WINDOW as usize;
        // SAFETY: the window is a mapping of this length made in `map`, of a file: no byte of it is lost. Without the pages
        // that a kernel touched the next change of access has none to go through.
        unsafe {
            if !open {
                libc::madvise(window, length, libc::MADV_DONTNEED);
            }
            libc::mprotect(window, length, access);
        }
    }

    fn mirror_of(&self, offset: u64) -> *mut u8 {
        (self.mirror + offset) as *mut u8
    }

    fn fill(&self, offset: u64, bytes: u64, value: u8) {
        // SAFETY: offsets handed in lie within the window, hence the bytes within the mirror.
        unsafe { self.mirror_of(offset).write_bytes(value, bytes as usize) };
    }
}
