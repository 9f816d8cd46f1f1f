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
log=$(mktemp)
trap 'rm -f "$log"' EXIT
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
# ended STATUS FILE: what a part that ran in the background has printed, and how it ended.
ended() { cat "$2"; return "$1"; }

say "compile"
cargo test --locked --no-run --quiet
build_wheel dev || wheel_failed
install_wheel dev
part "Rust tests (software driver; kernels emulated)" cargo test --locked --lib --tests -- --nocapture
part "Rust doctests" cargo test --locked --doc --quiet
part "Rust tests with cudarc and cust (software driver)" bridge_tests
fake=$(fake_driver)
# Both at once, since each keeps one core busy.
without=$(mktemp)
trap 'rm -f "$log" "$without"' EXIT
ULIB_CUDA_DRIVER=none python_tests > "$without" 2>&1 &
ULIB_FAKE_DRIVER=$fake ULIB_CUDA_DRIVER=$fake part "Python tests on the software driver" python_tests
status=0
wait $! || status=$?
part "Python tests without a driver" ended "$status" "$without"
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
