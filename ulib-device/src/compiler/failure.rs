//! What the compiler says about a program, with the lines it is about.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use ulib_core::{Error, ErrorKind};

/// Lines shown before and after the one that a message is about.
const AROUND: usize = 2;
/// Places of a program that are shown; the log itself is always whole.
const SHOWN: usize = 8;

/// A program that the compiler refused: the source of an error of kind `InvalidArgument` from compiling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileFailure {
    /// The name of the program.
    pub program: String,
    /// What the compiler said, with the lines of the program that it is about.
    pub log: String,
    /// The options it was given.
    pub options: Vec<String>,
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not compile\n{}", self.program, self.log)
    }
}

impl std::error::Error for CompileFailure {}

impl From<CompileFailure> for Error {
    fn from(failure: CompileFailure) -> Self {
        Self::in_op(
            ErrorKind::InvalidArgument,
            "compile",
            failure.to_string().trim_end().to_owned(),
        )
        .with_source(failure)
    }
}

/// The log, and behind it each place of `source` (a program called `name`) that a message is about.
pub(super) fn with_lines(log: &str, name: &str, source: &str) -> String {
    let log = log.trim_end();
    let lines: Vec<&str> = source.lines().collect();
    let mut marked = BTreeSet::new();
    for message in log.lines() {
        if let Some(number) = line_of(message, name)
            && (1..=lines.len()).contains(&number)
        {
            marked.insert(number);
        }
    }
    let mut text = log.to_owned();
    let mut shown = 0;
    for &number in marked.iter().take(SHOWN) {
        // A place may have been shown around an earlier one.
        let first = number.saturating_sub(AROUND).max(shown + 1);
        let last = (number + AROUND).min(lines.len());
        match shown {
            0 => {
                let _ = write!(text, "\n\n{name}:");
            }
            before if first > before + 1 => text.push_str("\n  ..."),
            _ => {}
        }
        for line in first..=last {
            let mark = if marked.contains(&line) { '>' } else { ' ' };
            let _ = write!(text, "\n{mark} {line:4} | {}", lines[line - 1]);
        }
        shown = shown.max(last);
    }
    text
}

/// Headers of C++ that CCCL has for devices as well, in `cuda/std`.
const CPP: &[&str] = &[
    "algorithm",
    "array",
    "atomic",
    "barrier",
    "bit",
    "bitset",
    "charconv",
    "chrono",
    "complex",
    "concepts",
    "ctime",
    "exception",
    "expected",
    "functional",
    "initializer_list",
    "inplace_vector",
    "iterator",
    "latch",
    "limits",
    "mdspan",
    "memory",
    "numbers",
    "numeric",
    "optional",
    "random",
    "ranges",
    "ratio",
    "semaphore",
    "source_location",
    "span",
    "string_view",
    "tuple",
    "type_traits",
    "utility",
    "variant",
    "version",
];

/// Headers of C++ that nobody has for devices.
const CPP_OF_THE_HOST: &[&str] = &[
    "any",
    "condition_variable",
    "deque",
    "filesystem",
    "format",
    "forward_list",
    "fstream",
    "future",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "list",
    "locale",
    "map",
    "mutex",
    "ostream",
    "queue",
    "regex",
    "set",
    "shared_mutex",
    "sstream",
    "stack",
    "stdexcept",
    "string",
    "system_error",
    "thread",
    "typeindex",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "valarray",
    "vector",
];

/// Who has the header that a program includes and nobody has; `major` is the compiler's version.
pub(super) fn missing_header(log: &str, major: i32) -> Option<String> {
    let (_, rest) = log.split_once("open source file \"")?;
    let (header, _) = rest.split_once('"')?;
    let starts = |parts: &[&str]| parts.iter().any(|part| header.starts_with(part));
    let cccl = package_of("nvidia-cuda-cccl", major);
    if CPP.contains(&header) {
        return Some(format!(
            "{header} is a header of C++, and NVRTC has no standard library: cuda/std/{header} has what kernels can use of it, which is \
             part of the Python package {cccl} (`pip install {cccl}`), and of the CUDA toolkit (CUDA_HOME names one)"
        ));
    }
    if CPP_OF_THE_HOST.contains(&header) {
        return Some(format!(
            "{header} is a header of C++ for the host, and NVRTC has no standard library; what there is of one for kernels are the \
             headers cuda/std/... of the Python package {cccl} (`pip install {cccl}`) and of the CUDA toolkit"
        ));
    }
    if starts(&["helper_", "cutil"]) {
        return Some(format!(
            "{header} may be that of NVIDIA's CUDA samples: their folder Common has to be among the folders of headers"
        ));
    }
    let package = if starts(&["curand"]) {
        "nvidia-curand"
    } else if starts(&["cub/", "thrust/", "cuda/", "nv/"]) {
        "nvidia-cuda-cccl"
    } else if starts(&["crt/"]) {
        if major < 13 {
            "nvidia-cuda-nvcc"
        } else {
            "nvidia-cuda-crt"
        }
    } else if starts(&[
        "cuda_",
        "cooperative_groups",
        "cuComplex",
        "mma.h",
        "math_constants",
        "vector_",
        "device_",
        "driver_types",
        "builtin_types",
        "host_defines",
        "library_types",
        "sm_",
        "surface_",
        "texture_",
    ]) {
        "nvidia-cuda-runtime"
    } else {
        return None;
    };
    let package = package_of(package, major);
    Some(format!(
        "{header} is part of the Python package {package} (`pip install {package}`), and of the CUDA toolkit (CUDA_HOME names one)"
    ))
}

/// The name that a Python package of NVIDIA's has for this version of CUDA.
fn package_of(package: &str, major: i32) -> String {
    match major {
        12 => format!("{package}-cu12"),
        11 => format!("{package}-cu11"),
        _ => package.to_owned(),
    }
}

/// The line of a message such as `kernel.cu(12): error: ...`.
fn line_of(message: &str, name: &str) -> Option<usize> {
    let rest = message.strip_prefix(name)?.strip_prefix('(')?;
    let (number, rest) = rest.split_once(')')?;
    rest.starts_with(':').then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine";

    #[test]
    fn the_lines_that_messages_are_about_are_marked() {
        let log = "k.cu(2): error: a\n\nk.cu(3): error: b\nother.h(9): here\nk.cu(9): error: c\n";
        let text = with_lines(log, "k.cu", SOURCE);
        let shown = "\
k.cu:
     1 | one
>    2 | two
>    3 | three
     4 | four
     5 | five
  ...
     7 | seven
     8 | eight
>    9 | nine";
        assert_eq!(text, format!("{}\n\n{shown}", log.trim_end()));
    }

    #[test]
    fn packages_of_missing_headers_are_named() {
        let hint = |header: &str, major| {
            let log =
                format!("k.cu(1): catastrophic error: cannot open source file \"{header}\"\n");
            missing_header(&log, major)
        };
        assert_eq!(
            hint("curand_kernel.h", 12).as_deref(),
            Some(
                "curand_kernel.h is part of the Python package nvidia-curand-cu12 (`pip install nvidia-curand-cu12`), \
                 and of the CUDA toolkit (CUDA_HOME names one)"
            )
        );
        for (header, major, package) in [
            ("curand_kernel.h", 13, "nvidia-curand"),
            ("cooperative_groups.h", 13, "nvidia-cuda-runtime"),
            ("cuda_bf16.h", 12, "nvidia-cuda-runtime-cu12"),
            ("cub/cub.cuh", 12, "nvidia-cuda-cccl-cu12"),
            ("thrust/sort.h", 12, "nvidia-cuda-cccl-cu12"),
            ("cuda/std/limits", 13, "nvidia-cuda-cccl"),
            ("cuda/atomic", 13, "nvidia-cuda-cccl"),
            ("nv/target", 12, "nvidia-cuda-cccl-cu12"),
            ("crt/host_defines.h", 13, "nvidia-cuda-crt"),
            ("crt/host_defines.h", 12, "nvidia-cuda-nvcc-cu12"),
            ("cuda_fp16.h", 11, "nvidia-cuda-runtime-cu11"),
        ] {
            let text = hint(header, major).unwrap_or_default();
            let expected = format!("the Python package {package} (`pip install {package}`), and");
            assert!(text.contains(&expected), "{text}");
        }
        assert_eq!(
            hint("type_traits", 12).as_deref(),
            Some(
                "type_traits is a header of C++, and NVRTC has no standard library: cuda/std/type_traits has what kernels can use of it, \
                 which is part of the Python package nvidia-cuda-cccl-cu12 (`pip install nvidia-cuda-cccl-cu12`), and of the CUDA \
                 toolkit (CUDA_HOME names one)"
            )
        );
        assert_eq!(
            hint("vector", 13).as_deref(),
            Some(
                "vector is a header of C++ for the host, and NVRTC has no standard library; what there is of one for kernels are the \
                 headers cuda/std/... of the Python package nvidia-cuda-cccl (`pip install nvidia-cuda-cccl`) and of the CUDA toolkit"
            )
        );
        for header in CPP {
            let text = hint(header, 13).unwrap_or_default();
            let expected = format!("cuda/std/{header} has what kernels can use of it");
            assert!(text.contains(&expected), "{text}");
            assert!(!CPP_OF_THE_HOST.contains(header), "{header}");
        }
        assert_eq!(
            hint("helper_math.h", 13).as_deref(),
            Some(
                "helper_math.h may be that of NVIDIA's CUDA samples: their folder Common has to be among the folders of headers"
            )
        );
        for other in ["mine.h", "my/vector", "type_traits.h"] {
            assert_eq!(hint(other, 12), None);
        }
        assert_eq!(missing_header("k.cu(1): error: x", 12), None);
    }

    #[test]
    fn messages_without_a_place_are_left_alone() {
        assert_eq!(
            with_lines("nvrtc: error: no\n", "k.cu", SOURCE),
            "nvrtc: error: no"
        );
        assert_eq!(
            with_lines("k.cu(99): error: x", "k.cu", SOURCE),
            "k.cu(99): error: x"
        );
        assert_eq!(
            with_lines("k.cu(x): error", "k.cu", SOURCE),
            "k.cu(x): error"
        );
    }
}
