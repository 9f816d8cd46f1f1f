//! One copy of rows or slices, from what its description says.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::copy::{Extent, raw};
use ulib_device::texture::Array;
use ulib_device::{Access, Device, Stream};

use super::on::On;
use super::pointer::Pointer;
use super::sides::{Description, Side};
use super::{pending, transfer};
use crate::cuda::current;
use crate::cuda::errors::IntoCudaResult;
use crate::cuda::kept::{Keeper, in_graph};
use crate::detached::InHand;

/// Which of the driver's copies it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Rows { aligned: bool },
    Slices,
    Peer,
}

impl Form {
    /// The class that is called.
    fn op(self) -> &'static str {
        match self {
            Self::Rows { .. } => "Memcpy2D",
            Self::Slices => "Memcpy3D",
            Self::Peer => "Memcpy3DPeer",
        }
    }
}

/// What one copy takes from its description, which others may change meanwhile.
struct Taken {
    call: Call,
    extent: Extent,
    src: Pointer,
    dst: Pointer,
    /// Whether a side is host memory.
    touches_host: bool,
    /// Whether the source is device memory.
    from_device: bool,
    /// The devices of both sides, where they say.
    devices: [Option<Device>; 2],
    /// What keeps the sides that Python has.
    keepers: [Option<Keeper>; 2],
    arrays: [(Option<InHand<Array>>, Access); 2],
}

impl Taken {
    /// Nothing where there are no bytes to copy.
    fn of(state: &Mutex<Description>, form: Form) -> PyResult<Option<Self>> {
        let op = form.op();
        let description = lock(state);
        let (from, to) = (&description.src, &description.dst);
        let mut extent = description.extent;
        if matches!(form, Form::Rows { .. }) {
            extent.depth = 1;
        }
        if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
            return Ok(None);
        }
        from.check(op, "the source", extent)?;
        to.check(op, "the destination", extent)?;
        let pointer = |side: &Side| side.pointer().map_or_else(Pointer::none, Pointer::again);
        Ok(Some(Self {
            call: Call {
                from: from.told,
                to: to.told,
                contexts: [0, 0],
                form,
            },
            extent,
            src: pointer(from),
            dst: pointer(to),
            touches_host: from.is_host() || to.is_host(),
            from_device: from.pointer().is_some(),
            devices: [from.device(), to.device()],
            keepers: [from.keeper(), to.keeper()],
            arrays: [(from.array(), Access::Read), (to.array(), Access::Write)],
        }))
    }

    /// Puts the copy into `on`, and waits for it if `waits`.
    fn queue(&mut self, on: On, waits: bool) -> Result<pending::Mark> {
        let op = self.call.form.op();
        let devices = std::mem::take(&mut self.devices);
        let [here, there] = devices.map(|device| device.map_or_else(current::device, Ok));
        let (here, there) = (here?, there?);
        if self.call.form == Form::Peer {
            self.call.contexts = [here.primary_context()?, there.primary_context()?];
        }
        let device = if self.from_device { here } else { there };
        let stream = on.stream(op, &device)?;
        for keeper in self.keepers.iter().flatten() {
            in_graph(&stream, || keeper.clone())?;
        }
        for (array, access) in &self.arrays {
            if let Some(array) = array {
                array.queue_on(&stream, *access, || Ok(()))?;
            }
        }
        let (src, dst, call) = (&self.src, &self.dst, &self.call);
        let queue = |piece| transfer::queue_from(dst, src, &stream, || call.queue(piece, &stream));
        if waits && self.touches_host {
            raw::in_pieces(&stream, self.extent.bytes(), self.extent.pieces(), queue)?;
            return Ok(pending::Mark::Done);
        }
        queue(([0, 0], self.extent))?;
        if waits {
            stream.synchronize()?;
            return Ok(pending::Mark::Done);
        }
        pending::mark(&stream)
    }
}

/// Does the copy: now, or on a stream.
pub(super) fn run(
    py: Python<'_>,
    state: &Mutex<Description>,
    form: Form,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = form.op();
    let on = On::of(op, stream)?;
    let Some(mut taken) = Taken::of(state, form)? else {
        return Ok(());
    };
    let waits = stream.is_none();
    let after = py
        .detach(|| taken.queue(on, waits))
        .map_err(|error| transfer::of_op(error, op))
        .cuda()?;
    for keeper in taken.keepers.into_iter().flatten() {
        pending::keep(py, after.clone(), keeper);
    }
    Ok(())
}

/// A copy as the driver is told of it.
struct Call {
    from: raw::Side,
    to: raw::Side,
    contexts: [usize; 2],
    form: Form,
}

impl Call {
    /// Puts a part of the copy that begins at a row and a slice into the stream.
    fn queue(&self, ([row, slice], extent): ([usize; 2], Extent), stream: &Stream) -> Result<()> {
        let forward = |side: raw::Side| {
            let [x, y, z] = side.origin;
            raw::Side {
                origin: [x, y + row, z + slice],
                ..side
            }
        };
        let (to, from) = (forward(self.to), forward(self.from));
        // SAFETY: host bytes and arrays were checked and are kept until the copy has run; device memory of ours was checked, and
        // outlives the work that is queued on it; other addresses the driver checks. Contexts are primary ones.
        unsafe {
            match self.form {
                Form::Rows { aligned: true } => {
                    raw::copy_2d(&raw::rows(&to, &from, extent), stream)
                }
                Form::Rows { aligned: false } => {
                    raw::copy_2d_unaligned(&raw::rows(&to, &from, extent), stream.device())
                }
                Form::Slices => raw::copy_3d(&raw::slices(&to, &from, extent), stream),
                Form::Peer => {
                    let (to, from) = ((&to, self.contexts[1]), (&from, self.contexts[0]));
                    raw::copy_3d_peer(&raw::slices_of_peers(to, from, extent), stream)
                }
            }
        }
    }
}

pub(super) fn lock(state: &Mutex<Description>) -> MutexGuard<'_, Description> {
    // Held for a moment only, without waiting for anything.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
