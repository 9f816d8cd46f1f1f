"""Texture and surface objects of `uLib.cuda.driver`, and the references that programs declare."""

import ctypes
import gc
import operator

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.device import Stream


def plane(dtype=np.float32, surface=False):
    return cuda.np_to_array(np.arange(48, dtype=dtype).reshape(6, 8), "C", surface)


class Program:
    """A loaded program with one variable of 64 bits."""

    def __init__(self, size=8):
        self.memory = cuda.to_device(np.zeros(2, np.uint64))
        self.size = size

    def get_global(self, name):
        assert name in ("tex", "surf")
        return int(self.memory), self.size

    def held(self):
        return int(cuda.from_device(self.memory, 1, np.uint64)[0])

    def texref(self):
        reference = cuda.TextureReference()
        reference._bind(self, "tex")
        return reference

    def surfref(self):
        reference = cuda.SurfaceReference()
        reference._bind(self, "surf")
        return reference


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
        with pytest.raises((cuda.LogicError, IndexError), match=words):
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


def test_a_reference_writes_its_texture_before_a_launch(gpu):
    program = Program()
    reference = program.texref()
    with pytest.raises(cuda.LogicError, match="nothing is bound to 'tex'"):
        reference._use()
    array = plane()
    reference.set_array(array)
    assert reference.get_array() is array
    reference._use()
    first = program.held()
    assert first != 0
    reference._use()
    assert program.held() == first
    stream = Stream()
    reference.set_filter_mode(cuda.filter_mode.LINEAR)
    reference._use(stream)
    cuda.Context.synchronize()
    second = program.held()
    assert second not in (0, first)
    assert second == reference._object.handle
    cuda.bind_array_to_texref(plane(), reference)
    assert reference.get_filter_mode() is cuda.filter_mode.POINT
    reference._use()
    assert program.held() == reference._object.handle != second


def test_settings_of_a_reference(gpu):
    reference = Program().texref()
    assert reference.get_flags() == 0
    assert reference.get_format() == (cuda.array_format.FLOAT, 1)
    with pytest.raises(cuda.LogicError, match="no array is bound"):
        reference.get_array()
    reference.set_address_mode(1, cuda.address_mode.WRAP)
    assert reference.get_address_mode(1) is cuda.address_mode.WRAP
    assert reference.get_address_mode(0) is cuda.address_mode.CLAMP
    reference.set_filter_mode(1)
    assert reference.get_filter_mode() is cuda.filter_mode.LINEAR
    flags = cuda.TRSF_READ_AS_INTEGER | cuda.TRSF_NORMALIZED_COORDINATES
    reference.set_flags(flags)
    assert reference.get_flags() == flags == 3
    reference.set_format(cuda.array_format.SIGNED_INT32, 2)
    assert reference.get_format() == (cuda.array_format.SIGNED_INT32, 2)
    for change in (
        lambda: reference.set_address_mode(3, 0),
        lambda: reference.set_address_mode(0, 9),
        lambda: reference.set_filter_mode(2),
        lambda: reference.set_flags(4),
        lambda: reference.set_format(cuda.array_format.FLOAT, 3),
        lambda: reference.set_format(7, 1),
    ):
        with pytest.raises(cuda.LogicError, match="TextureReference"):
            change()
    assert (cuda.TRSA_OVERRIDE_FORMAT, cuda.TR_DEFAULT) == (1, -1)


def test_a_reference_over_linear_memory(gpu):
    program = Program()
    reference = program.texref()
    memory = cuda.to_device(np.arange(1024, dtype=np.float32))
    assert reference.set_address(memory, 4096) == 0
    reference._use()
    assert program.held() != 0
    alignment = cuda.Context.get_device().get_attribute(cuda.device_attribute.TEXTURE_ALIGNMENT)
    with pytest.raises(cuda.LogicError, match=f"a multiple of {alignment}"):
        reference.set_address(int(memory) + 8, 64)
    assert reference.set_address(int(memory) + 8, 64, allow_offset=True) == 8
    reference._use()
    reference.set_format(cuda.array_format.SIGNED_INT32, 2)
    reference._use()
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 100, 4, cuda.array_format.UNSIGNED_INT8, 4
    reference.set_address_2d(memory, descr, 512)
    assert reference.get_format() == (cuda.array_format.UNSIGNED_INT8, 4)
    reference._use()
    assert program.held() == reference._object.handle
    reference.set_address(memory, 1 << 20)
    with pytest.raises(IndexError):
        reference._use()


def test_a_surface_reference(gpu):
    program = Program()
    reference = program.surfref()
    with pytest.raises(cuda.LogicError, match="nothing is bound to 'surf'"):
        reference._use()
    with pytest.raises(cuda.LogicError, match="SURFACE_LDST"):
        reference.set_array(plane())
    array = plane(surface=True)
    reference.set_array(array)
    assert reference.get_array() is array
    with pytest.raises(cuda.LogicError, match="flags is 1"):
        reference.set_array(array, 1)
    reference._use()
    assert program.held() == reference._object.handle != 0


def test_a_matrix_is_bound_at_once(gpu):
    reference = Program().texref()
    cuda.matrix_to_texref(np.arange(12, dtype=np.float32).reshape(3, 4), reference, "F")
    descr = reference.get_array().get_descriptor()
    assert (descr.width, descr.height) == (3, 4)


def test_references_of_no_program_or_to_other_variables_are_refused(gpu):
    with pytest.raises(cuda.LogicError, match="belongs to no program"):
        cuda.TextureReference()._use()
    with pytest.raises(cuda.LogicError, match="the variable 'tex' has 4 bytes"):
        Program(size=4).texref()


def test_streams_wait_for_what_another_one_has_written(fake):
    program, (first, second) = Program(), (Stream(), Stream())
    reference = program.texref()
    reference.set_array(plane())
    reference._use(first)
    synchronized = fake.count("cuCtxSynchronize")
    reference._use(first)
    assert fake.count("cuCtxSynchronize") == synchronized
    reference._use(second)
    assert fake.count("cuCtxSynchronize") == synchronized + 1
    reference._use(second)
    assert fake.count("cuCtxSynchronize") == synchronized + 1
    # Both may be reading when it changes.
    reference.set_flags(2)
    reference._use(second)
    assert fake.count("cuCtxSynchronize") > synchronized + 1
    assert program.held() == reference._object.handle


def test_handles_are_integers_of_64_bits(gpu):
    texture = cuda.TextureObject(plane())
    packed = ctypes.c_uint64(operator.index(texture))
    assert packed.value == texture.handle
