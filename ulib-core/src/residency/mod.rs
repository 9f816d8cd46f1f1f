//! Which copy of a block is the newer one, and what an access has to do first: a pure table.
//!
//! A block has a host copy, maybe a device copy, and is *shared* while somebody outside may write the device
//! copy through a pointer that was given away. [`transition`] says, for each state and event, what
//! has to be done and which state results. Whoever owns the copies executes the steps; nothing here touches memory.
//!
//! | event | not shared | shared |
//! |---|---|---|
//! | [`PreferDevice`](Event::PreferDevice), also an update | uploads if the host is newer | nothing to do |
//! | [`PreferHost`](Event::PreferHost) | brings home, frees the device copy | as `Release` |
//! | [`HostRead`](Event::HostRead) | brings home if the device is newer | synchronises the context, fetches what is asked |
//! | [`HostWrite`](Event::HostWrite) | brings home first; the host is newer then | fetched first, written through afterwards |
//! | [`HostOverwrite`](Event::HostOverwrite) | the host is newer then | written through afterwards |
//! | [`KernelRead`](Event::KernelRead) | uploads if the host is newer | synchronises the context before, our stream after |
//! | [`KernelWrite`](Event::KernelWrite) | the same; the device is newer then | the same |
//! | [`KernelOverwrite`](Event::KernelOverwrite) | no upload; the device is newer then | the same |
//! | [`DevicePointer`](Event::DevicePointer) | uploads if the host is newer, waits for our own work; shared from now on | waits for our own work |
//! | [`Resize`](Event::Resize) | brings home, frees the device copy | brings home, the old copy lives on with its users |
//! | [`Replace`](Event::Replace) | frees the device copy | the old copy lives on with its users |
//! | [`Release`](Event::Release) | synchronises, brings home, gives the memory back to the driver | the same; the copy goes when its last user does |
//! | [`SharingEnded`](Event::SharingEnded) | nothing to do | synchronises the context |

mod table;

#[cfg(test)]
mod tests;

pub use table::transition;

/// Which copy is the newer one. A block without a device copy is [`HostNewer`](Self::HostNewer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Residency {
    /// Only the host copy is valid.
    #[default]
    HostNewer,
    /// Only the device copy is known to be valid. Always so while shared.
    DeviceNewer,
    /// Both copies have the same content.
    InSync,
}

impl Residency {
    /// All states.
    pub const ALL: [Self; 3] = [Self::HostNewer, Self::DeviceNewer, Self::InSync];

    /// True when the host copy has the newest content.
    pub const fn is_host_current(self) -> bool {
        !matches!(self, Self::DeviceNewer)
    }

    /// True when the device copy has the newest content.
    pub const fn is_device_current(self) -> bool {
        !matches!(self, Self::HostNewer)
    }
}

/// Something that is about to happen to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The user prefers the device, or updates an object that prefers it, and the device can be used.
    PreferDevice,
    /// The user prefers the host.
    PreferHost,
    /// Host code reads.
    HostRead,
    /// Host code changes some bytes or all of them, after seeing the old ones.
    HostWrite,
    /// Host code sets every byte that it is given, without seeing the old ones.
    ///
    /// While not shared this must be the whole block; while shared it may be a part, because the rest
    /// stays on the device.
    HostOverwrite,
    /// One of our kernels reads.
    KernelRead,
    /// One of our kernels reads and writes, or writes a part.
    KernelWrite,
    /// One of our kernels sets every byte without reading.
    KernelOverwrite,
    /// A device pointer is given to somebody outside, who may write through it: sharing begins or goes on.
    DevicePointer,
    /// The number of bytes changes; a prefix keeps its content.
    Resize,
    /// The whole content is replaced by new bytes of any number.
    Replace,
    /// The user wants the device memory back.
    Release,
    /// The last outside user of the device copy is gone.
    SharingEnded,
}

impl Event {
    /// All events.
    pub const ALL: [Self; 13] = [
        Self::PreferDevice,
        Self::PreferHost,
        Self::HostRead,
        Self::HostWrite,
        Self::HostOverwrite,
        Self::KernelRead,
        Self::KernelWrite,
        Self::KernelOverwrite,
        Self::DevicePointer,
        Self::Resize,
        Self::Replace,
        Self::Release,
        Self::SharingEnded,
    ];
}

/// One thing to do for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Make a device copy with undefined content.
    AllocateDevice,
    /// Copy the whole host copy to the device.
    Upload,
    /// Copy the whole device copy to the host, after our own pending work on it.
    Download,
    /// Copy from the device what the access asks for: one element, or the whole.
    Fetch,
    /// Wait for everything that runs on the device in this context, whoever queued it on whatever stream.
    SynchronizeContext,
    /// Wait for our own pending work on the device copy.
    WaitPending,
    /// Wait for the stream that the access used.
    SynchronizeStream,
    /// Copy to the device what the host just wrote.
    WriteThrough,
    /// Let go of the device copy: nobody else uses it, so its memory is free after our pending work.
    FreeDevice,
    /// Let go of the device copy, which lives on until its last outside user is gone.
    RetireDevice,
    /// Give cached memory back to the driver.
    Trim,
}

/// What an event needs, in order, and what it leads to.
///
/// The owner does `before`, then gives the access, then does `after` when the access ends. `next` is the state from
/// the moment `before` is done. If an action of `before` fails, the state stays as it was and the access is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What to do before the access.
    pub before: &'static [Action],
    /// What to do when the access ends.
    pub after: &'static [Action],
    /// The state that results.
    pub next: Residency,
}

impl Step {
    /// True when the block has a device copy of its own after this step, given whether it had one before.
    pub fn keeps_device_copy(&self, has_device_copy: bool) -> bool {
        let gone = self
            .before
            .iter()
            .any(|action| matches!(action, Action::FreeDevice | Action::RetireDevice));
        (has_device_copy || self.before.contains(&Action::AllocateDevice)) && !gone
    }
}
