#!/usr/bin/env bash
# Runs every test this machine can run, and says what was skipped and why.
#   scripts/test.sh          a seeded sample of the property tests
#   scripts/test.sh --full   everything, with many more generated cases
source "$(dirname "$0")/lib.sh"
full=0
for argument in "$@"; do
    case $argument in
        --full) full=1 ;;
        *) echo "usage: scripts/test.sh [--full]" >&2; exit 2 ;;
    esac
done
if [ $full = 1 ]; then
    export PROPTEST_CASES=${PROPTEST_CASES:-4096} ULIB_TEST_FULL=1
else
    export PROPTEST_CASES=${PROPTEST_CASES:-64}
fi
ensure_venv
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say "Rust tests (software driver; kernels emulated)"
cargo test --locked -- --nocapture --test-threads=2 2>&1 | tee -a "$log" | grep -vE '^test .* ok$|^$|^running 0'

ensure_wheel
fake=$(fake_driver)
say "Python tests without a driver"
ULIB_CUDA_DRIVER=none "$venv/bin/python" -m pytest -q -rs ulib-py/tests 2>&1 | tee -a "$log"
say "Python tests on the software driver"
ULIB_FAKE_DRIVER=$fake ULIB_CUDA_DRIVER=$fake "$venv/bin/python" -m pytest -q -rs ulib-py/tests 2>&1 | tee -a "$log"
if [ -e /dev/nvidiactl ]; then
    say "on the card of this machine"
    ULIB_TEST_DRIVER=real cargo test --locked --test '*' -- --test-threads=1 2>&1 | tee -a "$log" | grep -vE '^test .* ok$|^$'
    ULIB_TEST_DRIVER=real "$venv/bin/python" -m pytest -q -rs ulib-py/tests 2>&1 | tee -a "$log"
fi

say "skipped"
grep -aE '^SKIPPED|SKIP:' "$log" | sort | uniq -c || echo "nothing"
[ -e /dev/nvidiactl ] || echo "the real card: this machine has none (scripts/gpu-bundle.sh packs the suite for one that has)"
