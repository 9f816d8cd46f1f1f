"""Where the numbers are: the truth table, the attribute rule, sharing, and transfers."""

import gc

import numpy as np
import pytest
import uLib

RELEASED = "Host (released; back on the device at the next update)"
CHANGED = "Host (changed on the host; back on the device at the next update)"


def bulk_objects():
    muons = uLib.MuonScatterCollection(3)
    muons.Momentum.Fill(2)
    return [
        uLib.VoxImage(4, 4, 4),
        uLib.VoxImage(4, 4, 4, voxel_bytes=4),
        uLib.MultiVoxImage(2, 2, 2, channels=3, components=2),
        uLib.EventTable("a,b", rows=3),
        muons,
        uLib.FloatCollection([1, 2, 3]),
        uLib.LineCollection(2),
    ]


def here(ordinal=0):
    which = f" {ordinal}" if ordinal else ""
    return f"Device{which}: {uLib.device.name(ordinal)}"


@pytest.mark.parametrize("word", ["device", "GPU", "", "Device:", "Device:-1", "Device:x", "host", " Host"])
def test_unknown_words_are_value_errors_naming_the_word(word):
    image = uLib.VoxImage(2, 2, 2)
    with pytest.raises(ValueError, match="Host"):
        image.SetPreferredDevice(word)
    with pytest.raises(ValueError):
        image.PreferredDevice = word
    assert image.GetPreferredDevice() == "Host"
    with pytest.raises(TypeError):
        image.SetPreferredDevice(0)


def test_host_preference_in_every_mode():
    for item in bulk_objects():
        assert item.PreferredDevice == item.GetPreferredDevice() == "Host"
        assert not item.IsDeviceResident()
        assert item.GetDataLocation() == "Host"
        assert item.SetPreferredDevice("Host") is True
        assert not hasattr(item, "__cuda_array_interface__")
        assert item.Update() is True and item.ReleaseDevice() is True
        assert item.Transfers == uLib.VoxImage().Transfers
        with pytest.raises(uLib.ResidencyError):
            item.DeviceView()


def test_without_a_driver_everything_stays_on_the_host_and_says_why(nodriver, python):
    for item in bulk_objects():
        before = item.GetValues()
        assert item.SetPreferredDevice("Device") is False
        assert item.GetPreferredDevice() == "Device"
        assert not item.IsDeviceResident() and not item.CanUseDevice()
        assert item.GetDataLocation() == f"Host ({uLib.device.unavailable_reason()})"
        assert item.Update() is False
        assert getattr(item, "__cuda_array_interface__", None) is None
        assert uLib.device.array_info(item) is None and uLib.device.as_array(item) is None
        assert item.__dlpack_device__() == (1, 0)
        np.testing.assert_array_equal(np.asarray(item), before)
        with pytest.raises(uLib.DeviceUnavailableError):
            item.DeviceView()
        item.ReleaseDevice()
        item.EndExports()
    # The first sentence of the list, where no library is there at all.
    done = python(
        """
import uLib
image = uLib.VoxImage(2, 2, 2)
image.SetPreferredDevice("Device")
print(image.GetDataLocation())
""",
        ULIB_CUDA_DRIVER="/nowhere/libcuda.so.1",
    )
    assert done.stdout.startswith("Host (") and "/nowhere/libcuda.so.1" in done.stdout


def test_truth_table(gpu):
    for item in bulk_objects():
        assert item.SetPreferredDevice("Device") is True
        assert item.GetPreferredDevice() == "Device"
        assert item.CanUseDevice()
        assert item.IsDeviceResident() and item.GetDataLocation() == here()
        item.GetValues()
        assert item.IsDeviceResident() and item.GetDataLocation() == here(), "a read costs no residency"
        item.SetValues(item.GetValues())
        assert not item.IsDeviceResident() and item.GetDataLocation() == CHANGED
        assert item.Update() is True
        assert item.IsDeviceResident() and item.GetDataLocation() == here()
        assert item.ReleaseDevice() is True
        assert not item.IsDeviceResident() and item.GetDataLocation() == RELEASED
        item.PreferredDevice = "Device"
        assert item.IsDeviceResident()
        assert item.SetPreferredDevice("Host") is True
        assert item.GetDataLocation() == "Host" and item.CanUseDevice()


def test_typestrs_of_the_page(gpu):
    image, _, multi, table, muons, floats, lines = bulk_objects()
    expected = [
        (image, "<f4", (64,), (8,)),
        (multi, "<f4", (8,), (24,)),
        (table, "<f8", (3, 2), None),
        (muons, "|u1", (432,), None),
        (floats, "<f4", (3,), None),
        (lines, "<f4", (2, 2, 4), None),
        (image.Grid(), "<f4", (4, 4, 4), (128, 32, 8)),
        (image.Count, "<u4", (64,), (8,)),
        (muons.Momentum, "<f4", (3,), (144,)),
        (table.Column("b"), "<f8", (3,), (16,)),
    ]
    for item, typestr, shape, strides in expected:
        item.SetPreferredDevice("Device")
        interface = item.__cuda_array_interface__
        assert list(interface) == ["shape", "typestr", "data", "strides", "version", "stream"]
        assert interface["typestr"] == typestr and interface["shape"] == shape and interface["strides"] == strides
        assert interface["version"] == 3 and interface["stream"] is None
        pointer, read_only = interface["data"]
        assert pointer > 0 and read_only is False
        info = uLib.device.array_info(item)
        assert info["pointer"] == pointer and info["count"] == np.prod(shape) and info["typestr"] == typestr
        assert info["itemsize"] == int(typestr[2:]) and info["stride"] == (strides or (info["itemsize"],))[-1]
    base = image.__cuda_array_interface__["data"][0]
    assert image.Count.__cuda_array_interface__["data"][0] == base + 4
    assert muons.Momentum.__cuda_array_interface__["data"][0] == muons.__cuda_array_interface__["data"][0] + 128
    start = multi.__cuda_array_interface__["data"][0]
    multi.SetActive(1, 1)
    assert multi.__cuda_array_interface__["data"][0] == start + 12


def test_every_reading_gives_a_dictionary_of_its_own_that_is_true_now(gpu):
    image = uLib.VoxImage(4, 3, 2)
    image.SetPreferredDevice("Device")
    grid = image.Grid()
    for item, shape, strides in ((image, (24,), (8,)), (grid, (2, 3, 4), (96, 32, 8))):
        first = item.__cuda_array_interface__
        kept = dict(first)
        first["shape"], first["mine"] = (1,), 1
        del first["typestr"]
        assert item.__cuda_array_interface__ == kept
        assert kept["shape"] == shape and kept["strides"] == strides
    image.SetDataOrder("ZYX")
    assert grid.__cuda_array_interface__["strides"] == (8, 16, 48)
    image.SetDims(5, 3, 2)
    assert image.__cuda_array_interface__["shape"] == (30,)
    assert grid.__cuda_array_interface__["shape"] == (2, 3, 5)
    before = image.__cuda_array_interface__["data"][0]
    assert image.ReleaseDevice() and not image.IsShared()
    after = image.__cuda_array_interface__
    assert image.IsShared() and image.IsDeviceResident()
    lent = image.DeviceView().__cuda_array_interface__
    assert after == lent, f"the address of now, not {before:#x} of then"


def test_the_interface_of_our_own_work_waits_for_it(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    for value in (1, 2, 3):
        image.Fill(value)
        assert uLib.device.array_info(image)["count"] == 64
        image.__cuda_array_interface__
        assert image.GetValue(63) == value


def test_an_empty_image_has_pointer_zero(gpu):
    image = uLib.VoxImage()
    image.SetPreferredDevice("Device")
    interface = image.__cuda_array_interface__
    assert interface["shape"] == (0,) and interface["data"] == (0, False)
    assert image.Sum() == 0 and np.from_dlpack(image, device="cpu").shape == (0,)


def test_reading_the_attribute_brings_the_numbers_there(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    image.SetValue(0, 5)
    assert not image.IsDeviceResident()
    image.__cuda_array_interface__
    assert image.IsDeviceResident()
    assert image.Transfers.uploads == 2


def test_probes_cost_no_transfer_when_nothing_changed(gpu):
    image = uLib.VoxImage(8, 8, 8)
    image.SetPreferredDevice("Device")
    before = image.Transfers
    for _ in range(100):
        assert hasattr(image, "__cuda_array_interface__")
    image.__dlpack_device__()
    image.IsDeviceResident(), image.GetDataLocation(), image.CanUseDevice(), repr(image)
    assert image.Transfers == before


def test_a_shared_object_reads_from_the_device_each_time(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    assert not image.IsShared()
    view = image.DeviceView()
    assert image.IsShared() and image.IsDeviceResident()
    before = image.Transfers
    image.GetValue(3)
    one = image.Transfers
    assert (one.downloads, one.bytes_down) == (before.downloads + 1, before.bytes_down + 4), "one element only"
    image.SetValue(3, 30)
    assert image.GetValue(3) == 30 and image.IsDeviceResident(), "written through"
    image.SetValues(np.arange(64))
    assert image.GetValue(63) == 63 and image.IsDeviceResident()
    view.Close()
    assert not image.IsShared()
    assert image.GetValue(63) == 63
    before = image.Transfers
    image.GetValue(1), image.GetValues(), image.Grid().GetValues()
    assert image.Transfers == before, "home once"


def test_exports_end(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    image.__cuda_array_interface__
    assert image.IsShared()
    image.EndExports()
    assert not image.IsShared()
    image.GetValue(0)
    before = image.Transfers
    image.GetValue(0)
    assert image.Transfers == before


def test_leases_keep_their_memory_through_resize_and_release(gpu):
    gc.collect()
    held = uLib.device.held()
    image = uLib.VoxImage(4, 4, 4)
    image.Fill(7)
    image.SetPreferredDevice("Device")
    assert uLib.device.held() == (held[0] + 512, held[1] + 1)
    view = image.DeviceView()
    image.SetDims(2, 2, 2)
    assert view.Shape == (64,)
    twin = uLib.VoxImage(4, 4, 4)
    twin.SetPreferredDevice("Device")
    twin.SetValues(view)
    assert twin.Sum() == 7 * 64 and image.Sum() == 7 * 8
    del view, twin
    gc.collect()
    view = image.DeviceView()
    assert image.ReleaseDevice() is False, "the view keeps it"
    assert image.GetValue(0) == 7
    assert uLib.device.held()[1] == held[1] + 1
    view.Close()
    assert uLib.device.held() == held
    del image
    assert uLib.device.held() == held


def test_dropping_the_object_frees_its_memory_but_not_a_lease(gpu):
    gc.collect()
    held = uLib.device.held()
    floats = uLib.FloatCollection([1, 2, 3])
    floats.SetPreferredDevice("Device")
    view = floats.DeviceView()
    del floats
    gc.collect()
    other = uLib.FloatCollection(3)
    other.SetPreferredDevice("Device")
    other.SetValues(view)
    assert list(other) == [1, 2, 3]
    del view, other
    gc.collect()
    assert uLib.device.held() == held


def test_device_views(gpu):
    table = uLib.EventTable("a,b", rows=3)
    table.SetPreferredDevice("Device")
    with table.Column("b").DeviceView() as view:
        assert view.Shape == (3,) and view.Strides == (16,) and view.Typestr == "<f8" and view.Device == 0
        assert len(view) == 3 and not view.Closed
        assert view.__dlpack_device__() == (2, 0)
        interface = view.__cuda_array_interface__
        assert interface["strides"] == (16,)
        capsule = view.__dlpack__(max_version=(1, 1), stream=1)
        assert '"dltensor_versioned"' in repr(capsule)
    assert view.Closed and table.IsShared(), "the capsule has the memory now"
    del capsule
    gc.collect()
    assert not table.IsShared()
    assert not hasattr(view, "__cuda_array_interface__")
    with pytest.raises(ValueError, match="closed"):
        view.__dlpack_device__()
    with pytest.raises(ValueError, match="closed"):
        view.__enter__()
    view.Close()
    assert "closed" in repr(view)


def test_dlpack_of_device_data(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetValues(np.arange(64))
    image.SetPreferredDevice("Device")
    assert image.__dlpack_device__() == (2, 0)
    capsule = image.__dlpack__(stream=-1)
    assert image.IsShared()
    del capsule
    gc.collect()
    assert not image.IsShared()
    on_host = np.from_dlpack(image, device="cpu")
    np.testing.assert_array_equal(on_host, np.arange(64))
    assert on_host.strides == (4,) and not image.IsShared()
    image.Scale(1)
    before, held = image.Transfers, uLib.device.held()
    copied = image.__dlpack__(copy=True, max_version=(1, 0))
    assert image.Transfers == before, "copied on the device"
    assert not image.IsShared() and uLib.device.held()[1] == held[1] + 1
    del copied
    gc.collect()
    assert uLib.device.held() == held
    for keywords, error in [
        ({"stream": 0}, ValueError),
        ({"stream": -2}, ValueError),
        ({"dl_device": (1, 0), "copy": False}, BufferError),
        ({"dl_device": (2, 99)}, (uLib.DeviceUnavailableError, ValueError)),
        ({"dl_device": (2, -1)}, ValueError),
    ]:
        with pytest.raises(error):
            image.__dlpack__(**keywords)
    image.SetPreferredDevice("Host")
    assert image.__dlpack_device__() == (1, 0)
    held = uLib.device.held()
    up = image.__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    assert uLib.device.held()[1] == held[1] + 1 and image.GetDataLocation() == "Host"
    del up
    gc.collect()
    assert uLib.device.held() == held


def test_two_devices(second):
    image = uLib.VoxImage(4, 4, 4)
    image.Fill(3)
    assert image.SetPreferredDevice("Device:1") is True
    assert image.GetPreferredDevice() == "Device:1" and image.GetDataLocation() == here(1)
    assert image.__dlpack_device__() == (2, 1)
    assert uLib.device.held(1)[1] >= 1
    assert image.SetPreferredDevice("Device:0") is True and image.GetPreferredDevice() == "Device"
    assert image.Sum() == 192 and image.GetDataLocation() == here()
    other = uLib.VoxImage(4, 4, 4)
    other.SetPreferredDevice("Device:1")
    other.SetValues(image)
    assert other.Sum() == 192


def test_an_ordinal_that_does_not_exist(gpu):
    image = uLib.VoxImage(2, 2, 2)
    assert image.SetPreferredDevice("Device:99") is False
    assert image.GetPreferredDevice() == "Device:99"
    assert image.GetDataLocation().startswith("Host (") and "99" in image.GetDataLocation()
    assert not image.CanUseDevice() and not hasattr(image, "__cuda_array_interface__")
    for helper in (uLib.device.name, uLib.device.memory_info, uLib.device.held, uLib.device.errors):
        with pytest.raises(ValueError, match="99"):
            helper(99)
    assert uLib.device.available(99) is False and "99" in uLib.device.unavailable_reason(99)


def test_same_numbers_on_the_host_and_on_the_device(gpu):
    rng = np.random.default_rng(7)
    values = rng.normal(size=(7, 11, 13)).astype(np.float32)
    host, device = uLib.VoxImage(13, 11, 7, order="YXZ"), uLib.VoxImage(13, 11, 7, order="YXZ")
    device.SetPreferredDevice("Device")
    for image in (host, device):
        image.SetValues(values)
        image.Update()
        image.Scale(1.1)
    assert device.IsDeviceResident()
    np.testing.assert_array_equal(np.asarray(host), np.asarray(device))
    device.Update()
    assert host.Sum() == device.Sum()
    for axis in (0, 1, 2, (0, 1), (1, 2), (0, 2)):
        np.testing.assert_array_equal(host.Sum(axis=axis), device.Sum(axis=axis))
    assert host.Count.Sum() == device.Count.Sum() == 0


def test_a_writable_host_view_and_sharing_exclude_each_other(gpu):
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    view = image.DeviceView()
    with pytest.raises(BufferError):
        image.HostView()
    view.Close()
    with image.HostView() as a:
        a[5] = 50
        with pytest.raises(BufferError):
            image.DeviceView()
        with pytest.raises(BufferError):
            image.__cuda_array_interface__
    assert not image.IsDeviceResident()
    image.Update()
    assert image.IsDeviceResident() and image.Sum() == 50


class Proxy:
    """Forwards every attribute, as a recipe's object proxy does."""

    def __init__(self, target):
        object.__setattr__(self, "_target", target)

    def __getattr__(self, name):
        return getattr(self._target, name)


def test_helpers_take_proxies():
    image = uLib.VoxImage(4, 4, 4)
    image.Fill(2)
    image.SetPreferredDevice("Device")
    proxy = Proxy(image)
    device = uLib.device
    assert device.location(proxy) == image.GetDataLocation()
    assert device.is_device_resident(proxy) == image.IsDeviceResident()
    assert (device.array_info(proxy) is None) == (not image.CanUseDevice())
    np.testing.assert_array_equal(device.as_array(proxy, copy_to_host=True), [2] * 64)
    if not image.CanUseDevice():
        assert device.as_array(proxy) is None
