//! Registered objects of OpenGL.
#![allow(
    unsafe_code,
    reason = "registers objects with the driver, maps and unmaps them"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use super::Mapping;
use super::context::{Current, Kind};
use crate::driver::{check, forked, missing_entry};
use crate::report::{self, Counted};
use crate::sys::{CUGLDeviceList, CUdevice, CUgraphicsResource};
use crate::{Device, Driver, Stream};

/// `GL_RENDERBUFFER`.
const RENDERBUFFER: u32 = 0x8D41;

/// What will be done with a registered object: the driver's `CU_GRAPHICS_REGISTER_FLAGS_*` bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage(pub u32);

impl Usage {
    /// Anything.
    pub const ANY: Self = Self(0);
    /// Kernels only read it.
    pub const READ_ONLY: Self = Self(1);
    /// Kernels write all of it, and its content before the map does not matter.
    pub const WRITE_DISCARD: Self = Self(2);
    /// A picture is written through surfaces.
    pub const SURFACE: Self = Self(4);
    /// A picture is gathered from.
    pub const GATHER: Self = Self(8);
}

/// A buffer or picture of OpenGL that is registered with the driver. Clones are the same registration.
///
/// It ends with the last clone, on a thread on which the OpenGL context is current; on another one it is left to the
/// process, which [`Device::errors`] tells. [`unregister`](Self::unregister) ends it now.
#[derive(Clone, Debug)]
pub struct Registered(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    kind: Kind,
    name: u32,
    state: Mutex<State>,
    _counted: Counted,
}

#[derive(Debug, Default)]
struct State {
    mapped: bool,
    ended: bool,
}

impl Registered {
    /// Registers the buffer that OpenGL has under this number.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when no OpenGL context is current on this thread, or it has no such buffer; whatever the driver
    /// says; kind `Unavailable` where the driver has no OpenGL.
    pub fn buffer(device: &Device, name: u32, usage: Usage) -> Result<Self> {
        let kind = Kind::Buffer;
        Self::register("register_buffer", device, kind, name, |table, raw| {
            let register = table
                .cuGraphicsGLRegisterBuffer
                .ok_or_else(|| missing_entry("cuGraphicsGLRegisterBuffer", "3.0"))?;
            // SAFETY: the device's context is current, by the caller's guard, and an OpenGL context, too, which has the buffer;
            // one pointer is written.
            let status = unsafe { register(raw, name, usage.0) };
            check(table, "cuGraphicsGLRegisterBuffer", status)
        })
    }

    /// Registers a picture: a texture of OpenGL, or a renderbuffer, with its `target` (`GL_TEXTURE_2D`, ...).
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer).
    pub fn image(device: &Device, name: u32, target: u32, usage: Usage) -> Result<Self> {
        let kind = if target == RENDERBUFFER {
            Kind::Renderbuffer
        } else {
            Kind::Texture
        };
        Self::register("register_image", device, kind, name, |table, raw| {
            let register = table
                .cuGraphicsGLRegisterImage
                .ok_or_else(|| missing_entry("cuGraphicsGLRegisterImage", "3.0"))?;
            // SAFETY: as for a buffer.
            let status = unsafe { register(raw, name, target, usage.0) };
            check(table, "cuGraphicsGLRegisterImage", status)
        })
    }

    fn register(
        op: &'static str,
        device: &Device,
        kind: Kind,
        name: u32,
        register: impl FnOnce(&crate::sys::Table, *mut CUgraphicsResource) -> Result<()>,
    ) -> Result<Self> {
        Driver::ready()?;
        Current::of_thread(op)?.check(op, kind, name)?;
        let _context = device.bind()?;
        let mut raw: CUgraphicsResource = core::ptr::null_mut();
        register(device.table(), &raw mut raw)?;
        Ok(Self(Arc::new(Inner {
            device: device.clone(),
            raw: raw as usize,
            kind,
            name,
            state: Mutex::default(),
            _counted: Counted::new(report::Kind::Graphics),
        })))
    }

    /// Its number in OpenGL.
    #[must_use]
    pub fn name(&self) -> u32 {
        self.0.name
    }

    /// The device that uses it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver's handle, for calls this crate does not wrap.
    #[must_use]
    pub fn handle(&self) -> CUgraphicsResource {
        self.0.raw()
    }

    /// Gives it to the device: work put into `stream` from now on runs after what OpenGL has been told to do with it. OpenGL
    /// must not use it until it is unmapped.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when no OpenGL context is current on this thread, OpenGL has destroyed the object, or the stream
    /// is of another device; kind `Busy` when it is mapped already; whatever the driver says.
    pub fn map(&self, stream: &Stream) -> Result<Mapping> {
        const OP: &str = "map";
        let inner = &self.0;
        stream.check_device(OP, &inner.device)?;
        let current = Current::of_thread(OP)?;
        let mut state = inner.state();
        inner.not_ended(OP, &state)?;
        if state.mapped {
            return Err(Error::busy(
                OP,
                format_args!("the {inner} is mapped already"),
            ));
        }
        current.check(OP, inner.kind, inner.name)?;
        let _context = inner.device.bind()?;
        let table = inner.device.table();
        let map = table
            .cuGraphicsMapResources
            .ok_or_else(|| missing_entry("cuGraphicsMapResources", "3.0"))?;
        let _queueing = stream.queueing(OP)?;
        let mut raw = inner.raw();
        // SAFETY: the device's context is current by the guard, and an OpenGL context, too; one registered resource is named;
        // the stream is alive by the borrow.
        let status = unsafe { map(1, &raw mut raw, stream.handle()) };
        check(table, "cuGraphicsMapResources", status)?;
        state.mapped = true;
        drop(state);
        Ok(Mapping::new(Arc::clone(inner), stream.clone()))
    }

    /// Ends the registration now, for all clones.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when no OpenGL context is current on this thread, or it has ended already; kind `Busy` while it is
    /// mapped; whatever the driver says.
    pub fn unregister(&self) -> Result<()> {
        const OP: &str = "unregister";
        let inner = &self.0;
        let mut state = inner.state();
        inner.not_ended(OP, &state)?;
        if state.mapped {
            return Err(Error::busy(OP, format_args!("the {inner} is mapped")));
        }
        Current::of_thread(OP)?;
        inner.end()?;
        state.ended = true;
        Ok(())
    }
}

impl Inner {
    pub(super) fn raw(&self) -> CUgraphicsResource {
        self.raw as CUgraphicsResource
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_ended(&self, op: &'static str, state: &State) -> Result<()> {
        if state.ended {
            let found = format_args!("the {self}, which has been unregistered");
            return Err(Error::invalid(op, "resource", found, "a registered one"));
        }
        Ok(())
    }

    /// Gives it back to OpenGL, whose later work runs after what is in `stream` now.
    pub(super) fn unmap(&self, stream: &Stream) -> Result<()> {
        const OP: &str = "unmap";
        Current::of_thread(OP)?;
        let mut state = self.state();
        let _context = self.device.bind()?;
        let table = self.device.table();
        let unmap = table
            .cuGraphicsUnmapResources
            .ok_or_else(|| missing_entry("cuGraphicsUnmapResources", "3.0"))?;
        let _queueing = stream.queueing(OP)?;
        let mut raw = self.raw();
        // SAFETY: as for `map`; it is mapped, since a mapping calls this once.
        let status = unsafe { unmap(1, &raw mut raw, stream.handle()) };
        check(table, "cuGraphicsUnmapResources", status)?;
        state.mapped = false;
        Ok(())
    }

    /// Tells the driver.
    fn end(&self) -> Result<()> {
        let _context = self.device.bind_to_end()?;
        let table = self.device.table();
        let end = table
            .cuGraphicsUnregisterResource
            .ok_or_else(|| missing_entry("cuGraphicsUnregisterResource", "3.0"))?;
        // SAFETY: registered by `register`, ended once; an OpenGL context is current, as the callers have asked.
        let status = unsafe { end(self.raw()) };
        check(table, "cuGraphicsUnregisterResource", status)
    }
}

impl std::fmt::Display for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} of OpenGL", self.kind.name(), self.name)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.state().ended || forked() {
            return;
        }
        let ended = Current::of_thread("unregister").and_then(|_| self.end());
        if let Err(error) = ended {
            let words = format!("giving up the {self}");
            self.device.record_drop_error(error.context(words));
        }
    }
}

/// The devices that draw for the OpenGL context of this thread.
///
/// # Errors
/// Kind `InvalidArgument` when there is none; whatever the driver says.
pub fn devices() -> Result<Vec<Device>> {
    let driver = Driver::ready()?;
    Current::of_thread("gl::devices")?;
    let table = driver.table();
    let ask = table
        .cuGLGetDevices_v2
        .ok_or_else(|| missing_entry("cuGLGetDevices_v2", "4.1"))?;
    let most = driver.device_count();
    let mut found: Vec<CUdevice> = vec![0; most as usize];
    let mut count = 0;
    let list = CUGLDeviceList::CU_GL_DEVICE_LIST_ALL;
    // SAFETY: an OpenGL context is current; at most `most` numbers are written, for which there is room.
    let status = unsafe { ask(&raw mut count, found.as_mut_ptr(), most, list) };
    check(table, "cuGLGetDevices_v2", status)?;
    let found: Vec<CUdevice> = found.into_iter().take(count as usize).collect();
    let all = Device::all().into_iter();
    Ok(all
        .filter(|device| found.contains(&device.handle()))
        .collect())
}
