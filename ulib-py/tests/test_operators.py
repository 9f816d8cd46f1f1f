"""Operators of Python against those of NumPy."""

import pickle

import numpy as np
import pytest
import uLib
from making import COUNT, DIMS, got, image, preferring, quotient, same, table

pytestmark = pytest.mark.usefixtures("quiet")

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
