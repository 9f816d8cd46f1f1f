"""Objects of 24 numbers, which tests of operations are made of, and their comparison with those of NumPy."""

import numpy as np
import pytest
import uLib

DIMS = (4, 3, 2)
COUNT = 24


def image(values=None, *, order="XYZ", voxel_bytes=8, place="Host"):
    made = uLib.VoxImage(*DIMS, voxel_bytes=voxel_bytes, order=order, spacing=(1, 2, 3))
    if voxel_bytes == 8:
        made.Count.Fill(5)
    made.Grid().SetValues(np.zeros((2, 3, 4)) if values is None else np.reshape(values, (2, 3, 4)))
    assert made.SetPreferredDevice(place) is True
    return made


def table(values, place="Host"):
    values = np.asarray(values).reshape(-1, 3)
    made = uLib.EventTable("a,b,c", rows=len(values))
    made.SetValues(values)
    made.SetPreferredDevice(place)
    return made


def counts(values, place="Host"):
    made = uLib.VoxImage(*DIMS)
    made.Fill(5)
    made.Count.SetValues(np.asarray(values, np.uint32))
    made.SetPreferredDevice(place)
    return made.Count


def preferring(item, place):
    item.SetPreferredDevice(place)
    return item


def numbers(dtype, seed=0, positive=False):
    random = np.random.default_rng(seed)
    if dtype == np.uint32:
        values = random.integers(0, 2**32, COUNT, dtype=np.uint32)
        values[:4] = 0, 1, 2**32 - 1, 7
        return values
    values = random.normal(scale=100, size=COUNT).astype(dtype)
    values[:6] = 0.0, 1.0, 1e30, 1e-30, 3.5, 2.0
    if not positive:
        values[:4] = -0.0, 0.0, np.nan, -np.inf
    return np.abs(values) if positive else values


KINDS = {"image": (np.float32, image), "table": (np.float64, table), "counts": (np.uint32, counts)}
FLOATS = {name: KINDS[name] for name in ("image", "table")}
kinds = pytest.mark.parametrize(("dtype", "make"), KINDS.values(), ids=list(KINDS))
floats = pytest.mark.parametrize(("dtype", "make"), FLOATS.values(), ids=list(FLOATS))


def got(item):
    return np.array(item).ravel()


def same(item, wanted, *, ulps=0):
    found = got(item)
    wanted = np.asarray(wanted).ravel()
    assert found.dtype == wanted.dtype
    if ulps:
        np.testing.assert_array_max_ulp(found, wanted, ulps)
    else:
        np.testing.assert_array_equal(found, wanted)
        if found.dtype.kind == "f":
            numbers = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def quotient(a, b):
    if a.dtype.kind == "f":
        return a / b
    return np.where(b == 0, 0, a // np.maximum(b, 1)).astype(a.dtype)
