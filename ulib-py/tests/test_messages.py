"""What an error says: the operation and the value, in a readable length."""

import gc
import weakref

import numpy as np
import pytest
import uLib

HUGE = 2**70


class Mine(Exception):
    """What a program's own number raises."""


class Raises:
    def __index__(self):
        raise Mine

    __float__ = __index__


def image():
    return uLib.VoxImage(2, 2, 2)


def table():
    return uLib.EventTable("a,b", 1)


# An operation with one integer, and what its error must name.
INTEGERS = {
    "image index": (lambda n: image().GetValue(n), IndexError, "voxel"),
    "image triple": (lambda n: image().GetValue(0, n, 0), IndexError, "voxel y"),
    "image pair": (lambda n: image().GetValue((0, 0, n)), IndexError, "voxel z"),
    "image set": (lambda n: image().SetValue(n, 1.0), IndexError, "voxel"),
    "Map": (lambda n: image().Map(n, 0, 0), IndexError, "voxel x"),
    "UnMap": (lambda n: image().UnMap(n), IndexError, "voxel"),
    "SetActive": (lambda n: uLib.MultiVoxImage(1, 1, 1).SetActive(n), IndexError, "channel"),
    "ActiveComponent": (
        lambda n: setattr(uLib.MultiVoxImage(1, 1, 1), "ActiveComponent", n),
        IndexError,
        "component",
    ),
    "row": (lambda n: table().GetRow(n), IndexError, "row"),
    "cell": (lambda n: table().GetValue(n, 0), IndexError, "row"),
    "column": (lambda n: table().GetValue(0, n), IndexError, "column"),
    "float": (lambda n: uLib.FloatCollection(2).GetValue(n), IndexError, "element"),
    "line": (lambda n: uLib.LineCollection(2).GetLine(n), IndexError, "line"),
    "muon": (lambda n: uLib.MuonScatterCollection(2).GetMuon(n), IndexError, "muon"),
    "event": (lambda n: uLib.GeantEventCollection().GetEvent(n), IndexError, "event"),
    "floats": (lambda n: uLib.FloatCollection(n), (OverflowError, ValueError), "FloatCollection: count"),
    "lines": (lambda n: uLib.LineCollection(n), (OverflowError, ValueError), "LineCollection: count"),
    "muons": (
        lambda n: uLib.MuonScatterCollection(n),
        (OverflowError, ValueError),
        "MuonScatterCollection: count",
    ),
    "rows": (lambda n: uLib.EventTable("a", n), (OverflowError, ValueError), "EventTable: rows"),
    "Resize": (lambda n: uLib.FloatCollection().Resize(n), (OverflowError, ValueError), "Resize: count"),
    "channels": (
        lambda n: uLib.MultiVoxImage(1, 1, 1, channels=n),
        (OverflowError, ValueError),
        "MultiVoxImage: channels",
    ),
    "voxel_bytes": (lambda n: uLib.VoxImage(1, 1, 1, voxel_bytes=n), ValueError, "voxel_bytes"),
    "Count": (lambda n: image().Count.Fill(n), OverflowError, "Fill: value"),
    "Count factor": (lambda n: image().Count.Scale(n), OverflowError, "Scale: value"),
}


@pytest.mark.parametrize(("act", "error", "names"), INTEGERS.values(), ids=list(INTEGERS))
@pytest.mark.parametrize("number", [HUGE, -HUGE, -1, 2**63, -(2**63) - 1])
def test_integers_of_any_size_are_named(act, error, names, number):
    with pytest.raises(error) as caught:
        act(number)
    assert names in str(caught.value) and str(number) in str(caught.value)


@pytest.mark.parametrize("act", [act for act, _, _ in INTEGERS.values()], ids=list(INTEGERS))
def test_other_things_than_integers(act):
    with pytest.raises(Mine):
        act(Raises())
    for number in (10**5000, -(10**5000)):
        with pytest.raises((IndexError, OverflowError, ValueError)) as caught:
            act(number)
        assert len(str(caught.value)) < 1000
    for other in (object(), 1j, {}):
        with pytest.raises((TypeError, ValueError)):
            act(other)


NAMED = {
    "axis": (lambda: table_of_one().Sum(axis=1 << 63), IndexError, f"Sum axis: index {1 << 63} is out of range for length 1"),
    "a word as axis": (lambda: table_of_one().Sum(axis="x"), TypeError, "Sum: axis is 'x', expected an integer or several"),
    "axis of a float": (lambda: table_of_one().Sum(axis=1.5), TypeError, "Sum: axis is 1.5, expected an integer or several"),
    "stream": (lambda: image().__dlpack__(stream=1 << 70), ValueError, f"__dlpack__: stream {1 << 70} is no stream"),
    "bins": (lambda: table_of_one().Histogram(0), ValueError, "Histogram: bins is 0, expected at least one bin"),
    "edges": (lambda: table_of_one().Histogram([2, 1]), ValueError, "Histogram: "),
    "complex": (lambda: table_of_one().Add(1j), TypeError, "Add: other is 1j, and complex numbers are not taken"),
    "word": (
        lambda: image().SetPreferredDevice("GPU"),
        ValueError,
        "SetPreferredDevice: unknown device word 'GPU', expected 'Host', 'Device' or 'Device:N'",
    ),
    "dimensions": (
        lambda: uLib.VoxImage((1, 2, 3)),  # type: ignore[arg-type]
        TypeError,
        "the dimensions are three integers nx, ny, nz, not (1, 2, 3)",
    ),
}


def table_of_one():
    return uLib.FloatCollection([1])


@pytest.mark.parametrize(("act", "error", "message"), NAMED.values(), ids=list(NAMED))
def test_what_is_refused_is_called_as_in_python(act, error, message):
    with pytest.raises(error) as caught:
        act()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("column", [None, 1.5, object(), b"a"])
def test_a_column_is_a_number_or_a_name(column):
    with pytest.raises(TypeError, match="column") as caught:
        table().GetValue(0, column)
    assert "Column::" not in str(caught.value) and "enum" not in str(caught.value)


@pytest.mark.parametrize("values", [3.0, [[1, 2], [3, 4]], "text", ["a"], object()])
def test_a_constructor_names_itself(values):
    with pytest.raises((TypeError, ValueError), match="FloatCollection"):
        uLib.FloatCollection(values)


@pytest.mark.parametrize(
    "act",
    [
        lambda text: image().SetPreferredDevice(text),
        lambda text: image().Field(text),
        lambda text: image().SetDataOrder(text),
        lambda text: table().Column(text),
        lambda text: table().GetValue(0, text),
        lambda text: setattr(table(), "Columns", text + ",,"),
        lambda text: image().Fill(text),
        lambda text: image().SetValue(0, text),
        lambda text: uLib.FloatCollection(3).SetValues(np.array(text)),
    ],
)
@pytest.mark.parametrize("letter", ["x", "\N{SNOWMAN}"])
def test_no_message_repeats_a_megabyte(act, letter):
    with pytest.raises((TypeError, ValueError, LookupError)) as caught:
        act(letter * 10**6)
    assert len(str(caught.value)) < 1000


def test_a_table_takes_its_own_rows():
    rows = uLib.EventTable("a,b")
    rows.AddRow((1, 2))
    for _ in range(3):
        rows.AddRows(rows)
    np.testing.assert_array_equal(np.asarray(rows), [[1, 2]] * 8)


@pytest.mark.parametrize(
    "make",
    [
        image,
        table,
        lambda: uLib.MultiVoxImage(1, 1, 1),
        uLib.FloatCollection,
        uLib.LineCollection,
        uLib.MuonScatterCollection,
        uLib.GeantEventCollection,
        lambda: image().Grid(),
        lambda: image().HostView(),
    ],
)
def test_weak_references(make):
    item = make()
    reference = weakref.ref(item)
    assert reference() is item
    cache = weakref.WeakValueDictionary({"item": item})
    del item
    gc.collect()
    assert reference() is None and not cache


@pytest.mark.parametrize("version", [(-1, 0), (0, 8), (2**40, 0), (1, -5)])
def test_versions_of_dlpack_that_nobody_has(version):
    item = uLib.FloatCollection([1, 2])
    assert "dltensor" in repr(item.__dlpack__(max_version=version))
