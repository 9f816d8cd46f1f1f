//! The tuner: what it tries, what it refuses, what it remembers.
#![allow(unsafe_code, reason = "launches kernels")]

use crate::common;
use crate::common::folder::Folder;
use crate::support::{compiler, device};
use ulib_core::ErrorKind;
use ulib_device::compiler::{Cache, Compiler, Outcome, Target, Tuner};
use ulib_device::{DeviceMemory, Stream};

/// On the software driver the kernel writes its parameters, on a card what the macro says.
const SOURCE: &str = "
#if FACTOR == 3
#error three is not possible
#endif
extern \"C\" __global__ void fakecuda_parameters(unsigned long long *out, unsigned long long value) {
    out[0] = (unsigned long long)out;
    out[1] = value;
}
";

#[test]
fn the_best_is_found_and_remembered() {
    let Some(_turn) = common::gpu() else { return };
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let stream = Stream::new(&device()).unwrap();
    let mut out = DeviceMemory::<u64>::zeroed(&stream, 2).unwrap();
    let tuner = Tuner::new(&compiler, "tune.cu", SOURCE, "fakecuda_parameters")
        .parameter("FACTOR", [1, 2, 3, 4])
        .parameter("BLOCK", [32, 64, 4096])
        .constraint(|c| c.get("FACTOR") != Some(4))
        .target(Target::Ptx("75".into()))
        .cache(Cache::at(folder.path()))
        .repeats(2);
    assert_eq!(tuner.configurations().len(), 9);
    assert_eq!(tuner.configurations()[1].to_string(), "FACTOR=1 BLOCK=64");
    let mut launched = 0;
    let mut run = |wrong: i64| {
        launched = 0;
        tuner.tune(
            &stream,
            |function, c| {
                launched += 1;
                let launch = function.launch(&stream).block(c.count("BLOCK"));
                // SAFETY: the kernel writes two numbers.
                unsafe { launch.arg_mut(&mut out).arg(&7_u64).run() }
            },
            |c| Ok(c.get("FACTOR") != Some(wrong)),
        )
    };
    let tuned = run(2).unwrap();
    assert_eq!(tuned.trials.len(), 9);
    for (configuration, outcome) in &tuned.trials {
        let (factor, block) = (configuration.count("FACTOR"), configuration.count("BLOCK"));
        match outcome {
            Outcome::Failed(error) if factor == 3 => {
                assert!(
                    error.to_string().contains("three is not possible"),
                    "{error}"
                );
            }
            Outcome::Failed(error) if block == 4096 => {
                assert!(error.to_string().contains("block.x is 4096"), "{error}");
            }
            Outcome::Wrong if factor == 2 => {}
            Outcome::Ran(time) | Outcome::Pruned(time) => assert!(*time >= 0.0 && factor == 1),
            other => panic!("{configuration}: {other:?}"),
        }
    }
    assert_eq!(tuned.best.get("FACTOR"), Some(1));
    assert_eq!(tuned.function.name(), "fakecuda_parameters");
    let again = run(2).unwrap();
    assert!(again.trials.is_empty());
    assert_eq!(again.best, tuned.best);
    assert_eq!(again.milliseconds, tuned.milliseconds);
    assert_eq!(launched, 0, "what is remembered is not run");
}

#[test]
fn without_a_compiler_nothing_is_tried() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::new(&device()).unwrap();
    let missing = Compiler::at("/nowhere/libnvrtc.so.12");
    let error = Tuner::new(&missing, "tune.cu", SOURCE, "fakecuda_parameters")
        .parameter("FACTOR", [1, 2])
        .tune(&stream, |_, _| Ok(()), |_| Ok(true))
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().starts_with("no CUDA compiler: "),
        "{error}"
    );
}

#[test]
fn when_nothing_works_the_reason_is_said() {
    let Some(_turn) = common::gpu() else { return };
    let Some(compiler) = compiler() else { return };
    let stream = Stream::new(&device()).unwrap();
    let tuner = || {
        Tuner::new(&compiler, "tune.cu", SOURCE, "fakecuda_parameters")
            .target(Target::Ptx("75".into()))
    };
    let tune = |tuner: Tuner<'_>| {
        tuner
            .tune(&stream, |_, _| Ok(()), |_| Ok(false))
            .unwrap_err()
    };
    let error = tune(tuner().parameter("FACTOR", [3]));
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error
            .to_string()
            .contains("no configuration of fakecuda_parameters works: FACTOR=3: "),
        "{error}"
    );
    let error = tune(tuner().parameter("FACTOR", [1]));
    assert!(
        error.to_string().ends_with("FACTOR=1 gives wrong results"),
        "{error}"
    );
    let error = tune(tuner().parameter("FACTOR", []));
    assert!(
        error.to_string().ends_with("the constraints leave none"),
        "{error}"
    );
}
