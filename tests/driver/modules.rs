//! Modules, kernels, and the checks before a launch.
#![allow(unsafe_code, reason = "launches kernels without arguments")]

use crate::common;
use crate::support::device;
use std::sync::Barrier;
use ulib_core::ErrorKind;
use ulib_device::{Device, Kernel, LaunchConfig, Module, Stream, launch};

const PTX: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .global .align 4 .b8 ulib_test_table[48];
.visible .entry ulib_test_nothing()
{
    ret;
}
";

#[test]
fn a_program_has_functions_and_variables() {
    let Some(_turn) = common::gpu() else { return };
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("ulib_test_nothing").unwrap();
    assert_eq!(function.name(), "ulib_test_nothing");
    assert_eq!(*function.device(), device());
    assert!(function.threads_per_block() >= 1);
    let (address, bytes) = module.global("ulib_test_table").unwrap();
    assert_ne!(address, 0);
    assert_eq!(bytes, 48);
}

#[test]
fn what_a_program_lacks_is_named() {
    let Some(_turn) = common::gpu() else { return };
    let module = Module::load(&device(), PTX).unwrap();
    let error = module.function("missing").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "Module::function: the program has no kernel \"missing\""
    );
    let error = module.global("missing").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Module::global: the program has no variable \"missing\""
    );
    let error = module.function("a\0b").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn programs_the_driver_refuses() {
    let Some(_turn) = common::gpu() else { return };
    let load = |text: &str| Module::load(&device(), text).unwrap_err();
    let error = load("");
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    let error = load("this is no program");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Driver {
                call: "cuModuleLoadDataEx",
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("loading a program on Device: "),
        "{error}"
    );
    let error = load(&PTX.replace(".version 7.0", ".version 99.0"));
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Driver {
                code: 222 | 218,
                ..
            }
        ),
        "{error}"
    );
}

/// What starts like machine code would be read past its end.
#[test]
fn only_text_is_loaded_without_a_promise() {
    let Some(driver) = common::gpu() else { return };
    let calls = || {
        let session = driver.session();
        session.map(|session| session.count("cuModuleLoadDataEx"))
    };
    let before = calls();
    for text in ["\u{7f}ELF\u{2}\u{1}\u{1}", "\0", ".version 7.0\0", "a\u{1}"] {
        let error = Module::load(&device(), text).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert_eq!(calls(), before, "the driver never saw it");
    // Whitespace and comments are text.
    Module::load(&device(), format!("// text\r\n\t{PTX}")).unwrap();
    // SAFETY: PTX text, which ends where the added NUL is.
    let module = unsafe { Module::load_image(&device(), PTX.as_bytes()) }.unwrap();
    assert!(module.function("ulib_test_nothing").is_ok());
    // SAFETY: it is refused.
    let error = unsafe { Module::load_image(&device(), &[]) }.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_function_keeps_its_program_loaded() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("ulib_test_nothing").unwrap();
    drop(module);
    assert_eq!(session.count("cuModuleUnload"), 0);
    drop(function.clone());
    drop(function);
    assert_eq!(session.count("cuModuleUnload"), 1);
    assert!(session.live().is_empty());
}

#[test]
fn an_embedded_kernel_is_loaded_once_per_device_by_many_threads() {
    let Some(session) = common::fake_only() else {
        return;
    };
    const OWN: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .entry ulib_test_first()
{
    ret;
}
.visible .entry ulib_test_second()
{
    ret;
}
";
    let [first, second] =
        ["ulib_test_first", "ulib_test_second"].map(|entry| Kernel { ptx: OWN, entry });
    let together = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                together.wait();
                first.function(&device()).unwrap();
                second.function(&device()).unwrap();
            });
        }
    });
    assert_eq!(session.count("cuModuleLoadDataEx"), 1);
    assert_eq!(session.count("cuModuleGetFunction"), 2);
    first.function(&Device::new(1).unwrap()).unwrap();
    assert_eq!(session.count("cuModuleLoadDataEx"), 2);
}

#[test]
fn a_failed_load_is_not_remembered() {
    let Some(session) = common::fake_only() else {
        return;
    };
    const OWN: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .entry ulib_test_retried()
{
    ret;
}
";
    let kernel = Kernel {
        ptx: OWN,
        entry: "ulib_test_retried",
    };
    session.fail("cuModuleLoadDataEx", 1, 2);
    let error = kernel.function(&device()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OutOfMemory { .. }),
        "{error}"
    );
    assert!(
        error.to_string().starts_with("kernel ulib_test_retried: "),
        "{error}"
    );
    kernel.function(&device()).unwrap();
}

#[test]
fn launches_are_checked_before_the_driver_sees_them() {
    let Some(_turn) = common::gpu() else { return };
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("ulib_test_nothing").unwrap();
    let stream = Stream::new(&device()).unwrap();
    let refused = |grid, block, shared_bytes| {
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes,
        };
        // SAFETY: the kernel has no parameters and does nothing.
        let error = unsafe { launch(&function, &stream, config, &mut []) }.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
        error.to_string()
    };
    let text = refused([0, 1, 1], [1, 1, 1], 0);
    assert!(
        text.contains("kernel ulib_test_nothing: launch: grid.x is 0"),
        "{text}"
    );
    let text = refused([1, 1 << 20, 1], [1, 1, 1], 0);
    assert!(
        text.contains("grid.y is 1048576, expected 1 to 65535"),
        "{text}"
    );
    let text = refused([1, 1, 1], [2048, 1, 1], 0);
    assert!(text.contains("block.x is 2048"), "{text}");
    let text = refused([1, 1, 1], [1024, 2, 1], 0);
    assert!(text.contains("block is 2048"), "{text}");
    let text = refused([1, 1, 1], [1, 1, 1], u32::MAX);
    assert!(text.contains("shared_bytes is 4294967295"), "{text}");
}

#[test]
fn a_launch_on_another_devices_stream_is_refused() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("ulib_test_nothing").unwrap();
    let stream = Stream::legacy(&Device::new(1).unwrap());
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        shared_bytes: 0,
    };
    // SAFETY: the kernel has no parameters and does nothing.
    let error = unsafe { launch(&function, &stream, config, &mut []) }.unwrap_err();
    assert!(error.to_string().contains("different devices"), "{error}");
}

#[test]
fn a_real_driver_runs_the_empty_kernel() {
    let Some(_turn) = common::gpu().filter(common::Mode::is_real) else {
        return;
    };
    let module = Module::load(&device(), PTX).unwrap();
    let function = module.function("ulib_test_nothing").unwrap();
    let stream = Stream::new(&device()).unwrap();
    let config = LaunchConfig::strided(&device(), 1 << 20, 256);
    // SAFETY: the kernel has no parameters and does nothing.
    unsafe { launch(&function, &stream, config, &mut []) }.unwrap();
    stream.synchronize().unwrap();
}
