"""Elementwise operations against NumPy, on the host and on a device."""

import numpy as np
import pytest
import uLib
from making import COUNT, counts, floats, got, image, kinds, numbers, quotient, same, table

pytestmark = pytest.mark.usefixtures("quiet")


def smaller(a, b):
    wanted = np.minimum(a, b)
    if wanted.dtype.kind == "f":
        wanted = np.where((a == 0) & (b == 0), np.copysign(0, np.where(np.signbit(a) | np.signbit(b), -1, 1)), wanted)
    return wanted.astype(np.result_type(a, b))


def larger(a, b):
    wanted = np.maximum(a, b)
    if wanted.dtype.kind == "f":
        wanted = np.where((a == 0) & (b == 0), np.copysign(0, np.where(np.signbit(a) & np.signbit(b), -1, 1)), wanted)
    return wanted.astype(np.result_type(a, b))


TWO = {
    "Add": np.add,
    "Subtract": np.subtract,
    "Multiply": np.multiply,
    "Divide": quotient,
    "Minimum": smaller,
    "Maximum": larger,
}


def check(make, dtype, place, call, wanted, *, ulps=0, positive=False):
    """``call(item, out)`` in place, into another object and into itself."""
    values = numbers(dtype, positive=positive)
    item = make(values, place=place)
    where = item.GetDataLocation()
    assert call(item, {}) is None
    same(item, wanted(values), ulps=ulps)
    item = make(values, place=place)
    other = make(np.zeros(COUNT, dtype), place=place)
    assert call(item, {"out": other}) is None
    same(item, values)
    same(other, wanted(values), ulps=ulps)
    call(item, {"out": item})
    same(item, wanted(values), ulps=ulps)
    for changed in (item, other):
        assert changed.GetDataLocation() == where or place == "Device"
        assert changed.GetPreferredDevice() == place
        if dtype == np.float32:
            assert changed.Count.Sum() == 5 * COUNT, "the counts beside the values are not touched"


@kinds
@pytest.mark.parametrize("name", TWO)
def test_operations_of_two(name, dtype, make, place):
    others = numbers(dtype, seed=1)
    others[5:8] = others[6], 0, 1
    for other in (others, dtype(3)):
        given = make(others, place=place) if other is others else 3
        wanted = lambda values, other=other: TWO[name](values, np.full(COUNT, other) if other is not others else other)
        check(make, dtype, place, lambda item, out, given=given: getattr(item, name)(given, **out), wanted)


@kinds
@pytest.mark.parametrize("name", ["Abs", "Negate"])
def test_operations_of_one(name, dtype, make, place):
    wanted = {"Abs": np.abs, "Negate": np.negative}[name]
    check(make, dtype, place, lambda item, out: getattr(item, name)(**out), wanted)


@floats
@pytest.mark.parametrize(("name", "ulps"), [("Sqrt", 0), ("Exp", 4), ("Log", 4)])
def test_functions_of_floats(name, ulps, dtype, make, place):
    wanted = {"Sqrt": np.sqrt, "Exp": lambda v: np.exp(v).astype(dtype), "Log": np.log}[name]
    check(make, dtype, place, lambda item, out: getattr(item, name)(**out), wanted, ulps=ulps, positive=True)


@floats
def test_power(dtype, make, place):
    check(make, dtype, place, lambda item, out: item.Power(2.5, **out), lambda v: v ** dtype(2.5), ulps=16, positive=True)
    exponents = (np.arange(COUNT) % 5 - 2).astype(dtype)
    other = make(exponents, place=place)
    check(make, dtype, place, lambda item, out: item.Power(other, **out), lambda v: v**exponents, ulps=16, positive=True)


@kinds
def test_clamp(dtype, make, place):
    check(make, dtype, place, lambda item, out: item.Clamp(1, 50, **out), lambda v: np.clip(v, dtype(1), dtype(50)))
    low, high = numbers(dtype, seed=2, positive=True), numbers(dtype, seed=3, positive=True)
    limits = make(low, place=place), make(high, place=place)
    wanted = lambda values: smaller(larger(values, low), high)
    check(make, dtype, place, lambda item, out: item.Clamp(*limits, **out), wanted)
    with pytest.raises(ValueError, match="clamp"):
        make(low, place=place).Clamp(2, 1)


@kinds
def test_fma_and_axpy(dtype, make, place):
    b, c = np.arange(COUNT).astype(dtype), np.arange(COUNT)[::-1].astype(dtype)
    values = np.arange(5, COUNT + 5).astype(dtype)
    item, out = make(values, place=place), make(values, place=place)
    item.Fma(make(b, place=place), make(c, place=place), out=out)
    same(out, values * b + c)
    item.Fma(2, item)
    same(item, values * 3)
    item.Fma(item, 1)
    same(item, values * values * 9 + 1)
    item.Fill(1)
    item.Axpy(3, make(b, place=place))
    same(item, 3 * b + 1)
    item.Axpy(2, item)
    same(item, 3 * (3 * b + 1))


def test_fma_rounds_once():
    factor = np.float32(1 + 2**-12)
    item = uLib.FloatCollection([factor])
    item.Fma(float(factor), -1.0)
    assert item.GetValue(0) == np.float32(float(factor) ** 2 - 1)


CONDITIONS = {
    "<": lambda v, a: v < a,
    "<=": lambda v, a: v <= a,
    ">": lambda v, a: v > a,
    ">=": lambda v, a: v >= a,
    "==": lambda v, a: v == a,
    "!=": lambda v, a: v != a,
}


@kinds
def test_threshold(dtype, make, place):
    values = numbers(dtype)
    for word, holds in CONDITIONS.items():
        for limit in (0, 1, 7):
            item = make(values, place=place)
            item.Threshold(word, limit)
            same(item, holds(values, dtype(limit)).astype(dtype))
    item, out = make(values, place=place), make(values, place=place)
    item.Threshold("between", 1, 7, inside=9, outside=4, out=out)
    same(item, values)
    same(out, np.where((values >= 1) & (values <= 7), 9, 4).astype(dtype))
    item.Threshold("nan", outside=2, out=out)
    same(out, np.where(np.isnan(values), 1, 2).astype(dtype))
    item.Threshold("finite")
    same(item, np.isfinite(values).astype(dtype))


@kinds
def test_masks(dtype, make, place):
    values = numbers(dtype)
    pattern = np.arange(COUNT) % 3
    for mask in (make(pattern.astype(dtype), place=place), counts(pattern, place), image(pattern, place=place)):
        check(make, dtype, place, lambda item, out, mask=mask: item.Mask(flat(mask, item), outside=3, **out),
              lambda values: np.where(pattern, values, dtype(3)))
    item = make(values, place=place)
    item.Mask(item)
    same(item, np.where(values == 0, dtype(0), values))


def flat(mask, item):
    """The mask in the shape of the item; of a table, a table."""
    if len(item.Shape) == len(mask.Shape):
        return mask
    shaped = table(got(mask), mask.GetPreferredDevice()) if len(item.Shape) == 2 else image(got(mask), place=mask.GetPreferredDevice())
    return shaped


def test_masks_of_arrays_on_the_host():
    values = np.arange(COUNT)
    for dtype in (bool, np.uint8, np.float32, np.float64, np.int32, np.int64, np.uint64):
        item = image(values)
        mask = (values % 3).astype(dtype)
        item.Mask(mask.reshape(2, 3, 4), outside=-1)
        same(item, np.where(mask, values, -1).astype(np.float32))
    item = image(values)
    item.Mask([[[1, 0, 1, 0]] * 3] * 2)
    same(item, np.where(values % 2, 0, values).astype(np.float32))
    with pytest.raises(TypeError, match="Mask"):
        item.Mask(mask.astype(complex))
    with pytest.raises(TypeError, match="Mask: mask is 1"):
        item.Mask(1)


@kinds
def test_copy_from_converts(dtype, make, place):
    random = np.random.default_rng(5)
    for other, other_dtype in ((table, np.float64), (image, np.float32), (counts, np.uint32)):
        source = numbers(other_dtype, seed=4)
        item = make(numbers(dtype), place=place)
        item.CopyFrom(flat(other(source, place=place), item))
        source = source.astype(np.float64) if len(item.Shape) == 2 and other is counts else source
        with np.errstate(all="ignore"):
            wanted = source.astype(dtype)
            if dtype == np.uint32 and source.dtype.kind == "f":
                wanted = np.nan_to_num(np.trunc(np.clip(source.astype(np.float64), 0, 2**32 - 1)), nan=0).astype(dtype)
        same(item, wanted)
    for kind in (bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint64, np.float16, ">f8"):
        source = random.integers(0, 2, COUNT).astype(kind)
        item = make(numbers(dtype))
        item.CopyFrom(source.reshape(item.Shape))
        same(item, source.astype(dtype))
    with pytest.raises(TypeError, match="CopyFrom"):
        item.CopyFrom(np.zeros(COUNT, complex).reshape(item.Shape))
    with pytest.raises(TypeError, match="CopyFrom: text"):
        item.CopyFrom("text")


def test_nothing_moves(gpu):
    item, other, out = (image(np.arange(COUNT), place="Device") for _ in range(3))
    before = item.Transfers, other.Transfers, out.Transfers
    item.Add(other, out=out)
    item.Fma(other, 2)
    item.Threshold("<", 3, out=out)
    item.Add(item)
    item.Mask(other)
    assert (item.Transfers, other.Transfers, out.Transfers) == before
    assert all(each.IsDeviceResident() for each in (item, other, out))


def test_empty_arrays(place):
    for empty, other in ((uLib.VoxImage(), uLib.VoxImage()), (uLib.FloatCollection(), uLib.FloatCollection()), (uLib.EventTable("a"), uLib.EventTable("a"))):
        empty.SetPreferredDevice(place)
        other.SetPreferredDevice(place)
        empty.Add(1)
        empty.Add(other)
        empty.Sqrt(out=other)
        empty.Threshold("<", 1)
        empty.CopyFrom(other)
        assert len(empty + 1) == 0


def test_signatures_are_shown():
    assert uLib.VoxImage.Add.__text_signature__ == "($self, other, out=None)"
    assert uLib.VoxImage.Threshold.__text_signature__ == "($self, condition, *limits, inside=1, outside=0, out=None)"
    for name in ("Add", "Fma", "Threshold", "Mask", "CopyFrom", "Sum"):
        assert getattr(uLib.VoxImage, name).__doc__
