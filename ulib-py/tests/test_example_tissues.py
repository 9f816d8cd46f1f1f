"""The third example: labels from files, one tissue measured, drawn and kept, with the numbers of NumPy and VTK."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import uLib
from test_pictures import pixels

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/python/03_tissues.py"
if not EXAMPLE.exists():  # in the bundle for machines with a GPU
    EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/03_tissues.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not here")


def run(*arguments, folder, check=True):
    command = [sys.executable, EXAMPLE, "--out", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=600, check=check)


def compare(said, folder, stem, grid, size, label, mode):
    """What the example printed and wrote, and what NumPy makes of the same labels, which are indexed [z, y, x]."""
    inside = grid == label
    volume = inside.sum() * np.prod(size)
    place = "Host (" if mode == "nodriver" else "Device: "
    for what in "volume", "mask", "areas":
        assert re.search(rf"^    {what:<9} {re.escape(place)}", said, re.MULTILINE)
    assert f"    label {label}: {inside.sum()} voxels, {volume:g} mm^3\n" in said
    assert f"    labels    {', '.join(map(str, np.unique(grid)))}\n" in said

    scene = uLib.scene.Scene.load(folder / f"{stem}.gcx")
    assert scene.names == ["volume", "mask", "areas"]
    assert [found.PreferredDevice for found in scene.values()] == ["Device"] * 3
    assert np.array_equal(scene["volume"].Grid(), grid)
    assert np.array_equal(scene["mask"].Grid(), inside)
    assert scene["mask"].GetSpacing() == tuple(size)
    areas = scene["areas"]
    for axis, name in enumerate("xyz"):
        expected = inside.sum(axis=tuple(k for k in range(3) if k != 2 - axis)) * np.prod(np.delete(size, axis))
        column = areas.GetColumn(name)
        assert np.array_equal(column[: len(expected)], expected) and np.isnan(column[len(expected) :]).all()
        first, last, largest = expected.nonzero()[0][0], expected.nonzero()[0][-1], expected.argmax()
        assert f"along {name}   slices {first} to {last}, the largest is {largest} with {expected.max():g} mm^2" in said
    assert areas.GetColumn("slice").tolist() == list(range(max(grid.shape)))

    report = (folder / f"{stem}.html").read_text()
    assert all(name in report for name in ("volume", "mask", "areas")) and f"label {label}" in report
    names = {f"{stem}-{kind}-{axis}.png" for kind in ("slice", "mask") for axis in "xyz"} | {f"{stem}-areas.png"}
    assert {file.name for file in folder.glob(f"{stem}-*.png")} == names
    return inside


def made(folder):
    """A small volume of labels as a .npy file."""
    z, y, x = np.indices((9, 12, 10))
    grid = np.where((x - 4) ** 2 + (y - 6) ** 2 + (z - 3) ** 2 <= 9, 2, 0)
    grid[1:3, 1:4, 8:] = 5
    np.save(folder / "made.npy", grid.astype(np.uint8))
    return grid


def test_a_made_volume(tmp_path, mode):
    grid = made(tmp_path)
    out = tmp_path / "out"
    done = run(tmp_path / "made.npy", folder=out)
    inside = compare(done.stdout, out, "made", grid, (1, 1, 1), 2, mode)
    # The picture is the mask seen along z: y up, each voxel the same number of pixels.
    picture = pixels((out / "made-mask-z.png").read_bytes())[:, :, 0]
    assert picture.shape[0] % 12 == 0 and picture.shape[1] % 10 == 0
    shown = picture[:: picture.shape[0] // 12, :: picture.shape[1] // 10]
    assert np.array_equal(shown == 255, inside.any(axis=0)[::-1])
    assert "label 5: 12 voxels, 12 mm^3" in run(tmp_path / "made.npy", "--label", "5", folder=out).stdout


def test_spacing_counts(tmp_path, mode):
    grid = made(tmp_path)
    image = uLib.VoxImage(10, 12, 9, spacing=(0.5, 2, 1.5))
    image.Grid().SetValues(grid)
    uLib.io.write_image(image, tmp_path / "spaced.vti", dtype="uint8")
    done = run(tmp_path / "spaced.vti", folder=tmp_path)
    compare(done.stdout, tmp_path, "spaced", grid, (0.5, 2, 1.5), 2, mode)


def test_what_cannot_be_measured_is_said(tmp_path):
    made(tmp_path)
    done = run(tmp_path / "made.npy", "--label", "3", folder=tmp_path, check=False)
    assert done.returncode == 1 and "no voxel has the label 3, only 0, 2, 5" in done.stderr
    done = run(tmp_path / "none.vti", folder=tmp_path, check=False)
    assert done.returncode == 1 and "none.vti" in done.stderr and "Traceback" not in done.stderr
    np.save(tmp_path / "numbers.npy", np.full((2, 2, 2), -0.5))
    done = run(tmp_path / "numbers.npy", folder=tmp_path, check=False)
    assert done.returncode == 1 and "numbers from -0.5 to -0.5, not labels" in done.stderr


def test_without_pyvista(tmp_path):
    # A package path without it.
    code = f"import importlib.util, runpy, sys; importlib.util.find_spec = lambda name: None; sys.argv = ['x']; runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "03_tissues.py: pyvista is not installed, whose volumes these are: python -m pip install pyvista, or name files of your own\n"


@pytest.mark.parametrize(("name", "label"), [("frog_tissues", None), ("channels", 3)])
def test_the_volumes_of_pyvista(tmp_path, mode, name, label):
    pyvista = pytest.importorskip("pyvista")
    if mode == "fake":
        pytest.skip("millions of voxels take minutes where kernels are emulated")
    file = pathlib.Path(pyvista.examples.dir_path) / f"{name}.vti"
    data = pyvista.read(file)
    array = data.cell_data["facies"] if name == "channels" else data.point_data["MetaImage"]
    dims = (250, 250, 100) if name == "channels" else (500, 470, 136)
    grid = array.reshape(dims[::-1])
    counts = np.bincount(grid.ravel())
    counts[0] = 0
    label = counts.argmax() if label is None else label
    done = run(file, *([] if name == "frog_tissues" else ["--label", str(label)]), folder=tmp_path)
    assert f"{name}.vti: {' x '.join(map(str, dims))} voxels" in done.stdout
    compare(done.stdout, tmp_path, name, grid, data.spacing, label, mode)
    for left in tmp_path.rglob("*.bin"):
        left.unlink()
