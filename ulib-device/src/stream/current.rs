//! The stream that operations of this thread use: the legacy one, or that of a scope.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::Stream;
use crate::Device;

thread_local! {
    /// The open scopes of this thread, outermost first, each with a number of its own.
    static SCOPES: RefCell<(u64, Vec<(u64, Stream)>)> = const { RefCell::new((0, Vec::new())) };
}

/// While it lives, [`Stream::current`] of this thread and this stream's device is the stream it was made from.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct StreamScope {
    number: u64,
    /// A scope belongs to the thread that opened it.
    of_this_thread: PhantomData<*const ()>,
}

impl Stream {
    /// The stream that operations of this thread put their work for `device` into: that of the innermost open
    /// [`scope`](Self::scope) with a stream of this device, else the [`legacy`](Self::legacy) stream.
    #[must_use]
    pub fn current(device: &Device) -> Self {
        // Destructors of other thread-local values may ask when there are no scopes any more.
        let scoped = SCOPES.try_with(|scopes| {
            let scopes = scopes.try_borrow().ok()?;
            let mut innermost_first = scopes.1.iter().rev();
            innermost_first
                .find(|(_, stream)| stream.device() == device)
                .map(|(_, stream)| stream.clone())
        });
        scoped
            .ok()
            .flatten()
            .unwrap_or_else(|| Self::legacy(device))
    }

    /// Calls `work`, whose operations on this stream's device use this stream. Scopes nest, the innermost one of a device
    /// counts; other threads, and other devices, are not affected. The scope ends with `work`, also when that panics.
    ///
    /// Nothing is waited for, neither at the beginning nor at the end: what several streams do with one block is
    /// ordered by events, and a host that reads a block waits for the work on it.
    ///
    /// # Examples
    /// ```no_run
    /// use ulib_core::PreferredDevice;
    /// use ulib_device::{Block, Device, Stream};
    ///
    /// # fn main() -> ulib_core::Result<()> {
    /// let device = Device::new(0)?;
    /// let stream = Stream::non_blocking(&device)?;
    /// stream.scope(|| {
    ///     assert_eq!(Stream::current(&device), stream);
    ///     // ... operations here run in `stream` ...
    /// });
    /// assert_eq!(Stream::current(&device), Stream::legacy(&device));
    /// # Ok(())
    /// # }
    /// ```
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> R {
        let _scope = self.enter();
        work()
    }

    /// Opens a scope as [`scope`](Self::scope) does, until the guard is dropped. Guards may be dropped in any order.
    pub fn enter(&self) -> StreamScope {
        let number = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.try_borrow_mut().ok()?;
            scopes.0 += 1;
            let number = scopes.0;
            scopes.1.push((number, self.clone()));
            Some(number)
        });
        StreamScope {
            // No scope has the number 0.
            number: number.ok().flatten().unwrap_or(0),
            of_this_thread: PhantomData,
        }
    }
}

impl Drop for StreamScope {
    fn drop(&mut self) {
        let ended = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.try_borrow_mut().ok()?;
            let at = scopes.1.iter().position(|(of, _)| *of == self.number)?;
            Some(scopes.1.remove(at))
        });
        // The last handle of a stream is dropped here, with nothing borrowed.
        drop(ended);
    }
}
