"""Numbers that do not fit: an error that names them, never another number in their place."""

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
