"""Texture and surface objects of `uLib.cuda.driver`."""

import gc
import operator

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_arrays import plane


@pytest.mark.parametrize("mode", cuda.address_mode.values.values(), ids=str)
@pytest.mark.parametrize("filter", cuda.filter_mode.values.values(), ids=str)
@pytest.mark.parametrize("normalized", [False, True])
def test_every_mode_makes_a_texture(gpu, mode, filter, normalized):
    texture = cuda.TextureObject(plane(), address_mode=mode, filter_mode=filter, normalized_coords=normalized)
    assert texture.handle == int(texture) == operator.index(texture) != 0


def test_other_settings_make_textures(gpu):
    array = plane(np.uint8)
    cuda.TextureObject(array, normalized_float=True, srgb=True, filter_mode=1, max_anisotropy=16, border=(1, 0, 0.5, 1))
    cuda.TextureObject(array, address_mode=(cuda.address_mode.BORDER, cuda.address_mode.CLAMP))
    descr = array.get_descriptor_3d()
    levels = cuda.MipmappedArray(descr, 3)
    cuda.TextureObject(
        levels, normalized_float=True, mipmap_filter_mode=1, mipmap_bias=0.5, mipmap_levels=(0, 2), exact_trilinear=True
    )
    cube = cuda.ArrayDescriptor3D()
    cube.width = cube.height = 4
    cube.depth, cube.flags, cube.format = 6, cuda.array3d_flags.CUBEMAP, cuda.array_format.FLOAT
    cuda.TextureObject(cuda.Array(cube), seamless_cubemap=True, normalized_coords=True)


def test_device_memory_is_read_as_a_line_or_as_rows(gpu):
    memory, pitch = cuda.mem_alloc_pitch(64, 8, 4)
    cuda.TextureObject(memory, format=cuda.array_format.FLOAT)
    cuda.TextureObject(memory, format=cuda.array_format.UNSIGNED_INT8, num_channels=4, width=16, height=8, pitch=pitch)
    cuda.TextureObject(int(memory), format=cuda.array_format.SIGNED_INT16, width=5)
    for refused, words in [
        ({}, "format"),
        ({"format": 5}, "format is 5"),
        ({"format": 32, "height": 4}, "width"),
        ({"format": 32, "width": 1 << 26}, "exceed"),
        ({"format": 32, "num_channels": 3}, "channels is 3"),
        ({"format": 32, "width": 8, "height": 2, "pitch": 33}, "pitch"),
        ({"format": 32, "filter_mode": 1}, "filter"),
    ]:
        with pytest.raises(cuda.LogicError, match=words):
            cuda.TextureObject(memory, **refused)
    with pytest.raises(cuda.LogicError, match="knows none there"):
        cuda.TextureObject(4096, format=32, width=4)


def test_device_arrays_say_themselves_what_they_are(gpu):
    class OnDevice:
        def __init__(self, shape, typestr, strides=None):
            self.memory = cuda.mem_alloc(1 << 14)
            self.__cuda_array_interface__ = {
                "version": 3,
                "shape": shape,
                "typestr": typestr,
                "strides": strides,
                "data": (int(self.memory), False),
            }

    cuda.TextureObject(OnDevice((100,), "<f4"))
    cuda.TextureObject(OnDevice((10, 64), "|u1"))
    cuda.TextureObject(OnDevice((10, 60), "<f4", (512, 4)))
    cuda.TextureObject(OnDevice((10, 16, 4), "|u1"), num_channels=4, filter_mode=1, normalized_float=True)
    cuda.TextureObject(OnDevice((16, 2), "<i4"), num_channels=2)
    for refused, words in [
        (OnDevice((100,), "<f8"), "<f8 are no texels"),
        (OnDevice((2, 3, 4), "<f4"), "neither one axis nor two"),
        (OnDevice((100,), "<f4", (8,)), "not side by side"),
        (OnDevice((10, 60), "<f4", (-512, 4)), "go backwards"),
    ]:
        with pytest.raises(cuda.LogicError, match=words):
            cuda.TextureObject(refused)
    with pytest.raises(cuda.LogicError, match="last axis has to be the channels"):
        cuda.TextureObject(OnDevice((10, 3), "<f4"), num_channels=4)


def test_settings_that_cannot_be_are_refused(gpu):
    array = plane(np.int32)
    for settings, words in [
        ({"filter_mode": 1}, "filter is Linear of I32"),
        ({"filter_mode": 2}, "filter_mode is 2"),
        ({"address_mode": 4}, "address_mode is 4"),
        ({"address_mode": (1, 1, 1, 1)}, "more than 3"),
        ({"srgb": True}, "srgb is true"),
        ({"max_anisotropy": 17}, "max_anisotropy is 17"),
    ]:
        with pytest.raises(cuda.LogicError, match=words):
            cuda.TextureObject(array, **settings)
    with pytest.raises(cuda.LogicError, match="SURFACE_LDST"):
        cuda.SurfaceObject(array)
    with pytest.raises(cuda.LogicError, match="no device memory"):
        cuda.TextureObject("a picture", format=32)


def test_objects_are_freed_once_and_keep_their_arrays(gpu):
    array = plane(surface=True)
    surface, texture = cuda.SurfaceObject(array), cuda.TextureObject(array)
    array.free()
    assert surface.array.nbytes == 192
    back = np.empty((6, 8), np.float32)
    surface.array.copy_to(back)
    assert back[5, 7] == 47
    for made in (surface, texture):
        with made:
            assert made.handle != 0
        with pytest.raises(cuda.LogicError, match="freed"):
            int(made)
        made.close()
        with pytest.raises(cuda.LogicError, match="freed"):
            made.free()


def test_everything_goes_with_its_objects(fake):
    before = [fake.count(call) for call in ("cuArrayDestroy", "cuTexObjectDestroy", "cuSurfObjectDestroy")]
    array = plane(surface=True)
    kept = [cuda.TextureObject(array), cuda.SurfaceObject(array)]
    del array
    gc.collect()
    assert fake.count("cuArrayDestroy") == before[0]
    kept.clear()
    gc.collect()
    after = [fake.count(call) for call in ("cuArrayDestroy", "cuTexObjectDestroy", "cuSurfObjectDestroy")]
    assert after == [count + 1 for count in before]


def test_what_is_alive_is_counted(gpu):
    gc.collect()
    before = cuda.live_objects()
    array = plane(surface=True)
    kept = [array, cuda.TextureObject(array), cuda.SurfaceObject(array), cuda.MipmappedArray(array.get_descriptor(), 2)]
    now = cuda.live_objects()
    for kind in ("arrays", "textures", "surfaces", "mipmapped_arrays"):
        assert now[kind] == before[kind] + 1, kind
    del array
    kept.clear()
    gc.collect()
    assert cuda.live_objects() == before


def descriptor(width, height, depth=0, flags=0, format=cuda.array_format.UNSIGNED_INT8, channels=4):
    made = cuda.ArrayDescriptor3D()
    made.width, made.height, made.depth, made.flags = width, height, depth, flags
    made.format, made.num_channels = format, channels
    return made


def test_views_of_arrays(gpu):
    formats = cuda.resource_view_format
    assert list(formats.values) == list(range(35))
    assert (formats.NONE, formats.UINT_4X8, formats.FLOAT_1X32, formats.UNSIGNED_BC7) == (0, 3, 22, 34)
    colours = cuda.Array(descriptor(8, 4))
    for fitting in (formats.NONE, formats.UINT_4X8, formats.SINT_4X8, formats.UINT_2X16, formats.FLOAT_1X32):
        assert cuda.TextureObject(colours, view_format=fitting).handle
    for wrong in (formats.UINT_1X8, formats.FLOAT_4X32, formats.UNSIGNED_BC1):
        with pytest.raises(cuda.LogicError, match="view.format"):
            cuda.TextureObject(colours, view_format=wrong)
    for none in (35, -1, 1 << 40):
        with pytest.raises(cuda.LogicError):
            cuda.TextureObject(colours, view_format=none)
    blocks = cuda.Array(descriptor(8, 4, format=cuda.array_format.UNSIGNED_INT32, channels=2))
    assert cuda.TextureObject(blocks, view_format=formats.UNSIGNED_BC1, filter_mode=cuda.filter_mode.LINEAR).handle
    layers = cuda.Array(descriptor(8, 4, 3, cuda.array3d_flags.ARRAY3D_LAYERED))
    assert cuda.TextureObject(layers, view_layers=(1, 2)).handle
    for wrong in ((0, 3), (2, 1), (-1, 1)):
        with pytest.raises(cuda.LogicError, match="layers"):
            cuda.TextureObject(layers, view_layers=wrong)
    levels = cuda.MipmappedArray(descriptor(8, 8), 4)
    assert cuda.TextureObject(levels, view_levels=(1, 3)).handle
    with pytest.raises(cuda.LogicError, match="levels"):
        cuda.TextureObject(levels, view_levels=(0, 4))
    with pytest.raises(cuda.LogicError, match="linear memory"):
        cuda.TextureObject(cuda.mem_alloc(4096), format=cuda.array_format.FLOAT, view_format=formats.UINT_1X32)


@pytest.mark.parametrize("close", [cuda.TextureObject.close, cuda.TextureObject.free])
def test_an_object_that_is_not_destroyed_says_so_and_keeps_its_array(fake, close):
    uLib.device.errors()
    texture = cuda.TextureObject(cuda.np_to_array(np.zeros((4, 4), np.float32), "C"))
    arrays = fake("live_arrays")
    fake("fail cuTexObjectDestroy:1:999")
    with pytest.raises(cuda.Error, match="cuTexObjectDestroy"):
        close(texture)
    assert (fake("live_textures"), fake("live_arrays"), fake("faults")) == (1, arrays, 0)
    assert uLib.device.errors() == []
    texture.close()


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("cuSurfObjectDestroy", lambda: cuda.SurfaceObject(cuda.Array(descriptor(4, 4, flags=cuda.array3d_flags.SURFACE_LDST)))),
        ("cuArrayDestroy", lambda: cuda.Array(descriptor(4, 4))),
        ("cuMipmappedArrayDestroy", lambda: cuda.MipmappedArray(descriptor(4, 4), 2)),
    ],
)
def test_what_is_not_destroyed_says_so(fake, call, made):
    uLib.device.errors()
    fake(f"fail {call}:1:999")
    with pytest.raises(cuda.Error, match=call), made():
        pass
    assert uLib.device.errors() == []
    assert uLib.device.errors() == []


def test_a_graph_that_is_not_destroyed_says_so(fake):
    stream, memory = cuda.Stream(1), cuda.mem_alloc(4)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 1, 4, stream)
    fake("fail cuGraphDestroy:1:999")
    with pytest.raises(cuda.Error, match="cuGraphDestroy"):
        graph.close()
    graph.close()
    assert uLib.device.errors() == []
