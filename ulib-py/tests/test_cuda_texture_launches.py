"""Textures and surfaces in launches: references of loaded programs, objects as arguments, and kernels on the card."""

import gc

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import plane


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


def test_a_launch_within_a_launch_that_writes_a_reference_is_refused(fake):
    module = cuda.module_from_buffer(PTX)
    function, tex, out = module.get_function("fakecuda_parameters"), module.get_texref("tex"), cuda.mem_alloc(64)
    tex.set_array(plane())

    class Launching:
        def __cuda_stream__(self):
            function(out, np.uint64(0), block=(1, 1, 1))
            return 0, 0

    with pytest.raises(cuda.LogicError, match="^TextureReference: 'tex' is being written for another launch of this thread"):
        function(out, np.uint64(0), block=(1, 1, 1), stream=Launching())
    function(out, np.uint64(0), block=(1, 1, 1))
    cuda.Context.synchronize()
    assert held_in(module, "tex") == tex._object.handle


def test_what_garbage_does_as_it_goes_may_bind_references(fake):
    module = cuda.module_from_buffer(PTX)
    tex = module.get_texref("tex")

    class Binds:
        def __del__(self):
            tex.set_flags(0)
            bound.append(tex.get_flags())

    bound = []
    with tex._lock:
        Binds()
    assert bound == [0]


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


@pytest.mark.real
def test_views_are_read_as_asked(source):
    module = source(
        """
        __global__ void numbers(unsigned *out, cudaTextureObject_t texture)
        { out[threadIdx.x] = tex2D<unsigned>(texture, threadIdx.x, 1); }
        __global__ void layers(float *out, cudaTextureObject_t texture)
        { out[threadIdx.x] = tex2DLayered<float>(texture, 2, 1, threadIdx.x); }
        __global__ void levels(float *out, cudaTextureObject_t texture)
        { out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, threadIdx.x); }
        __global__ void colours(float4 *out, cudaTextureObject_t texture)
        { out[threadIdx.x] = tex2D<float4>(texture, threadIdx.x, 0); }
        """
    )

    def read(name, texture, count, dtype):
        out = cuda.mem_alloc(count * np.dtype(dtype).itemsize)
        module.get_function(name)(out, texture, block=(count, 1, 1))
        return cuda.from_device(out, count, dtype)

    bytes = given((4, 8, 4), np.uint8)
    packed = cuda.make_multichannel_2d_array(bytes, "C")
    texture = cuda.TextureObject(packed, view_format=cuda.resource_view_format.UINT_1X32)
    assert (read("numbers", texture, 8, np.uint32) == bytes[1].view(np.uint32).ravel()).all()

    planes = given((5, 4, 8))
    descr = cuda.ArrayDescriptor3D()
    descr.width, descr.height, descr.depth, descr.flags = 8, 4, 5, cuda.array3d_flags.ARRAY3D_LAYERED
    descr.format, descr.num_channels = cuda.array_format.FLOAT, 1
    array = cuda.Array(descr)
    array.copy_from(planes)
    assert (read("layers", cuda.TextureObject(array, view_layers=(2, 4)), 3, np.float32) == planes[2:, 1, 2]).all()

    descr.depth, descr.flags, descr.height = 0, 0, 8
    whole = cuda.MipmappedArray(descr, 4)
    for number in range(4):
        level = whole.level(number)
        level.copy_from(np.full(level.nbytes // 4, number, np.float32))
    texture = cuda.TextureObject(whole, view_levels=(1, 2), normalized_coords=True, mipmap_levels=(0, 10))
    # Beyond the last one that is seen there is none.
    assert read("levels", texture, 3, np.float32).tolist() == [1, 2, 2]

    # A compressed block: both colours, of 5, 6 and 5 bits, and an index of two bits for each of 16 texels, of which the first row has
    # the first colour, the second, and what lies a third and two thirds of the way.
    block = np.array([0xF800, 0x001F, 0b11100100, 0], np.uint16)
    descr.width, descr.height, descr.format, descr.num_channels = 1, 1, cuda.array_format.UNSIGNED_INT32, 2
    compressed = cuda.Array(descr)
    compressed.copy_from(block)
    view = cuda.resource_view_format.UNSIGNED_BC1
    texture = cuda.TextureObject(compressed, view_format=view, normalized_float=True)
    found = read("colours", texture, 4, np.dtype((np.float32, 4)))
    assert np.allclose(found, [[1, 0, 0, 1], [0, 0, 1, 1], [2 / 3, 0, 1 / 3, 1], [1 / 3, 0, 2 / 3, 1]], atol=0.01)
