#!/usr/bin/env bash
# Packs the release tests, the benches, the wheel and the Python tests into one folder for a GPU machine
# that has Python (with NumPy and pytest) and no Rust. There: `bash run.sh [--no-bench] [--sanitize] [OUTPUT FOLDER]`.
#   scripts/gpu-bundle.sh [FOLDER]      default: dist/gpu-bundle
source "$(dirname "$0")/lib.sh"
out=${1:-$root/dist/gpu-bundle}
ensure_wheel dist
mkdir -p "$(dirname "$out")"
rm -rf "$out"
mkdir -p "$out"/{tests,benches,examples,python/tests,wheels}

# The executables that cargo reports for a kind of target, as "name path" lines.
executables() {
    local kind=$1; shift
    cargo "$@" --locked --profile release --quiet --message-format=json | "$venv/bin/python" -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and sys.argv[1] in message["target"]["kind"]:
        print(message["target"]["name"], message["executable"])' "$kind"
}
say "Rust tests, benches and examples (release)"
executables test test --no-run --test '*' | while read -r name path; do
    # These two are about machines without a driver and about the software driver itself.
    case $name in nodriver | faults) continue ;; esac
    install -s "$path" "$out/tests/$name"
done
# These find the driver by its usual names.
install_fake_driver release
executables test test --no-run "${bridge[@]}" --test '*' | while read -r name path; do install -s "$path" "$out/tests/bridge-$name"; done
executables bench bench --no-run --bench '*' | while read -r name path; do install -s "$path" "$out/benches/$name"; done
{ executables example build --examples; executables example build --examples "${bridge[@]}"; } | while read -r name path; do install -s "$path" "$out/examples/$name"; done

say "Python"
cp dist/*.whl "$out/wheels/"
"$venv/bin/python" -m pip download -q --no-deps --only-binary=:all: -d "$out/wheels" "$(grep '^nibabel' scripts/requirements.txt)"
cp ulib-py/tests/*.py "$out/python/tests/"
# These are about what is not on such a machine, programs and sources, and have no use for its card.
rm "$out"/python/tests/test_{other_programs,example_tissues,paths}.py
cp -r README.md docs "$out/"
cp scripts/every-operation.py "$out/python/"
cp -r examples/python "$out/python/examples"
mkdir "$out/python/volumes"
shipped=$("$venv/bin/python" -c 'import importlib.util; print(importlib.util.find_spec("pyvista").submodule_search_locations[0])')/examples
cp "$shipped"/{frog_tissues,channels}.vti "$out/python/volumes/"
cp -r assets "$out/assets"
cp scripts/gpu-run.sh "$out/run.sh"
cp scripts/volume-to-raw.py "$out/python/"
cp -r benches/peers benches/sizes.py benches/files.py benches/launches.py "$out/python/"

# Every program holds the kernels of all operations as text, of which packing leaves a tenth.
(cd "$out" && "$venv/bin/python" -m tarfile -c programs.tar.xz tests benches examples)
rm -r "$out"/{tests,benches,examples}

size=$(du -sm "$out" | cut -f1)
du -sh "$out"/* | sed "s|$out/||"
[ "$size" -lt 40 ] || { echo "the bundle is $size MiB; 40 is the limit" >&2; exit 1; }
echo "packed: $size MiB in ${out#"$root"/}"
