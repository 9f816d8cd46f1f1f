//! Finding and starting a driver, with libraries made up here.
#![allow(clippy::expect_used, reason = "a test that expects fails by panicking")]

use super::loader::{Search, classify, search, start};
use super::*;
use crate::sys::{CUresult, proto};
use core::ffi::{c_char, c_int, c_uint};
use ulib_core::ErrorKind;

mod library {
    //! A library whose answers are fixed: `*_OK` ones of a driver that works, and ones of drivers that do not.
    use super::*;

    pub(super) extern "C" fn unused() {}

    pub(super) unsafe extern "C" fn version<const N: c_int>(version: *mut c_int) -> CUresult {
        // SAFETY: called by the code under test with a pointer to an integer.
        unsafe { *version = N };
        CUresult::CUDA_SUCCESS
    }

    pub(super) unsafe extern "C" fn stub_version(_: *mut c_int) -> CUresult {
        CUresult::CUDA_ERROR_STUB_LIBRARY
    }

    pub(super) unsafe extern "C" fn init<const N: c_uint>(flags: c_uint) -> CUresult {
        assert_eq!(flags, 0);
        CUresult(N)
    }

    pub(super) unsafe extern "C" fn count<const N: c_int>(count: *mut c_int) -> CUresult {
        // SAFETY: called by the code under test with a pointer to an integer.
        unsafe { *count = N };
        CUresult::CUDA_SUCCESS
    }

    pub(super) unsafe extern "C" fn name(status: CUresult, text: *mut *const c_char) -> CUresult {
        let (answer, known) = match status.0 {
            3 => (c"CUDA_ERROR_NOT_INITIALIZED", true),
            2 => (c"CUDA_ERROR_OUT_OF_MEMORY", true),
            700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", true),
            _ => (c"", false),
        };
        // SAFETY: called by the code under test with a pointer to a pointer.
        unsafe {
            *text = if known {
                answer.as_ptr()
            } else {
                core::ptr::null()
            }
        };
        if known {
            CUresult::CUDA_SUCCESS
        } else {
            CUresult::CUDA_ERROR_INVALID_VALUE
        }
    }

    pub(super) unsafe extern "C" fn text(status: CUresult, text: *mut *const c_char) -> CUresult {
        let (answer, known) = match status.0 {
            2 => (c"out of memory", true),
            700 => (c"an illegal memory access was encountered", true),
            _ => (c"", false),
        };
        // SAFETY: called by the code under test with a pointer to a pointer.
        unsafe {
            *text = if known {
                answer.as_ptr()
            } else {
                core::ptr::null()
            }
        };
        if known {
            CUresult::CUDA_SUCCESS
        } else {
            CUresult::CUDA_ERROR_INVALID_VALUE
        }
    }
}

/// A library with a version, a status of `cuInit` and a number of devices.
#[derive(Clone, Copy)]
struct Library {
    version: proto::cuDriverGetVersion,
    init: proto::cuInit,
    count: proto::cuDeviceGetCount,
    missing: &'static [&'static str],
}

const WORKS: Library = Library {
    version: library::version::<12_080>,
    init: library::init::<0>,
    count: library::count::<2>,
    missing: &[],
};

fn start_with(library: Library) -> std::result::Result<Driver, Unavailable> {
    let resolver: SharedResolver = Box::new(move |name| {
        let address = match name {
            name if library.missing.contains(&name) => return None,
            "cuDriverGetVersion" => library.version as *mut c_void,
            "cuInit" => library.init as *mut c_void,
            "cuDeviceGetCount" => library.count as *mut c_void,
            "cuGetErrorName" => library::name as *mut c_void,
            "cuGetErrorString" => library::text as *mut c_void,
            _ => library::unused as *mut c_void,
        };
        NonNull::new(address)
    });
    // SAFETY: the entries that starting a driver calls have the right prototypes; the others are never called here.
    unsafe { start("made up", resolver) }
}

fn reason(library: Library) -> Unavailable {
    match start_with(library) {
        Ok(driver) => unreachable!("{driver:?} started"),
        Err(reason) => reason,
    }
}

#[test]
fn a_driver_that_works() {
    let driver = start_with(WORKS).map_err(|reason| reason.to_string());
    let facts = driver
        .as_ref()
        .map(|driver| (driver.version(), driver.device_count()));
    assert_eq!(facts, Ok((12_080, 2)));
    assert!(driver.is_ok_and(|driver| {
        // SAFETY: the type of `cuInit`, and a function that only returns a status.
        let found = unsafe { driver.symbol::<proto::cuInit>("cuInit").map(|init| init(0)) };
        found == Some(CUresult::CUDA_SUCCESS)
    }));
}

#[test]
fn symbols_unknown_to_the_library_are_none() {
    let driver = start_with(Library {
        missing: &["cuNothing"],
        ..WORKS
    });
    // SAFETY: there is no such function.
    let found =
        driver.map(|driver| unsafe { driver.symbol::<proto::cuInit>("cuNothing") }.is_none());
    assert_eq!(found.ok(), Some(true));
}

#[test]
fn the_reasons_why_a_library_is_no_driver() {
    assert!(matches!(
        reason(Library {
            version: library::stub_version,
            ..WORKS
        }),
        Unavailable::StubLibrary { .. }
    ));
    assert!(matches!(
        reason(Library {
            init: library::init::<34>,
            ..WORKS
        }),
        Unavailable::StubLibrary { .. }
    ));
    assert_eq!(
        reason(Library {
            missing: &["cuLaunchKernel"],
            ..WORKS
        })
        .to_string(),
        "the NVIDIA driver library made up lacks cuLaunchKernel"
    );
    assert_eq!(
        reason(Library {
            missing: &["cuDriverGetVersion"],
            ..WORKS
        })
        .to_string(),
        "the NVIDIA driver library made up lacks cuDriverGetVersion"
    );
    assert_eq!(
        reason(Library {
            init: library::init::<100>,
            ..WORKS
        }),
        Unavailable::NoDevice
    );
    assert_eq!(
        reason(Library {
            count: library::count::<0>,
            ..WORKS
        }),
        Unavailable::NoDevice
    );
    assert_eq!(
        reason(Library {
            init: library::init::<3>,
            ..WORKS
        }),
        Unavailable::Init {
            code: 3,
            name: "CUDA_ERROR_NOT_INITIALIZED".into()
        }
    );
    assert_eq!(
        reason(Library {
            init: library::init::<1234>,
            ..WORKS
        })
        .to_string(),
        "the NVIDIA driver does not start: unknown status (1234)"
    );
}

#[test]
fn age_is_a_better_reason_than_what_it_lacks() {
    let old = Library {
        version: library::version::<10_020>,
        missing: &["cuMemcpy3D_v2"],
        ..WORKS
    };
    assert_eq!(
        reason(old).to_string(),
        "the NVIDIA driver is too old: it supports CUDA 10.2, and CUDA 11.0 is needed"
    );
}

#[test]
fn statuses_have_the_drivers_words_or_a_number() {
    let checked = |code| {
        start_with(WORKS)
            .map_err(Error::from)
            .and_then(|driver| check(driver.table(), "cuCall", CUresult(code)))
    };
    assert!(checked(0).is_ok());
    let error = checked(700).expect_err("not a success");
    assert_eq!(
        *error.kind(),
        ErrorKind::Driver {
            code: 700,
            call: "cuCall"
        }
    );
    assert_eq!(
        error.to_string(),
        "cuCall: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
    );
    assert_eq!(
        checked(3).expect_err("not a success").to_string(),
        "cuCall: CUDA_ERROR_NOT_INITIALIZED (3)"
    );
    let error = checked(1234).expect_err("not a success");
    assert_eq!(
        *error.kind(),
        ErrorKind::Driver {
            code: 1234,
            call: "cuCall"
        }
    );
    assert_eq!(error.to_string(), "cuCall: unknown status 1234");
    let error = checked(2).expect_err("not a success");
    assert_eq!(*error.kind(), ErrorKind::OutOfMemory { needs: 0, free: 0 });
    assert_eq!(
        error.to_string(),
        "cuCall: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
    );
    // Numbers beyond the positive integers stay what the driver sent.
    let error = checked(u32::MAX).expect_err("not a success");
    assert_eq!(error.to_string(), "cuCall: unknown status 4294967295");
}

#[test]
fn the_variable_names_a_library_or_disables() {
    assert_eq!(search(None), Search::Usual);
    assert_eq!(search(Some("")), Search::Disabled);
    assert_eq!(search(Some(" none ")), Search::Disabled);
    assert_eq!(
        search(Some("/opt/libcuda.so.1")),
        Search::Only("/opt/libcuda.so.1".into())
    );
}

#[test]
fn absent_and_refused_libraries_are_told_apart() {
    let absent = "libcuda.so.1: cannot open shared object file: No such file or directory";
    assert_eq!(
        classify("libcuda.so.1", absent.into()).to_string(),
        "no NVIDIA driver library: libcuda.so.1"
    );
    assert_eq!(
        classify(
            "libcuda.so.1",
            "/usr/lib/libcuda.so.1: invalid ELF header".into()
        )
        .to_string(),
        "the NVIDIA driver library cannot be loaded: libcuda.so.1: /usr/lib/libcuda.so.1: invalid ELF header"
    );
    // The driver is there; what is missing is a library it needs.
    let needs = "libnvidia-x.so.1: cannot open shared object file: No such file or directory";
    assert!(matches!(
        classify("libcuda.so.1", needs.into()),
        Unavailable::DriverUnloadable { .. }
    ));
    assert_eq!(
        classify("/a/libcuda.so.1", "/a/libcuda.so.1: file too short".into()).to_string(),
        "the NVIDIA driver library cannot be loaded: /a/libcuda.so.1: file too short"
    );
}

#[test]
fn every_reason_is_a_sentence_and_an_error() {
    let sentences = [
        (
            Unavailable::Disabled {
                by: "ULIB_CUDA_DRIVER".into(),
            },
            "the GPU is disabled by ULIB_CUDA_DRIVER",
        ),
        (
            Unavailable::NoDriverLibrary {
                tried: vec!["libcuda.so.1".into()],
            },
            "no NVIDIA driver library: libcuda.so.1",
        ),
        (
            Unavailable::StubLibrary {
                path: "/x/stubs/libcuda.so".into(),
            },
            "/x/stubs/libcuda.so is the CUDA toolkit's stub library, not an NVIDIA driver",
        ),
        (
            Unavailable::NoDevice,
            "no NVIDIA GPU in this machine, or none visible to this process",
        ),
        (
            Unavailable::DeviceTooOld {
                ordinal: 1,
                name: "Tesla K80".into(),
                found: (3, 7),
                need: (6, 0),
            },
            "GPU 1 (Tesla K80) is too old: compute capability 3.7, and 6.0 is needed",
        ),
    ];
    for (reason, sentence) in sentences {
        assert_eq!(reason.to_string(), sentence);
        let error = Error::from(&reason);
        assert_eq!(error.kind(), &ErrorKind::Unavailable);
        assert_eq!(error.to_string(), sentence);
    }
    assert_eq!(Error::from(Unavailable::Forked).kind(), &ErrorKind::Forked);
    assert_eq!(
        missing_entry("cuMemPoolCreate", "11.2").to_string(),
        "the NVIDIA driver has no cuMemPoolCreate: it came with CUDA 11.2"
    );
}
