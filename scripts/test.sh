#!/usr/bin/env bash
# Runs every test this machine can run, and says what was skipped and why.
#   scripts/test.sh          a seeded sample of the property tests
#   scripts/test.sh --full   everything, with many more generated cases
source "$(dirname "$0")/lib.sh"
for argument in "$@"; do
    case $argument in
        --full) export PROPTEST_CASES=${PROPTEST_CASES:-4096} ULIB_TEST_FULL=1 ;;
        *) echo "usage: scripts/test.sh [--full]" >&2; exit 2 ;;
    esac
done
export PROPTEST_CASES=${PROPTEST_CASES:-32} RUST_BACKTRACE=0
ensure_venv
work=$(mktemp -d)
log=$work/log
beside=
trap '[ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; rm -rf "$work"' EXIT
failed=()

# part TITLE COMMAND...: runs it and goes on after a failure, so that one run shows all of them.
part() {
    local title=$1; shift
    say "$title"
    set +e
    "$@" 2>&1 | tee -a "$log" | grep -avE '^test .* \.\.\. ok$|^SKIPPED|short test summary|^$'
    local status=${PIPESTATUS[0]}
    set -e
    [ "$status" = 0 ] || failed+=("$title")
}
bridge_tests() {
    install_fake_driver
    local folder=$CUDA_LIBRARY_PATH/lib64
    LD_LIBRARY_PATH=$folder ULIB_CUDA_DRIVER=$folder/libcuda.so.1 cargo test --locked --lib --tests "${bridge[@]}"
}
python_tests() { "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider ulib-py/tests; }
# What `part` shows of a part that ran beside others: to_file NAME COMMAND... runs it, ended NAME is what it printed and how it ended.
to_file() {
    local name=$1; shift
    "$@" > "$work/$name" 2>&1
    echo $? > "$work/$name.status"
}
ended() { cat "$work/$1"; return "$(cat "$work/$1.status")"; }

say "compile"
cargo test --locked --no-run --quiet
build_wheel dev || wheel_failed
install_wheel dev
# The Python tests keep one core busy and the Rust tests another. They load a copy, since cargo may write the driver again.
fake=$work/libfakecuda.so
cp "$(fake_driver)" "$fake"
set -m
{
    set +e
    ULIB_CUDA_DRIVER=none to_file without python_tests
    ULIB_FAKE_DRIVER=$fake ULIB_CUDA_DRIVER=$fake to_file software python_tests
} &
beside=$!
set +m
part "Rust tests (software driver; kernels emulated)" cargo test --locked --lib --tests -- --nocapture
part "Rust doctests" cargo test --locked --doc --quiet
part "Rust tests with cudarc and cust (software driver)" bridge_tests
wait "$beside"
beside=
part "Python tests without a driver" ended without
part "Python tests on the software driver" ended software
if [ -e /dev/nvidiactl ]; then
    export ULIB_TEST_DRIVER=real
    part "Rust tests on the card of this machine" cargo test --locked --test '*' -- --test-threads=1
    part "Python tests on the card of this machine" python_tests
fi

say "skipped in every part that was run"
# A Python test that one mode skips and another runs is not skipped.
grep -aoE '^SKIP: .*' "$log" | sort -u || true
if [ ! -e /dev/nvidiactl ]; then
    echo "the Python tests with numba, CuPy, PyTorch and JAX (ulib-py/tests/test_consumers.py)"
    echo "the Rust suite on a real card"
    echo "this machine has no NVIDIA GPU; scripts/gpu-bundle.sh packs both suites for one that has"
fi
echo
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo "all tests passed"
