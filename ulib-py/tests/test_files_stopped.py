"""Ctrl-C, a kill, a full disk and folders that refuse: what becomes of files that are read and written."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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
    assert Stop.at - begun < 0.5, "the handler ran while the file was written"
    assert ended - Stop.at < 0.5
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
