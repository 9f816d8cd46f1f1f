"""Proxies of scene objects: everything passes through to whichever object has the name."""

import copy
import pickle
import weakref

import numpy as np
import pytest
import uLib
from uLib.scene import Proxy, Scene, unwrap


@pytest.fixture
def scene():
    scene = Scene()
    scene["phantom"] = uLib.VoxImage(2, 3, 4)
    scene["phantom"].SetValues(np.arange(24, dtype=np.float32))
    scene["profile"] = uLib.EventTable("slice,total")
    scene["events"] = uLib.GeantEventCollection([("run.root", "first")])
    scene["program"] = uLib.Recipe("def run(ctx): pass")
    return scene


@pytest.fixture
def image(scene):
    return scene.proxy("phantom")


def test_a_proxy_looks_like_its_object(scene):
    for name, found in scene.items():
        proxy = scene.proxy(name)
        assert type(proxy) is Proxy
        assert isinstance(proxy, type(found)) and isinstance(proxy, uLib.Placed)
        assert proxy.__class__ is type(found)
        assert (repr(proxy), str(proxy), f"{proxy}", dir(proxy)) == (repr(found), str(found), f"{found}", dir(found))
        assert proxy == found and found == proxy and proxy == scene.proxy(name) and not proxy != found
        assert hash(proxy) == hash(found)
        assert proxy.__doc__ == found.__doc__
        assert unwrap(proxy) is found and unwrap(found) is found


def test_it_follows_the_scene(scene, image):
    assert image.GetDims() == (2, 3, 4)
    scene["phantom"] = uLib.VoxImage(1, 1, 1)
    assert image.GetDims() == (1, 1, 1)
    del scene["phantom"]
    with pytest.raises(ReferenceError, match="the scene has no object 'phantom' any more"):
        image.GetDims()
    for use in repr, len, memoryview, unwrap, lambda gone: gone + 1, lambda gone: uLib.FloatCollection(2).Add(gone):
        with pytest.raises(ReferenceError):
            use(image)
    scene["phantom"] = uLib.FloatCollection([1, 2])
    assert len(image) == 2


def test_properties_and_methods(scene, image):
    assert (image.GetValue(7), image.Sum(), len(image)) == (7, sum(range(24)), 24)
    image.SetValue(7, -1)
    image.PreferredDevice = "Device"
    assert scene["phantom"].GetValue(7) == -1
    assert scene["phantom"].PreferredDevice == "Device"
    image.Count.Fill(3)
    image.Count += 1
    assert scene["phantom"].Count.Sum() == 4 * 24
    with pytest.raises(AttributeError, match="Nothing"):
        image.Nothing  # noqa: B018
    with pytest.raises(AttributeError):
        image.Nothing = 1
    with pytest.raises(AttributeError):
        del image.PreferredDevice
    with pytest.raises(TypeError, match="not subscriptable"):
        image[0]
    assert list(scene.proxy("events")) == [("run.root", "first")]
    assert ("run.root", "first") in scene.proxy("events")
    assert scene.proxy("program").Source == "def run(ctx): pass"
    assert bool(scene.proxy("program")) and not scene.proxy("profile")


def test_every_special_method_of_the_objects_is_there(scene):
    """What Python looks up on the class has to be on the class of proxies."""
    by_instance = {
        "__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__", "__dlpack_device__", "__array_priority__",
        "__reduce__", "__setstate__", "__module__", "__doc__", "__weakref__",
        # The buffer is the object's own, and so is its end.
        "__release_buffer__",
    }  # fmt: skip
    for found in [*scene.values(), uLib.MultiVoxImage(1, 1, 1), uLib.FloatCollection(1), uLib.LineCollection(1), uLib.MuonScatterCollection(1)]:
        special = {name for name in dir(type(found)) if name.startswith("__") and getattr(object, name, None) is not getattr(type(found), name)}
        assert special - by_instance - set(vars(Proxy)) <= {"__new__", "__init_subclass__", "__subclasshook__"}


def test_operators_on_either_side(scene, image):
    found = scene["phantom"]
    before = found.GetValues()
    other = uLib.VoxImage(2, 3, 4)
    other.Fill(2)
    for result, expected in [
        (image + 1, before + 1), (1 + image, before + 1), (image - 1, before - 1), (1 - image, 1 - before),
        (image * 2, before * 2), (np.float32(2) * image, before * 2), (image / 4, before / 4), (8 / (image + 1), 8 / (before + 1)),
        (image**2, before**2), (2 ** (image / 8), (2 ** (found / 8)).GetValues()), (-image, -before), (abs(-image), before),
        (image + image, before * 2), (image + other, before + 2), (other - image, 2 - before), (image + found, before * 2),
    ]:  # fmt: skip
        assert type(result) is uLib.VoxImage
        np.testing.assert_array_equal(result.GetValues(), expected)
    np.testing.assert_array_equal(found.GetValues(), before)
    with pytest.raises(TypeError):
        image + "text"


def test_operators_in_place_change_the_object(scene, image):
    found, before = scene["phantom"], scene["phantom"].GetValues()
    proxy = image
    image += 1
    image *= scene.proxy("phantom")
    image -= 1
    image /= 2
    image **= 2
    assert image is proxy and scene["phantom"] is found
    np.testing.assert_array_equal(found.GetValues(), (((before + 1) ** 2 - 1) / 2) ** 2)


def test_what_cannot_be_changed_in_place_stays(scene):
    class Other:
        def __radd__(self, left):
            return "something else"

    events = scene.proxy("events")
    with pytest.raises(TypeError, match="GeantEventCollection cannot be changed in place"):
        events += Other()
    assert type(scene["events"]) is uLib.GeantEventCollection


def test_methods_of_objects_take_proxies(scene, image, place):
    found = scene["phantom"]
    found.PreferredDevice = place
    other = uLib.VoxImage(2, 3, 4)
    other.PreferredDevice = place
    other.CopyFrom(image)
    other.Add(image)
    other.Fma(image, image)
    numbers = np.arange(24)
    assert other.GetValues().tolist() == (2 * numbers * numbers + numbers).tolist()
    other.Fill(1)
    assert other.Dot(image) == numbers.sum()
    other.Threshold(">", 0, out=image)
    assert found.Sum() == 24
    other.Mask(image)
    other.SetValues(image)
    other.Axpy(2, image)
    assert other.Sum() == 72
    rows = scene["profile"]
    rows.AddRows([[1, 2], [3, 4]])
    table = uLib.EventTable("a,b")
    table.AddRows(scene.proxy("profile"))
    table.AddRows(np.asarray(scene.proxy("profile")))
    assert table.Rows == 4


def test_helpers_take_proxies(scene, image, place):
    found = scene["phantom"]
    found.PreferredDevice = place
    device = uLib.device
    assert device.location(image) == device.location(found)
    assert device.is_device_resident(image) is (place == "Device")
    assert device.array_info(image) == device.array_info(found)
    assert device.as_array(image, copy_to_host=True).tolist() == list(range(24))


def test_a_scene_keeps_the_object_not_the_proxy(scene, image, tmp_path):
    scene["again"] = image
    scene["phantom"] = image
    assert type(scene["again"]) is type(scene["phantom"]) is uLib.VoxImage
    from uLib import _ulib

    _ulib.save_document(tmp_path / "scene.gcx", [("phantom", image)])
    assert Scene.load(tmp_path / "scene.gcx")["phantom"].Sum() == sum(range(24))
    with pytest.raises(TypeError, match="an int is no object of uLib"):
        _ulib.save_document(tmp_path / "scene.gcx", [("phantom", 3)])


def test_the_buffer_is_that_of_the_object(scene, image):
    found = scene["phantom"]
    view = memoryview(image)
    assert (view.obj is found, view.format, view.shape, view.strides, view.readonly) == (True, "f", (24,), (8,), True)
    array = np.asarray(image)
    assert np.shares_memory(array, np.asarray(found))
    assert array.tolist() == list(range(24))
    with pytest.raises(BufferError):
        found.SetDims(1, 1, 1)
    # The memory is that of the object which was there, also when another one takes its place.
    scene["phantom"] = uLib.VoxImage(1, 1, 1)
    assert view[23] == 23
    del array
    view.release()
    found.SetDims(1, 1, 1)
    for name in "events", "program":
        with pytest.raises(TypeError, match="bytes-like"):
            memoryview(scene.proxy(name))


def test_host_protocols(scene, image):
    found = scene["phantom"]
    assert image.__array_interface__["typestr"] == "<f4"
    assert np.array(image, dtype=np.float64).sum() == sum(range(24))
    assert np.add(image, 1).tolist() == list(range(1, 25))
    assert np.from_dlpack(image.Grid()).shape == np.from_dlpack(found.Grid()).shape
    assert np.from_dlpack(image).tolist() == list(range(24))
    assert image.__dlpack_device__() == (1, 0)
    assert not hasattr(image, "__cuda_array_interface__")
    assert not hasattr(scene.proxy("events"), "__array_interface__")
    assert np.asarray(scene.proxy("events")).shape == np.asarray(scene["events"]).shape
    with image.HostView() as writable:
        writable[0] = 9
    assert found.GetValue(0) == 9


def test_device_protocols(scene, image, gpu):
    found = scene["phantom"]
    found.PreferredDevice = "Device"
    assert image.__cuda_array_interface__ == found.__cuda_array_interface__
    assert image.__dlpack_device__() == (2, 0)
    other = uLib.VoxImage(2, 3, 4)
    other.PreferredDevice = "Device"
    other.SetValues(image)
    assert other.Transfers.downloads == found.Transfers.downloads == 0
    assert other.Sum() == sum(range(24))
    assert image.DeviceView().__cuda_array_interface__["shape"] == (24,)
    found.PreferredDevice = "Host"
    assert getattr(image, "__cuda_array_interface__", None) is None


def test_copies_are_objects(scene, image):
    found = scene["phantom"]
    for made in copy.copy(image), copy.deepcopy(image), pickle.loads(pickle.dumps(image)):
        assert type(made) is uLib.VoxImage and made is not found
        assert made.GetValues().tolist() == list(range(24))
    assert weakref.ref(image)() is image


@pytest.mark.real
@pytest.mark.parametrize("library", ["cupy", "numba", "torch"])
def test_consumers_take_proxies_as_they_take_objects(scene, image, consumer, library):
    found = scene["phantom"]
    assert found.SetPreferredDevice("Device")
    module = consumer(library)
    if library == "cupy":
        array = module.asarray(image)
        array += 1
    elif library == "numba":
        array = consumer("numba.cuda").as_cuda_array(image)
        array[:] = array.copy_to_host() + 1
    else:
        array = module.as_tensor(image, device="cuda")
        array += 1
    assert found.GetValues().tolist() == list(range(1, 25))
    assert found.Transfers.uploads == 1
