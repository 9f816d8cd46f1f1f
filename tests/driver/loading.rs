//! Opening a library: what the environment variable and the system's loader make of it. Each in a process of its own.

use crate::common;
use ulib_core::ErrorKind;
use ulib_device::{Device, Driver, Unavailable};

/// The reason why there is no driver here.
fn reason() -> &'static Unavailable {
    Driver::get().expect_err("no driver in this process")
}

#[test]
fn none_disables() {
    common::alone(
        "loading::none_disables",
        &[("ULIB_CUDA_DRIVER", "none")],
        || {
            assert_eq!(
                *reason(),
                Unavailable::Disabled {
                    by: "ULIB_CUDA_DRIVER".into()
                }
            );
            assert_eq!(
                reason().to_string(),
                "the GPU is disabled by ULIB_CUDA_DRIVER"
            );
            let error = Device::count().unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unavailable);
            assert_eq!(error.to_string(), "the GPU is disabled by ULIB_CUDA_DRIVER");
            assert!(Device::all().is_empty());
            assert_eq!(Device::new(0).unwrap_err().to_string(), error.to_string());
        },
    );
}

#[test]
fn empty_disables() {
    common::alone(
        "loading::empty_disables",
        &[("ULIB_CUDA_DRIVER", "")],
        || {
            assert_eq!(
                *reason(),
                Unavailable::Disabled {
                    by: "ULIB_CUDA_DRIVER".into()
                }
            );
        },
    );
}

#[test]
fn a_library_that_is_not_there() {
    let path = "/nonexistent/libcuda.so.1";
    common::alone(
        "loading::a_library_that_is_not_there",
        &[("ULIB_CUDA_DRIVER", path)],
        || {
            assert_eq!(
                *reason(),
                Unavailable::NoDriverLibrary {
                    tried: vec![path.into()]
                }
            );
            assert_eq!(
                reason().to_string(),
                format!("no NVIDIA driver library: {path}")
            );
            // The answer is remembered, not looked for again.
            assert!(std::ptr::eq(reason(), reason()));
        },
    );
}

#[test]
fn a_file_that_is_no_library() {
    let path = std::env::temp_dir().join(format!("ulib-no-library-{}.so", std::process::id()));
    std::fs::write(
        &path,
        "this is text, and long enough to be looked at as a library header would be",
    )
    .unwrap();
    let text = path.to_string_lossy().into_owned();
    common::alone(
        "loading::a_file_that_is_no_library",
        &[("ULIB_CUDA_DRIVER", &text)],
        || {
            let given = std::env::var("ULIB_CUDA_DRIVER").unwrap();
            let Unavailable::DriverUnloadable { path, .. } = reason() else {
                panic!("{:?}", reason())
            };
            assert_eq!(*path, given);
            let sentence = reason().to_string();
            let start = format!("the NVIDIA driver library cannot be loaded: {given}: ");
            assert!(
                sentence.starts_with(&start) && sentence.len() > start.len(),
                "{sentence}"
            );
        },
    );
    std::fs::remove_file(path).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_is_no_driver() {
    common::alone(
        "loading::a_library_that_is_no_driver",
        &[("ULIB_CUDA_DRIVER", "libm.so.6")],
        || {
            let expected = "the NVIDIA driver library libm.so.6 lacks cuDriverGetVersion";
            assert_eq!(reason().to_string(), expected);
        },
    );
}
