"""Reductions against NumPy, over every set of axes, on the host and on a device."""

import itertools

import numpy as np
import pytest
import uLib

pytestmark = pytest.mark.usefixtures("quiet")

COUNT = 24
SHAPE = (2, 3, 4)


def image(values, place="Host", order="YXZ"):
    made = uLib.VoxImage(4, 3, 2, order=order)
    made.Count.Fill(5)
    made.Grid().SetValues(np.reshape(values, SHAPE).astype(np.float32))
    made.SetPreferredDevice(place)
    return made


def table(values, place="Host"):
    made = uLib.EventTable("a,b,c", rows=COUNT // 3)
    made.SetValues(np.reshape(values, (-1, 3)).astype(np.float64))
    made.SetPreferredDevice(place)
    return made


def counts(values, place="Host"):
    made = uLib.VoxImage(4, 3, 2)
    made.Count.SetValues(np.asarray(values).astype(np.uint32))
    made.SetPreferredDevice(place)
    return made.Count


KINDS = {"image": image, "table": table, "counts": counts}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=list(KINDS))


def values_for(make, seed=0):
    random = np.random.default_rng(seed)
    if make is counts:
        return random.integers(0, 50, COUNT)
    return random.integers(-500, 500, COUNT) / 4


def shown(item):
    """The array whose axes are meant."""
    return np.array(item.Grid() if hasattr(item, "Grid") else item)


def all_axes(ndim):
    for count in range(1, ndim + 1):
        yield from itertools.combinations(range(ndim), count)


def wide(array):
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.uint64)


NUMPY = {
    "Sum": lambda a, **k: np.sum(wide(a), **k),
    "Mean": lambda a, **k: np.mean(a.astype(np.float64), **k),
    "Variance": lambda a, **k: np.var(a.astype(np.float64), **k),
    "Norm": lambda a, **k: np.sqrt(np.sum(a.astype(np.float64) ** 2, **k)),
    "Min": lambda a, **k: np.min(a, **k),
    "Max": lambda a, **k: np.max(a, **k),
}


@kinds
@pytest.mark.parametrize("name", NUMPY)
def test_over_every_set_of_axes(name, make, place):
    item = make(values_for(make), place)
    array = shown(item)
    reduce, wanted = getattr(item, name), NUMPY[name]
    before = item.Transfers.downloads
    whole = reduce()
    assert type(whole) is (float if wanted(array).dtype.kind == "f" else int)
    np.testing.assert_allclose(whole, wanted(array), rtol=1e-14)
    for keepdims in (False, True):
        assert np.shape(reduce(keepdims=keepdims)) == np.shape(wanted(array, keepdims=keepdims))
        for axes in all_axes(array.ndim):
            found, expected = reduce(axis=axes, keepdims=keepdims), wanted(array, axis=axes, keepdims=keepdims)
            assert found.shape == expected.shape and found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
        np.testing.assert_array_equal(reduce(-1, keepdims=keepdims), reduce((array.ndim - 1,), keepdims=keepdims))
    if name in ("Min", "Max"):
        assert whole == wanted(array)
    assert item.Transfers.downloads == before, "only results come home"


@kinds
@pytest.mark.parametrize("name", ["ArgMin", "ArgMax"])
def test_where(name, make, place):
    values = values_for(make)
    values[[3, 11, 17]] = 600
    if make is not counts:
        values[[4, 9]] = -600
    item = make(values, place)
    array, find = shown(item), {"ArgMin": np.argmin, "ArgMax": np.argmax}[name]
    assert getattr(item, name)() == find(np.array(item)), "the index that GetValue and UnMap take"
    for axis in range(array.ndim):
        for keepdims in (False, True):
            found = getattr(item, name)(axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(found, find(array, axis=axis, keepdims=keepdims))
    if make is image:
        assert item.GetValue(item.UnMap(getattr(item, name)())) == {"ArgMin": -600, "ArgMax": 600}[name]


@kinds
def test_variance_with_a_divisor(make, place):
    item = make(values_for(make), place)
    array = shown(item).astype(np.float64)
    for ddof in (0, 1, 2):
        np.testing.assert_allclose(item.Variance(ddof=ddof), np.var(array, ddof=ddof), rtol=1e-13)
        np.testing.assert_allclose(item.Variance(axis=0, ddof=1), np.var(array, axis=0, ddof=1), rtol=1e-13)
    with pytest.raises(ValueError, match="Variance: ddof"):
        item.Variance(ddof=-1)


CONDITIONS = {
    "<": lambda v, a: v < a,
    "<=": lambda v, a: v <= a,
    ">": lambda v, a: v > a,
    ">=": lambda v, a: v >= a,
    "==": lambda v, a: v == a,
    "!=": lambda v, a: v != a,
}


@kinds
def test_count_where(make, place):
    values = values_for(make)
    item = make(values, place)
    array = shown(item)
    limit = float(values[5]) if make is not counts else int(values[5])
    for word, holds in CONDITIONS.items():
        assert item.CountWhere(word, limit) == np.count_nonzero(holds(array, limit))
        found = item.CountWhere(word, limit, axis=0)
        np.testing.assert_array_equal(found, np.count_nonzero(holds(array, limit), axis=0))
        assert found.dtype == np.uint64
        assert item.CountWhere(word, limit, axis=0, keepdims=True).shape == (1, *array.shape[1:])
    assert item.CountWhere("between", 1, 20) == np.count_nonzero((array >= 1) & (array <= 20))
    assert item.CountWhere("finite") == COUNT and item.CountWhere("nan") == 0
    with pytest.raises(ValueError, match="CountWhere: condition"):
        item.CountWhere("like", 1)


@kinds
def test_dot(make, place):
    values, others = values_for(make), values_for(make, seed=1)
    item, other = make(values, place), make(others, place)
    assert item.Dot(other) == pytest.approx(np.sum(values * others), rel=1e-13)
    assert item.Dot(item) == pytest.approx(np.sum(values * values), rel=1e-13)
    assert type(item.Dot(other)) is (int if make is counts else float)
    with pytest.raises(TypeError, match="Dot: other is 2, a single number"):
        item.Dot(2)
    if place == "Host":
        assert item.Dot(shown(other)) == item.Dot(other)
    else:
        with pytest.raises(uLib.ResidencyError):
            item.Dot(make(others))
        with pytest.raises(uLib.ResidencyError, match="Dot: self .*, other is an array on the host"):
            item.Dot(shown(other))
    item.Fill(1)


def test_dot_of_images_is_by_voxels(place):
    values, others = np.arange(COUNT), np.arange(COUNT) ** 2
    one, two = image(values, place, "XYZ"), image(others, place, "ZYX")
    assert one.Dot(two) == one.Dot(two.Grid()) == one.Grid().Dot(two) == np.sum(values * others)


@kinds
def test_quantiles(make, place):
    item = make(values_for(make), place)
    array = shown(item).astype(np.float64)
    for q in (0, 0.25, 0.5, 0.3, 1):
        assert item.Quantile(q) == pytest.approx(np.quantile(array, q), rel=1e-12)
        for axis in (0, -1, tuple(range(array.ndim))):
            for keepdims in (False, True):
                wanted = np.quantile(array, q, axis=axis, keepdims=keepdims)
                found = item.Quantile(q, axis=axis, keepdims=keepdims)
                assert np.shape(found) == np.shape(wanted)
                np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert type(item.Quantile(0.5)) is float
    np.testing.assert_allclose(item.Quantile([0.1, 0.9]), np.quantile(array, [0.1, 0.9]), rtol=1e-12)
    for keepdims in (False, True):
        wanted = np.quantile(array, [0.1, 0.5, 0.9], axis=0, keepdims=keepdims)
        np.testing.assert_allclose(item.Quantile((0.1, 0.5, 0.9), 0, keepdims), wanted, rtol=1e-12)
    assert item.Quantile([]).shape == (0,)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="quantile"):
            item.Quantile(bad)
    with pytest.raises(TypeError):
        item.Quantile("half")


@kinds
def test_histograms(make, place):
    item = make(values_for(make), place)
    array = shown(item)
    for bins in (10, 1, 7):
        found, edges = item.Histogram(bins)
        wanted, wanted_edges = np.histogram(array.astype(np.float64), bins)
        assert found.dtype == np.uint64 and edges.dtype == np.float64
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(edges, wanted_edges, rtol=1e-14)
    found, edges = item.Histogram()
    assert len(found) == 10 and found.sum() == COUNT
    found, edges = item.Histogram(4, range=[0, 40])
    np.testing.assert_array_equal(found, np.histogram(array.astype(np.float64), 4, (0, 40))[0])
    np.testing.assert_array_equal(edges, [0, 10, 20, 30, 40])
    found, edges = item.Histogram([0, 1, 5, 40])
    np.testing.assert_array_equal(found, np.histogram(array, [0, 1, 5, 40])[0])
    np.testing.assert_array_equal(edges, [0, 1, 5, 40])
    np.testing.assert_array_equal(item.Histogram(bins=np.array([0.0, 20.0]))[0], np.histogram(array, [0.0, 20.0])[0])
    item.Fill(3)
    np.testing.assert_array_equal(item.Histogram(2)[1], [2.5, 3, 3.5])
    for bad, error in (
        (lambda: item.Histogram(0), ValueError),
        (lambda: item.Histogram(-1), ValueError),
        (lambda: item.Histogram([1]), ValueError),
        (lambda: item.Histogram([2, 1]), ValueError),
        (lambda: item.Histogram(2, range=(1, 0)), ValueError),
        (lambda: item.Histogram(2, range=(1,)), ValueError),
        (lambda: item.Histogram(2, range=(1, 2, 3)), (ValueError, TypeError)),
        (lambda: item.Histogram([1, 2], range=(1, 2)), TypeError),
        (lambda: item.Histogram("ten"), TypeError),
        (lambda: item.Histogram(2.5), TypeError),
    ):
        with pytest.raises(error):
            bad()


def test_nan_and_infinity(place):
    values = np.arange(COUNT).astype(np.float32)
    values[[5, 9]] = np.nan, -np.inf
    item = image(values, place, "XYZ")
    assert np.isnan(item.Min()) and np.isnan(item.Max()) and np.isnan(item.Mean()) and np.isnan(item.Norm())
    assert item.ArgMin() == item.ArgMax() == 5
    assert item.CountWhere("nan") == 1 and item.CountWhere("finite") == COUNT - 2
    with pytest.raises(ValueError, match="range"):
        item.Histogram()


@pytest.mark.parametrize("make", [uLib.FloatCollection, uLib.VoxImage, lambda: uLib.EventTable("a,b")])
def test_of_nothing(make, place):
    empty = make()
    empty.SetPreferredDevice(place)
    assert empty.Sum() == 0 and empty.Norm() == 0 and empty.CountWhere("<", 1) == 0
    assert np.isnan(empty.Mean())
    assert empty.Histogram(3)[0].tolist() == [0, 0, 0]
    for bad in (empty.Min, empty.Max, empty.ArgMin, empty.ArgMax, lambda: empty.Quantile(0.5)):
        with pytest.raises(ValueError):
            bad()


AXIS = ["Sum", "Mean", "Variance", "Norm", "Min", "Max", "ArgMin", "ArgMax"]


@pytest.mark.parametrize("name", AXIS)
def test_bad_axes(name):
    item = image(np.arange(COUNT))
    reduce = getattr(item, name)
    for bad, error in ((3, IndexError), (-4, IndexError), ("x", TypeError), (1.5, TypeError), ((0, 0), ValueError)):
        with pytest.raises(error, match=name if error is IndexError else None):
            reduce(axis=bad)
    with pytest.raises(TypeError, match=f"{name}: not defined"):
        getattr(uLib.MuonScatterCollection(1), name)()
    item.Fill(1)


def test_the_same_bits_everywhere(gpu):
    random = np.random.default_rng(1)
    here = uLib.VoxImage(40, 30, 20)
    here.SetValues(random.normal(size=24000).astype(np.float32))
    there = uLib.VoxImage(40, 30, 20)
    there.SetValues(here)
    there.SetPreferredDevice("Device")
    for name in AXIS:
        for axis in (None, 0, (0, 2)):
            if name.startswith("Arg") and isinstance(axis, tuple):
                continue
            np.testing.assert_array_equal(getattr(here, name)(axis), getattr(there, name)(axis))
    np.testing.assert_array_equal(here.Quantile([0.1, 0.5]), there.Quantile([0.1, 0.5]))
    for one, two in zip(here.Histogram(33), there.Histogram(33), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_counts_beside_are_not_counted():
    item = image(np.ones(COUNT))
    assert item.Sum() == item.Dot(item) == item.CountWhere("==", 1) == COUNT
    assert item.Max() == item.Mean() == 1 and item.Count.Mean() == 5


def test_signatures_are_shown():
    shown = {
        "Sum": "($self, axis=None, keepdims=False)",
        "Variance": "($self, axis=None, ddof=0, keepdims=False)",
        "CountWhere": "($self, condition, *limits, axis=None, keepdims=False)",
        "Quantile": "($self, q, axis=None, keepdims=False)",
        "Histogram": "($self, bins=10, range=None)",
        "Dot": "($self, other)",
    }
    for name, signature in shown.items():
        assert getattr(uLib.BulkArray, name).__text_signature__ == signature
