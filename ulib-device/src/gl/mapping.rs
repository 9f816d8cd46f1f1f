//! What of OpenGL's is mapped.
#![allow(unsafe_code, reason = "asks the driver where a mapped object is")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ulib_core::Result;

use super::registered::Inner;
use crate::driver::{check, forked, missing_entry};
use crate::sys::{CUarray, CUdeviceptr};
use crate::texture::Array;
use crate::{Device, Stream};

/// An object of OpenGL while the device has it. Given back by [`unmap`](Self::unmap), or by dropping it, on a thread on which the
/// OpenGL context is current.
///
/// What was got from it ends with it: arrays refuse to be used then, and addresses mean nothing.
#[derive(Debug)]
pub struct Mapping {
    registered: Arc<Inner>,
    stream: Stream,
    ended: Arc<AtomicBool>,
}

impl Mapping {
    pub(super) fn new(registered: Arc<Inner>, stream: Stream) -> Self {
        Self {
            registered,
            stream,
            ended: Arc::default(),
        }
    }

    /// The device that has it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.registered.device
    }

    /// The stream it was mapped in.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Address and length of a buffer's bytes, which may be used until it is unmapped.
    ///
    /// # Errors
    /// Kind `Driver` when it is no buffer; whatever else the driver says.
    pub fn pointer(&self) -> Result<(u64, usize)> {
        let _context = self.device().bind()?;
        let table = self.device().table();
        let ask = table
            .cuGraphicsResourceGetMappedPointer_v2
            .ok_or_else(|| missing_entry("cuGraphicsResourceGetMappedPointer_v2", "3.2"))?;
        let (mut address, mut len): (CUdeviceptr, usize) = (0, 0);
        // SAFETY: the context is current by the guard; the resource is mapped; two integers are written.
        let status = unsafe { ask(&raw mut address, &raw mut len, self.registered.raw()) };
        check(table, "cuGraphicsResourceGetMappedPointer_v2", status)?;
        Ok((address, len))
    }

    /// One level of one layer or face of a picture: 0 and 0 where there are no others.
    ///
    /// # Errors
    /// Kind `Driver` when it is no picture, or has no such part; kind `InvalidArgument` when its texels are in a format that no
    /// array has.
    pub fn array(&self, index: u32, level: u32) -> Result<Array> {
        let found = {
            let _context = self.device().bind()?;
            let table = self.device().table();
            let ask = table
                .cuGraphicsSubResourceGetMappedArray
                .ok_or_else(|| missing_entry("cuGraphicsSubResourceGetMappedArray", "3.0"))?;
            let mut found: CUarray = core::ptr::null_mut();
            // SAFETY: as for `pointer`; one pointer is written.
            let status = unsafe { ask(&raw mut found, self.registered.raw(), index, level) };
            check(table, "cuGraphicsSubResourceGetMappedArray", status)?;
            found as usize
        };
        let (owner, ended) = (Arc::clone(&self.registered), Arc::clone(&self.ended));
        // SAFETY: the array is there until the mapping ends, after which it refuses to be used.
        unsafe { Array::foreign_until(self.device(), found, Box::new(owner), ended) }
    }

    /// Gives it back to OpenGL, whose later work with it runs after what is in the stream of the mapping now.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when no OpenGL context is current on this thread, and then it stays mapped; whatever the driver says.
    pub fn unmap(&self) -> Result<()> {
        self.unmap_in(&self.stream)
    }

    /// [`unmap`](Self::unmap) after what is in another stream.
    ///
    /// # Errors
    /// As [`unmap`](Self::unmap).
    pub fn unmap_in(&self, stream: &Stream) -> Result<()> {
        if self.ended.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let unmapped = self.registered.unmap(stream);
        if unmapped.is_err() {
            self.ended.store(false, Ordering::Release);
        }
        unmapped
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if forked() {
            return;
        }
        if let Err(error) = self.unmap() {
            let words = format!("unmapping the {}", self.registered);
            self.device().record_drop_error(error.context(words));
        }
        self.ended.store(true, Ordering::Release);
    }
}
