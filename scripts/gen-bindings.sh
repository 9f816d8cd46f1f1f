#!/usr/bin/env bash
# Regenerates ulib-device/src/sys/{types,proto}.rs from NVIDIA's published header wheel.
#
# Needs: Python 3 with venv, bindgen-cli (`cargo install bindgen-cli`; set BINDGEN if it is not on PATH), gcc.
# Types become `types.rs`; every prototype becomes a function-pointer alias in `proto.rs`, so nothing is ever linked.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
wheel="nvidia-cuda-runtime==13.0.96"
clang="libclang==18.1.1"
bindgen=${BINDGEN:-bindgen}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "$clang"
"$work/venv/bin/pip" download -q --no-deps -d "$work" "$wheel"
python3 -m zipfile -e "$work"/nvidia_cuda_runtime-*.whl "$work/unpacked"
include=$(dirname "$(find "$work/unpacked" -name cuda.h)")

# cudaGL.h needs two OpenGL typedefs and nothing else.
mkdir -p "$work/gl/GL"
printf 'typedef unsigned int GLenum;\ntypedef unsigned int GLuint;\n' > "$work/gl/GL/gl.h"
# The internal switch makes the header declare old and new entry points side by side, under their real symbol names.
printf '#define __CUDA_API_VERSION_INTERNAL 1\n#include "cuda.h"\n#include "cudaGL.h"\n' > "$work/wrap.h"

LIBCLANG_PATH=$(find "$work/venv" -type d -path '*clang/native') "$bindgen" "$work/wrap.h" \
    --no-doc-comments --default-enum-style newtype --no-derive-debug \
    --allowlist-function 'cu.*' --allowlist-type '(CU|cu).*' --allowlist-var '(CU|CUDA).*' \
    --rust-target 1.85 --rust-edition 2024 --disable-header-comment -o "$work/all.rs" -- \
    -I"$include" -I"$work/gl" -I"$(gcc -print-file-name=include)"

python3 "$here/scripts/split-bindings.py" "$work/all.rs" "$here/ulib-device/src/sys" "$wheel"
rustfmt --edition 2024 "$here"/ulib-device/src/sys/{types,proto}.rs
