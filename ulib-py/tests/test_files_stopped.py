"""Ctrl-C, a kill, a full disk and folders that refuse: what becomes of files that are read and written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import uLib

SIDE = 320  # 125 MiB as float32, seconds as text and compressed


class Stop(Exception):
    """What a program's own signal handler raises."""

    at = 0.0


def stop(number: int, frame: object) -> None:
    Stop.at = time.perf_counter()
    raise Stop


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Raises Stop in this thread after a while."""
    old = signal.signal(signal.SIGALRM, stop)
    yield lambda after: signal.setitimer(signal.ITIMER_REAL, after)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture(scope="module")
def image() -> uLib.VoxImage:
    image = uLib.VoxImage(SIDE, SIDE, SIDE)
    image.SetValues(np.random.default_rng(1).random((SIDE, SIDE, SIDE), dtype=np.float32))
    return image


@pytest.fixture(scope="module")
def table() -> uLib.EventTable:
    table = uLib.EventTable("a,b,c,d")
    table.AddRows(np.random.default_rng(2).random((3_000_000, 4)))
    return table


WRITES = {
    "a.npz": lambda image, table, path: uLib.io.write_image(image, path, compressed=True),
    "a.nrrd": lambda image, table, path: uLib.io.write_image(image, path, compressed=True),
    "a.vti": lambda image, table, path: uLib.io.write_image(image, path, compressed=True),
    "a.vtk": lambda image, table, path: uLib.io.write_image(image, path, ascii=True),
    "a.csv": lambda image, table, path: uLib.io.write_table(table, path),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_is_interrupted_leaves_the_old_file(tmp_path, alarm, image, table, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    alarm(0.1)
    begun = time.perf_counter()
    with pytest.raises(Stop):
        WRITES[name](image, table, path)
    ended = time.perf_counter()
    assert Stop.at - begun < 5, "the handler ran while the file was written"
    assert ended - Stop.at < 5
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == [name]


def test_a_read_that_is_interrupted(tmp_path, alarm, image):
    np.savez_compressed(tmp_path / "a.npz", value=np.zeros((SIDE, SIDE, 2 * SIDE), np.float32))
    with open(tmp_path / "a.csv", "w") as file:
        file.write("a,b\n" + "0.25,0.125\n" * 5_000_000)
    for read, name in [(uLib.io.read_image, "a.npz"), (uLib.io.read_table, "a.csv")]:
        alarm(0.05)
        begun = time.perf_counter()
        with pytest.raises(Stop):
            read(tmp_path / name)
        assert Stop.at - begun < 0.5
        assert time.perf_counter() - Stop.at < 0.5


def test_ctrl_c_is_a_keyboard_interrupt(tmp_path, image):
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        uLib.io.write_image(image, tmp_path / "a.vtk", ascii=True)
    timer.join()
    assert os.listdir(tmp_path) == []


KILLED = """
import sys, numpy as np, uLib
image = uLib.VoxImage(320, 320, 320)
image.SetValues(np.random.default_rng(1).random((320, 320, 320), dtype=np.float32))
print("ready", flush=True)
uLib.io.write_image(image, sys.argv[1], compressed=True)
"""


def test_a_program_that_is_killed_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.nrrd"
    small = uLib.VoxImage(4, 3, 2)
    small.Fill(7)
    uLib.io.write_image(small, path)
    old = path.read_bytes()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        end = time.monotonic() + 60
        while not any(other.stat().st_size > 0 for other in tmp_path.iterdir() if other != path):
            assert time.monotonic() < end and child.poll() is None
            time.sleep(0.001)
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert path.read_bytes() == old and uLib.io.read_image(path).Sum() == 7 * 24
    (left,) = (other.name for other in tmp_path.iterdir() if other != path)
    assert left.startswith(".a.nrrd.") and left.endswith(".tmp"), "it says what it is"
    small.Fill(8)
    uLib.io.write_image(small, path)
    assert uLib.io.read_image(path).Sum() == 8 * 24


REFUSED = """
import os, resource, sys, tempfile, numpy as np, uLib
image = uLib.VoxImage(64, 64, 64)
image.SetValues(np.random.default_rng(1).random((64, 64, 64), dtype=np.float32))
table = uLib.EventTable("a,b")
table.AddRows(np.random.default_rng(2).random((50_000, 2)))
scene = uLib.scene.Scene({"image": image})
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)
writes = {
    "a.npy": lambda path: uLib.io.write_image(image, path),
    "b.npy": lambda path: uLib.io.write_image(image, path, dtype="float64"),
    "c.npz": lambda path: uLib.io.write_image(image, path),
    "d.npz": lambda path: uLib.io.write_image(image, path, compressed=True),
    "e.vti": lambda path: uLib.io.write_image(image, path),
    "f.vti": lambda path: uLib.io.write_image(image, path, compressed=True),
    "g.vtk": lambda path: uLib.io.write_image(image, path, ascii=True),
    "h.mha": lambda path: uLib.io.write_image(image, path, compressed=True),
    "i.mhd": lambda path: uLib.io.write_image(image, path),
    "j.nrrd": lambda path: uLib.io.write_image(image, path, compressed=True),
    "k.nhdr": lambda path: uLib.io.write_image(image, path, ascii=True),
    "l.csv": lambda path: uLib.io.write_table(table, path),
    "m.parquet": lambda path: uLib.io.write_table(table, path),
    "n.gcx": lambda path: scene.save(path),
}
for name, write in writes.items():
    write(os.path.join(folder, name))
    for other in os.listdir(folder):
        if os.path.isfile(os.path.join(folder, other)):
            with open(os.path.join(folder, other), "wb") as file:
                file.write(b"old")
before = sorted(os.listdir(folder))
# What refuses.
SETUP
for name, write in writes.items():
    path = os.path.join(folder, name)
    try:
        write(path)
    except OSError as error:
        message = str(error)
        assert error.errno in ERRORS and path in message, repr(error)
        assert message.count("writing") == 1, message
    else:
        raise AssertionError(name)
    assert open(path, "rb").read() == b"old", name
    assert sorted(os.listdir(folder)) == before, (name, os.listdir(folder))
"""


def refused(python: Callable[..., subprocess.CompletedProcess[str]], setup: str, errors: str) -> None:
    folder = "import shutil, atexit; atexit.register(shutil.rmtree, folder, True)"
    code = REFUSED.replace("SETUP", setup).replace("ERRORS", errors).replace("before =", f"{folder}\nbefore =")
    assert python(code).stderr == ""


def test_a_full_disk(python):
    # The system ends a file there, as it ends one on a disk that is full.
    refused(python, "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, resource.RLIM_INFINITY))", "(27,)")


# A superuser may write anywhere: as somebody else, who may not.
ORDINARY = "\nif os.geteuid() == 0: os.seteuid(65534)"


def test_a_folder_that_cannot_be_written_to(python):
    refused(python, "os.chmod(folder, 0o555)" + ORDINARY, "(13,)")


def test_a_file_that_cannot_be_written_to(python):
    every = "os.chmod(folder, 0o777)\nfor each in writes: os.chmod(os.path.join(folder, each), 0o444)"
    refused(python, every + ORDINARY, "(13,)")
