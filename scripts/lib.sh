# Shared by the scripts of this folder; source it, do not run it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
venv=$root/.venv
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf "\n== %s\n" "$*" >&2; }

need() { command -v "$1" >/dev/null || { echo "$1 is missing: $2" >&2; exit 1; }; }

# The newest Python 3.11+ on PATH, or $PYTHON.
find_python() {
    local p
    for p in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if command -v "$p" >/dev/null && "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$p"
            return
        fi
    done
    echo "Python 3.11 or newer is missing" >&2
    exit 1
}

# The project's own virtual environment, made once, refreshed when the requirements change.
ensure_venv() {
    need cargo "install Rust with rustup"
    need c++ "install a C++ compiler (g++ or clang++)"
    local stamp=$venv/requirements.sum sum
    sum=$(cksum scripts/requirements.txt)
    if [ ! -x "$venv/bin/python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$sum" ]; then
        say "virtual environment .venv"
        "$(find_python)" -m venv "$venv"
        "$venv/bin/python" -m pip install -q -r scripts/requirements.txt
        echo "$sum" > "$stamp"
    fi
}

# The wheel in a profile: `dist`, in dist/, or `dev`, which compiles in a fifth of the time and is for tests.
wheel_folder() { if [ "$1" = dist ]; then echo "$root/dist"; else echo "$CARGO_TARGET_DIR/$1-wheel"; fi; }

# Builds the wheel in a profile. What the compiler says goes to a file, which is shown by `wheel_failed`.
wheel_log=$CARGO_TARGET_DIR/wheel.log
build_wheel() {
    local folder
    folder=$(wheel_folder "$1")
    mkdir -p "$CARGO_TARGET_DIR"
    rm -f "$folder"/*.whl
    (cd ulib-py && "$venv/bin/maturin" build --profile "$1" --locked --quiet --interpreter "$venv/bin/python" --out "$folder") > "$wheel_log" 2>&1
}
wheel_failed() {
    cat "$wheel_log" >&2
    echo "the wheel could not be built" >&2
    exit 1
}

# Installs the wheel of a profile into the virtual environment and prints its name.
install_wheel() {
    local folder
    folder=$(wheel_folder "$1")
    "$venv/bin/python" -m pip install -q --force-reinstall --no-deps "$folder"/*.whl
    ls "$folder"/*.whl
}

# Builds the wheel in a profile and installs it.
ensure_wheel() {
    ensure_venv
    say "wheel ($1)"
    build_wheel "$1" || wheel_failed
    install_wheel "$1"
}

# Builds the software driver as a shared library, in a profile or in `dev`, and prints its path.
fake_driver() {
    local profile=${1:-dev}
    cargo build -q --locked --profile "$profile" -p ulib-fakecuda
    echo "$CARGO_TARGET_DIR/${profile/#dev/debug}/libfakecuda.so"
}

# Features of ulib-bridge with which its tests are compiled, and the folder in which cust's build looks for the driver.
bridge=(-p ulib-bridge --features cudarc,cust,cudarc/cuda-11080)
# Every crate, that one with all it has.
everything=(--workspace --features ulib-bridge/cudarc,ulib-bridge/cust,cudarc/cuda-11080)
export CUDA_LIBRARY_PATH=$CARGO_TARGET_DIR/software-driver
mkdir -p "$CUDA_LIBRARY_PATH/lib64"

# Makes the software driver the one that programs find by its usual names there.
install_fake_driver() {
    local fake name
    fake=$(fake_driver "$@")
    for name in libcuda.so libcuda.so.1; do ln -sf "$fake" "$CUDA_LIBRARY_PATH/lib64/$name"; done
}
