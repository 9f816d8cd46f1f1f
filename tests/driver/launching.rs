//! Launches put together piece by piece: what the kernel gets, and what is refused before it is launched.
#![allow(unsafe_code, reason = "launches kernels")]

use crate::common;
use crate::support::device;
use ulib_core::ErrorKind;
use ulib_device::launch::{Arguments, Shape, launch_with};
use ulib_device::module::{JitOptions, Linker, Parameter, ParameterKind};
use ulib_device::sys::CUfunction_attribute as Attribute;
use ulib_device::{DeviceMemory, Function, LaunchConfig, Module, Stream};

/// On the software driver this kernel writes its parameters to the first one; on a card it is never launched.
const PTX: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .entry fakecuda_parameters(
    .param .u64 out,
    .param .u8 small,
    .param .align 16 .b8 pair[32],
    .param .f32 number,
    .param .u64 .ptr .global .align 1 other
)
{
    ret;
}
.visible .entry nothing()
{
    ret;
}
";

fn function(name: &str) -> Function {
    Module::load(&device(), PTX)
        .unwrap()
        .function(name)
        .unwrap()
}

#[test]
fn parameters_are_those_of_the_program() {
    let Some(_turn) = common::gpu() else { return };
    let parameters = |name: &str| -> Option<Vec<(usize, usize)>> {
        let function = function(name);
        let known: &[Parameter] = function.parameters().unwrap()?;
        Some(known.iter().map(|p| (p.offset, p.size)).collect())
    };
    // Drivers before CUDA 12.4 do not tell; the text does.
    let found = parameters("fakecuda_parameters");
    assert_eq!(
        found.as_deref(),
        Some(&[(0, 8), (8, 1), (16, 32), (48, 4), (56, 8)][..])
    );
    assert_eq!(parameters("nothing"), Some(Vec::new()));
    use ParameterKind::{Float, Integer, Struct};
    let kinds = |function: &Function| -> Vec<ParameterKind> {
        let known = function.parameters().unwrap().unwrap();
        known.iter().map(|p| p.kind).collect()
    };
    let expected = [Integer, Integer, Struct, Float, Integer];
    assert_eq!(kinds(&function("fakecuda_parameters")), expected);
    // Also by way of the linker.
    let mut linker = Linker::new(&device(), &JitOptions::new()).unwrap();
    linker.add_ptx("program.ptx", PTX).unwrap();
    let linked = linker.link().0.unwrap();
    let linked = linked.function("fakecuda_parameters").unwrap();
    assert_eq!(kinds(&linked), expected);
}

/// An index that is too large has a status of its own, and a driver that refuses the function does not make a kernel one without
/// parameters.
#[test]
fn no_parameters_are_those_of_a_kernel_that_has_none() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let (with, without) = (function("fakecuda_parameters"), function("nothing"));
    for status in [1_i32, 400, 709] {
        session.fail("cuFuncGetParamInfo", 1, status.cast_unsigned());
        let error = with.parameters().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code, .. } if *code == status),
            "{error}"
        );
    }
    session.fail("cuFuncGetParamInfo", 1, 400);
    without.parameters().unwrap_err();
    // Nothing of that is remembered.
    assert_eq!(with.parameters().unwrap().map(<[_]>::len), Some(5));
    assert_eq!(without.parameters().unwrap().map(<[_]>::len), Some(0));
}

#[test]
fn a_kernel_gets_what_it_was_given() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let function = function("fakecuda_parameters");
    let mut out = DeviceMemory::<u8>::zeroed(&stream, 64).unwrap();
    let other = DeviceMemory::<f64>::zeroed(&stream, 3).unwrap();
    let pair: [u8; 32] = core::array::from_fn(|n| n as u8 + 1);
    let (address, second) = (out.ptr(), other.ptr());
    let launch = function.launch(&stream).grid((2, 2)).block([32, 1]);
    let launch = launch
        .arg_mut(&mut out)
        .arg(&0xAB_u8)
        .arg(&pair)
        .arg(&1.5_f32)
        .arg(&other);
    // SAFETY: the software driver's kernel writes 64 bytes to its first parameter.
    unsafe { launch.run() }.unwrap();
    let bytes = out.to_vec(&stream).unwrap();
    let mut expected = vec![0xEE; 64];
    expected[..8].copy_from_slice(&address.to_le_bytes());
    expected[8] = 0xAB;
    expected[16..48].copy_from_slice(&pair);
    expected[48..52].copy_from_slice(&1.5_f32.to_le_bytes());
    expected[56..].copy_from_slice(&second.to_le_bytes());
    assert_eq!(bytes, expected);
    drop((out, other, function, stream));
    assert_eq!(session.live_bytes(), 0, "{:?}", session.live());
}

#[test]
fn wrong_arguments_are_named() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::legacy(&device());
    let function = function("fakecuda_parameters");
    // SAFETY: refused before it is launched.
    let error = unsafe { function.launch(&stream).address(0).arg(&1_u8).run() }.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "launch: 2 arguments for kernel fakecuda_parameters, which takes 5"
    );
    // SAFETY: as above.
    let error = unsafe { function.launch(&stream).address(0).run() }.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("launch: 1 argument for kernel"), "{text}");
    let launch = function
        .launch(&stream)
        .address(0)
        .arg(&1_u8)
        .arg(&[0_u8; 32])
        .arg(&1.5_f64)
        .address(0);
    // SAFETY: as above.
    let error = unsafe { launch.run() }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "launch: argument 3 (counted from 0) of kernel fakecuda_parameters is a floating-point number of 8 bytes, \
         and the parameter a floating-point number of 4 bytes"
    );
    // Of the right size, and of another kind.
    let launch = function.launch(&stream).address(0).arg(&1_u8);
    let launch = launch.arg(&[0_u8; 32]).arg(&7_i32).address(0);
    // SAFETY: as above.
    let error = unsafe { launch.run() }.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "launch: argument 3 (counted from 0) of kernel fakecuda_parameters is an integer of 4 bytes, \
         and the parameter a floating-point number of 4 bytes"
    );
    let launch = function.launch(&stream).address(0).arg(&1_u8);
    let launch = launch.arg(&[0_u8; 32]).arg(&7_f32).arg(&1.5_f64);
    // SAFETY: as above.
    let error = unsafe { launch.run() }.unwrap_err();
    assert!(
        error.to_string().ends_with(
            "is a floating-point number of 8 bytes, and the parameter an integer of 8 bytes"
        ),
        "{error}"
    );
    assert_eq!(session.count("cuLaunchKernel"), 0);
}

#[test]
fn more_shared_memory_than_the_default_needs_no_ceremony() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let function = function("fakecuda_parameters");
    let most = device().limits().shared_bytes_per_block_optin;
    assert_eq!(most, 99 << 10);
    let mut out = DeviceMemory::<u8>::zeroed(&stream, 64).unwrap();
    let mut launch = |shared| {
        let launch = function.launch(&stream).shared(shared);
        let launch = launch
            .arg_mut(&mut out)
            .arg(&0_u8)
            .arg(&[0_u8; 32])
            .arg(&0_f32)
            .address(0);
        // SAFETY: as above.
        unsafe { launch.run() }
    };
    launch(48 << 10).unwrap();
    launch(most).unwrap();
    let error = launch(most + 1).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("shared_bytes is 101377, expected at most 101376 bytes"),
        "{error}"
    );
    let allowed = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_eq!(function.attribute(allowed).unwrap(), 99 << 10);
    // Somebody lowers it: the next launch raises it again.
    function.set_attribute(allowed, 1024).unwrap();
    launch(4096).unwrap();
    assert!(function.set_attribute(allowed, 1 << 20).is_err());
    assert!(
        function
            .set_attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, 1)
            .is_err()
    );
    stream.synchronize().unwrap();
}

#[test]
fn cooperative_launches_and_clusters_are_asked_of_the_device() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let function = function("fakecuda_parameters");
    let mut out = DeviceMemory::<u8>::zeroed(&stream, 64).unwrap();
    let mut run = |blocks: u32, shape: Shape| {
        let mut arguments = Arguments::new();
        arguments.push(&out.ptr().to_ne_bytes());
        arguments.push(&[1]);
        arguments.push(&[2; 32]);
        arguments.push(&[3; 4]);
        arguments.push(&[4; 8]);
        let config = LaunchConfig {
            grid: [blocks, 1, 1],
            block: [512, 1, 1],
            shared_bytes: 0,
        };
        // SAFETY: as above.
        let outcome = unsafe { launch_with(&function, &stream, config, shape, &mut arguments) };
        outcome
            .and_then(|()| out.to_vec(&stream))
            .and_then(|_| out.copy_from_slice(&[0; 64], &stream))
    };
    let cooperative = Shape {
        cooperative: true,
        cluster: None,
    };
    run(6, cooperative).unwrap();
    assert_eq!(session.count("cuLaunchCooperativeKernel"), 1);
    let error = run(7, cooperative).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 720, .. }),
        "{error}"
    );
    let error = run(
        6,
        Shape {
            cooperative: false,
            cluster: Some([2, 1, 1]),
        },
    )
    .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().ends_with("has no clusters of blocks"),
        "{error}"
    );
}

#[test]
fn occupancy_comes_from_the_driver() {
    let Some(_turn) = common::gpu() else { return };
    let function = function("nothing");
    let blocks = function.blocks_per_multiprocessor(256, 0).unwrap();
    assert!(blocks >= 1);
    assert!(function.blocks_per_multiprocessor(1024, 0).unwrap() <= blocks);
    let (grid, block) = function.best_block(0, 0).unwrap();
    assert!(grid >= device().multiprocessors() && (1..=1024).contains(&block));
    assert!(function.best_block(0, 128).unwrap().1 <= 128);
}
