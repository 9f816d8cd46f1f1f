"""repr, copy and pickle."""

import copy
import pickle
import sys
import threading
import time

import numpy as np
import pytest
import uLib


def objects():
    image = uLib.VoxImage(2, 3, 4, spacing=(1, 2, 3), origin=(4, 5, 6), position=(7, 8, 9), order="YXZ")
    image.SetValues(np.arange(24))
    image.Count.Fill(3)
    small = uLib.VoxImage(2, 2, 2, voxel_bytes=4)
    small.Fill(1.5)
    multi = uLib.MultiVoxImage(2, 2, 2, channels=2, components=3)
    multi.SetActive(1, 2)
    multi.Fill(4)
    table = uLib.EventTable("slice,total", rows=3)
    table.SetRow(1, (5, 6))
    muons = uLib.MuonScatterCollection(2)
    muons.Momentum.Fill(3)
    lines = uLib.LineCollection()
    lines.Append((1, 2, 3), (4, 5, 6))
    return [image, small, multi, table, uLib.FloatCollection([1, 2]), muons, lines, uLib.VoxImage(), uLib.EventTable()]


@pytest.mark.parametrize("index", range(9))
@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, *(lambda o, p=p: pickle.loads(pickle.dumps(o, p)) for p in range(2, 6))]
)
def test_copies_are_equal_and_independent(index, how):
    original = objects()[index]
    twin = how(original)
    assert type(twin) is type(original)
    assert twin.Shape == original.Shape and twin.Typestr == original.Typestr
    np.testing.assert_array_equal(np.asarray(twin), np.asarray(original))
    for field in original.Fields():
        np.testing.assert_array_equal(np.asarray(twin.Field(field)), np.asarray(original.Field(field)))
    for get in ("GetDims", "GetSpacing", "GetOrigin", "GetPosition", "GetDataOrder"):
        if hasattr(original, get):
            assert getattr(twin, get)() == getattr(original, get)()
    for name in ("Columns", "ActiveChannel", "ActiveComponent", "VoxelBytes"):
        if hasattr(original, name):
            assert getattr(twin, name) == getattr(original, name)
    assert repr(twin) == repr(original)
    if len(original) and original.Typestr != "|u1":
        twin.Fill(123)
        assert np.asarray(original).max() < 100


def test_the_preference_is_saved():
    for original in objects():
        original.SetPreferredDevice("Device")
        for twin in (pickle.loads(pickle.dumps(original)), copy.copy(original)):
            assert twin.GetPreferredDevice() == "Device"
            assert twin.GetDataLocation() == original.GetDataLocation()
            twin.SetPreferredDevice("Host")
        original.SetPreferredDevice("Host")


def test_geant_events():
    events = uLib.GeantEventCollection([("a", "b")])
    events.SetPreferredDevice("Device")
    for twin in (pickle.loads(pickle.dumps(events)), copy.copy(events), copy.deepcopy(events)):
        assert list(twin) == [("a", "b")] and twin.GetPreferredDevice() == "Device"
        twin.Clear()
        assert len(events) == 1


def test_broken_pickles_are_errors():
    image = uLib.VoxImage(2, 2, 2)
    with pytest.raises(ValueError, match="64"):
        image.__setstate__((b"123", "Host"))
    with pytest.raises(ValueError, match="Moon"):
        image.__setstate__((bytes(64), "Moon"))
    with pytest.raises(TypeError):
        image.__setstate__("nonsense")


def test_views_say_that_they_cannot_be_pickled():
    grid = uLib.VoxImage(2, 2, 2).Grid()
    with pytest.raises(TypeError, match="view"):
        pickle.dumps(grid)
    with pytest.raises(TypeError, match="view"):
        copy.copy(grid)


def test_reprs():
    assert repr(uLib.VoxImage(2, 3, 4)) == "<uLib.VoxImage 2 x 3 x 4, 8-byte voxels, Host>"
    assert repr(uLib.VoxImage(2, 3, 4).Grid()) == "<uLib.ArrayView grid <f4 (4, 3, 2), Host>"
    assert repr(uLib.VoxImage(2, 3, 4).Count) == "<uLib.ArrayView Count <u4 (24,), Host>"
    assert repr(uLib.EventTable("a,b", rows=2)) == "<uLib.EventTable 2 rows of (a, b), Host>"
    assert repr(uLib.FloatCollection(3)) == "<uLib.FloatCollection 3 floats, Host>"
    assert "2 x 3 numbers" in repr(uLib.MultiVoxImage(1, 1, 1, channels=2, components=3))
    assert repr(uLib.VoxImage(2, 2, 2).HostView()).startswith("<uLib.HostView <f4 (8,)")
    assert repr(uLib.VoxImage().Transfers) == "Transfers(uploads=0, downloads=0, bytes_up=0, bytes_down=0)"


def image_with_triples(make):
    image = make(5, 4, 3)
    image.Grid().SetValues(np.arange(60).reshape(3, 4, 5))
    return image


def check_triples(image):
    """Every voxel there is has the value it always had."""
    nx, ny, nz = image.GetDims()
    expected = np.zeros((nz, ny, nx))
    kept = tuple(slice(0, min(n, m)) for n, m in zip((nz, ny, nx), (3, 4, 5), strict=True))
    expected[kept] = np.arange(60).reshape(3, 4, 5)[kept]
    np.testing.assert_array_equal(np.asarray(image.Grid()), expected)


def table_of_columns():
    table = uLib.EventTable("a,b")
    for row in range(20):
        table.AddRow((row, -row))
    return table


def change_table(table, step):
    table.Columns = "a,b" if step % 2 else "x,y"
    table.Resize(20 + step % 7)
    table.Resize(20)


def check_table(table):
    assert table.Columns in ("a,b", "x,y") and 20 <= table.Rows <= 26
    np.testing.assert_array_equal(np.asarray(table)[:20, 0], range(20))
    np.testing.assert_array_equal(np.asarray(table)[20:], 0)


def change_active(image, step):
    image.SetActive(step % 2, step % 3)


def multi():
    """The number of each channel and component is theirs."""
    image = uLib.MultiVoxImage(3, 3, 3, channels=2, components=3)
    for channel in range(2):
        for component in range(3):
            image.SetActive(channel, component)
            image.Fill(10 * channel + component)
    return image


def check_multi(image):
    expected = 10 * image.ActiveChannel + image.ActiveComponent
    np.testing.assert_array_equal(np.asarray(image), [expected] * 27)


def muons():
    made = uLib.MuonScatterCollection(50)
    made.Momentum.SetValues(np.arange(50))
    return made


CHANGING = {
    "order of an image": (
        lambda: image_with_triples(uLib.VoxImage),
        lambda image, step: image.SetDataOrder(("XYZ", "ZYX", "YXZ")[step % 3]),
        check_triples,
    ),
    "dimensions of an image": (
        lambda: image_with_triples(uLib.VoxImage),
        lambda image, step: image.SetDims(5 + step % 3, 4 + step % 2, 3 + step % 5),
        check_triples,
    ),
    "order of a multi image": (
        lambda: image_with_triples(uLib.MultiVoxImage),
        lambda image, step: image.SetDataOrder(("XYZ", "ZYX", "YXZ")[step % 3]),
        check_triples,
    ),
    "active component": (multi, change_active, check_multi),
    "columns and rows": (table_of_columns, change_table, check_table),
    "length of floats": (
        lambda: uLib.FloatCollection(range(50)),
        lambda floats, step: floats.Resize(50 + step % 9),
        lambda floats: np.testing.assert_array_equal(np.asarray(floats)[:50], range(50)),
    ),
    "length of muons": (
        muons,
        lambda muons, step: muons.Resize(50 + step % 9),
        lambda muons: np.testing.assert_array_equal(np.asarray(muons.Momentum)[:50], range(50)),
    ),
}


@pytest.mark.parametrize(("make", "change", "check"), CHANGING.values(), ids=list(CHANGING))
def test_a_pickle_is_of_one_moment(make, change, check):
    """Another thread changes how the object is laid out, never what it says."""
    item = make()
    stop = threading.Event()

    def work():
        step = 0
        while not stop.is_set():
            change(item, step)
            step += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            check(pickle.loads(pickle.dumps(item)))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    check(item)
