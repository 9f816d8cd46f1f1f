//! Contexts per thread, handles of the wrong kind, forked children.

use crate::raw::*;
use std::ptr::null_mut;
use ulib_device::sys::CUstream;

#[test]
fn a_thread_needs_a_current_context() {
    let Some(raw) = Raw::begin() else { return };
    let table = raw.table;
    let context = raw.context.addr();
    let codes = std::thread::spawn(move || {
        let mut address = 0;
        // SAFETY: the output is a living local.
        let without = unsafe { (table.cuMemAlloc_v2)(&mut address, 4) }.0;
        // SAFETY: the context is device 0's primary one, retained by the main thread.
        let set = unsafe { (table.cuCtxSetCurrent)(std::ptr::without_provenance_mut(context)) }.0;
        // SAFETY: the output is a living local.
        let with = unsafe { (table.cuMemAlloc_v2)(&mut address, 4) }.0;
        (without, set, with, address)
    });
    let (without, set, with, address) = codes.join().unwrap();
    assert_eq!((without, set, with), (INVALID_CONTEXT, OK, OK));
    raw.free(address);
}

#[test]
fn contexts_stack() {
    let Some(raw) = Raw::begin() else { return };
    let other = raw.retain(1);
    let (mut current, mut device) = (null_mut(), -1);
    assert_eq!(call!(raw, cuCtxPushCurrent_v2(other)), OK);
    assert_eq!(call!(raw, cuCtxGetDevice(&mut device)), OK);
    assert_eq!(device, 1);
    assert_eq!(call!(raw, cuCtxPopCurrent_v2(&mut current)), OK);
    assert_eq!(current, other);
    assert_eq!(call!(raw, cuCtxGetCurrent(&mut current)), OK);
    assert_eq!(current, raw.context);
    assert_eq!(call!(raw, cuCtxSetCurrent(null_mut())), OK);
    assert_eq!(
        call!(raw, cuCtxPopCurrent_v2(&mut current)),
        INVALID_CONTEXT
    );
    assert_eq!(call!(raw, cuCtxSynchronize()), INVALID_CONTEXT);
}

#[test]
fn a_primary_context_lives_while_it_is_retained() {
    let Some(raw) = Raw::begin() else { return };
    let (mut flags, mut active) = (0, -1);
    let first = raw.retain(1);
    assert_eq!(raw.retain(1), first);
    assert_eq!(
        optional!(raw, cuDevicePrimaryCtxGetState(1, &mut flags, &mut active)),
        OK
    );
    assert_eq!(active, 1);
    let mut releases = 0;
    while optional!(raw, cuDevicePrimaryCtxRelease_v2(1)) == OK {
        releases += 1;
    }
    assert!(releases >= 2);
    assert_eq!(
        optional!(raw, cuDevicePrimaryCtxGetState(1, &mut flags, &mut active)),
        OK
    );
    assert_eq!(active, 0);
    assert_eq!(call!(raw, cuCtxPushCurrent_v2(first)), INVALID_CONTEXT);
}

#[test]
fn a_handle_of_another_kind_or_a_dead_one_is_refused() {
    let Some(raw) = Raw::begin() else { return };
    let (stream, event) = (raw.stream(0), raw.event(0));
    assert_eq!(
        call!(raw, cuStreamSynchronize(event.cast())),
        INVALID_HANDLE
    );
    assert_eq!(call!(raw, cuEventQuery(stream.cast())), INVALID_HANDLE);
    assert_eq!(call!(raw, cuStreamDestroy_v2(stream)), OK);
    assert_eq!(call!(raw, cuStreamSynchronize(stream)), INVALID_HANDLE);
    assert_eq!(
        call!(raw, cuStreamDestroy_v2(null_mut::<()>() as CUstream)),
        INVALID_HANDLE
    );
    assert_eq!(call!(raw, cuEventDestroy_v2(event)), OK);
    assert_eq!(call!(raw, cuEventDestroy_v2(event)), INVALID_HANDLE);
}

#[test]
fn devices_say_what_they_are() {
    let Some(raw) = Raw::begin() else { return };
    let mut count = 0;
    assert_eq!(call!(raw, cuDeviceGetCount(&mut count)), OK);
    assert_eq!(count, 2);
    let mut name = [1_i8; 64];
    assert_eq!(
        call!(raw, cuDeviceGetName(name.as_mut_ptr().cast(), 64, 1)),
        OK
    );
    assert_eq!(name.map(|c| c as u8)[..11], *b"Fake GPU 1\0");
    assert_eq!(
        call!(raw, cuDeviceGetName(name.as_mut_ptr().cast(), 5, 1)),
        OK
    );
    assert_eq!(name.map(|c| c as u8)[..5], *b"Fake\0", "cut, and ended");
    let mut value = 0;
    for (which, expected) in [(75, 8), (76, 6), (16, 2), (115, 1)] {
        let which = ulib_device::sys::CUdevice_attribute(which);
        assert_eq!(call!(raw, cuDeviceGetAttribute(&mut value, which, 0)), OK);
        assert_eq!(value, expected);
    }
    assert_eq!(call!(raw, cuDeviceGet(&mut value, 2)), 101);
    assert_eq!(call!(raw, cuDeviceGet(&mut value, -1)), 101);
}

#[test]
fn a_forked_child_is_told_that_nothing_is_initialised() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(4);
    // SAFETY: the child calls nothing but the software driver, which takes no lock in a forked child, and `_exit`.
    let child = unsafe { libc_fork() };
    if child == 0 {
        let mut count = 0;
        let codes = [
            call!(raw, cuInit(0)),
            call!(raw, cuDeviceGetCount(&mut count)),
            call!(raw, cuMemFree_v2(address)),
        ];
        let failed = codes.iter().filter(|code| **code != 3).count();
        // SAFETY: ends the child at once.
        unsafe { libc_exit(failed as i32) };
    }
    let mut status = -1;
    // SAFETY: waits for the child made above; the output is a local.
    unsafe { libc_waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    raw.free(address);
}

unsafe extern "C" {
    #[link_name = "fork"]
    fn libc_fork() -> i32;
    #[link_name = "_exit"]
    fn libc_exit(code: i32) -> !;
    #[link_name = "waitpid"]
    fn libc_waitpid(child: i32, status: *mut i32, options: i32) -> i32;
}
