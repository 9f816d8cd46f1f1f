//! Linking programs, what the translator says, and images that are not whole.
#![allow(unsafe_code, reason = "loads binaries")]

use crate::common;
use crate::common::folder::Folder;
use crate::support::device;
use fakecuda::Kind;
use ulib_core::ErrorKind;
use ulib_device::module::{JitOptions, Linker};
use ulib_device::sys::{CUfunc_cache, CUjit_option, CUjitInputType as Input};
use ulib_device::{DeviceMemory, Module, Stream};

fn program(entry: &str) -> String {
    format!(
        ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry {entry}()\n{{\n    ret;\n}}\n"
    )
}

#[test]
fn several_programs_become_one() {
    let Some(turn) = common::gpu() else { return };
    let folder = Folder::new();
    let file = folder.file("third.ptx", program("third"));
    let mut linker = Linker::new(&device(), &JitOptions::new()).unwrap();
    linker.add_ptx("first.ptx", &program("first")).unwrap();
    linker.add_ptx("second.ptx", &program("second")).unwrap();
    // SAFETY: the file is text.
    unsafe { linker.add_file(&file, Input::CU_JIT_INPUT_PTX) }.unwrap();
    let (module, _log) = linker.link();
    let module = module.unwrap();
    for name in ["first", "second", "third"] {
        assert_eq!(module.function(name).unwrap().name(), name);
    }
    drop(module);
    if let Some(session) = turn.session() {
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

#[test]
fn what_cannot_be_linked_is_named_with_the_linkers_words() {
    let Some(turn) = common::gpu() else { return };
    let mut linker = Linker::new(&device(), &JitOptions::new()).unwrap();
    let error = linker
        .add_ptx("broken.ptx", "this is no program")
        .unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Driver {
                call: "cuLinkAddData_v2",
                ..
            }
        ),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.starts_with("linking broken.ptx: the driver's translator says: "),
        "{message}"
    );
    drop(linker);
    let mut linker = Linker::new(&device(), &JitOptions::new()).unwrap();
    // SAFETY: there is no such file.
    let error =
        unsafe { linker.add_file("/nowhere/a.ptx".as_ref(), Input::CU_JIT_INPUT_PTX) }.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("/nowhere/a.ptx"), "{error}");
    drop(linker);
    if let Some(session) = turn.session() {
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

#[test]
fn the_translator_takes_options_and_its_words_are_kept() {
    let Some(_turn) = common::gpu() else { return };
    let options = JitOptions::new()
        .set(CUjit_option::CU_JIT_OPTIMIZATION_LEVEL, 2)
        .unwrap();
    // SAFETY: text.
    let (module, log) =
        unsafe { Module::load_image_with(&device(), program("f").as_bytes(), &options) };
    assert_eq!(module.unwrap().function("f").unwrap().name(), "f");
    assert_eq!(log.error, "");
    // SAFETY: text.
    let (module, log) = unsafe { Module::load_image_with(&device(), b"nonsense", &options) };
    let error = module.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Driver { .. }), "{error}");
    assert!(!log.error.is_empty());
}

#[test]
fn images_that_are_not_whole_never_reach_the_driver() {
    let Some(turn) = common::gpu() else { return };
    for image in [
        &b""[..],
        b"\x7fELF",
        &[0xff; 100],
        b"\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\x00\x00\x00\x00\x00\x00",
    ] {
        // SAFETY: refused by its sizes.
        let error = unsafe { Module::load_image(&device(), image) }.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    if let Some(session) = turn.session() {
        assert_eq!(session.count("cuModuleLoadDataEx"), 0);
    }
}

#[test]
fn a_failure_of_any_call_leaks_nothing() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let text = program("fakecuda_parameters").replace("()", "(.param .u64 out, .param .u32 n)");
    let script = || -> ulib_core::Result<()> {
        let mut out = DeviceMemory::<u8>::zeroed(&stream, 16)?;
        let mut linker = Linker::new(&device, &JitOptions::new())?;
        linker.add_ptx("first.ptx", &text)?;
        linker.add_ptx("second.ptx", &program("second"))?;
        let function = linker.link().0?.function("fakecuda_parameters")?;
        function.set_cache_config(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1)?;
        function.blocks_per_multiprocessor(64, 0)?;
        let launch = function.launch(&stream).block(64).shared(60_000);
        // SAFETY: the software driver's kernel writes 12 bytes.
        unsafe { launch.arg_mut(&mut out).arg(&7_u32).run() }?;
        let launch = function.launch(&stream).cooperative();
        // SAFETY: as above.
        unsafe { launch.arg_mut(&mut out).arg(&7_u32).run() }?;
        stream.synchronize()
    };
    let programs = || {
        let live = session.live();
        live.iter()
            .filter(|live| matches!(live.kind, Kind::Module | Kind::Link))
            .count()
    };
    script().unwrap();
    session.reset_counts();
    script().unwrap();
    let calls = session.total_calls();
    let _ = device.errors();
    let (mut failures, mut reported) = (0, 0);
    for nth in 1..=calls {
        for code in [2, 999, 1234] {
            session.fail_any(nth, code);
            let outcome = script();
            session.fail_nothing();
            stream.synchronize().unwrap();
            failures += u64::from(outcome.is_err());
            // What a destructor was not allowed to destroy is on record; nothing else may be left.
            reported += device.errors().len();
            assert!(programs() <= reported, "call {nth}, {code}: {outcome:?}");
        }
    }
    assert!(failures > calls, "{failures} of {calls}");
    script().unwrap();
    assert!(session.faults().is_empty(), "{:?}", session.faults());
}
