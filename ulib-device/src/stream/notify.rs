//! Calling the host when a stream comes to a point.

use super::{Stream, not_capturing_in};
use crate::driver::{check, forked, missing_entry};
use crate::memory::guard;
use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use ulib_core::{Error, ErrorKind, Result};

type Work = Box<dyn FnOnce() + Send>;

/// Where work goes that a stream has come to; the thread that does it begins with the first.
static DUE: OnceLock<Sender<Work>> = OnceLock::new();

fn due() -> Result<&'static Sender<Work>> {
    if let Some(due) = DUE.get() {
        return Ok(due);
    }
    let (sender, receiver) = channel::<Work>();
    std::thread::Builder::new()
        .name("ulib-notify".to_owned())
        .spawn(move || {
            for work in receiver {
                guard::waited();
                if catch_unwind(AssertUnwindSafe(work)).is_err() {
                    log::warn!("work given to Stream::notify has panicked");
                }
            }
        })
        .map_err(|error| {
            let message = "the thread for calls of the host could not be made";
            Error::in_op(ErrorKind::Io, "Stream::notify", message).with_source(error)
        })?;
    // Where two threads come here at once, the second one's thread ends with its sender.
    Ok(DUE.get_or_init(|| sender))
}

impl Stream {
    /// Has `work` called, on a thread of this crate, when everything put into the stream so far is done.
    ///
    /// What is put into the stream afterwards does not wait for it. It may do anything: call the driver, wait, panic (which
    /// is logged). All work of the process is called by one thread, in the order in which the streams come to it. When
    /// something before it fails, it is never called. The stream only hands it to that thread: [`synchronize`](Self::synchronize) may
    /// return before it has been called, [`settle`](Self::settle) waits for it.
    ///
    /// # Errors
    /// Kind `Busy` while the stream is being captured, since a graph would call the work again and again; whatever the
    /// driver says; kind `Forked` in a forked child.
    ///
    /// # Examples
    /// ```no_run
    /// use std::sync::mpsc::channel;
    /// use ulib_device::{Device, Stream};
    ///
    /// # fn main() -> ulib_core::Result<()> {
    /// let stream = Stream::non_blocking(&Device::new(0)?)?;
    /// let (sender, receiver) = channel();
    /// // ... work put into `stream` ...
    /// stream.notify(move || drop(sender.send("done")))?;
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn notify(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let context = self.device().bind()?;
        not_capturing_in("notify", self, &context)?;
        let table = self.table();
        let call = table
            .cuLaunchHostFunc
            .ok_or_else(|| missing_entry("cuLaunchHostFunc", "10.0"))?;
        due()?;
        let _queueing = self.queueing("notify")?;
        let work: Work = Box::new(work);
        let data = Box::into_raw(Box::new(work));
        // SAFETY: the context is current by the guard, and the stream is alive by the borrow; `arrived` takes what `data`
        // points to, and the driver calls it at most once, since the stream is not captured.
        let status = unsafe { call(self.handle(), Some(arrived), data.cast()) };
        check(table, "cuLaunchHostFunc", status).inspect_err(|_| {
            // SAFETY: the driver has refused the call, so nobody else takes it.
            drop(unsafe { Box::from_raw(data) });
        })
    }

    /// Waits until all work given to [`notify`](Self::notify) has been called that the streams have come to already.
    pub fn settle() {
        // In a forked child there is no thread that calls it.
        let Some(due) = DUE.get().filter(|_| !forked()) else {
            return;
        };
        let (sender, receiver) = channel();
        let last: Work = Box::new(move || {
            let _ = sender.send(());
        });
        if due.send(last).is_ok() {
            let _ = receiver.recv();
        }
    }
}

/// Runs on a thread of the driver, which calls nothing and waits for nobody there.
unsafe extern "C" fn arrived(data: *mut c_void) {
    // SAFETY: made by `notify`, for one call of this function.
    let work = unsafe { Box::from_raw(data.cast::<Work>()) };
    if let Some(due) = DUE.get() {
        // The receiver lives as long as the process.
        let _ = due.send(*work);
    }
}
