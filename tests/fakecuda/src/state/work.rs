//! What a stream can be asked to do, and doing it.
#![allow(
    unsafe_code,
    reason = "copies between translated pointers, emulated kernels, host functions"
)]

use super::State;
use crate::emulation::Run;
use crate::gate::{Outcome, code, in_host_function};
use core::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;
use ulib_device::sys::CUresult;

/// Where one side of a copy is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Device(u64),
    Host(u64),
    /// A copy of pageable host memory, made when the call was.
    Taken(Arc<[u8]>),
}

/// One side of a copy: its first byte and the bytes between rows and between slices.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) place: Place,
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
}

/// A copy of `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// A fill of `height` rows of `count` elements of `size` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) value: u32,
    pub(crate) size: u64,
    pub(crate) count: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
}

/// A launch of an emulated kernel, its parameters copied.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) name: Arc<str>,
    pub(crate) run: Run,
    /// Parameter bytes, in units that keep them aligned.
    pub(crate) parameters: Vec<u128>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) context: u64,
}

#[derive(Clone)]
pub(crate) enum Work {
    /// Only carries its dependencies.
    Wait,
    Copy(Arc<Transfer>),
    Fill(Fill),
    Kernel(Arc<Launch>),
    Host(unsafe extern "C" fn(*mut c_void), usize),
    Record(u64),
    Free(u64),
    /// A kernel that breaks its context with this error.
    Break(CUresult),
}

impl Side {
    pub(crate) fn linear(place: Place) -> Self {
        Self {
            place,
            pitch: 0,
            slice: 0,
        }
    }

    /// Bytes from the first to behind the last one touched.
    fn span(&self, copy: &Transfer) -> Outcome<u64> {
        let rows = self
            .pitch
            .checked_mul(copy.height - 1)
            .ok_or(code::INVALID_VALUE)?;
        let slices = self
            .slice
            .checked_mul(copy.depth - 1)
            .ok_or(code::INVALID_VALUE)?;
        rows.checked_add(slices)
            .and_then(|sum| sum.checked_add(copy.width))
            .ok_or(code::INVALID_VALUE)
    }
}

impl Transfer {
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.width
            .saturating_mul(self.height)
            .saturating_mul(self.depth)
    }
}

impl State {
    /// The first byte of a side, if every byte of it may be touched.
    fn reach(&self, side: &Side, copy: &Transfer) -> Outcome<*mut u8> {
        let span = side.span(copy)?;
        match &side.place {
            Place::Device(address) => {
                let owner = self.owner(*address).ok_or(code::INVALID_VALUE)?;
                self.devices[owner].arena.translate(*address, span)
            }
            Place::Host(address) => {
                let end = address.checked_add(span).ok_or(code::INVALID_VALUE)?;
                let inside = self.owner(*address).is_some() || self.owner(end).is_some();
                if *address == 0 || inside {
                    Err(code::INVALID_VALUE)
                } else {
                    Ok(*address as *mut u8)
                }
            }
            Place::Taken(bytes) => {
                if span > bytes.len() as u64 {
                    Err(code::INVALID_VALUE)
                } else {
                    Ok(bytes.as_ptr().cast_mut())
                }
            }
        }
    }

    /// Whether both sides of a copy may be touched.
    pub(crate) fn check_copy(&self, copy: &Transfer) -> Outcome {
        self.reach(&copy.to, copy)?;
        self.reach(&copy.from, copy)?;
        Ok(())
    }

    fn copy(&self, copy: &Transfer) -> Outcome {
        if copy.is_empty() {
            return Ok(());
        }
        let (to, from) = (self.reach(&copy.to, copy)?, self.reach(&copy.from, copy)?);
        for slice in 0..copy.depth {
            for row in 0..copy.height {
                let there = (slice * copy.to.slice + row * copy.to.pitch) as usize;
                let here = (slice * copy.from.slice + row * copy.from.pitch) as usize;
                // SAFETY: `reach` has checked device ranges against living allocations and taken bytes against their
                // length; for host ranges the caller of the copy gave its word.
                unsafe { core::ptr::copy(from.add(here), to.add(there), copy.width as usize) };
            }
        }
        Ok(())
    }

    /// Where a fill would write.
    pub(crate) fn check_fill(&self, fill: &Fill) -> Outcome<*mut u8> {
        if !fill.address.is_multiple_of(fill.size) {
            return Err(code::INVALID_VALUE);
        }
        let width = fill
            .count
            .checked_mul(fill.size)
            .ok_or(code::INVALID_VALUE)?;
        let rows = fill
            .pitch
            .checked_mul(fill.height.saturating_sub(1))
            .ok_or(code::INVALID_VALUE)?;
        let span = width.checked_add(rows).ok_or(code::INVALID_VALUE)?;
        match self.owner(fill.address) {
            Some(owner) => self.devices[owner].arena.translate(fill.address, span),
            None => {
                self.pinned_at(fill.address, span)
                    .ok_or(code::INVALID_VALUE)?;
                Ok(fill.address as *mut u8)
            }
        }
    }

    fn fill(&self, fill: &Fill) -> Outcome {
        let start = self.check_fill(fill)?;
        let element = fill.value.to_le_bytes();
        let (size, bytes) = (fill.size as usize, (fill.count * fill.size) as usize);
        for row in 0..fill.height {
            // SAFETY: `check_fill` has found all rows within one living allocation or page-locked range, so each of its
            // `bytes` may be written; an element has at most four bytes. Each step doubles what is already written.
            unsafe {
                let first = start.add((row * fill.pitch) as usize);
                core::ptr::copy_nonoverlapping(element.as_ptr(), first, size);
                let mut done = size;
                while done < bytes {
                    let step = done.min(bytes - done);
                    core::ptr::copy_nonoverlapping(first, first.add(done), step);
                    done += step;
                }
            }
        }
        Ok(())
    }

    fn kernel(&mut self, launch: &Launch) -> Outcome {
        let Some(context) = self.contexts.get(&launch.context) else {
            return Ok(());
        };
        let mut open = vec![context.device];
        open.extend(
            context
                .peers
                .iter()
                .filter_map(|peer| Some(self.contexts.get(peer)?.device)),
        );
        let mut parameters = launch.parameters.clone();
        let mut arguments = [parameters.as_mut_ptr().cast::<c_void>()];
        for device in &open {
            self.devices[*device].arena.set_open(true);
        }
        let (grid, block) = (launch.grid.as_ptr(), launch.block.as_ptr());
        let arguments = arguments.as_mut_ptr();
        // SAFETY: the registry gives this function for kernels of exactly one parameter, whose bytes were copied with
        // the size the registry states; grid and block point to three numbers each.
        let result = unsafe { (launch.run)(arguments, grid, block, launch.shared) };
        for device in &open {
            self.devices[*device].arena.set_open(false);
        }
        if result == 0 {
            return Ok(());
        }
        self.faults.push(format!(
            "the emulated kernel {} answered {result}",
            launch.name
        ));
        Err(code::LAUNCH_FAILED)
    }

    /// Runs one piece of work of a stream of `context`. An error breaks the context, as a fault on a device does.
    pub(crate) fn run(&mut self, context: u64, work: &Work) {
        let outcome = match work {
            Work::Wait => Ok(()),
            Work::Copy(copy) => self.copy(copy).map_err(|_| ("copy", code::ILLEGAL_ADDRESS)),
            Work::Fill(fill) => self.fill(fill).map_err(|_| ("fill", code::ILLEGAL_ADDRESS)),
            Work::Kernel(launch) => self.kernel(launch).map_err(|broken| ("kernel", broken)),
            Work::Host(function, data) => {
                let data = *data as *mut c_void;
                // SAFETY: the caller of cuLaunchHostFunc promised a function that can be called with this pointer.
                in_host_function(|| unsafe { function(data) });
                Ok(())
            }
            Work::Record(event) => {
                if let Some(event) = self.events.get_mut(event) {
                    event.time = Some(Instant::now());
                }
                Ok(())
            }
            Work::Free(address) => self
                .release(*address)
                .map_err(|_| ("free", code::ILLEGAL_ADDRESS)),
            Work::Break(broken) => Err(("kernel", *broken)),
        };
        if let Err((what, broken)) = outcome {
            if matches!(work, Work::Copy(_) | Work::Fill(_) | Work::Free(_)) {
                self.faults.push(format!(
                    "a {what} touched memory that was no longer allocated when its stream ran"
                ));
            }
            if let Some(context) = self.contexts.get_mut(&context) {
                context.broken.get_or_insert(broken);
            }
        }
    }
}

impl State {
    /// Zeroes allocated device bytes now.
    pub(crate) fn zero(&self, address: u64, bytes: u64) -> Outcome {
        let owner = self.owner(address).ok_or(code::INVALID_VALUE)?;
        let start = self.devices[owner].arena.translate(address, bytes)?;
        // SAFETY: `translate` has found all the bytes within one living allocation.
        unsafe { start.write_bytes(0, bytes as usize) };
        Ok(())
    }

    /// The bytes at a device address as they are now.
    pub(crate) fn peek(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let owner = self.owner(address)?;
        let start = self.devices[owner]
            .arena
            .translate(address, bytes as u64)
            .ok()?;
        // SAFETY: `translate` has found all the bytes within one living allocation, and the state is locked.
        Some(unsafe { core::slice::from_raw_parts(start, bytes) }.to_vec())
    }
}
