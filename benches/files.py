"""Files and scenes: volumes beside NumPy's reading and writing of the same files, scenes of many objects, and gcompose.

    python benches/files.py [--edge 512] [--objects 1000] [--folder FOLDER] [--out FILE]

Needs the wheel. Files are read from the memory that the system keeps of them, and written without waiting for the disk, by both.
A ratio above 1 means that uLib is faster.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import uLib
from uLib.scene import Scene

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from timing import Table, median  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=int, default=512, help="voxels along each side")
    parser.add_argument("--objects", type=int, default=1000, help="objects of the scene")
    parser.add_argument("--folder", help="where files are written for a while (default: the system's folder for such)")
    parser.add_argument("--out", help="write the table to this file, too")
    arguments = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        volumes(table, pathlib.Path(folder), arguments.edge)
        scenes(table, pathlib.Path(folder), arguments.objects)
    if arguments.out:
        pathlib.Path(arguments.out).write_text("\n".join(table.lines) + "\n")


def volumes(table, folder, edge):
    table.title(f"A volume of {edge}^3 float32 in a file")
    count = edge**3
    array = np.arange(count, dtype=np.float32).reshape(edge, edge, edge)
    theirs = {"vti": folder / "numpy.raw", "npy": folder / "numpy.npy"}
    # NumPy's fastest ways: of the .vti file, whose numbers are at its end, and of the .npy file.
    peers = {
        "vti": (lambda file: np.fromfile(file, np.float32, count, offset=start_of(file)), lambda: array.tofile(theirs["vti"])),
        "npy": (np.load, lambda: np.save(theirs["npy"], array)),
    }
    for voxel_bytes in (8, 4):
        image = uLib.VoxImage(edge, edge, edge, voxel_bytes=voxel_bytes)
        image.SetValues(array)
        for ending, (load, save) in peers.items():
            file = folder / f"volume.{ending}"
            name = f".{ending}, voxels of {voxel_bytes} bytes"
            ours = lambda f=file, i=image: uLib.io.write_image(i, f)  # noqa: E731
            row(table, f"save {name}, a new file", 4 * count, new(file, ours), new(theirs[ending], save))
            row(table, f"save {name}, over an old one", 4 * count, ours, save)
            row(
                table,
                f"load {name}",
                4 * count,
                lambda f=file, v=voxel_bytes: uLib.io.read_image(f, voxel_bytes=v),
                lambda f=file, w=load: w(f),
            )
            assert uLib.io.read_image(file).GetValue(count - 1) == array.flat[-1] == np.ravel(load(file))[-1]
            file.unlink()


def new(file, save):
    """``save`` of a file that is not there any more; taking it away is measured, too, as it is for both."""

    def call():
        file.unlink(missing_ok=True)
        save()

    return call


def start_of(file):
    """Where the numbers begin in a .vti file that uLib wrote: after the mark of the appended data and 8 bytes with their length."""
    with file.open("rb") as opened:
        text = opened.read(4096)
    return text.index(b"_", text.index(b"<AppendedData")) + 1 + 8


def scenes(table, folder, objects):
    table.title(f"A scene of {objects} objects")
    scene = Scene()
    for number in range(objects):
        scene[f"object {number}"] = small(number)
    file = folder / "scene.gcx"
    row(table, "save (with its way to the disk)", 0, lambda: scene.save(file))
    row(table, "load", 0, lambda: Scene.load(file))
    found = Scene.load(file)
    assert found.names == scene.names and found["object 4"].GetValue(3) == 4

    table.title("From the start of a process")
    few = folder / "few.gcx"
    Scene({"phantom": uLib.VoxImage(32, 32, 32), "table": uLib.EventTable("slice,total")}).save(few)
    gcompose = pathlib.Path(sys.executable).with_name("gcompose")
    table.row(
        "first line of gcompose --no-run",
        0,
        first_line(gcompose, "--no-run", few),
        {
            "Python alone": first_line(sys.executable, "-c", "print('here')"),
            "Python with NumPy": first_line(sys.executable, "-c", "import numpy; print('here')"),
        },
    )


def small(number):
    """An image of 8^3 voxels, or a table of ten rows, or 100 numbers."""
    if number % 3 == 0:
        made = uLib.FloatCollection(np.full(100, number, dtype=np.float32))
    elif number % 3 == 1:
        made = uLib.VoxImage(8, 8, 8)
        made.SetValue(3, number)
    else:
        made = uLib.EventTable("slice,total", rows=10)
        made.SetValue(9, "total", number)
    return made


def first_line(*command):
    """The median time in seconds from starting a program to its first line."""
    times = []
    for _ in range(12):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            line = process.stdout.readline()
            times.append(time.perf_counter() - start)
            process.stdout.read()
        assert line and process.returncode == 0, command
    return statistics.median(times[1:])


def row(table, work, size, ours, in_numpy=None):
    """`size` bytes of numbers in the file."""
    peers = {"NumPy": median(in_numpy, repeats=7, seconds=10)} if in_numpy else {}
    table.row(work, size, median(ours, repeats=7, seconds=10), peers)


if __name__ == "__main__":
    main()
