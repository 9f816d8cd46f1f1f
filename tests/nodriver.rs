//! Machines without a usable driver: every question about placement has its answer, every computation its numbers.
//!
//! The answer is found once per process, so each reason is looked at in a process of its own: this binary, started
//! again with `ULIB_CUDA_DRIVER` set. Nothing here uses the software driver or a GPU.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that expects fails by panicking"
)]

use std::process::Command;

use ulib_core::{ErrorKind, Location, PreferredDevice, Reason, Residency};
use ulib_device::block::{Block, Released};
use ulib_device::transfers::Transfers;
use ulib_device::{Device, Driver};

const DEVICE: PreferredDevice = PreferredDevice::Device(0);
const CHILD: &str = "ULIB_TEST_CHILD";
const VARIABLE: &str = "ULIB_CUDA_DRIVER";

/// Runs the test `name` of this binary in a child with `ULIB_CUDA_DRIVER` set to `value`, or removed. In the child it
/// runs `work`.
fn in_child(name: &str, value: Option<&str>, work: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        work();
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("path of this test"));
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    match value {
        Some(value) => command.env(VARIABLE, value),
        None => command.env_remove(VARIABLE),
    };
    let output = command.output().expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name}: {}\n{text}\n{errors}",
        output.status
    );
}

/// A little of everything on one block, as a program that never asks where it runs. Returns the sum of its numbers.
fn program(preferred: PreferredDevice) -> f64 {
    let numbers: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.25).collect();
    let mut block = Block::from_slice(&numbers).unwrap();
    let _ = block.set_preferred(preferred).unwrap();
    block.write_at(8, &1000.5_f64.to_ne_bytes()).unwrap();
    block.append(&3.0_f64.to_ne_bytes()).unwrap();
    let _ = block.update().unwrap();
    bytemuck::cast_slice_mut::<u8, f64>(&mut block.write().unwrap())[0] = -2.0;
    let _ = block.release_device().unwrap();
    let bytes = block.read().unwrap();
    bytemuck::cast_slice::<u8, f64>(&bytes).iter().sum()
}

/// Everything a block answers about placement when no device can be used for the reason `sentence`.
fn assert_all_answers(sentence: &str) {
    let mut block = Block::from_slice(&[1.0_f32, 2.0, 3.0]).unwrap();
    assert_eq!(block.location().to_string(), "Host");
    assert!(!block.can_use_device());
    assert!(!block.set_preferred(DEVICE).unwrap());
    assert_eq!(block.preferred(), DEVICE, "recorded all the same");
    assert_eq!(
        block.location(),
        Location::HostBecause(Reason::Unavailable(sentence.to_owned()))
    );
    assert_eq!(block.location().to_string(), format!("Host ({sentence})"));
    assert!(!block.is_device_resident());
    assert!(!block.can_use_device());
    assert!(!block.update().unwrap());
    assert_eq!(block.target_device(), None);
    assert_eq!(block.release_device().unwrap(), Released::Nothing);
    block.end_exports().unwrap();
    assert!(!block.is_shared());
    for error in [
        block.lease().map(drop).unwrap_err(),
        block.export().map(drop).unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.to_string(), sentence);
    }
    block.write_at(0, &5.0_f32.to_ne_bytes()).unwrap();
    assert_eq!(
        bytemuck::cast_slice::<u8, f32>(&block.read().unwrap()),
        [5.0, 2.0, 3.0]
    );
    assert_eq!(
        block.location().to_string(),
        format!("Host ({sentence})"),
        "still the reason, not the change"
    );
    let clone = block.try_clone().unwrap();
    assert_eq!(clone.location(), block.location());
    block.host_view().unwrap().close().unwrap();
    assert_eq!(block.residency(), Residency::HostNewer);
    assert_eq!(block.transfers(), Transfers::default());
    assert!(!block.set_preferred(PreferredDevice::Device(3)).unwrap());
    assert_eq!(block.location().to_string(), format!("Host ({sentence})"));
    assert!(block.set_preferred(PreferredDevice::Host).unwrap());
    assert_eq!(block.location().to_string(), "Host");

    assert_eq!(*Device::count().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(program(DEVICE), program(PreferredDevice::Host));
    assert_eq!(program(DEVICE), 125_876.25);
}

#[test]
fn no_library_of_the_usual_names() {
    in_child("no_library_of_the_usual_names", None, || {
        if Driver::get().is_ok() {
            println!("this machine has a driver: nothing to see");
            return;
        }
        if let Err(ulib_device::Unavailable::NoDriverLibrary { .. }) = Driver::get() {
            assert_all_answers("no NVIDIA driver library: libcuda.so.1");
        }
    });
}

#[test]
fn no_library_of_that_name() {
    in_child(
        "no_library_of_that_name",
        Some("/nonexistent/libcuda.so.1"),
        || {
            assert_all_answers("no NVIDIA driver library: /nonexistent/libcuda.so.1");
        },
    );
}

#[test]
fn disabled_by_the_variable() {
    in_child("disabled_by_the_variable", Some("none"), || {
        assert_all_answers("the GPU is disabled by ULIB_CUDA_DRIVER");
    });
}

#[test]
fn a_library_that_is_no_driver() {
    in_child("a_library_that_is_no_driver", Some("libm.so.6"), || {
        let sentence = Driver::get().unwrap_err().to_string();
        assert!(
            sentence.starts_with("the NVIDIA driver library libm.so.6 lacks cu"),
            "{sentence}"
        );
        assert_all_answers(&sentence);
    });
}

#[test]
fn a_file_that_is_no_library() {
    let path = std::env::temp_dir().join(format!("ulib-no-library-{}.txt", std::process::id()));
    std::fs::write(&path, "words").unwrap();
    in_child("a_file_that_is_no_library", path.to_str(), || {
        let sentence = Driver::get().unwrap_err().to_string();
        let asked = std::env::var(VARIABLE).unwrap();
        assert!(
            sentence.starts_with(&format!(
                "the NVIDIA driver library cannot be loaded: {asked}: "
            )),
            "{sentence}"
        );
        assert_all_answers(&sentence);
    });
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn nothing_is_opened_before_it_is_needed() {
    in_child(
        "nothing_is_opened_before_it_is_needed",
        Some("libm.so.6"),
        || {
            let mapped = || {
                std::fs::read_to_string("/proc/self/maps")
                    .unwrap()
                    .matches("libcuda")
                    .count()
            };
            let before = mapped();
            assert_eq!(program(PreferredDevice::Host), 125_876.25);
            assert_eq!(mapped(), before);
        },
    );
}

#[test]
fn the_documented_sentences_are_those_of_the_code() {
    use ulib_device::driver::Unavailable;
    let (path, name) = (|| "PATH".to_owned(), || "NAME".to_owned());
    let reasons = [
        Unavailable::NoDriverLibrary { tried: vec![] },
        Unavailable::Disabled {
            by: VARIABLE.into(),
        },
        Unavailable::DriverUnloadable {
            path: path(),
            detail: "the loader's words".into(),
        },
        Unavailable::MissingSymbol {
            library: path(),
            symbol: "SYMBOL".into(),
        },
        Unavailable::StubLibrary { path: path() },
        Unavailable::Init {
            code: 999,
            name: "CUDA_ERROR_NAME".into(),
        },
        Unavailable::DriverTooOld {
            found: 10020,
            need: 11000,
        },
        Unavailable::NoDevice,
        Unavailable::DeviceTooOld {
            ordinal: 0,
            name: name(),
            found: (5, 2),
            need: (6, 0),
        },
    ];
    let page = include_str!("../docs/environment.md");
    for reason in reasons {
        assert!(
            page.contains(&format!("| `{reason}` |")),
            "docs/environment.md lacks `{reason}`"
        );
    }
}
