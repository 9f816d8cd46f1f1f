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


PTX = """.version 7.0
.target sm_60
.address_size 64
.visible .global .align 8 .b8 tex[8];
.visible .global .align 8 .b8 surf[8];
.visible .entry fakecuda_parameters(.param .u64 out, .param .u64 object)
{
    ret;
}
"""


def held_in(module, name):
    address, size = module.get_global(name)
    assert size == 8
    return int(cuda.from_device(address, 1, np.uint64)[0])


def test_launches_of_a_module_use_what_is_bound_to_its_references(gpu):
    module = cuda.module_from_buffer(PTX)
    function = module.get_function("fakecuda_parameters")
    tex, surf = module.get_texref("tex"), module.get_surfref("surf")
    assert isinstance(tex, cuda.TextureReference) and isinstance(surf, cuda.SurfaceReference)
    assert module.get_texref("tex") is tex and module.get_surfref("surf") is surf
    out = cuda.mem_alloc(64)
    how = {"block": (1, 1, 1)}
    function(out, np.uint64(0), **how)
    assert held_in(module, "tex") == held_in(module, "surf") == 0
    with pytest.raises(cuda.LogicError, match="nothing is bound to 'tex'"):
        function(out, np.uint64(0), texrefs=[tex], **how)
    array = plane(surface=True)
    tex.set_array(array)
    surf.set_array(array)
    function(out, np.uint64(0), **how)
    cuda.Context.synchronize()
    first = held_in(module, "tex")
    assert first == tex._object.handle and held_in(module, "surf") == surf._object.handle
    tex.set_flags(cuda.TRSF_NORMALIZED_COORDINATES)
    stream = cuda.Stream()
    function.prepare("PQ", texrefs=[tex])
    function.prepared_async_call((1, 1), (1, 1, 1), stream, int(out), 0)
    stream.synchronize()
    assert held_in(module, "tex") == tex._object.handle != first
    with pytest.raises(cuda.LogicError, match="missing"):
        module.get_texref("missing")


def test_a_module_and_its_references_go_together(fake):
    module = cuda.module_from_buffer(PTX)
    tex = module.get_texref("tex")
    tex.set_array(plane())
    function = module.get_function("fakecuda_parameters")
    function(cuda.mem_alloc(64), np.uint64(0), block=(1, 1, 1))
    unloaded, destroyed = fake.count("cuModuleUnload"), fake.count("cuTexObjectDestroy")
    del module, function
    gc.collect()
    assert fake.count("cuModuleUnload") == unloaded
    del tex
    gc.collect()
    assert (fake.count("cuModuleUnload"), fake.count("cuTexObjectDestroy")) == (unloaded + 1, destroyed + 1)


def test_objects_are_arguments(fake):
    function = cuda.module_from_buffer(PTX).get_function("fakecuda_parameters")
    array = plane(surface=True)
    for made in (cuda.TextureObject(array), cuda.SurfaceObject(array)):
        out = cuda.mem_alloc(16)
        function(out, made, block=(1, 1, 1))
        cuda.Context.synchronize()
        assert cuda.from_device(out, 2, np.uint64)[1] == made.handle


# On the card.

READ_2D = """
texture<float, 2> tex;
__global__ void read(float *out, int width)
{
    int x = threadIdx.x, y = threadIdx.y;
    out[y * width + x] = tex2D(tex, x SHIFT, y SHIFT);
}
"""


@pytest.fixture
def source(real):
    """Compiles a program for the card."""
    from uLib.cuda.compiler import SourceModule

    return SourceModule


def given(shape, dtype=np.float32):
    return np.random.default_rng(5).integers(-100, 100, shape).astype(dtype)


@pytest.mark.real
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_is_read_back_through_a_reference(source, order):
    module = source(READ_2D.replace("SHIFT", ""))
    matrix = given((9, 13))
    tex = module.get_texref("tex")
    cuda.matrix_to_texref(matrix, tex, order)
    width, height = (13, 9) if order == "C" else (9, 13)
    out = cuda.mem_alloc(matrix.nbytes)
    module.get_function("read")(out, np.int32(width), block=(width, height, 1), texrefs=[tex])
    found = cuda.from_device(out, (height, width), np.float32)
    assert (found == (matrix if order == "C" else matrix.T)).all()


@pytest.mark.real
def test_filters_and_edges_of_a_reference(source):
    module = source(READ_2D.replace("SHIFT", "+ 1"))
    matrix = given((9, 13))
    tex = module.get_texref("tex")
    cuda.matrix_to_texref(matrix, tex, "C")
    tex.set_filter_mode(cuda.filter_mode.LINEAR)
    out = cuda.mem_alloc(matrix.nbytes)
    read = module.get_function("read")
    read(out, np.int32(13), block=(13, 9, 1), texrefs=[tex])
    # At whole coordinates: the mean of four neighbours, the last ones repeated at the edges.
    padded = np.pad(matrix, ((0, 1), (0, 1)), mode="edge")
    mean = (padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]) / 4
    assert np.allclose(cuda.from_device(out, (9, 13), np.float32), mean, atol=1)
    tex.set_filter_mode(cuda.filter_mode.POINT)
    tex.set_address_mode(0, cuda.address_mode.BORDER)
    read(out, np.int32(13), block=(13, 9, 1))
    found = cuda.from_device(out, (9, 13), np.float32)
    assert (found[:, 12] == 0).all()
    assert (found[:8, :12] == matrix[1:, 1:]).all()


@pytest.mark.real
def test_channels_and_normalised_integers(source):
    module = source(
        """
        texture<uchar4, 2, cudaReadModeNormalizedFloat> tex;
        __global__ void read(float4 *out)
        {
            out[threadIdx.y * blockDim.x + threadIdx.x] = tex2D(tex, threadIdx.x, threadIdx.y);
        }
        """
    )
    colours = np.random.default_rng(6).integers(0, 256, (4, 6, 4)).astype(np.uint8)
    tex = module.get_texref("tex")
    cuda.bind_array_to_texref(cuda.make_multichannel_2d_array(colours, "C"), tex)
    out = cuda.mem_alloc(4 * 6 * 16)
    module.get_function("read")(out, block=(6, 4, 1), texrefs=[tex])
    found = cuda.from_device(out, (4, 6, 4), np.float32)
    assert np.allclose(found, colours / np.float32(255), atol=1e-6)


@pytest.mark.real
def test_linear_memory_is_fetched_by_index(source):
    module = source(
        """
        texture<int, 1, cudaReadModeElementType> tex;
        __global__ void read(int *out, int from) { out[threadIdx.x] = tex1Dfetch(tex, threadIdx.x + from); }
        """
    )
    numbers = given(256, np.int32)
    memory = cuda.to_device(numbers)
    tex = module.get_texref("tex")
    tex.set_format(cuda.array_format.SIGNED_INT32, 1)
    tex.set_flags(cuda.TRSF_READ_AS_INTEGER)
    out = cuda.mem_alloc(400)
    read = module.get_function("read")
    assert tex.set_address(memory, numbers.nbytes) == 0
    read(out, np.int32(0), block=(100, 1, 1), texrefs=[tex])
    assert (cuda.from_device(out, 100, np.int32) == numbers[:100]).all()
    offset = tex.set_address(int(memory) + 40, numbers.nbytes - 40, allow_offset=True)
    read(out, np.int32(offset // 4), block=(100, 1, 1), texrefs=[tex])
    assert (cuda.from_device(out, 100, np.int32) == numbers[10:110]).all()


@pytest.mark.real
def test_a_volume_of_doubles_and_complex_numbers(source):
    for dtype, name, kind in (
        (np.float64, "fp_tex_double", "double"),
        (np.complex64, "fp_tex_cfloat", "pycuda::complex<float>"),
        (np.complex128, "fp_tex_cdouble", "pycuda::complex<double>"),
    ):
        module = source(
            """
            #include <pycuda-helpers.hpp>
            texture<NAME, 3, cudaReadModeElementType> tex;
            __global__ void read(KIND *out)
            {
                int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
                out[(z * blockDim.y + y) * blockDim.x + x] = fp_tex3D(tex, x, y, z);
            }
            """.replace("NAME", name).replace("KIND", kind)
        )
        volume = given((3, 4, 5), dtype)
        if np.iscomplexobj(volume):
            volume = volume + 1j * given((3, 4, 5))[::-1].astype(dtype)
        volume = (volume / 3).astype(dtype)
        tex = module.get_texref("tex")
        tex.set_array(cuda.np_to_array(volume, "C"))
        out = cuda.mem_alloc(volume.nbytes)
        module.get_function("read")(out, block=(5, 4, 3), texrefs=[tex])
        assert (cuda.from_device(out, volume.shape, dtype) == volume).all()


@pytest.mark.real
def test_a_surface_is_written_and_read_through_a_texture(source):
    module = source(
        """
        #include <pycuda-helpers.hpp>
        surface<void, cudaSurfaceType2DLayered> surf;
        texture<fp_tex_double, cudaTextureType2DLayered> tex;
        __global__ void add(double what)
        {
            double value;
            fp_surf2DLayeredread(&value, surf, threadIdx.x, threadIdx.y, 0);
            fp_surf2DLayeredwrite(value + what, surf, threadIdx.x, threadIdx.y, 0);
        }
        __global__ void read(double *out)
        {
            out[threadIdx.y * blockDim.x + threadIdx.x] = fp_tex2DLayered(tex, threadIdx.x, threadIdx.y, 0);
        }
        """
    )
    numbers = given((6, 7), np.float64) / 3
    array = cuda.np_to_array(numbers, "C", allowSurfaceBind=True)
    surf, tex = module.get_surfref("surf"), module.get_texref("tex")
    surf.set_array(array)
    tex.set_array(array)
    add, read = module.get_function("add"), module.get_function("read")
    for _ in range(3):
        add(np.float64(0.5), block=(7, 6, 1))
    out = cuda.mem_alloc(numbers.nbytes)
    read(out, block=(7, 6, 1), texrefs=[tex])
    assert (cuda.from_device(out, numbers.shape, np.float64) == numbers + 0.5 + 0.5 + 0.5).all()


@pytest.mark.real
def test_objects_are_read_and_written_as_arguments(source):
    module = source(
        """
        __global__ void move(cudaTextureObject_t from, cudaSurfaceObject_t to)
        {
            int x = threadIdx.x, y = threadIdx.y;
            surf2Dwrite(tex2D<float>(from, x + 0.5f, y + 0.5f) * 2, to, x * 4, y);
        }
        __global__ void fetch(cudaTextureObject_t from, float *out) { out[threadIdx.x] = tex1Dfetch<float>(from, threadIdx.x); }
        """
    )
    numbers = given((6, 8))
    descr = cuda.ArrayDescriptor3D()
    descr.width, descr.height, descr.format = 8, 6, cuda.array_format.FLOAT
    descr.flags = cuda.array3d_flags.SURFACE_LDST
    target = cuda.Array(descr)
    texture, surface = cuda.TextureObject(cuda.np_to_array(numbers, "C")), cuda.SurfaceObject(target)
    module.get_function("move")(texture, surface, block=(8, 6, 1))
    del texture, surface
    back = np.empty_like(numbers)
    target.copy_to(back)
    assert (back == numbers * 2).all()
    line = cuda.to_device(numbers.ravel())
    out = cuda.mem_alloc(numbers.nbytes)
    texture = cuda.TextureObject(line, format=cuda.array_format.FLOAT)
    module.get_function("fetch")(texture, out, block=(48, 1, 1))
    assert (cuda.from_device(out, 48, np.float32) == numbers.ravel()).all()


@pytest.mark.real
def test_levels_are_read_as_asked(source):
    module = source(
        """
        __global__ void read(cudaTextureObject_t from, float *out)
        {
            out[threadIdx.x] = tex2DLod<float>(from, 0.5f, 0.5f, threadIdx.x * 0.5f);
        }
        """
    )
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.format = 4, 4, cuda.array_format.FLOAT
    levels = cuda.MipmappedArray(descr, 3)
    for index, size in enumerate((4, 2, 1)):
        levels.level(index).copy_from(np.full((size, size), 10 * index, np.float32))
    texture = cuda.TextureObject(
        levels, normalized_coords=True, filter_mode=1, mipmap_filter_mode=1, mipmap_levels=(0, 2), exact_trilinear=True
    )
    out = cuda.mem_alloc(20)
    module.get_function("read")(texture, out, block=(5, 1, 1))
    assert np.allclose(cuda.from_device(out, 5, np.float32), [0, 5, 10, 15, 20], atol=0.1)
