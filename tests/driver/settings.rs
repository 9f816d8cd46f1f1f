//! Limits, cache, flags of a device's primary context, access of devices to each other, and stacks of contexts.

use crate::common;
use crate::support::{ForeignContext, current_context, device, set_current_context};
use ulib_core::ErrorKind;
use ulib_device::Device;
use ulib_device::device::Context;
use ulib_device::sys::{CUfunc_cache, CUlimit};

#[test]
fn limits_are_what_was_asked_for() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let before = device.limit(CUlimit::CU_LIMIT_STACK_SIZE).unwrap();
    assert!(before > 0);
    device
        .set_limit(CUlimit::CU_LIMIT_STACK_SIZE, 4096)
        .unwrap();
    assert_eq!(device.limit(CUlimit::CU_LIMIT_STACK_SIZE).unwrap(), 4096);
    device
        .set_limit(CUlimit::CU_LIMIT_STACK_SIZE, before)
        .unwrap();
    assert!(device.limit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE).unwrap() >= 1 << 20);
    let error = device.limit(CUlimit(1000)).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Driver {
                call: "cuCtxGetLimit",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_cache_prefers_what_was_asked_for() {
    let Some(turn) = common::gpu() else { return };
    let device = device();
    let before = device.cache_config().unwrap();
    device
        .set_cache_config(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1)
        .unwrap();
    if turn.session().is_some() {
        assert!(device.cache_config().unwrap() == CUfunc_cache::CU_FUNC_CACHE_PREFER_L1);
        assert!(device.set_cache_config(CUfunc_cache(77)).is_err());
    }
    device.set_cache_config(before).unwrap();
}

#[test]
fn the_primary_context_says_what_it_was_made_with() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    device.primary_context().unwrap();
    let before = device.primary_state().unwrap();
    assert!(before.active);
    let blocking = 4;
    device.set_primary_flags(blocking).unwrap();
    assert_eq!(device.primary_state().unwrap().flags & 7, blocking);
    device.set_primary_flags(before.flags).unwrap();
}

#[test]
fn access_to_a_peer_ends_with_its_last_object() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let one = first.enable_peer_access(&second).unwrap();
    let other = first.enable_peer_access(&second).unwrap();
    assert_eq!((one.device(), one.peer()), (&first, &second));
    assert!(first.reaches(&second) && first.reaches(&first) && !second.reaches(&first));
    assert_eq!(session.count("cuCtxEnablePeerAccess"), 1);
    one.close().unwrap();
    assert_eq!(session.count("cuCtxDisablePeerAccess"), 0);
    assert!(first.reaches(&second));
    drop(other);
    assert!(!first.reaches(&second));
    assert_eq!(session.count("cuCtxDisablePeerAccess"), 1);
    assert!(first.errors().is_empty());

    let error = first.enable_peer_access(&first).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    session.peers(false);
    let error = first.enable_peer_access(&second).unwrap_err();
    assert!(
        error.to_string().contains("PEER_ACCESS_UNSUPPORTED"),
        "{error}"
    );
    session.peers(true);

    // Access that others have enabled stays theirs.
    session.fail("cuCtxEnablePeerAccess", 1, 704);
    session.reset_counts();
    drop(first.enable_peer_access(&second).unwrap());
    assert_eq!(session.count("cuCtxDisablePeerAccess"), 0);
}

#[test]
fn a_pushed_context_is_current_for_everybody_until_it_is_popped() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    std::thread::spawn(move || {
        assert_eq!(Context::current().unwrap(), None);
        let context = Context::primary(&device).unwrap();
        assert!(context.is_primary().unwrap());
        context.push().unwrap();
        context.push().unwrap();
        assert_eq!(current_context(), device.primary_context().unwrap());
        assert_eq!(Context::current().unwrap().as_ref(), Some(&context));
        assert!(context.api_version().unwrap() > 0);
        context.synchronize().unwrap();
        assert!(context.pop().unwrap());
        assert!(context.pop().unwrap());
        assert!(!context.pop().unwrap());
        assert_eq!(current_context(), 0);
    })
    .join()
    .unwrap();
}

#[test]
fn a_context_of_another_library_is_adopted_and_left_alone() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    std::thread::spawn(move || {
        let foreign = ForeignContext::new(&device);
        set_current_context(foreign.0);
        let adopted = Context::current().unwrap().unwrap();
        assert_eq!(adopted.handle() as usize, foreign.0);
        assert_eq!(adopted.device(), &device);
        assert!(!adopted.is_primary().unwrap());
        adopted.synchronize().unwrap();
        assert_eq!(current_context(), foreign.0);
        let primary = Context::primary(&device).unwrap();
        assert!(!primary.pop().unwrap());
        assert_eq!(current_context(), foreign.0);
        set_current_context(0);
        foreign.destroy();
    })
    .join()
    .unwrap();
}
