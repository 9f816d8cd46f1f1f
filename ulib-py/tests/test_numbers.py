"""Numbers that do not fit: an error that names them, never another number in their place."""

import math

import numpy as np
import pytest
import uLib


def count():
    return uLib.VoxImage(2, 2, 2).Count


def muons():
    return uLib.MuonScatterCollection(1)


INTEGERS = {"uint32": (count, 8, 2**32 - 1), "uint8": (muons, 144, 255)}


@pytest.mark.parametrize(("make", "length", "highest"), INTEGERS.values(), ids=list(INTEGERS))
@pytest.mark.parametrize("where", [0, -1])
def test_plain_numbers_must_fit_integers(make, length, highest, where):
    target = make()
    for good in (0, 1, highest, True, 2.0, float(highest), np.int64(3)):
        numbers = [0] * length
        numbers[where] = good
        target.SetValues(numbers)
        assert np.asarray(target)[where] == good
    before = np.array(target)
    for bad in (-1, highest + 1, 2**63, 1.9, -0.5, float("nan"), float("inf"), -float("inf"), 1e300, np.int8(-1)):
        numbers = [0] * length
        numbers[where] = bad
        with pytest.raises(ValueError, match="element") as caught:
            target.SetValues(numbers)
        assert str(length - 1 if where else 0) in str(caught.value)
        np.testing.assert_array_equal(np.asarray(target), before)
    numbers[where] = 2**70
    with pytest.raises(TypeError):
        target.SetValues(numbers)


def floats():
    return uLib.FloatCollection([1, 2, 3])


def lines():
    return uLib.LineCollection(1)


HALF_A_STEP = 2.0**103
LARGEST = float(np.finfo(np.float32).max)
BEYOND = LARGEST + HALF_A_STEP
FLOATS = {
    "Fill": (floats, lambda item, v: item.Fill(v)),
    "Scale": (floats, lambda item, v: item.Scale(v)),
    "Add": (floats, lambda item, v: item.Add(v)),
    "+": (floats, lambda item, v: item + v),
    "*=": (floats, lambda item, v: item.__imul__(v)),
    "Clamp": (floats, lambda item, v: item.Clamp(v, float("inf"))),
    "Fma": (floats, lambda item, v: item.Fma(1, v)),
    "Axpy": (floats, lambda item, v: item.Axpy(v, floats())),
    "Threshold": (floats, lambda item, v: item.Threshold("<", v)),
    "inside": (floats, lambda item, v: item.Threshold("<", 1, inside=v)),
    "CountWhere": (floats, lambda item, v: item.CountWhere("<", v)),
    "Mask": (floats, lambda item, v: item.Mask([1, 0, 1], outside=v)),
    "SetValue": (floats, lambda item, v: item.SetValue(0, v)),
    "SetValue of a voxel": (lambda: uLib.VoxImage(2, 2, 2), lambda item, v: item.SetValue(1, 1, 1, v)),
    "Append": (floats, lambda item, v: item.Append(v)),
    "Extend": (floats, lambda item, v: item.Extend([1, v])),
    "Append a line": (lines, lambda item, v: item.Append((1, 2, v), (1, 0, 0))),
    "Append a muon": (muons, lambda item, v: item.Append(((1, 2, 3), (1, 0, 0)), ((1, 2, 3), (1, 0, 0)), 1, v)),
}


@pytest.mark.parametrize(("make", "call"), FLOATS.values(), ids=list(FLOATS))
def test_finite_numbers_do_not_become_infinite(make, call):
    item = make()
    before = np.array(item)
    for bad in (1e300, -1e300, np.float64(1e39), BEYOND, -BEYOND, 10**39):
        with pytest.raises(OverflowError, match="too large for float32"):
            call(item, bad)
        np.testing.assert_array_equal(np.array(item), before)
    for good in (math.nextafter(BEYOND, 0), LARGEST, -LARGEST, float("inf"), -float("inf"), np.float32("inf"), 1e-300):
        call(make(), good)


def test_what_is_too_large_is_named():
    with pytest.raises(OverflowError, match=r"^Add: other 1e\+300: too large for float32$"):
        floats().Add(1e300)
    with pytest.raises(OverflowError, match="^Extend: item 1 of values: too large for float32$"):
        floats().Extend([1, 1e300])
    item = floats()
    item.Add(float("inf"))
    assert list(item) == [float("inf")] * 3
    table = uLib.EventTable("a", 1)
    table.Add(1e300)
    assert table.GetValue(0, "a") == 1e300


@pytest.mark.parametrize("where", [0, 2])
def test_plain_numbers_must_fit_floats(where):
    item = floats()
    for good in (math.nextafter(BEYOND, 0), -LARGEST, 2.0**127, float("inf"), -float("inf"), float("nan"), True):
        numbers = [0] * 3
        numbers[where] = good
        item.SetValues(numbers)
        np.testing.assert_equal(np.asarray(item)[where], np.float32(good))
    before = np.array(item)
    for bad in (1e300, -BEYOND, 1e39):
        numbers = [0] * 3
        numbers[where] = bad
        with pytest.raises(ValueError, match=f"SetValues: element {where}.*float32"):
            item.SetValues(numbers)
        np.testing.assert_array_equal(np.asarray(item), before)


@pytest.mark.parametrize("values", [np.full(8, -1), np.full(8, 1.9), np.full(8, np.nan), np.full(8, 2**31, np.int64)])
def test_arrays_keep_numpys_rule(values):
    with pytest.raises(TypeError):
        count().SetValues(values)


TAKERS = {
    "SetValues": lambda v: uLib.FloatCollection(4).SetValues(v),
    "Count.SetValues": lambda v: uLib.VoxImage(4, 1, 1).Count.SetValues(v.astype(np.uint32)),
    "FloatCollection": uLib.FloatCollection,
    "Extend": lambda v: uLib.FloatCollection().Extend(v),
    "AddRow": lambda v: uLib.EventTable("a,b,c,d").AddRow(v),
    "AddRows": lambda v: uLib.EventTable("a,b,c,d").AddRows(v.reshape(1, 4)),
    "SetSpacing": lambda v: uLib.VoxImage(2, 2, 2).SetSpacing(v[1:]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("take", TAKERS.values(), ids=list(TAKERS))
def test_masks_are_not_dropped(take, dtype):
    numbers = np.arange(1, 5).astype(dtype)
    masked = np.ma.MaskedArray(numbers, mask=[False, False, True, False])
    with pytest.raises(ValueError, match="mask"):
        take(masked)
    take(np.ma.MaskedArray(numbers))


@pytest.mark.parametrize("take", [TAKERS[n] for n in ("SetValues", "FloatCollection", "Extend", "AddRow")])
@pytest.mark.parametrize("value", [b"abcd", bytearray(b"abcd"), "abcd", ["a", "b", "c", "d"]])
def test_text_is_not_numbers(take, value):
    with pytest.raises(TypeError):
        take(value)


class Gives:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "u1", "i8", "u8"])
def test_numbers_that_fit_are_taken_without_a_warning(kind):
    one = np.dtype(kind).type(1)
    with np.errstate(all="raise"):
        target = uLib.FloatCollection([one])
        target.SetValues(Gives(np.array([3], kind)))
        assert list(target) == [3]
        numbers = count()
        numbers.SetValues([one] * 8)
        assert list(numbers) == [1] * 8


def test_infinite_numbers_of_float32_stay_infinite():
    with np.errstate(all="raise"):
        assert list(uLib.FloatCollection([np.float32("inf"), -np.float32("inf")])) == [math.inf, -math.inf]
