"""Copies whose source is on a device: what moves, and what does not."""

import gc

import numpy as np
import pytest
import uLib


class Foreign:
    """A consumer's array over the memory of a view, with strides and streams of its own."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


def test_set_values_from_device_arrays_makes_no_host_trip(gpu):
    source = uLib.VoxImage(4, 4, 4)
    source.SetValues(np.arange(64))
    source.SetPreferredDevice("Device")
    target = uLib.VoxImage(4, 4, 4)
    target.Count.Fill(5)
    target.SetPreferredDevice("Device")
    for values in (
        source,
        source.Grid(),
        source.DeviceView(),
        Foreign(source.DeviceView()),
        Foreign(source.DeviceView(), stream=1),
        Foreign(source.DeviceView(), stream=2),
    ):
        target.Fill(0)
        before = target.Transfers, source.Transfers
        target.SetValues(values)
        assert target.IsDeviceResident()
        assert (target.Transfers, source.Transfers) == before
        assert target.Sum() == 2016
    del values
    gc.collect()
    assert not source.IsShared(), "the source was lent for the copies only"
    assert target.Count.Sum() == 320
    np.testing.assert_array_equal(np.asarray(target), np.arange(64))
    # reversed: negative strides, pointer to the last element
    view = source.DeviceView()
    pointer = view.__cuda_array_interface__["data"][0]
    target.SetValues(Foreign(view, strides=(-8,), data=(pointer + 63 * 8, False)))
    np.testing.assert_array_equal(np.asarray(target), np.arange(64)[::-1])
    # to the host
    home = uLib.VoxImage(4, 4, 4)
    home.SetValues(source)
    np.testing.assert_array_equal(np.asarray(home), np.arange(64))
    # bytes
    muons, others = uLib.MuonScatterCollection(2), uLib.MuonScatterCollection(2)
    muons.Momentum.Fill(3)
    muons.SetPreferredDevice("Device")
    others.SetPreferredDevice("Device")
    others.SetValues(muons)
    assert list(others.Momentum) == [3, 3]


def test_bad_device_sources_are_errors(gpu):
    source = uLib.FloatCollection([1, 2, 3, 4])
    source.SetPreferredDevice("Device")
    view = source.DeviceView()
    target = uLib.FloatCollection(4)
    target.SetPreferredDevice("Device")
    for changes, error, names in [
        ({"typestr": "<f8"}, TypeError, "f64|float64|<f8"),
        ({"typestr": "nonsense"}, TypeError, "nonsense"),
        ({"shape": (3,)}, ValueError, "3"),
        ({"shape": (2, 2)}, ValueError, "2"),
        ({"strides": (3,)}, ValueError, "3"),
        ({"strides": (4, 4)}, ValueError, None),
        ({"mask": view}, ValueError, "mask"),
        ({"stream": 0}, ValueError, "stream 0"),
        ({"data": (0x10, False)}, (ValueError, uLib.DriverError), "0x10"),
        ({"data": None}, TypeError, None),
    ]:
        with pytest.raises(error, match=names):
            target.SetValues(Foreign(view, **changes))
    with pytest.raises(TypeError, match="dict"):
        broken = Foreign(view)
        broken.__cuda_array_interface__ = [1]
        target.SetValues(broken)
    with pytest.raises(ValueError, match="typestr"):
        missing = Foreign(view)
        del missing.__cuda_array_interface__["typestr"]
        target.SetValues(missing)
    assert list(target) == [0, 0, 0, 0]


def test_copies_stay_on_the_device(gpu):
    import copy

    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    image.Fill(2)
    before = image.Transfers
    twin = copy.copy(image)
    assert image.Transfers == before and twin.IsDeviceResident() and twin.GetPreferredDevice() == "Device"
    image.Fill(0)
    assert twin.Sum() == 128


def test_assigning_a_device_object_to_itself(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetValues(np.arange(64))
    image.SetPreferredDevice("Device")
    image.SetValues(image)
    image.Grid().SetValues(image.Grid())
    assert image.IsDeviceResident() and not image.IsShared()
    np.testing.assert_array_equal(np.asarray(image), np.arange(64))


def test_overwriting_everything_fetches_nothing(gpu):
    floats = uLib.FloatCollection([1, 2, 3])
    table = uLib.EventTable("a,b", rows=2)
    for item, values in ((floats, [4, 5, 6]), (table, [[1, 2], [3, 4]])):
        item.SetPreferredDevice("Device")
        item.Fill(9)
        before = item.Transfers.downloads
        item.SetValues(values)
        assert item.Transfers.downloads == before
        np.testing.assert_array_equal(np.asarray(item), values)
        item.Update()
        assert item.Sum() == np.sum(values)
