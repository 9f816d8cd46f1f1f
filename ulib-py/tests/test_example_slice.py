"""The example that draws a slice with OpenGL: `04_slice_in_opengl.py`."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from test_pictures import pixels

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/python/04_slice_in_opengl.py"
if not EXAMPLE.exists():  # in the bundle for machines with a GPU
    EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/04_slice_in_opengl.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not here")
ZOOM = 8


def run(*arguments, folder, **environment):
    command = [sys.executable, EXAMPLE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, cwd=folder, timeout=300)


def stand_in(folder, text):
    """A module `moderngl` in a folder of its own."""
    (folder / "stand_in").mkdir()
    (folder / "stand_in/moderngl.py").write_text(text)
    return os.pathsep.join(filter(None, (str(folder / "stand_in"), os.environ.get("PYTHONPATH"))))


def test_without_a_gpu_it_says_so(nodriver, tmp_path):
    done = run(folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "nothing is drawn: there is no GPU that could colour it"
    assert not list(tmp_path.iterdir())


def test_without_moderngl_or_its_context_it_says_so(gpu, tmp_path):
    missing = stand_in(tmp_path, "raise ImportError('moderngl')")
    done = run(folder=tmp_path, PYTHONPATH=missing)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "nothing is drawn: the package moderngl is not installed: python -m pip install moderngl"
    (tmp_path / "stand_in/moderngl.py").write_text("def create_standalone_context(**_): raise Exception('no display')")
    done = run(folder=tmp_path, PYTHONPATH=missing)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "nothing is drawn: OpenGL gives no context: no display"
    assert not (tmp_path / "slice.png").exists()


def test_the_kernel_compiles(nvrtc):
    from uLib.cuda import compiler

    source = re.search(r'^KERNEL = """\n(.*?)^"""', EXAMPLE.read_text(), re.MULTILINE | re.DOTALL)[1]
    assert b"sust.b.2d" in compiler.compile(source, no_extern_c=True, arch="compute_75", target="ptx", cache_dir=False)


def expected(grid, low, high):
    """What the kernel makes of a slice, y up, each voxel as a square."""
    share = 3 * (grid.astype(np.float64) - low) / (high - low)
    channels = [255 * np.clip(share - less, 0, 1) for less in range(3)]
    return np.stack(channels, axis=-1)[::-1].repeat(ZOOM, 0).repeat(ZOOM, 1)


def draw_without_a_device():
    """Skips where OpenGL itself draws wrongly: a texture that it was given as numbers, and nobody else has touched."""
    moderngl = pytest.importorskip("moderngl")
    spec = importlib.util.spec_from_file_location("slice_in_opengl", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    try:
        context = moderngl.create_standalone_context(backend="egl", libgl="libGL.so.1", libegl="libEGL.so.1")
    except Exception as error:
        pytest.skip(f"no context of OpenGL: {error}")
    texels = np.random.default_rng(5).integers(0, 256, (19, 37, 4), np.uint8)
    with context:
        found = example.drawn(context, context.texture((37, 19), 4, texels.tobytes()))
    context.release()
    wrong = (found != texels[::-1, :, :3].repeat(ZOOM, 0).repeat(ZOOM, 1)).any(axis=-1).sum()
    if wrong:
        pytest.skip(f"OpenGL of this machine draws a texture of its own with {wrong} wrong pixels")


@pytest.mark.real
@pytest.mark.parametrize(("index", "window"), [(None, None), (0, (1, 9.5))])
def test_the_picture_is_the_slice(real, nvrtc, tmp_path, index, window):
    draw_without_a_device()
    grid = np.random.default_rng(4).uniform(-3, 12, (5, 19, 37)).astype(np.float32)
    np.save(tmp_path / "volume.npy", grid)
    chosen = [] if index is None else ["--index", index, "--window", *window]
    done = run("--volume", "volume.npy", *chosen, "--out", "drawn.png", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    slice_index = 2 if index is None else index
    assert done.stdout.splitlines()[-2].startswith("volume Device: ")
    assert done.stdout.splitlines()[-1] == f"slice {slice_index} along z, {37 * ZOOM} x {19 * ZOOM} pixels, in drawn.png"
    low, high = window or (grid.min(), grid.max())
    found = pixels((tmp_path / "drawn.png").read_bytes())
    # The kernel computes in float32 and rounds.
    assert np.abs(found - expected(grid[slice_index], low, high)).max() < 0.51
    refused = run("--volume", "volume.npy", "--index", 5, folder=tmp_path)
    assert refused.returncode == 1 and refused.stderr == "04_slice_in_opengl.py: there is no slice 5, only 0 to 4\n"
