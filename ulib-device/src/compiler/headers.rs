//! Headers that people include in kernels and NVRTC lacks; used where no folder has a file of that name, or one that NVRTC
//! refuses.

macro_rules! headers {
    ($($file:literal: $($name:literal)*;)*) => {
        /// The text of the header of this name.
        pub(super) fn find(name: &str) -> Option<&'static str> {
            match name {
                $($($name)|* => Some(include_str!(concat!("headers/", $file))),)*
                _ => None,
            }
        }
    };
}

headers! {
    "nothing.h": "stdio.h" "cstdio" "stdlib.h" "cstdlib" "string.h" "cstring" "assert.h" "cassert" "cuda_runtime.h"
        "cuda_runtime_api.h" "device_launch_parameters.h" "builtin_types.h" "channel_descriptor.h" "common_functions.h"
        "cuda_surface_types.h" "cuda_texture_types.h" "device_atomic_functions.h" "device_double_functions.h"
        "device_functions.h" "device_types.h" "driver_types.h" "host_config.h" "host_defines.h" "math_functions.h"
        "sm_20_atomic_functions.h" "sm_20_intrinsics.h" "sm_30_intrinsics.h" "sm_32_atomic_functions.h" "sm_32_intrinsics.h"
        "sm_35_atomic_functions.h" "sm_35_intrinsics.h" "sm_60_atomic_functions.h" "sm_61_intrinsics.h" "surface_functions.h"
        "surface_indirect_functions.h" "surface_types.h" "texture_fetch_functions.h" "texture_indirect_functions.h"
        "texture_types.h" "vector_functions.h" "vector_types.h" "crt/common_functions.h" "crt/device_double_functions.h"
        "crt/device_functions.h" "crt/host_config.h" "crt/host_defines.h" "crt/math_functions.h";
    "cuda.h": "cuda.h";
    "cuComplex.h": "cuComplex.h";
    "math_constants.h": "math_constants.h";
    "math.h": "math.h" "cmath";
    "stdint.h": "stdint.h" "cstdint" "inttypes.h" "cinttypes" "sys/types.h";
    "stddef.h": "stddef.h" "cstddef";
    "stdbool.h": "stdbool.h" "cstdbool";
    "float.h": "float.h" "cfloat";
    "limits.h": "limits.h" "climits";
    "pycuda-complex.hpp": "pycuda-complex.hpp";
    "../../texture/references/helpers.hpp": "pycuda-helpers.hpp";
    "../../texture/references/references.cuh": "ulib/texture_references.cuh";
}

/// Whether the header in a file is replaced by that of [`find`]: the toolkit's `cuda.h` declares the functions of the host, and
/// one function of the host in it is enough for NVRTC to refuse a program.
pub(super) fn replaces(name: &str, text: &[u8]) -> bool {
    let declares = b"cuGetErrorString";
    name == "cuda.h" && text.windows(declares.len()).any(|part| part == declares)
}
