#!/usr/bin/env bash
# Everything a change must pass besides the tests: format, lints, docs, crate directions, kernel drift, stubs.
source "$(dirname "$0")/lib.sh"
ensure_venv
export PYO3_PYTHON=$venv/bin/python

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --locked -q "${everything[@]}" --all-targets -- -D warnings

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked -q --no-deps "${everything[@]}" --exclude ulib-py --exclude ulib-fakecuda

say "crate directions"
# Each crate may depend on the crates to the left of it and on nothing to its right.
direct() { cargo tree --locked -q -p "$1" -e normal --depth 1 --prefix none --format '{p}' | tail -n +2 | cut -d' ' -f1 | sort -u; }
forbid() {
    local crate=$1 found; shift
    found=$(direct "$crate" | grep -xE "$(IFS='|'; echo "$*")" || true)
    if [ -n "$found" ]; then echo "$crate must not depend on: $found" >&2; exit 1; fi
    echo "$crate: $(direct "$crate" | tr '\n' ' ')"
}
forbid ulib-core ulib-device ulib-math ulib ulib-fakecuda rayon ndarray pyo3 libloading libc
forbid ulib-device ulib-math ulib ulib-fakecuda rayon ndarray pyo3 cudarc cust
forbid ulib-math ulib ulib-fakecuda pyo3 libloading libc
forbid ulib ulib-fakecuda pyo3
forbid ulib-bridge ulib-math ulib ulib-fakecuda rayon ndarray pyo3
if cargo tree --locked -q -p ulib -e normal | grep -qE '^.*(pyo3|ulib-fakecuda) v'; then echo "the facade pulls in Python or the software driver" >&2; exit 1; fi

say "operations"
# Every operation has its twin test and its bench under its own name.
for folder in ulib-math/src/ops/*/; do
    operation=$(basename "$folder")
    [ -f "$folder/$operation.cu" ] || continue
    for file in "tests/twins/$operation.rs" "benches/ops/$operation.rs"; do
        [ -f "$file" ] || { echo "the operation $operation lacks $file" >&2; exit 1; }
    done
done

say "kernel drift"
"$venv/bin/python" scripts/build-kernels.py --check

say "stubs"
ensure_wheel dev
ULIB_CUDA_DRIVER=none "$venv/bin/python" -m mypy.stubtest uLib --allowlist ulib-py/stubtest-allow.txt
echo
echo "all checks passed"
