//! Injected failures, each kind; broken contexts; hidden entry points; counters.

use crate::raw::*;
use std::ptr::null_mut;

/// Codes of `n` allocations, freed again.
fn allocations(raw: &Raw, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| {
            let mut address = 0;
            let code = call!(raw, cuMemAlloc_v2(&mut address, 4));
            if code == OK {
                raw.free(address);
            }
            code
        })
        .collect()
}

#[test]
fn the_nth_call_of_an_entry_fails() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.fail("cuMemAlloc_v2", 2, OUT_OF_MEMORY);
    assert_eq!(allocations(&raw, 3), [0, OUT_OF_MEMORY, 0]);
}

#[test]
fn all_calls_of_an_entry_fail_from_the_nth() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.fail_from("cuMemAlloc_v2", 2, 999);
    assert_eq!(allocations(&raw, 4), [0, 999, 999, 999]);
    raw.session.fail_nothing();
    assert_eq!(allocations(&raw, 1), [0]);
}

#[test]
fn the_nth_call_of_anything_fails() {
    let Some(raw) = Raw::begin() else { return };
    for nth in 1..=4 {
        raw.session.fail_any(nth, 1234);
        let mut address = 0;
        let mut codes = vec![call!(raw, cuMemAlloc_v2(&mut address, 4))];
        codes.push(call!(raw, cuMemsetD8_v2(address, 0, 4)));
        codes.push(call!(raw, cuCtxSynchronize()));
        codes.push(call!(raw, cuMemFree_v2(address)));
        assert_eq!(
            codes.iter().position(|code| *code == 1234),
            Some(nth as usize - 1)
        );
        raw.session.fail_nothing();
        if nth == 4 {
            raw.free(address);
        }
    }
    assert_eq!(raw.session.live_bytes(), 0);
}

#[test]
fn an_unknown_code_has_no_name() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.fail("cuCtxSynchronize", 1, 1234);
    assert_eq!(call!(raw, cuCtxSynchronize()), 1234);
    let mut name = null_mut::<core::ffi::c_char>().cast_const();
    assert_eq!(
        call!(
            raw,
            cuGetErrorName(ulib_device::sys::CUresult(1234), &mut name)
        ),
        INVALID_VALUE
    );
    assert!(name.is_null());
    assert_eq!(
        call!(
            raw,
            cuGetErrorName(ulib_device::sys::CUresult(700), &mut name)
        ),
        OK
    );
    // SAFETY: the driver's names are string literals.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    assert_eq!(name, c"CUDA_ERROR_ILLEGAL_ADDRESS");
}

#[test]
fn putting_an_error_into_words_is_not_made_to_fail_by_the_way() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.fail_any_from(1, 999);
    let mut name = null_mut::<core::ffi::c_char>().cast_const();
    assert_eq!(
        call!(
            raw,
            cuGetErrorName(ulib_device::sys::CUresult(1), &mut name)
        ),
        OK
    );
    assert_eq!(call!(raw, cuCtxSynchronize()), 999);
    assert_eq!(raw.session.total_calls(), 1);
    raw.session.fail_nothing();
    raw.session.fail("cuGetErrorName", 1, 1);
    assert_eq!(
        call!(
            raw,
            cuGetErrorName(ulib_device::sys::CUresult(1), &mut name)
        ),
        INVALID_VALUE
    );
}

#[test]
fn a_broken_kernel_breaks_its_context_for_good() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(4);
    let module = raw.load(&ptx("fakecuda_break")).unwrap();
    let function = raw.function(module, "fakecuda_break").unwrap();
    assert_eq!(
        raw.launch(function, null_mut()),
        OK,
        "the launch itself succeeds"
    );
    assert_eq!(call!(raw, cuCtxSynchronize()), ILLEGAL_ADDRESS);
    assert_eq!(raw.down(address, 4), Err(ILLEGAL_ADDRESS));
    assert_eq!(call!(raw, cuMemFree_v2(address)), ILLEGAL_ADDRESS);
    let mut count = 0;
    assert_eq!(
        call!(raw, cuDeviceGetCount(&mut count)),
        OK,
        "what needs no context still works"
    );
    let other = raw.retain(1);
    assert_eq!(call!(raw, cuCtxSetCurrent(other)), OK);
    assert_eq!(
        call!(raw, cuCtxSynchronize()),
        OK,
        "the other device is whole"
    );
    drop(raw);
    let Some(raw) = Raw::begin() else { return };
    raw.free(address);
}

#[test]
fn a_deferred_broken_kernel_shows_when_it_has_run() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.deferred(true);
    let module = raw.load(&ptx("fakecuda_break")).unwrap();
    let function = raw.function(module, "fakecuda_break").unwrap();
    let stream = raw.stream(1);
    assert_eq!(raw.launch(function, stream), OK);
    assert_eq!(call!(raw, cuStreamSynchronize(null_mut())), OK);
    assert_eq!(call!(raw, cuStreamSynchronize(stream)), ILLEGAL_ADDRESS);
    assert_eq!(call!(raw, cuStreamSynchronize(null_mut())), ILLEGAL_ADDRESS);
}

#[test]
fn entry_points_can_be_hidden_by_name_and_by_version() {
    let Some(raw) = Raw::begin() else { return };
    assert!(fakecuda::resolve("cuMemAllocAsync").is_some());
    raw.session.hide(&["cuMemcpyPeer"]);
    assert!(fakecuda::resolve("cuMemcpyPeer").is_none());
    raw.session.version(11_010);
    assert!(fakecuda::resolve("cuMemAllocAsync").is_none());
    assert!(fakecuda::resolve("cuMemAlloc_v2").is_some());
    let mut version = 0;
    assert_eq!(call!(raw, cuDriverGetVersion(&mut version)), OK);
    assert_eq!(version, 11_010);
}

#[test]
fn addresses_are_found_by_base_name_for_a_version() {
    let Some(raw) = Raw::begin() else { return };
    let find = |name: &std::ffi::CStr, version| {
        let mut address = null_mut();
        let status = null_mut();
        let code = optional!(
            raw,
            cuGetProcAddress_v2(name.as_ptr(), &mut address, version, 0, status)
        );
        assert_eq!(code, OK);
        address
    };
    let known = |name| fakecuda::resolve(name).unwrap().as_ptr();
    assert_eq!(find(c"cuMemAlloc", 13_000), known("cuMemAlloc_v2"));
    assert_eq!(
        find(c"cuMemPrefetchAsync", 12_010),
        known("cuMemPrefetchAsync")
    );
    assert_eq!(
        find(c"cuMemPrefetchAsync", 12_020),
        known("cuMemPrefetchAsync_v2")
    );
    assert!(find(c"cuNothing", 13_000).is_null());
}

#[test]
fn calls_are_counted_and_noted() {
    let Some(raw) = Raw::begin() else { return };
    raw.session.record(true);
    allocations(&raw, 2);
    assert_eq!(
        (
            raw.session.count("cuMemAlloc_v2"),
            raw.session.total_calls()
        ),
        (2, 4)
    );
    assert_eq!(
        raw.session.calls(),
        [
            "cuMemAlloc_v2",
            "cuMemFree_v2",
            "cuMemAlloc_v2",
            "cuMemFree_v2"
        ]
    );
}

#[test]
fn text_commands_do_the_same() {
    let Some(raw) = Raw::begin() else { return };
    let run = fakecuda::control::command::run;
    assert_eq!(run("fail cuMemAlloc_v2:1:2"), 0);
    assert_eq!(allocations(&raw, 2), [OUT_OF_MEMORY, 0]);
    assert_eq!(run("count cuMemAlloc_v2"), 2);
    let kept = raw.allocate(12);
    assert_eq!((run("live_bytes"), run("live_memory")), (12, 1));
    raw.free(kept);
    assert_eq!(run("break 0 719"), 0);
    assert_eq!(call!(raw, cuCtxSynchronize()), 719);
    assert_eq!(run("reset"), 0);
    assert_eq!((call!(raw, cuCtxSynchronize()), run("count *")), (OK, 1));
    for nonsense in [
        "",
        "fail",
        "fail x",
        "fail cuInit:0:1",
        "memory_limit much",
        "dance",
    ] {
        assert_eq!(run(nonsense), -1, "{nonsense:?}");
    }
}
