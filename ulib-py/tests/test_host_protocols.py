"""Buffers, `__array__`, `__array_interface__`, DLPack and HostView of host data."""

import gc
import io
import pickle
import re
import sys

import numpy as np
import pytest
import uLib


@pytest.fixture
def image():
    image = uLib.VoxImage(3, 4, 5)
    image.SetValues(np.arange(60, dtype=np.float32))
    return image


def test_asarray_is_a_read_only_strided_view_without_a_copy(image):
    a = np.asarray(image)
    assert a.shape == (60,) and a.strides == (8,) and a.dtype == np.float32
    assert not a.flags.writeable and not a.flags.owndata
    image.SetValue(7, 70)
    assert a[7] == 70
    assert np.shares_memory(a, np.asarray(image.Grid()))
    with pytest.raises(ValueError):
        a[0] = 1
    with pytest.raises(ValueError):
        a.setflags(write=True)


def test_buffer_requests(image):
    view = memoryview(image)
    assert (view.format, view.shape, view.strides, view.readonly, view.itemsize) == ("f", (60,), (8,), True, 4)
    assert not view.c_contiguous and view.nbytes == 240
    with pytest.raises(BufferError, match="gaps"):
        io.BytesIO().write(image)  # asks for simple bytes
    assert bytes(image) == image.GetValues().tobytes()  # takes strides
    packed = uLib.VoxImage(2, 2, 2, voxel_bytes=4)
    assert bytes(packed) == bytes(32)
    with pytest.raises((BufferError, TypeError), match="read-only|read-write"):
        io.BytesIO(bytes(4)).readinto(packed)
    grid = memoryview(image.Grid())
    assert grid.shape == (5, 4, 3) and grid.strides == (96, 24, 8)
    empty = memoryview(uLib.VoxImage())
    assert empty.shape == (0,) and empty.nbytes == 0
    assert np.asarray(uLib.VoxImage()).shape == (0,)


def test_a_resize_under_a_buffer_is_a_buffer_error(image):
    a = np.asarray(image)
    with pytest.raises(BufferError):
        image.SetDims(2, 2, 2)
    assert image.GetDims() == (3, 4, 5) and a[59] == 59
    b = a[10:20]
    del a
    with pytest.raises(BufferError):
        image.Clear()
    del b
    image.SetDims(2, 2, 2)
    table = uLib.EventTable("a", rows=1)
    column = np.asarray(table.Column("a"))
    with pytest.raises(BufferError):
        table.AddRow([1])
    del column
    table.AddRow([1])


def test_a_view_keeps_its_object_alive():
    a = np.asarray(uLib.FloatCollection([1, 2, 3]))
    grid = uLib.VoxImage(2, 2, 2).Grid()
    gc.collect()
    np.testing.assert_array_equal(a, [1, 2, 3])
    assert grid.Sum() == 0


def test_views_do_not_leak_references(image):
    base = sys.getrefcount(image)
    views = [memoryview(image), np.asarray(image), image.Grid(), np.from_dlpack(image)]
    del views
    gc.collect()
    assert sys.getrefcount(image) == base
    image.SetDims(1, 1, 1)


def test_array_interface_without_the_buffer_keeps_the_memory(image):
    class OnlyInterface:
        __array_interface__ = image.__array_interface__

    a = np.asarray(OnlyInterface())
    assert a.strides == (8,) and not a.flags.writeable
    np.testing.assert_array_equal(a, np.arange(60))
    with pytest.raises(BufferError):
        image.SetDims(1, 1, 1)
    counts = uLib.VoxImage(2, 1, 1)
    counts.Count.SetValues(np.array([3, 4], dtype=np.uint32))
    interface = counts.Count.__array_interface__
    assert interface["typestr"] == "<u4" and interface["offset"] == 4 and interface["version"] == 3

    class OnlyCounts:
        __array_interface__ = interface

    assert list(np.asarray(OnlyCounts())) == [3, 4]


def test_array_method(image):
    assert np.shares_memory(image.__array__(), np.asarray(image))
    assert image.__array__(copy=True).flags.writeable
    doubled = image.__array__(np.float64)
    assert doubled.dtype == np.float64 and doubled[7] == 7
    with pytest.raises(ValueError, match="float64"):
        image.__array__(np.float64, copy=False)
    assert np.array(image).flags.owndata
    assert np.mean(image) == 29.5


def test_dlpack_of_host_data(image):
    assert image.__dlpack_device__() == (1, 0)
    a = np.from_dlpack(image)
    assert a.strides == (8,) and not a.flags.writeable and np.shares_memory(a, np.asarray(image))
    with pytest.raises(BufferError):
        image.SetDims(1, 1, 1)
    del a
    image.SetDims(3, 4, 5)
    copied = np.from_dlpack(image, copy=True)
    assert copied.flags.writeable and not np.shares_memory(copied, np.asarray(image))
    copied[:] = 1
    assert image.GetValue(7) == 7
    grid = np.from_dlpack(image.Grid())
    assert grid.shape == (5, 4, 3)


def test_dlpack_capsules(image):
    capsule = image.__dlpack__(max_version=(1, 0))
    assert '"dltensor_versioned"' in repr(capsule)
    del capsule  # nobody took it; its destructor frees it
    old = image.__dlpack__()
    assert '"dltensor"' in repr(old)
    del old
    image.SetDims(3, 4, 5)
    for keywords, error in [
        ({"stream": 1}, ValueError),
        ({"dl_device": (2, 0), "copy": False}, BufferError),
        ({"dl_device": (7, 0)}, BufferError),
        ({"dl_device": (2, 0), "stream": 0}, ValueError),
        ({"copy": False}, BufferError),  # an old capsule cannot say read-only
    ]:
        with pytest.raises(error, match="__dlpack__"):
            image.__dlpack__(**keywords)
    table = uLib.EventTable("a,b", rows=3)
    assert np.from_dlpack(table).shape == (3, 2)
    assert np.from_dlpack(uLib.VoxImage()).shape == (0,)
    muons = uLib.MuonScatterCollection(2)
    assert np.from_dlpack(muons).dtype == np.uint8
    assert np.from_dlpack(muons.LineInOrigin).strides == (144, 4)


def test_host_view_writes_in_place(image):
    with image.HostView() as a:
        assert a.flags.writeable and a.strides == (8,)
        a[7] = 700
        a *= 2
    assert image.GetValue(7) == 1400 and image.GetValue(8) == 16
    with image.Grid().HostView() as g:
        g[0, 0, 0] = -1
        del g
    assert image.GetValue(0) == -1
    with image.Count.HostView() as c:
        c[:] = 9
    assert image.Count.Sum() == 540


def test_host_view_excludes_other_access_with_an_error_at_once(image):
    view = image.HostView()
    a = view.__enter__()
    assert not view.Closed
    for act in (
        lambda: image.GetValue(0),
        lambda: image.SetValue(0, 1),
        lambda: image.Sum(),
        lambda: image.SetDims(1, 1, 1),
        lambda: image.HostView(),
        lambda: memoryview(image),
        lambda: image.__array_interface__,
        lambda: image.SetPreferredDevice("Device"),
        lambda: image.Update(),
    ):
        with pytest.raises(BufferError):
            act()
    with pytest.raises(BufferError):
        np.asarray(image)
    a[0] = 5
    view.__exit__(None, None, None)
    assert view.Closed and image.GetValue(0) == 5
    view.Close()
    with pytest.raises(ValueError, match="closed"):
        view.__enter__()
    with pytest.raises(BufferError, match="closed"):
        memoryview(view)


def test_what_excludes_each_other_is_named_as_in_python(image):
    """No operation has the name of a function that only Rust has."""
    acts = {
        "reading an element": lambda: image.GetValue(0),
        "writing an element": lambda: image.SetValue(0, 1),
        "HostView": lambda: image.HostView(),
        "SetPreferredDevice": lambda: image.SetPreferredDevice("Device"),
        "Update": lambda: image.Update(),
        "ReleaseDevice": lambda: image.ReleaseDevice(),
    }
    others = [
        lambda: image.Fill(1),
        lambda: image.SetDims(1, 1, 1),
        lambda: image.Clear(),
        lambda: image.CopyFrom(image),
        lambda: memoryview(image),
        lambda: image.GetValues(),
        lambda: image.Count.HostView(),
        lambda: image.__array_interface__,
        lambda: image.__array__(),
        lambda: image.__dlpack__(),
        lambda: pickle.dumps(image),
    ]
    with image.HostView():
        for name, act in acts.items():
            with pytest.raises(BufferError, match=f"^{name}: not possible now"):
                act()
        for act in others:
            with pytest.raises(BufferError) as raised:
                act()
            assert not re.search(r"\b[a-z]+_[a-z_]+:|::", str(raised.value)), raised.value


def test_an_array_kept_from_a_host_view_is_read_only_and_harmless(image):
    with image.HostView() as a:
        inner = a[:10]
        a[0] = 1
    assert not a.flags.writeable
    inner[1] = 99  # not the object's memory any more
    assert image.GetValue(1) == 1
    image.SetDims(2, 2, 2)
    assert a[59] == 59


def test_host_view_is_refused_under_a_buffer_and_ends_with_an_exception(image):
    a = np.asarray(image)
    with pytest.raises(BufferError):
        image.HostView()
    del a
    with pytest.raises(ZeroDivisionError), image.HostView() as b:
        b[0] = 3
        1 / 0
    assert image.GetValue(0) == 3
    image.HostView()  # dropped at once: closed
    assert image.GetValue(0) == 3


def test_a_forgotten_host_view_ends_with_its_array(image):
    a = image.HostView().Array
    with pytest.raises(BufferError):
        image.GetValue(0)
    a[0] = 8
    del a
    gc.collect()
    assert image.GetValue(0) == 8
    view = image.HostView()
    kept = view.Array
    assert view.Array is kept
    del kept
    view.Array[1] = 9
    del view
    gc.collect()
    assert image.GetValue(1) == 9


def test_assigning_an_object_to_itself(image):
    before = image.GetValues()
    image.SetValues(image)
    image.SetValues(np.asarray(image))
    image.Grid().SetValues(image.Grid())
    np.testing.assert_array_equal(np.asarray(image), before)
    image.SetValues(np.asarray(image)[::-1])
    np.testing.assert_array_equal(np.asarray(image), before[::-1])
    floats = uLib.FloatCollection([1, 2, 3])
    floats.SetValues(floats)
    floats.SetValues(np.asarray(floats)[::-1])
    assert list(floats) == [3, 2, 1]
