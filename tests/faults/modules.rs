//! Modules: what loads, what is refused, and with which code.

use crate::raw::*;
use fakecuda::Store;
use std::ptr::null_mut;
use ulib_device::sys::CUjit_option;

#[test]
fn only_ptx_for_this_driver_and_device_loads() {
    let Some(raw) = Raw::begin() else { return };
    let text = ptx("kernel");
    assert!(raw.load(&text).is_ok());
    for (image, code) in [
        ("this is no PTX", 218),
        ("", 200),
        (".version seven\n.target sm_60", 218),
        (&text.replace("7.0", "9.5"), 222),
        (&text.replace("sm_60", "sm_90"), 209),
        ("\u{7f}ELF\u{2}", 209),
    ] {
        assert_eq!(raw.load(image), Err(code), "{image:?}");
    }
    for parameters in [
        "4611686018427387904]",
        "99999999999999999999]",
        "4], .param .u64 y[4611686018427387904][4]",
        "4], .param .align 0 .b8 y[8]",
        "4096]",
    ] {
        let image = text.replace("()", &format!("(.param .u64 x[{parameters})"));
        assert_eq!(raw.load(&image), Err(218), "{image:?}");
    }
    let most = text.replace("()", "(.param .u64 x[4095])");
    assert!(raw.load(&most).is_ok());
    let variable = ".global .f64 x[4611686018427387904];\n.visible";
    assert_eq!(raw.load(&text.replace(".visible", variable)), Err(218));
    raw.session.version(11_000);
    assert_eq!(raw.load(&text.replace("7.0", "7.1")), Err(222));
    assert!(raw.load(&text).is_ok());
}

#[test]
fn entries_are_found_by_name_and_comments_are_not_entries() {
    let Some(raw) = Raw::begin() else { return };
    let text = ptx("kernel").replace("ret;", "ret; // .entry ghost\n /* .entry spirit */");
    let module = raw.load(&text).unwrap();
    let function = raw.function(module, "kernel").unwrap();
    assert_eq!(raw.function(module, "kernel"), Ok(function));
    for missing in ["ghost", "spirit", "kerne", ""] {
        assert_eq!(raw.function(module, missing), Err(NOT_FOUND), "{missing:?}");
    }
    assert_eq!(
        raw.launch(function, null_mut()),
        801,
        "there is no emulation of it"
    );
    assert_eq!(call!(raw, cuModuleUnload(module)), OK);
    assert_eq!(raw.function(module, "kernel"), Err(INVALID_HANDLE));
    assert_eq!(raw.launch(function, null_mut()), INVALID_HANDLE);
}

#[test]
fn impossible_grids_are_refused() {
    let Some(raw) = Raw::begin() else { return };
    let module = raw.load(&ptx("fakecuda_break")).unwrap();
    let function = raw.function(module, "fakecuda_break").unwrap();
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 65_536, 1], [1, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [1, 1, 65]),
        ([1, 1, 1], [0, 1, 1]),
    ] {
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        let code = call!(
            raw,
            cuLaunchKernel(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                0,
                null_mut(),
                null_mut(),
                null_mut()
            )
        );
        assert_eq!(code, INVALID_VALUE, "{grid:?} {block:?}");
    }
    assert_eq!(call!(raw, cuCtxSynchronize()), OK);
}

#[test]
fn global_variables_have_addresses_and_start_at_zero() {
    let Some(raw) = Raw::begin() else { return };
    let text = ptx("kernel").replace(
        ".visible",
        ".visible .global .align 4 .b8 table[24];\n.const .f64 scale;\n.visible",
    );
    let module = raw.load(&text).unwrap();
    let (mut address, mut bytes) = (0, 0);
    assert_eq!(
        call!(
            raw,
            cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"table".as_ptr())
        ),
        OK
    );
    assert_eq!(bytes, 24);
    assert_eq!(raw.down(address, 24).unwrap(), [0; 24]);
    assert_eq!(
        call!(raw, cuMemFree_v2(address)),
        INVALID_VALUE,
        "the module's, not the caller's"
    );
    assert_eq!(
        call!(
            raw,
            cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"scale".as_ptr())
        ),
        OK
    );
    assert_eq!(bytes, 8);
    assert_eq!(
        call!(
            raw,
            cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"nothing".as_ptr())
        ),
        NOT_FOUND
    );
    assert_eq!(call!(raw, cuModuleUnload(module)), OK);
    assert_eq!(raw.session.live_bytes(), 0);
}

#[test]
fn a_refused_module_fills_the_error_log() {
    let Some(raw) = Raw::begin() else { return };
    let mut log = [1_u8; 64];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(log.len()),
    ];
    let mut module = null_mut();
    for (image, code) in [(c"nonsense", 218), (c"\x7fELF\x02", 209)] {
        log.fill(1);
        assert_eq!(
            call!(
                raw,
                cuModuleLoadDataEx(
                    &mut module,
                    image.as_ptr().cast(),
                    2,
                    options.as_mut_ptr(),
                    values.as_mut_ptr()
                )
            ),
            code
        );
        assert_eq!(
            &log,
            b"ptxas fatal   : the software driver runs uLib's own kernels onl\0"
        );
        assert_eq!(values[1].addr(), 64);
    }
}

/// Launches the built-in kernel that writes where it is told.
fn store(
    raw: &Raw,
    address: u64,
    count: u64,
    value: u64,
    stream: ulib_device::sys::CUstream,
) -> u32 {
    let module = raw.load(&ptx("fakecuda_store")).unwrap();
    let function = raw.function(module, "fakecuda_store").unwrap();
    let mut parameter = Store {
        address,
        count,
        value,
    };
    let mut parameters = [(&raw mut parameter).cast()];
    // The launch copies the parameter: this one ends with the function, the stream may run later.
    call!(
        raw,
        cuLaunchKernel(
            function,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            stream,
            parameters.as_mut_ptr(),
            null_mut()
        )
    )
}

#[test]
fn a_kernel_writes_through_device_addresses() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(8);
    raw.session.deferred(true);
    let stream = raw.stream(1);
    assert_eq!(store(&raw, address + 2, 3, 7, stream), OK);
    assert_eq!(raw.now(address, 8), [0xCD; 8]);
    assert_eq!(call!(raw, cuStreamSynchronize(stream)), OK);
    assert_eq!(raw.now(address, 8), [0xCD, 0xCD, 7, 7, 7, 0xCD, 0xCD, 0xCD]);
    raw.free(address);
    assert!(raw.session.faults().is_empty());
}

#[test]
fn a_kernel_that_writes_behind_an_allocation_is_found_out_when_it_is_freed() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(10);
    assert_eq!(store(&raw, address, 13, 7, null_mut()), OK);
    assert!(raw.session.faults().is_empty());
    raw.free(address);
    assert_eq!(
        raw.session.faults(),
        ["3 bytes behind an allocation of 10 bytes were overwritten"]
    );
}

#[test]
fn the_kernels_of_the_project_can_run() {
    let Some(_raw) = Raw::begin() else { return };
    let names = fakecuda::emulated_kernels();
    assert!(!names.is_empty());
    for name in &names {
        assert!(name.starts_with("ulib_"), "{name}");
        assert_eq!(
            names.iter().filter(|other| *other == name).count(),
            1,
            "{name}"
        );
    }
}
