"""EventTable and the collections on the host."""

import numpy as np
import pytest
import uLib


def test_event_table_of_the_page():
    table = uLib.EventTable()
    table.Columns = "slice,total"
    table.Clear()
    for index, total in enumerate([10.0, 20.0, 30.0]):
        table.AddRow([float(index), float(total)])
    assert table.Rows == len(table) == 3
    assert table.Shape == (3, 2) and table.Typestr == "<f8" and table.Strides is None
    assert table.GetRow(1) == (1.0, 20.0)
    assert table.GetValue(2, "total") == table.GetValue(2, 1) == 30.0
    np.testing.assert_array_equal(np.asarray(table), [[0, 10], [1, 20], [2, 30]])
    np.testing.assert_array_equal(table.GetColumn("total"), [10, 20, 30])
    assert table.Column("total").Strides == (16,)
    assert [tuple(row) for row in table] == [(0, 10), (1, 20), (2, 30)]
    assert table.Sum() == 63 and table.Column("total").Sum() == 60
    np.testing.assert_array_equal(table.Sum(axis=0), [3, 60])
    assert table.Fields() == ["slice", "total"]


def test_event_table_changes():
    table = uLib.EventTable("a, b", rows=2)
    assert table.Columns == "a,b"
    table.SetRow(0, (1, 2))
    table.SetValue(1, "b", 4)
    table.AddRows(np.array([[5, 6], [7, 8]], dtype=np.int32))
    np.testing.assert_array_equal(np.asarray(table), [[1, 2], [0, 4], [5, 6], [7, 8]])
    table.Column("a").Scale(2)
    assert list(table.Column("a")) == [2, 0, 10, 14]
    table.SetValues(np.ones((4, 2)))
    assert table.Sum() == 8
    table.Columns = "c,d"
    assert table.Rows == 4
    table.Columns = "c,d,e"
    assert table.Rows == 0
    table.Resize(5)
    assert table.Shape == (5, 3)


@pytest.mark.parametrize(
    ("act", "error", "names"),
    [
        (lambda t: t.AddRow([1.0]), ValueError, "1"),
        (lambda t: t.AddRow(["x", "y"]), TypeError, None),
        (lambda t: t.AddRow(3.0), TypeError, None),
        (lambda t: t.AddRows([1.0, 2.0]), ValueError, None),
        (lambda t: t.AddRows([[1.0, 2.0, 3.0]]), ValueError, "3"),
        (lambda t: t.GetRow(5), IndexError, "5"),
        (lambda t: t.GetValue(0, "nope"), IndexError, "nope"),
        (lambda t: t.GetValue(0, 2), IndexError, "column.*2"),
        (lambda t: t.Column("nope"), IndexError, "nope"),
        (lambda t: setattr(t, "Columns", "a,,b"), ValueError, "a,,b"),
        (lambda t: setattr(t, "Columns", "a,a"), ValueError, "a,a"),
        (lambda t: t.Resize(-1), ValueError, "-1"),
        (lambda t: t.Resize(1 << 62), (OverflowError, MemoryError), None),
    ],
)
def test_event_table_bad_input(act, error, names):
    table = uLib.EventTable("a,b", rows=1)
    with pytest.raises(error, match=names):
        act(table)
    assert table.Rows == 1 and table.Columns == "a,b"


def test_float_collection():
    floats = uLib.FloatCollection([1, 2, 3])
    floats.Append(4.5)
    floats.Extend([5, 6])
    floats.SetValue(0, -1)
    assert list(floats) == [-1, 2, 3, 4.5, 5, 6] and len(floats) == 6
    assert floats.GetValue(3) == 4.5 and floats.Typestr == "<f4" and floats.Strides is None
    assert floats.Sum() == 19.5
    floats.Resize(8)
    assert list(floats)[6:] == [0, 0]
    floats.Clear()
    assert len(floats) == 0
    assert len(uLib.FloatCollection(5)) == 5
    assert list(uLib.FloatCollection(np.arange(3))) == [0, 1, 2]
    with pytest.raises(IndexError, match="8"):
        uLib.FloatCollection(8).GetValue(8)
    with pytest.raises(ValueError, match="-1"):
        uLib.FloatCollection(-1)


def test_line_collection():
    lines = uLib.LineCollection()
    lines.Append((1, 2, 3), (0, -1, 0))
    lines.Append([4, 5, 6], [0, 0, 1])
    assert len(lines) == 2 and lines.Shape == (2, 2, 4)
    assert lines.GetLine(0) == ((1, 2, 3), (0, -1, 0))
    np.testing.assert_array_equal(np.asarray(lines)[1], [[4, 5, 6, 1], [0, 0, 1, 0]])
    lines.SetLine(0, (0, 0, 0), (1, 0, 0))
    np.testing.assert_array_equal(np.asarray(lines.Field("direction")), [[1, 0, 0, 0], [0, 0, 1, 0]])
    with pytest.raises(IndexError, match="2"):
        lines.GetLine(2)


def test_muon_scatter_collection():
    muons = uLib.MuonScatterCollection()
    muons.Append(((0, 10, 0), (0, -1, 0)), ((0, -10, 0), (0.1, -1, 0)), momentum=3, momentum_prime=2.5)
    muons.Append(((1, 10, 0), (0, -1, 0)), ((1, -10, 0), (0, -1, 0)))
    assert len(muons) == 2
    assert muons.Shape == (288,) and muons.Typestr == "|u1" and muons.Strides is None
    assert muons.Momentum.Strides == (144,)
    np.testing.assert_array_equal(np.asarray(muons.Momentum), [3, 0])
    np.testing.assert_array_equal(np.asarray(muons.MomentumPrime), [2.5, 0])
    assert muons.LineInOrigin.Shape == (2, 4)
    np.testing.assert_array_equal(np.asarray(muons.LineInOrigin), [[0, 10, 0, 1], [1, 10, 0, 1]])
    np.testing.assert_array_equal(np.asarray(muons.Field("LineOut.direction"))[0], np.float32([0.1, -1, 0, 0]))
    muons.Momentum.SetValues([1, 2])
    muons.Momentum.Scale(2)
    assert muons.GetMuon(1) == {
        "LineIn": ((1, 10, 0), (0, -1, 0)),
        "LineOut": ((1, -10, 0), (0, -1, 0)),
        "Momentum": 4,
        "MomentumPrime": 0,
    }
    raw = np.asarray(muons)
    assert raw.dtype == np.uint8 and raw[128:132].view(np.float32)[0] == 2
    assert not raw.reshape(2, 144)[:, 136:].any(), "the padding is zero"
    with pytest.raises(TypeError, match="field"):
        muons.Fill(0)
    with pytest.raises(TypeError, match="Momentum"):
        iter(muons)
    with pytest.raises(IndexError, match="Charge"):
        muons.Field("Charge")


def test_geant_events_are_host_only_and_say_so():
    events = uLib.GeantEventCollection([("a.root", "mu-")])
    events.Append("b.root", "mu+")
    events.SetEvent(0, "c.root", "e-")
    assert list(events) == [("c.root", "e-"), ("b.root", "mu+")] and len(events) == 2
    assert events.GetEvent(1) == ("b.root", "mu+")
    assert events.SetPreferredDevice("Device") is False
    assert events.GetPreferredDevice() == "Device"
    assert not events.IsDeviceResident() and not events.CanUseDevice()
    assert events.GetDataLocation() == "Host (these events cannot be copied to a device)"
    assert not hasattr(events, "__cuda_array_interface__")
    assert uLib.device.array_info(events) is None and uLib.device.as_array(events) is None
    assert uLib.device.location(events) == events.GetDataLocation()
    assert events.Update() is False and events.ReleaseDevice() is True
    events.EndExports()
    with pytest.raises(IndexError, match="2"):
        events.GetEvent(2)
    with pytest.raises(TypeError):
        events.Append(1, 2)
    events.Clear()
    assert len(events) == 0
