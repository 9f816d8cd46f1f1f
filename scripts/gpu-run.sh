#!/usr/bin/env bash
# Runs the bundle it lies in on this machine's card; skips are failures. Results end as one table.
#   bash run.sh [--no-bench] [--sanitize] [OUTPUT FOLDER]
# --sanitize runs the twins of all operations under compute-sanitizer's memcheck, and every operation a few times under its racecheck
# (which takes hours for all twins), instead of everything else.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
benches=1 sanitize=0
while [[ "${1:-}" == --* ]]; do
    case $1 in
        --no-bench) benches=0 ;;
        --sanitize) sanitize=1 ;;
        *) echo "usage: run.sh [--no-bench] [--sanitize] [OUTPUT FOLDER]" >&2; exit 2 ;;
    esac
    shift
done
out=${1:-$here/results}
mkdir -p "$out"
export ULIB_TEST_DRIVER=real ULIB_REQUIRE_CUDA=1 PROPTEST_CASES=${PROPTEST_CASES:-64} PYTHONUNBUFFERED=1
unset ULIB_CUDA_DRIVER
site=$(mktemp -d)
programs=$site/programs
mkdir "$programs"
python3 -m tarfile --filter data -e "$here/programs.tar.xz" "$programs" || exit 1
python3 -m pip install -q --no-index --no-deps --target "$site" "$here"/wheels/*.whl || exit 1
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
table=$out/table.txt
: > "$table"
failed=0

# step NAME COMMAND...: runs it, keeps its log, adds a row to the table.
step() {
    local name=$1 start=$SECONDS rc detail; shift
    timeout "${STEP_SECONDS:-600}" "$@" > "$out/$name.log" 2>&1
    rc=$?
    detail=$(grep -aE '^test result:|(passed|failed|error|skipped).* in [0-9.]+s' "$out/$name.log" | tail -1)
    [ $rc = 0 ] || failed=1
    printf '%-26s %-6s %4ss  %s\n' "$name" "$([ $rc = 0 ] && echo ok || echo "rc $rc")" $((SECONDS - start)) "$detail" | tee -a "$table"
    [ $rc = 0 ] || tail -n 60 "$out/$name.log"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/card.txt"
if [ $sanitize = 1 ]; then
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
    [ -n "$sanitizer" ] || { echo "compute-sanitizer is missing" >&2; exit 1; }
    # shellcheck disable=SC2086
    step memcheck "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 9 "$programs/tests/twins" --test-threads=1 ${ULIB_SANITIZE_FILTER:-}
    step racecheck "$sanitizer" --tool racecheck --error-exitcode 9 python3 "$here/python/every-operation.py"
    grep -aE '^========= (ERROR SUMMARY|RACECHECK SUMMARY|Error|Invalid)' "$out/memcheck.log" "$out/racecheck.log" | tail -9
    cat "$table"
    exit $failed
fi
# First, as in the tests of Python (see conftest.py there): kernels that fault come later.
step python-slice python3 "$here/python/examples/04_slice_in_opengl.py" --out "$out/slice.png"
for test in "$programs"/tests/*; do
    [ -f "$test" ] && step "rust-$(basename "$test")" "$test" --test-threads=1
done
step python-tests python3 -m pytest -q -rs -p no:cacheprovider "$here/python/tests"
for example in "$programs"/examples/*; do
    step "example-$(basename "$example")" "$example"
done
step python-placement python3 "$here/python/examples/01_placement.py"
step python-main-job python3 "$here/python/examples/02_images_on_the_gpu.py"
volume=$(python3 -c 'import nibabel, pathlib; print(pathlib.Path(nibabel.__file__).parent / "tests/data/anatomical.nii")')
step python-volume python3 "$here/python/examples/02_images_on_the_gpu.py" --volume "$volume"
# What it writes are hundreds of megabytes, which stay out of the results.
step python-tissues python3 "$here/python/examples/03_tissues.py" --out "$site/tissues" "$here"/python/volumes/*.vti
# shellcheck disable=SC2016
step python-tissues-there bash -c '! grep -E "^    (volume|mask|areas) +Host" "$1" && grep -E "^    (volume|mask|areas) +Device: " "$1"' - "$out/python-tissues.log"
rm -rf "$site/tissues"
dims=$(python3 "$here/python/volume-to-raw.py" "$volume" "$out/volume.f32")
# shellcheck disable=SC2086
step rust-volume "$programs/examples/02_images_on_the_gpu" --volume "$out/volume.f32" $dims
rm -f "$out/volume.f32"
if [ $benches = 1 ]; then
    step peers python3 "$here/python/peers" --out "$out/peers.md"
    step launches python3 "$here/python/launches.py" --rust "$programs/benches/launches"
    step sizes python3 "$here/python/sizes.py" --csv "$out/sizes.csv"
    for bench in "$programs"/benches/*; do
        [ -f "$bench" ] && CRITERION_HOME=$site/criterion step "bench-$(basename "$bench")" "$bench" --bench --quick "${ULIB_BENCH_FILTER:-}"
    done
fi
echo
cat "$table"
exit $failed
