"""No host memory left: an exception, the old numbers, and a process that goes on."""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux counts it")

PROGRAM = """
import copy, pickle, resource
import numpy as np
import uLib

def limited(act):
    "Runs act with room for a few MiB more than there are now; True when that was not enough."
    pages = int(open("/proc/self/statm").read().split()[0])
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (16 << 20), old[1]))
    try:
        act()
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)
    return False

N = 1 << 24
def floats():
    return uLib.FloatCollection(N)
def table():
    return uLib.EventTable("a", N // 2)
def image():
    return uLib.VoxImage(4096, 4096, 1, voxel_bytes=4)
def on_device(item):
    item.SetPreferredDevice("Device")
    item.Fill(1)
    return item
numbers = np.zeros(N, np.float32)
cells = np.zeros((N // 2, 1))
"""

NEVER = {
    "DLPack copy": ("floats()", "item.__dlpack__(copy=True)"),
    "DLPack of an old consumer": ("floats()", "item.__dlpack__()"),
    "Sum over one axis": ("image()", "item.Sum(axis=0)"),
    "Sum over no axis": ("image()", "item.Sum(axis=())"),
    "edges": ("floats()", "item.Histogram(N)"),
    "counts of each thread": ("floats()", "item.Histogram(600_000, range=(0, 1))"),
    "Quantile over no axis": ("uLib.VoxImage(1024, 1400, 1, voxel_bytes=4)", "item.Quantile(0.5, axis=())"),
    "GetValues": ("floats()", "item.GetValues()"),
    "Resize": ("floats()", "item.Resize(2 * N)"),
    "Extend": ("floats()", "item.Extend(range(N))"),
    "AddRows": ("table()", "item.AddRows(cells)"),
    "copy": ("floats()", "copy.copy(item)"),
    "pickle": ("floats()", "pickle.dumps(item)"),
    "SetDataOrder": ("image()", "item.SetDataOrder('ZYX')"),
    "SetDims": ("image()", "item.SetDims(4096, 4096, 2)"),
    "events": ("uLib.GeantEventCollection()", "type(item)([('a', 'b')] * (1 << 20))"),
    "constructor": ("floats()", "type(item)(2 * N)"),
}
ON_DEVICE = {
    "overwriting floats": ("on_device(floats())", "item.SetValues(numbers)"),
    "overwriting cells": ("on_device(table())", "item.SetValues(cells)"),
    "GetValues": ("on_device(floats())", "item.GetValues()"),
    "Sum over one axis": ("on_device(image())", "item.Sum(axis=0)"),
    "DLPack to the host": ("on_device(floats())", "item.__dlpack__(dl_device=(1, 0))"),
}


def run(python, make, act):
    done = python(
        PROGRAM
        + f"""
item = {make}
before = len(item), item.Sum() if hasattr(item, "Sum") else None
assert limited(lambda: {act}), "there was enough memory"
assert before == (len(item), item.Sum() if hasattr(item, "Sum") else None)
print("alive")
"""
    )
    assert done.stdout == "alive\n"


@pytest.mark.parametrize(("make", "act"), NEVER.values(), ids=list(NEVER))
def test_on_the_host(python, make, act):
    run(python, make, act)


@pytest.mark.parametrize(("make", "act"), ON_DEVICE.values(), ids=list(ON_DEVICE))
def test_with_the_numbers_on_the_device(fake, python, make, act):
    run(python, make, act)
