"""Elementwise operations against NumPy, on the host and on a device, and what they refuse."""

import decimal
import gc
import logging
import os
import pathlib
import pickle
import signal
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest
import uLib

DIMS = (4, 3, 2)
COUNT = 24


@pytest.fixture(params=["Host", "Device"])
def place(request):
    if request.param == "Device":
        request.getfixturevalue("gpu")
    return request.param


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


def quotient(a, b):
    if a.dtype.kind == "f":
        return a / b
    return np.where(b == 0, 0, a // np.maximum(b, 1)).astype(a.dtype)


TWO = {
    "Add": np.add,
    "Subtract": np.subtract,
    "Multiply": np.multiply,
    "Divide": quotient,
    "Minimum": smaller,
    "Maximum": larger,
}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


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


def test_arrays_of_the_host_are_operands_there():
    values = np.arange(COUNT)
    item = image(values)
    item.Add(np.ones(COUNT))
    item.Add(np.ones((2, 3, 4), np.float32))
    item.Add(np.ones(COUNT, np.int8)[::-1])
    item.Add([1.0] * COUNT)
    item.Add(np.asarray(item))
    same(item, 2 * (values + 4).astype(np.float32))
    numbers = counts(values)
    numbers.Multiply(np.full(COUNT, 3, np.uint8))
    same(numbers, (3 * values).astype(np.uint32))


class Foreign:
    """A consumer's array over the memory of a view."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


def test_arrays_of_a_device_are_operands_there(gpu):
    values = np.arange(COUNT)
    source = image(values, place="Device")
    item = image(values, place="Device")
    before = item.Transfers, source.Transfers
    item.Add(source.DeviceView())
    item.Add(Foreign(source.DeviceView()))
    item.Add(Foreign(source.DeviceView(), stream=2))
    item.Add(item.DeviceView())
    item.Mask(Foreign(source.DeviceView()), outside=9)
    assert (item.Transfers, source.Transfers) == before, "nothing passes through the host"
    gc.collect()
    assert not source.IsShared() and not item.IsShared()
    same(item, np.where(values, 8 * values, 9).astype(np.float32))
    item.CopyFrom(counts(values, "Device").DeviceView())
    same(item, values.astype(np.float32))


def test_mixed_places_are_errors(gpu):
    here, there = image(np.ones(COUNT)), image(np.ones(COUNT), place="Device")
    named = "device|Device"
    for call, names in (
        (lambda: here.Add(there), "add: .*Device.*Host|add: .*Host.*Device"),
        (lambda: there.Add(here), "add: .*Device.*Host|add: .*Host.*Device"),
        (lambda: there.Add(1, out=here), "add: "),
        (lambda: there.Add(np.ones(COUNT)), "Add: self .*, other is an array on the host"),
        (lambda: here.Add(there.DeviceView()), "Add: self is to be used on Host, other is an array on"),
        (lambda: there.Mask(np.ones(COUNT, bool)), "Mask: self .*, mask is an array on the host"),
        (lambda: there.Fma(2, np.ones(COUNT)), "Fma: self .*, c is an array on the host"),
        (lambda: there.Add(1, out=here) or here.Add(1, out=there), "add: "),
    ):
        with pytest.raises(uLib.ResidencyError, match=names) as caught:
            call()
        assert any(word in str(caught.value) for word in named.split("|"))
    same(here, np.ones(COUNT, np.float32))
    same(there, np.ones(COUNT, np.float32))
    there.Add(1)
    here.Add(1)


class Odd:
    """Has a length and nothing else."""

    def __len__(self):
        return COUNT


REFUSED = {
    "text": ("x", TypeError, "Add: text is no array"),
    "None": (None, TypeError, "Add"),
    "complex": (1j, TypeError, "Add: other is 1j"),
    "object": (Odd(), TypeError, "Add"),
    "shape": (np.ones(3), ValueError, r"Add: other has the shape \(3,\), self \(24,\)"),
    "grid": (np.ones((4, 3, 2)), ValueError, r"Add: other has the shape \(4, 3, 2\), self \(2, 3, 4\)"),
    "row": (np.ones((1, COUNT)), ValueError, r"Add: other has the shape \(1, 24\), self \(2, 3, 4\)"),
    "complex array": (np.ones(COUNT, complex), TypeError, "Add: element type complex128"),
    "mask": (np.ma.MaskedArray(np.ones(COUNT), mask=np.ones(COUNT)), ValueError, "Add.*mask"),
    "number": (10**400, OverflowError, "Add: other"),
}


@pytest.mark.parametrize(("other", "error", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_operand(other, error, words):
    item = image(np.arange(COUNT))
    with pytest.raises(error, match=words):
        item.Add(other)
    same(item, np.arange(COUNT, dtype=np.float32))


def test_messages_name_both_sides():
    item = image(np.arange(COUNT))
    for call, error, words in (
        (lambda: item.Add(table(np.ones(COUNT))), TypeError, "Add: other has elements of type f64, not f32"),
        (lambda: item.Add(item.Count), TypeError, "Add: other has elements of type u32, not f32"),
        (lambda: item.Add(1, out=item.Count), TypeError, "Add: out has elements of type u32, not f32"),
        (lambda: item.Add(uLib.VoxImage(3, 4, 2)), ValueError, r"other has the shape \(2, 4, 3\), self \(2, 3, 4\)"),
        (lambda: item.Add(1, out=uLib.FloatCollection(3)), ValueError, r"self has the shape \(24,\), out \(3,\)"),
        (lambda: item.Add(1, out=np.ones(COUNT)), TypeError, "Add: out is a numpy.ndarray, not an object of uLib"),
        (lambda: item.Add(1, out=uLib.GeantEventCollection()), TypeError, "GeantEventCollection"),
        (lambda: item.Count.Sqrt(), TypeError, "Sqrt: not defined for elements of type u32"),
        (lambda: item.Count.Power(2), TypeError, "Power: not defined for elements of type u32"),
        (lambda: item.Count.Add(-1), OverflowError, "Add: other -1"),
        (lambda: item.Count.Add(1.5), TypeError, "Add: other 1.5"),
        (lambda: uLib.MuonScatterCollection(2).Add(1), TypeError, "Add: not defined .* use a view of one field"),
        (lambda: item.Threshold("~", 1), ValueError, 'Threshold: condition "~" is none of'),
        (lambda: item.Threshold("<"), TypeError, "condition '<' takes 1 number, not 0"),
        (lambda: item.Threshold("between", 1), TypeError, "condition 'between' takes 2 numbers, not 1"),
        (lambda: item.Threshold("nan", 1), TypeError, "condition 'nan' takes 0 numbers, not 1"),
        (lambda: item.Threshold("<", "x"), TypeError, "Threshold: limit 'x'"),
        (lambda: item.Threshold("<", 1, inside="x"), TypeError, "Threshold: inside 'x'"),
        (lambda: item.Threshold(3, 1), TypeError, "condition"),
    ):
        with pytest.raises(error, match=words):
            call()
        item.Add(0)
    same(item, np.arange(COUNT, dtype=np.float32))
    assert item.Count.Sum() == 5 * COUNT


def test_images_meet_by_voxels_not_by_memory(place):
    values, others = np.arange(COUNT), 100 * np.arange(COUNT)
    for order in ("XYZ", "ZYX", "YXZ"):
        for voxel_bytes in (4, 8):
            item, other = image(values, place=place), image(others, order=order, voxel_bytes=voxel_bytes, place=place)
            item.Add(other)
            item.Subtract(other.Grid())
            item.Grid().Add(other)
            np.testing.assert_array_equal(np.asarray(item.Grid()).ravel(), values + others)
    channels = uLib.MultiVoxImage(*DIMS, channels=2, order="ZXY")
    channels.SetActive(1)
    channels.SetPreferredDevice(place)
    channels.Add(item)
    np.testing.assert_array_equal(np.asarray(channels.Grid()).ravel(), values + others)
    channels.SetActive(0)
    assert channels.Sum() == 0
    one, two = image(values), image(values, order="ZYX")
    with pytest.raises(ValueError, match="Fma: a flat array fits images of the same"):
        one.Fma(two, np.ones(COUNT))


def test_views_of_one_object_meet(place):
    values = np.arange(12.0).reshape(4, 3)
    item = table(values, place)
    item.Column("a").Add(item.Column("b"))
    item.Column("b").Sqrt(out=item.Column("c"))
    item.Column("b").Multiply(item.Column("b"))
    wanted = np.stack([values[:, 0] + values[:, 1], values[:, 1] ** 2, np.sqrt(values[:, 1])], axis=1)
    same(item, wanted)
    picture = image(np.arange(COUNT), place=place)
    picture.Add(picture)
    picture.Add(picture.Grid())
    picture.Grid().Add(picture)
    picture.Value.Add(picture)
    picture.Fma(picture, picture, out=picture)
    wanted = np.arange(COUNT, dtype=np.float32) * 16
    same(picture, wanted * wanted + wanted)
    muons = uLib.MuonScatterCollection(5)
    muons.Momentum.Fill(2)
    muons.SetPreferredDevice(place)
    muons.Field("MomentumPrime").Add(muons.Momentum)
    assert list(muons.Field("MomentumPrime")) == [2] * 5


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


OPERATORS = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: a - b, np.subtract),
    "*": (lambda a, b: a * b, np.multiply),
    "/": (lambda a, b: a / b, quotient),
    "**": (lambda a, b: a**b, np.power),
}
MADE = {
    "image": lambda place: image(np.arange(1, 25), place=place),
    "multi": lambda place: multi(place),
    "table": lambda place: table(np.arange(1.0, 25), place),
    "floats": lambda place: preferring(uLib.FloatCollection(range(1, 25)), place),
}


def preferring(item, place):
    item.SetPreferredDevice(place)
    return item


def multi(place):
    made = uLib.MultiVoxImage(*DIMS, channels=2, components=2, spacing=(1, 2, 3), order="ZYX")
    made.Fill(7)
    made.SetActive(1, 1)
    made.SetValues(np.arange(1, 25))
    return preferring(made, place)


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("kind", MADE)
def test_operators(kind, sign, place):
    operator, wanted = OPERATORS[sign]
    item, other = MADE[kind](place), MADE[kind](place)
    dtype = np.array(item).dtype.type
    values = got(item)
    ulps = 4 if sign == "**" else 0
    for made, expected in (
        (operator(item, other), wanted(values, values)),
        (operator(item, item), wanted(values, values)),
        (operator(item, 2), wanted(values, dtype(2))),
        (operator(2, item), wanted(np.full(COUNT, 2, dtype), values)),
        (operator(item, np.float64(2)), wanted(values, dtype(2))),
        (operator(item, True), wanted(values, dtype(1))),
        (-item, -values),
        (abs(-item), values),
    ):
        assert type(made) is type(item) and made is not item
        assert made.GetPreferredDevice() == item.GetPreferredDevice()
        assert made.IsDeviceResident() == item.IsDeviceResident()
        if hasattr(item, "GetSpacing"):
            assert made.GetSpacing() == item.GetSpacing() and made.GetDataOrder() == item.GetDataOrder()
        same(made, expected, ulps=ulps)
        same(pickle.loads(pickle.dumps(made)), expected, ulps=ulps)
    same(item, values)
    same(other, values)
    if kind == "image":
        assert operator(item, 2).Count.Sum() == 5 * COUNT


@pytest.mark.parametrize("sign", OPERATORS)
def test_scalars_of_numpy_are_numbers_on_either_side(sign, place):
    """NumPy has the first word when one is on the left, and must not bring the numbers home as an array of its own."""
    values = np.arange(1, 25, dtype=np.float32)
    item = image(values, place=place)
    operator = OPERATORS[sign][0]
    for scalar in (np.float32(2), np.float64(2), np.int8(2), np.uint64(2)):
        for made, wanted in ((operator(scalar, item), operator(2, item)), (operator(item, scalar), operator(item, 2))):
            assert type(made) is uLib.VoxImage and made.GetPreferredDevice() == place
            assert list(made) == list(wanted)
    with pytest.raises(TypeError):
        np.float32(2) < item


UNLIKE = [
    *(kind(1 + 5j) for kind in (np.complex64, np.complex128, np.clongdouble)),
    *(np.array(text) for text in ("3", b"3", 1 + 5j)),
    *(kind(3, "ns") for kind in (np.timedelta64, np.datetime64)),
    np.str_("3"),
    np.bytes_(b"3"),
]


@pytest.mark.parametrize("value", UNLIKE, ids=repr)
@pytest.mark.parametrize("name", ["Fill", "Scale", "Add", "Power", "Axpy", "CountWhere", "Quantile", "__iadd__", "SetValue"])
def test_scalars_that_only_convert_to_numbers_are_refused(name, value):
    """No imaginary part is dropped, and text and times are not read as numbers."""
    item = uLib.FloatCollection([1, 2, 3])
    arguments = {
        "Axpy": (value, item),
        "CountWhere": ("<", value),
        "SetValue": (0, value),
    }.get(name, (value,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=name.replace("__iadd__", "Add")):
            getattr(item, name)(*arguments)
    assert list(item) == [1, 2, 3]


def test_numbers_that_cannot_be_converted_are_named():
    item = uLib.FloatCollection([1, 2, 3])
    for bad, error in ((decimal.Decimal("sNaN"), ValueError), (10**400, OverflowError), (np.array("x", object), ValueError)):
        for call in (item.Add, item.Fill, item.Minimum):
            with pytest.raises(error, match=r"^(Add: other|Fill: value|Minimum: other) ") as caught:
                call(bad)
            assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ({"__cuda_array_interface__": {"shape": (-3,), "typestr": "<f4", "data": (8, False)}}, "__cuda_array_interface__: .*shape"),
        ({"__cuda_array_interface__": {"shape": (3,), "typestr": 4, "data": (8, False)}}, "__cuda_array_interface__: typestr"),
        ({"__cuda_array_interface__": {"shape": (3,), "typestr": "<f4", "data": (1.5, False)}}, "__cuda_array_interface__: data"),
        ({"__cuda_array_interface__": {"shape": (3,), "typestr": "<f4", "data": (-8, False)}}, "__cuda_array_interface__: data"),
        (
            {"__cuda_array_interface__": {"shape": (3,), "typestr": "<f4", "data": (8, False), "stream": "x"}},
            "__cuda_array_interface__: stream",
        ),
        ({"__dlpack__": len, "__dlpack_device__": lambda: None}, "__dlpack_device__: answer None"),
        ({"__dlpack__": len, "__dlpack_device__": lambda: (2, 2**40)}, "__dlpack_device__: answer"),
    ],
)
def test_what_is_wrong_with_an_array_of_another_library_is_named(offer, words):
    item = uLib.FloatCollection([1, 2, 3])
    for call in (item.Add, item.Mask, item.CopyFrom, item.Dot, item.SetValues):
        with pytest.raises((TypeError, OverflowError, ValueError), match=words):
            call(types.SimpleNamespace(**offer))


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_in_place(sign, place):
    values = np.arange(1, 25, dtype=np.float32)
    item = kept = image(values, place=place)
    statement = compile(f"item {sign}= other", "test", "exec")
    for other, number in ((2, np.float32(2)), (image(values, place=place), values)):
        names = {"item": item, "other": other}
        expected = OPERATORS[sign][1](got(item), number)
        exec(statement, names)
        assert names["item"] is kept
        same(item, expected, ulps=4 if sign == "**" else 0)
        item.SetValues(values)
    assert item.Count.Sum() == 5 * COUNT


def test_operators_with_others():
    item, values = image(np.arange(COUNT)), np.arange(COUNT)
    for made in (item + np.ones(COUNT), np.ones(COUNT) + item, np.ones(COUNT, np.float32) * item):
        assert type(made) is np.ndarray and made.shape == (COUNT,)
    np.testing.assert_array_equal(np.ones(COUNT) - item, 1 - values)
    item += np.ones(COUNT)
    assert type(item) is uLib.VoxImage
    same(item, (values + 1).astype(np.float32))
    for operator, _ in OPERATORS.values():
        for other in ("x", None, object(), 1j, (1, 2)):
            with pytest.raises(TypeError, match="unsupported operand|sequence"):
                operator(item, other)
            with pytest.raises(TypeError):
                operator(other, item)
    with pytest.raises(TypeError, match="modulo"):
        pow(item, 2, 3)
    with pytest.raises(TypeError):
        item < item
    with pytest.raises(TypeError, match="a view cannot be copied"):
        item.Count + 1
    with pytest.raises(TypeError, match="elements of type f64, not f32"):
        item + table(np.ones(COUNT))
    item.Count += 1
    assert item.Count.Sum() == 6 * COUNT
    muons = uLib.MuonScatterCollection(3)
    muons.Momentum += 2
    assert list(muons.Momentum) == [2, 2, 2]
    for other in (np.ones(COUNT), 3, item.Value, image().Count):
        with pytest.raises(AttributeError, match=r"Count cannot be replaced; Count.SetValues\(\)"):
            item.Count = other
    assert (item == item) is True and hash(item) == hash(item)


def run_all(*works):
    errors = []
    barrier = threading.Barrier(len(works))

    def body(work):
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    assert not errors, errors


def test_two_threads_that_add_each_to_the_other(place):
    one, two, three = (preferring(uLib.FloatCollection([1] * 1000), place) for _ in range(3))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def repeat(work):
        def body():
            for _ in range(60):
                work()

        return body

    try:
        run_all(
            repeat(lambda: one.Add(two)),
            repeat(lambda: two.Add(one)),
            repeat(lambda: three.Fma(one, two)),
            repeat(lambda: one.Clamp(two, 1e9, out=three)),
            repeat(lambda: two.Maximum(three, out=one)),
            repeat(lambda: one.Add(one)),
            repeat(lambda: (one.Fill(1), two.Fill(1), three.GetValues(), repr(one), len(two))),
        )
    finally:
        sys.setswitchinterval(interval)


def test_each_change_is_whole():
    """Two threads that add to one target lose nothing."""
    target, one = uLib.FloatCollection([0] * 5000), uLib.FloatCollection([1] * 5000)

    def work():
        for _ in range(50):
            target.Add(one)

    run_all(work, work, work)
    assert set(target) == {150.0}


def test_no_lock_is_left_after_an_error():
    one, two = uLib.FloatCollection([1] * 10), uLib.FloatCollection([1] * 10)
    short = uLib.FloatCollection(3)
    for bad in (lambda: one.Add(short), lambda: one.Fma(two, short), lambda: one.Add(two, out=short), lambda: one.Clamp(2, 1)):
        with pytest.raises(ValueError):
            bad()
    with one.HostView():
        for bad in (lambda: one.Add(two), lambda: two.Add(one), lambda: two.Sqrt(out=one)):
            with pytest.raises(BufferError):
                bad()
    run_all(lambda: one.Add(two), lambda: two.Add(one), lambda: short.Add(1))
    assert list(short) == [1, 1, 1]


def test_the_interpreter_runs_meanwhile(fake):
    """The numbers go to the device by a slow bus, and another thread runs."""
    item, other = uLib.VoxImage(128, 128, 64), uLib.VoxImage(128, 128, 64)
    for each in (item, other):
        each.SetPreferredDevice("Device")
        each.SetValues(np.ones(128 * 128 * 64))
    fake(f"bandwidth {64 << 20}")
    done = threading.Event()
    ticks = 0

    def work():
        item.Add(other)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    fake("bandwidth 0")
    assert ticks > 5, "the operation held the interpreter"
    assert item.GetValue(5) == 2


def test_ctrl_c_during_an_operation(fake):
    item, other = (preferring(uLib.VoxImage(256, 256, 64), "Device") for _ in range(2))
    other.Fill(2)
    item.SetValues(np.ones(256 * 256 * 64, np.float32))
    fake(f"bandwidth {16 << 20}")  # two seconds
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        item.Add(other)
    timer.join()
    fake("bandwidth 0")
    run_all(lambda: item.Fill(1), lambda: other.Fill(2))
    item.Add(other)
    assert item.GetValue(7) == 3, "no lock is left"


def test_a_forked_child_operates(python):
    done = python(
        """
import os, uLib
one, two = uLib.FloatCollection(300_000), uLib.FloatCollection(300_000)
one.Fill(1), two.Fill(2)
one.Add(two)
child = os.fork()
if child == 0:
    two.Add(one)
    os._exit(0 if two.GetValue(7) == 5 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        timeout=60,
        ULIB_CUDA_DRIVER="none",
    )
    assert done.stdout == "0\n"


def test_the_log_says_where_after_all_objects_are_let_go(caplog):
    one, two = uLib.FloatCollection([1] * 10), uLib.FloatCollection([1] * 10)

    class Uses(logging.Handler):
        def emit(self, record):
            said.append((record.getMessage(), one.GetValue(0), two.GetValue(0)))

    said, handler, log = [], Uses(), logging.getLogger("ulib.placement")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        one.Add(two)
        with pytest.raises(ValueError):
            one.Add(uLib.FloatCollection(3))
    finally:
        log.setLevel(logging.NOTSET)
        log.removeHandler(handler)
    assert said and said[0][0].startswith("add: Host") and said[0][1:] == (2, 1)


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"

if PAGE.exists():

    def test_the_examples_of_the_page():
        section = PAGE.read_text().split("\n## Operations")[1].split("\n## ")[0]
        programs = [rest.split("```")[0] for rest in section.split("```python")[1:]]
        assert len(programs) == 2
        for program in programs:
            exec(compile(program, str(PAGE), "exec"), {"uLib": uLib, "numpy": np})


def test_signatures_are_shown():
    assert uLib.VoxImage.Add.__text_signature__ == "($self, other, out=None)"
    assert uLib.VoxImage.Threshold.__text_signature__ == "($self, condition, *limits, inside=1, outside=0, out=None)"
    for name in ("Add", "Fma", "Threshold", "Mask", "CopyFrom", "Sum"):
        assert getattr(uLib.VoxImage, name).__doc__
