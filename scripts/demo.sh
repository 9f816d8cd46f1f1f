#!/usr/bin/env bash
# The main job, in Rust and in Python: an image and a table that prefer the GPU, on the phantom and on a real volume; and the tissues of
# two more.
source "$(dirname "$0")/lib.sh"
echo "the first time this compiles for several minutes; what the compiler says goes to ${wheel_log#"$root"/}" >&2
ensure_wheel dist >/dev/null
python=$venv/bin/python
volume=$("$python" -c 'import nibabel, pathlib; print(pathlib.Path(nibabel.__file__).parent / "tests/data/anatomical.nii")')
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
read -r nx ny nz < <("$python" scripts/volume-to-raw.py "$volume" "$raw/anatomical.f32")

say "Rust, the 32^3 phantom"
cargo run --locked -q --profile dist --example 02_images_on_the_gpu
say "Python, the 32^3 phantom"
"$python" examples/python/02_images_on_the_gpu.py
say "Rust, anatomical.nii (${nx}x${ny}x${nz})"
cargo run --locked -q --profile dist --example 02_images_on_the_gpu -- --volume "$raw/anatomical.f32" "$nx" "$ny" "$nz"
say "Python, anatomical.nii (${nx}x${ny}x${nz})"
"$python" examples/python/02_images_on_the_gpu.py --volume "$volume"
say "the scene of the 32^3 phantom, with its recipe"
"$venv/bin/gcompose" assets/examples/math/02_images_on_the_gpu.gcx
say "Python, the tissues of frog_tissues.vti and channels.vti"
"$python" examples/python/03_tissues.py --out "$CARGO_TARGET_DIR/tissues"
