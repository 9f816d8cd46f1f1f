//! Headers that people include in kernels and NVRTC lacks; used where no folder has a file of that name.

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
        "cuda_runtime_api.h" "cuda.h" "device_launch_parameters.h" "vector_types.h";
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
