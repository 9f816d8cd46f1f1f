//! The fault of a touch of closed memory, turned into a message.
//!
//! The handler runs wherever the fault was, so it takes no lock and no memory: it reads places in a list that only grows, and
//! writes with one system call.
#![allow(unsafe_code, reason = "handles a signal")]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use super::pages::set_closed;

/// Bytes of a launch's name in a message.
const NAME_BYTES: usize = 192;

/// A region of guarded memory, or room for one. Never freed, but taken again.
#[derive(Debug)]
pub(super) struct Place {
    /// Where it starts; 0 for nothing.
    start: AtomicU64,
    len: AtomicUsize,
    closed: AtomicBool,
    name: [AtomicU8; NAME_BYTES],
    named: AtomicUsize,
    next: AtomicPtr<Place>,
}

static FIRST: AtomicPtr<Place> = AtomicPtr::new(ptr::null_mut());

/// All places.
fn places() -> impl Iterator<Item = &'static Place> {
    // SAFETY: null, or a place that was leaked.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    std::iter::successors(first, |place: &&'static Place| {
        // SAFETY: as above.
        unsafe { place.next.load(Ordering::Acquire).as_ref() }
    })
}

impl Place {
    /// A place for a region.
    pub(super) fn take(start: u64, len: usize) -> &'static Self {
        let free = places().find(|place| {
            let taken = place
                .start
                .compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        });
        let place = free.unwrap_or_else(|| {
            let made: &'static mut Self = Box::leak(Box::new(Self {
                start: AtomicU64::new(start),
                len: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
                name: [const { AtomicU8::new(0) }; NAME_BYTES],
                named: AtomicUsize::new(0),
                next: AtomicPtr::new(ptr::null_mut()),
            }));
            let mut first = FIRST.load(Ordering::Acquire);
            loop {
                made.next.store(first, Ordering::Relaxed);
                match FIRST.compare_exchange(first, made, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return made,
                    Err(other) => first = other,
                }
            }
        });
        place.len.store(len, Ordering::Release);
        place
    }

    /// The region is gone, and open.
    pub(super) fn give_back(&self) {
        self.len.store(0, Ordering::Release);
        self.start.store(0, Ordering::Release);
    }

    /// Closes it because of the launch `name`.
    pub(super) fn close(&self, name: &str) {
        let len = name.len().min(NAME_BYTES);
        for (to, from) in self.name.iter().zip(name.bytes()) {
            to.store(from, Ordering::Relaxed);
        }
        self.named.store(len, Ordering::Release);
        if !self.closed.swap(true, Ordering::SeqCst) && !self.set(true) {
            self.closed.store(false, Ordering::SeqCst);
        }
    }

    /// Opens it.
    pub(super) fn open(&self) {
        if self.closed.load(Ordering::SeqCst) && self.set(false) {
            self.closed.store(false, Ordering::SeqCst);
        }
    }

    fn set(&self, closed: bool) -> bool {
        let (start, len) = (
            self.start.load(Ordering::Acquire),
            self.len.load(Ordering::Acquire),
        );
        let done = set_closed(start, len, closed);
        if !done {
            log::warn!(
                "managed memory at {start:#x} cannot be guarded: its pages cannot be changed"
            );
        }
        done
    }

    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for the handler"))]
    fn has(&self, address: u64) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start != 0 && address.wrapping_sub(start) < self.len.load(Ordering::Acquire) as u64
    }
}

/// Nothing can be closed here, so nothing faults.
#[cfg(not(target_os = "linux"))]
pub(super) fn install() {}

#[cfg(target_os = "linux")]
pub(super) use linux::install;

#[cfg(target_os = "linux")]
mod linux {
    use core::ffi::{c_int, c_void};
    use std::mem;
    use std::ptr;
    use std::sync::atomic::Ordering;
    use std::sync::{Once, OnceLock};

    use super::{NAME_BYTES, Place, places};

    /// What handled the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Has faults of guarded memory told, once.
    pub(in super::super) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: a struct of integers, all of which may be zero.
            let mut before: libc::sigaction = unsafe { mem::zeroed() };
            // SAFETY: asks, and writes one struct.
            unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut before) };
            let _ = BEFORE.set(before);
            // SAFETY: as above.
            let mut ours: libc::sigaction = unsafe { mem::zeroed() };
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: the handler is a function of the type that the flags say, does only what a handler may, and this library
            // is never unloaded.
            let status =
                unsafe { libc::sigaction(libc::SIGSEGV, &raw const ours, ptr::null_mut()) };
            if status != 0 {
                log::warn!("faults of guarded memory cannot be told");
            }
        });
    }

    extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system's own struct; a positive code says that it has an address, or one of zero.
        let (address, code) = unsafe { ((*info).si_addr() as u64, (*info).si_code) };
        let found = (code > 0)
            .then(|| places().find(|place| place.has(address)))
            .flatten();
        match found {
            Some(place) if place.closed.load(Ordering::SeqCst) => {
                tell(address, place);
                // Repeats the access, which finds the handler that was there before.
                give_back(signal);
            }
            // Another thread has opened it meanwhile: the access is repeated.
            Some(_) => {}
            // SAFETY: the arguments of this handler.
            None => unsafe { pass_on(signal, info, context, code) },
        }
    }

    /// Writes the message.
    fn tell(address: u64, place: &Place) {
        let mut line = Line {
            bytes: [0; 512],
            len: 0,
        };
        line.add(b"uLib: the host touched managed memory at 0x");
        for digit in (0..16).rev().map(|at| (address >> (4 * at)) as usize & 15) {
            line.add(&b"0123456789abcdef"[digit..=digit]);
        }
        line.add(b" while ");
        let len = place.named.load(Ordering::Acquire).min(NAME_BYTES);
        for byte in &place.name[..len] {
            line.add(&[byte.load(Ordering::Relaxed)]);
        }
        line.add(b" may still run; synchronise first\n");
        // SAFETY: as many bytes as there are.
        unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
    }

    /// Text of bounded length, without memory.
    struct Line {
        bytes: [u8; 512],
        len: usize,
    }

    impl Line {
        fn add(&mut self, text: &[u8]) {
            for (to, from) in self.bytes.iter_mut().skip(self.len).zip(text) {
                *to = *from;
                self.len += 1;
            }
        }
    }

    /// Makes what handled the signal before do so again.
    fn give_back(signal: c_int) {
        let before = BEFORE.get().map_or(ptr::null(), ptr::from_ref);
        if before.is_null() {
            // SAFETY: the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        } else {
            // SAFETY: the struct that the system gave.
            unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        }
    }

    /// A fault of something else: as if this handler were not there.
    ///
    /// # Safety
    /// The arguments are those of a handler.
    unsafe fn pass_on(
        signal: c_int,
        info: *mut libc::siginfo_t,
        context: *mut c_void,
        code: c_int,
    ) {
        let handler = BEFORE
            .get()
            .map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        let flags = BEFORE.get().map_or(0, |before| before.sa_flags);
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // A fault is repeated; a signal that was sent is not, and is ignored where it was before.
            if code > 0 || handler == libc::SIG_DFL {
                give_back(signal);
            }
            if code <= 0 && handler == libc::SIG_DFL {
                // SAFETY: delivered when this handler returns.
                unsafe { libc::raise(signal) };
            }
        } else if flags & libc::SA_SIGINFO != 0 {
            // SAFETY: the flags say that the handler has this type.
            let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { mem::transmute(handler) };
            call(signal, info, context);
        } else {
            // SAFETY: as above, of the other type.
            let call: extern "C" fn(c_int) = unsafe { mem::transmute(handler) };
            call(signal);
        }
    }
}
