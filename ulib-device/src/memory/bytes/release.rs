//! How memory is given back: after its last uses, wherever they are.

use std::mem::ManuallyDrop;
use std::sync::{Arc, PoisonError};

use ulib_core::{Context, Result};

use super::{DeviceBytes, Owner};
use crate::driver::forked;
use crate::graph::NoneBegins;
use crate::memory::uses::Uses;
use crate::memory::{kept, scratch};
use crate::{Device, Stream};

impl DeviceBytes {
    /// Gives the memory back once.
    pub(super) fn release(&mut self) -> Result<()> {
        let owner = std::mem::replace(&mut self.owner, Owner::Nobody);
        if forked() {
            // The resource is a shared handle whose memory stays with the parent; a foreign owner is left alone.
            return Ok(());
        }
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !matches!(owner, Owner::Nobody)
            && let Some(graph) = uses.graph()
        {
            let mut rest = Self::with_owner(
                self.ptr,
                self.len,
                self.stream.clone(),
                owner,
                std::mem::take(uses),
            );
            *rest.outsiders.get_mut() = *self.outsiders.get_mut();
            rest.counted = std::mem::take(&mut self.counted);
            graph.push(Box::new(rest));
            return Ok(());
        }
        let mut last = LastUses {
            uses: std::mem::take(uses),
            outsiders: *self.outsiders.get_mut(),
        };
        match owner {
            Owner::Nobody => Ok(()),
            Owner::Resource(resource) => {
                if self.set_counted(false) {
                    scratch::clear(self.device());
                }
                let (ptr, len) = (self.ptr, self.len);
                let give_up = move |stream: &Stream| {
                    // SAFETY: `resource` gave out `ptr` for `len` bytes in `allocate_from`, and `owner` was taken out
                    // of this value above, so this happens once. The uses of all other streams are ordered before
                    // `stream`, since `before_on` succeeded.
                    #[allow(unsafe_code, reason = "frees what this value owned")]
                    unsafe {
                        resource.deallocate(ptr, len, stream)
                    }
                };
                match last.before_on(&self.stream) {
                    Ok(()) => give_up(&self.stream),
                    Err(error) => {
                        let (on, stream) = (self.stream.clone(), self.stream.clone());
                        let wait = move || last.before_on(&on);
                        kept::give_up_later(self.device(), error, wait, move || give_up(&stream))
                    }
                }
            }
            Owner::Foreign(owner) => {
                let give_up = move || {
                    drop(ManuallyDrop::into_inner(owner));
                    Ok(())
                };
                match last.synchronize(self.device()) {
                    Ok(()) => give_up(),
                    Err(error) => {
                        let device = self.device().clone();
                        let wait = move || last.synchronize(&device);
                        kept::give_up_later(self.device(), error, wait, give_up)
                    }
                }
            }
        }
    }

    /// Whether dropping it calls neither the driver nor anybody who may wait: it was used on its own stream only, and goes back to
    /// a resource that [keeps](crate::memory::DeviceMemoryResource::keeps_what_it_gets) it.
    pub fn goes_without_waiting(&mut self) -> bool {
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        let kept = match &self.owner {
            // The last owner of the resource ends that, too, and what it keeps.
            Owner::Resource(resource) => {
                Arc::strong_count(resource) > 1 && resource.keeps_what_it_gets()
            }
            _ => false,
        };
        kept && uses.are_on(&self.stream) && !*self.outsiders.get_mut() && !scratch::is_left()
    }
}

/// What has to be over before memory is given up.
struct LastUses {
    uses: Uses,
    outsiders: bool,
}

impl LastUses {
    /// Orders `stream` after all of them.
    fn before_on(&mut self, stream: &Stream) -> Result<()> {
        self.wait_for_outsiders(stream.device())?;
        self.uses.all_before(stream)
    }

    /// Makes the host wait for all of them. Spoils none of the captures that other threads would begin meanwhile.
    fn synchronize(&mut self, device: &Device) -> Result<()> {
        let _none_begins = NoneBegins::new();
        self.wait_for_outsiders(device)?;
        self.uses.synchronize()
    }

    fn wait_for_outsiders(&mut self, device: &Device) -> Result<()> {
        if self.outsiders {
            device
                .synchronize()
                .context("waiting for the users of shared device memory")?;
            self.outsiders = false;
        }
        Ok(())
    }
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            kept::record(self.stream.device(), error);
        }
    }
}
