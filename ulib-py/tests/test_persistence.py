"""repr, copy and pickle."""

import copy
import pickle

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
