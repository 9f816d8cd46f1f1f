//! Owners of foreign memory, dropped where their crates can free it.

use std::mem::ManuallyDrop;

use ulib_device::Device;

/// Something of another crate that is dropped with the context of its device current. Those crates free what they own on
/// whichever context is current; memory adopted here may be dropped on a thread that has none.
pub(crate) struct Kept<T> {
    object: ManuallyDrop<T>,
    device: Device,
}

impl<T> Kept<T> {
    pub(crate) fn new(device: &Device, object: T) -> Self {
        Self {
            object: ManuallyDrop::new(object),
            device: device.clone(),
        }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // Without a context the driver would refuse to free, and in a forked child it must not be asked: then it is leaked.
        let Ok(_context) = self.device.bind() else {
            return;
        };
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.object) };
    }
}
