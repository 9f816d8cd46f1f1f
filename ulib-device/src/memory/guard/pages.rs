//! Closing pages to the host: the one place that knows how.
//!
//! With a protection key, which only the processor looks at: the pages stay readable and writable for the kernel and so for the
//! driver, which brings them to the device. Without, by the protection of the pages.
#![allow(unsafe_code, reason = "changes the protection of pages")]

/// Whether pages can be closed on this system.
pub(super) const CAN_CLOSE: bool = cfg!(target_os = "linux");

/// Closes `len` bytes at `start` to the host, or opens them. Answers whether that worked.
///
/// Both are whole pages of managed memory that is alive.
#[cfg(target_os = "linux")]
pub(super) fn set_closed(start: u64, len: usize, closed: bool) -> bool {
    use std::sync::OnceLock;

    /// Access with it is denied in every thread that has not allowed itself.
    const DISABLE_ACCESS: libc::c_long = 1;
    static KEY: OnceLock<Option<libc::c_long>> = OnceLock::new();

    let open = libc::PROT_READ | libc::PROT_WRITE;
    let key = *KEY.get_or_init(|| {
        // SAFETY: takes a key of this process, or answers with an error.
        let key = unsafe { libc::syscall(libc::SYS_pkey_alloc, 0, DISABLE_ACCESS) };
        (key > 0).then_some(key)
    });
    let status = match key {
        // SAFETY: pages of memory that `Managed` owns, of which no reference exists in this crate; key 0 is that of all memory.
        Some(key) => unsafe {
            let key = if closed { key } else { 0 };
            libc::syscall(libc::SYS_pkey_mprotect, start, len, open, key)
        },
        None => {
            let access = if closed { libc::PROT_NONE } else { open };
            // SAFETY: as above.
            unsafe { libc::mprotect(start as *mut libc::c_void, len, access) }.into()
        }
    };
    status == 0
}

/// Nothing is closed here.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_closed(_start: u64, _len: usize, _closed: bool) -> bool {
    false
}

/// The size of a page.
pub(in crate::memory) fn page_bytes() -> usize {
    #[cfg(target_os = "linux")]
    // SAFETY: asks for a constant of the system.
    let bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    let bytes = 0;
    if bytes.is_power_of_two() { bytes } else { 4096 }
}
