//! The stream that operations of this thread use: the legacy one, or that of a scope.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::Stream;
use crate::Device;

thread_local! {
    /// The scopes that this thread opened, outermost first, and those among them that have ended on another thread.
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// Open as long as somebody holds its stream.
struct Scope {
    device: Device,
    stream: Weak<Stream>,
}

/// While it lives, [`Stream::current`] of the thread that made it and this stream's device is the stream it was made from.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct StreamScope {
    stream: Arc<Stream>,
}

impl Stream {
    /// The stream that operations of this thread put their work for `device` into: that of the innermost open
    /// [`scope`](Self::scope) with a stream of this device, else the [`legacy`](Self::legacy) stream.
    #[must_use]
    pub fn current(device: &Device) -> Self {
        // Destructors of other thread-local values may ask when there are no scopes any more.
        let scoped = SCOPES.try_with(|scopes| {
            let scopes = scopes.try_borrow().ok()?;
            let mut innermost_first = scopes.iter().rev().filter(|scope| scope.device == *device);
            innermost_first.find_map(|scope| scope.stream.upgrade())
        });
        match scoped.ok().flatten() {
            // With nothing borrowed: this may be the last handle, if the scope ends on another thread meanwhile.
            Some(stream) => Self::clone(&stream),
            None => Self::legacy(device),
        }
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

    /// Opens a scope of this thread as [`scope`](Self::scope) does, until the guard is dropped. Guards may be dropped in any
    /// order, and on any thread.
    pub fn enter(&self) -> StreamScope {
        let stream = Arc::new(self.clone());
        let scope = Scope {
            device: self.device().clone(),
            stream: Arc::downgrade(&stream),
        };
        // Where the thread is ending there are no scopes any more.
        let _ = SCOPES.try_with(|scopes| {
            if let Ok(mut scopes) = scopes.try_borrow_mut() {
                scopes.retain(|scope| scope.stream.strong_count() > 0);
                scopes.push(scope);
            }
        });
        StreamScope { stream }
    }
}

impl Drop for StreamScope {
    fn drop(&mut self) {
        // On another thread than the scope's it ends with the last handle of the stream alone.
        let _ = SCOPES.try_with(|scopes| {
            if let Ok(mut scopes) = scopes.try_borrow_mut() {
                let own = Arc::as_ptr(&self.stream);
                scopes.retain(|scope| scope.stream.as_ptr() != own);
            }
        });
    }
}
