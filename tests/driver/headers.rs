//! Headers that programs include: of the C library, of the toolkit where it is installed, and where only the compiler is;
//! without a GPU, with an NVRTC where one is installed.

use crate::common;
use crate::common::folder::Folder;
#[cfg(unix)]
use crate::support::{compiler, ptx, text};
#[cfg(unix)]
use crate::toolkits::linked;
use std::f64::consts;
use std::fs;
use std::path::PathBuf;
use ulib_device::compiler::{Cache, Compiler};

/// Headers that kernels include by habit, and need little of.
const HABITS: &[&str] = &[
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "vector_types.h",
    "vector_functions.h",
    "math_constants.h",
    "cuComplex.h",
    "device_functions.h",
    "math_functions.h",
    "driver_types.h",
    "host_defines.h",
    "texture_types.h",
    "sm_20_intrinsics.h",
];
const OF_C: &[&str] = &["stdlib.h", "stdint.h", "stddef.h", "stdio.h", "math.h"];

fn including(headers: &[&str], body: &str) -> String {
    let lines: Vec<_> = headers
        .iter()
        .map(|header| format!("#include <{header}>\n"))
        .collect();
    format!("{}{body}", lines.concat())
}

/// What every compiler makes of those headers, with those of the toolkit at hand or without them.
fn habits_compile(compiler: &Compiler) {
    let compile = |source: &str, c: bool| {
        let program = compiler.program("h.cu", source);
        text(&if c { program.extern_c() } else { program })
    };
    let body = "__global__ void f(float *out) { float4 v = make_float4(1, 2, 3, 4); out[threadIdx.x] = v.x + sinf(*out); }\n";
    for header in HABITS {
        let source = including(&[header], body);
        assert!(compile(&source, true).contains(".entry f("), "{header}");
        assert!(
            compile(&source, false).contains(".entry _Z1fPf("),
            "{header}"
        );
    }
    for order in [[OF_C, HABITS], [HABITS, OF_C]] {
        compile(&including(&order.concat(), body), true);
        compile(&including(&order.concat(), body), false);
    }
    let (major, minor) = compiler.version().unwrap();
    let version = major * 1000 + minor * 10;
    let source = including(
        &["cuda.h"],
        &format!(
            "static_assert(CUDA_VERSION == {version} && sizeof(CUdeviceptr) == 8 && sizeof(cuuint32_t) == 4, \"\");
static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) >= 64 && sizeof(CUtexObject) == 8, \"\");
__global__ void f(CUdeviceptr to, const __grid_constant__ CUtensorMap map) {{ *(const void **)to = &map; }}
"
        ),
    );
    let found = compile(&source, true);
    assert!(found.contains(".b8 f_param_1[128]"), "{found}");
}

/// The constants and the complex numbers, as the compiler folds them: bits of C's own arithmetic.
fn numbers_fold(compiler: &Compiler) {
    use consts::{FRAC_1_SQRT_2, LN_2, LN_10, LOG2_10, LOG2_E, LOG10_2, LOG10_E, PI, SQRT_2};
    let both = [
        ("PI", PI),
        ("PIO2", PI / 2.0),
        ("PIO4", PI / 4.0),
        ("2_OVER_PI", consts::FRAC_2_PI),
        ("SQRT_TWO", SQRT_2),
        ("SQRT_HALF", FRAC_1_SQRT_2),
        ("THIRD", 1.0 / 3.0),
        ("L2E", LOG2_E),
        ("L2T", LOG2_10),
        ("LG2", LOG10_2),
        ("LGE", LOG10_E),
        ("LN2", LN_2),
        ("LNT", LN_10),
        ("LNPI", PI.ln()),
        ("INF", f64::INFINITY),
        ("NEG_ZERO", -0.0),
    ];
    let doubles = [
        ("TWOTHIRD", 2.0 / 3.0),
        ("SQRT_2PI", 2.506_628_274_631_000_5),
        ("TWO_TO_M54", 2_f64.powi(-54)),
        ("TWO_TO_M1022", f64::MIN_POSITIVE),
        ("MIN_DENORM", f64::from_bits(1)),
    ];
    let floats = [
        ("MAX_NORMAL", f32::MAX),
        ("MIN_DENORM", f32::from_bits(1)),
        ("TWO_TO_M126", f32::MIN_POSITIVE),
        ("TWO_TO_126", 2_f32.powi(126)),
        (
            "SQRT_2_OVER_PI",
            consts::FRAC_2_SQRT_PI as f32 * consts::FRAC_1_SQRT_2 as f32,
        ),
    ];
    // What is stored, and its bits in hexadecimal digits.
    let mut wanted: Vec<(String, String)> = Vec::new();
    let mut same = |value: &str, bits: String| wanted.push((value.to_owned(), bits));
    let f32_bits = |value: f32| format!("{:08X}", value.to_bits());
    let f64_bits = |value: f64| format!("{:016X}", value.to_bits());
    for (name, value) in both {
        same(&format!("CUDART_{name}_F"), f32_bits(value as f32));
        same(&format!("CUDART_{name}"), f64_bits(value));
    }
    for (name, value) in doubles {
        same(&format!("CUDART_{name}"), f64_bits(value));
    }
    for (name, value) in floats {
        same(&format!("CUDART_{name}_F"), f32_bits(value));
    }
    for (call, value) in [
        (
            "cuCreal(cuCmul(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5)))",
            -7.0,
        ),
        (
            "cuCimag(cuCmul(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5)))",
            11.0,
        ),
        (
            "cuCreal(cuCadd(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5)))",
            4.0,
        ),
        (
            "cuCimag(cuCsub(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5)))",
            -3.0,
        ),
        ("cuCimag(cuConj(make_cuDoubleComplex(1, 2)))", -2.0),
        (
            "cuCreal(cuCfma(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5), make_cuDoubleComplex(10, 20)))",
            3.0,
        ),
        (
            "cuCimag(cuCfma(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 5), make_cuDoubleComplex(10, 20)))",
            31.0,
        ),
        // (4 + 2i) / (1 + i) = 3 - i
        (
            "cuCreal(cuCdiv(make_cuDoubleComplex(4, 2), make_cuDoubleComplex(1, 1)))",
            3.0,
        ),
        (
            "cuCimag(cuCdiv(make_cuDoubleComplex(4, 2), make_cuDoubleComplex(1, 1)))",
            -1.0,
        ),
        (
            "cuCreal(cuCdiv(make_cuDoubleComplex(2e300, 2e300), make_cuDoubleComplex(2e300, 2e300)))",
            1.0,
        ),
    ] {
        same(call, f64_bits(value));
        if value.abs() != 1.0 || !call.contains("e300") {
            let call = call
                .replace("Double", "Float")
                .replace('(', "f(")
                .replace("Complexf(", "Complex(");
            same(&call, f32_bits(value as f32));
        }
    }
    same(
        "cuCimagf(cuComplexDoubleToFloat(make_cuDoubleComplex(1, 2.5)))",
        f32_bits(2.5),
    );
    same(
        "cuCimag(cuComplexFloatToDouble(make_cuComplex(1, 2.5f)))",
        f64_bits(2.5),
    );
    let kernels: Vec<_> = wanted
        .iter()
        .enumerate()
        .map(|(k, (value, bits))| {
            let kind = if bits.len() == 16 { "double" } else { "float" };
            format!("__global__ void f{k}_({kind} *out) {{ *out = {value}; }}\n")
        })
        .collect();
    let source = including(&["math_constants.h", "cuComplex.h"], &kernels.concat());
    let found = text(&compiler.program("v.cu", &source).extern_c());
    for (k, (value, bits)) in wanted.iter().enumerate() {
        let (_, kernel) = found.split_once(&format!(".entry f{k}_(")).unwrap();
        let (kernel, _) = kernel.split_once("ret;").unwrap();
        let number = u64::from_str_radix(bits, 16).unwrap();
        let number = if bits.len() == 8 {
            (number as u32).cast_signed().into()
        } else {
            number.cast_signed()
        };
        // A store of the constant itself: as a floating-point number, or as an integer of those bits.
        let stored = [
            format!("0f{bits}"),
            format!("0d{bits}"),
            format!(", {number};"),
        ];
        assert!(
            stored.iter().any(|text| kernel.contains(text)),
            "{value}: {bits}\n{kernel}"
        );
    }
    let source = including(
        &["cuComplex.h"],
        "__global__ void f(cuFloatComplex *a, cuDoubleComplex *b) { a->x = cuCabsf(*a); b->x = cuCabs(*b); }\n",
    );
    text(&compiler.program("a.cu", &source).extern_c());
}

#[test]
fn headers_of_habit_compile_with_what_is_installed() {
    let Some(compiler) = compiler() else { return };
    habits_compile(&compiler);
    numbers_fold(&compiler);
}

#[cfg(unix)]
#[test]
fn headers_of_habit_compile_with_the_compiler_alone() {
    const TEST: &str = "headers::headers_of_habit_compile_with_the_compiler_alone";
    const PATH: &str = "ULIB_TEST_COMPILER";
    // The child asks nobody where packages are.
    let path = match std::env::var_os(PATH) {
        Some(path) => PathBuf::from(path),
        None => match compiler() {
            Some(compiler) => compiler.path().to_path_buf(),
            None => return,
        },
    };
    let nowhere = [
        "VIRTUAL_ENV",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_ROOT",
        "CONDA_PREFIX",
    ];
    let mut variables = vec![(PATH, path.to_str().unwrap())];
    variables.extend(nowhere.map(|name| (name, "")));
    common::alone(TEST, &variables, || {
        let folder = Folder::new();
        let alone = linked(&path, &folder.join("alone/lib"));
        habits_compile(&alone);
        numbers_fold(&alone);
    });
}

/// The toolkit's own has functions of the host; folders of users have one, too.
#[test]
fn the_drivers_header_is_replaced_wherever_it_is() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let include = folder.join("include");
    fs::create_dir(&include).unwrap();
    let header = include.join("cuda.h");
    let beside = include.join("mine.h");
    fs::write(&beside, "#include \"cuda.h\"\n").unwrap();
    let real = "#define CUDA_VERSION 77\nint cuGetErrorString(int error, const char **text);\n";
    let (major, minor) = compiler.version().unwrap();
    let body = "__global__ void f(int *a) { *a = CUDA_VERSION; }\n";
    for name in ["cuda.h", "mine.h"] {
        let source = including(&[name], body);
        let cache = Cache::at(folder.join("cache"));
        let program = compiler
            .program("v.cu", &source)
            .extern_c()
            .include(&include)
            .cache(cache);
        let stored = |number: i32| text(&program).contains(&format!(", {number};"));
        fs::write(&header, real).unwrap();
        assert!(stored(major * 1000 + minor * 10), "{name}");
        assert!(program.compile(ptx()).unwrap().from_cache());
        // A header of one's own that is only called the same.
        fs::write(&header, "#define CUDA_VERSION 55\n").unwrap();
        assert!(stored(55), "{name}");
    }
}

#[test]
fn headers_of_the_c_library_work_everywhere() {
    let Some(compiler) = compiler() else { return };
    let source = "
#include <stdio.h>
#include <cstdlib>
#include <stdint.h>
#include <cinttypes>
#include <stddef.h>
#include <stdbool.h>
#include <math.h>
#include <cmath>
#include <cstring>
#include <assert.h>
#include <float.h>
#include <climits>
#include <cuda_runtime.h>
#include <pycuda-complex.hpp>
static_assert(sizeof(int8_t) == 1 && sizeof(std::uint16_t) == 2 && sizeof(int32_t) == 4 && sizeof(uint64_t) == 8, \"\");
static_assert(sizeof(size_t) == 8 && sizeof(std::ptrdiff_t) == 8 && INT_MAX == 0x7fffffff && CHAR_BIT == 8, \"\");
static_assert(sizeof(pycuda::complex<float>) == 8 && alignof(pycuda::complex<double>) == 8, \"\");
__global__ void f(double *a, pycuda::complex<float> *z) {
    __shared__ pycuda::complex<float> shared[4];
    shared[threadIdx.x] = z[0] * z[1] / (z[2] + 1.0f) - conj(z[3]);
    z[4] = sqrt(shared[0]) + exp(z[1]) + pow(z[1], z[2]) + log(z[5]) + tanh(z[6]) + acos(z[7]) + pow(z[1], 3);
    a[0] = std::sqrt(a[1]) * M_PI + DBL_MAX + abs(z[0]) + real(z[1]);
    if (a[0] == INFINITY) printf(\"%f\\n\", a[0]);
    assert(a[0] > 0);
    memcpy(a, a + 1, sizeof(double));
}
";
    let text = text(&compiler.program("h.cu", source).extern_c());
    assert!(text.contains(".entry f("), "{text}");
    assert!(text.contains("vprintf"));
}

#[test]
fn headers_of_the_toolkit_are_found_beside_the_compiler() {
    let Some(compiler) = compiler() else { return };
    if compiler.header_folders().is_empty() {
        println!(
            "SKIP: no toolkit headers beside {}",
            compiler.path().display()
        );
        return;
    }
    let folder = Folder::new();
    let source = "
#include <cuda_fp16.h>
#include <cooperative_groups.h>
__global__ void f(__half *a) {
    cooperative_groups::this_thread_block().sync();
    a[0] = __hadd(a[1], a[2]);
}
";
    let program = compiler
        .program("f.cu", source)
        .extern_c()
        .cache(Cache::at(folder.path()));
    assert!(text(&program).contains("bar"));
    assert!(program.compile(ptx()).unwrap().from_cache());
}
