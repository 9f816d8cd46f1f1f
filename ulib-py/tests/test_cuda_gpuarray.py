"""`uLib.cuda.gpuarray`: arrays of the device against NumPy's, their views, and what takes them."""

import copy
import gc
import inspect
import pickle
import struct

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import numbers, same
from uLib.cuda import gpuarray
from uLib.cuda.gpuarray import GPUArray, vec
from uLib.cuda.tools import DeviceMemoryPool, dtype_to_ctype, match_dtype_to_c_struct

# What PyCUDA's arrays have besides arithmetic.
MEMBERS = """shape dtype strides size mem_size nbytes itemsize ndim allocator base gpudata ptr flags T __cuda_array_interface__
__array_priority__ set set_async get get_async copy fill reshape ravel view squeeze transpose bind_to_texref bind_to_texref_ext
__getitem__ __setitem__ __len__ __bool__""".split()
SIGNATURES = {
    GPUArray: "shape dtype allocator base gpudata strides order",
    GPUArray.set: "self ary async_ stream",
    GPUArray.set_async: "self ary stream",
    GPUArray.get: "self ary pagelocked async_ stream",
    GPUArray.get_async: "self stream ary",
    GPUArray.fill: "self value stream",
    GPUArray.view: "self dtype",
    GPUArray.transpose: "self axes",
    GPUArray.bind_to_texref: "self texref allow_offset",
    GPUArray.bind_to_texref_ext: "self texref channels allow_double_hack allow_complex_hack allow_offset",
    gpuarray.to_gpu: "ary allocator",
    gpuarray.to_gpu_async: "ary allocator stream",
    gpuarray.zeros: "shape dtype allocator order",
    gpuarray.ones: "shape dtype allocator order",
    gpuarray.zeros_like: "other dtype order",
    gpuarray.ones_like: "other dtype order",
    gpuarray.transpose: "a axes",
    gpuarray.splay: "n dev",
}


def test_names_and_parameters_are_pycudas(gpu):
    found = gpuarray.empty((2, 3), np.float32)
    for name in MEMBERS:
        assert hasattr(found, name), name
    assert found.allocator is cuda.mem_alloc and found.strides == (12, 4) and found.__array_priority__ == 100
    for function, names in SIGNATURES.items():
        assert list(inspect.signature(function).parameters) == names.split(), function
    assert gpuarray.empty is GPUArray and GPUArray.__module__ == "uLib.cuda.gpuarray"
    assert list(inspect.signature(gpuarray.empty_like).parameters)[:3] == ["other", "dtype", "order"]


def test_the_driver_layer_does_not_import_the_arrays(python):
    assert python("import sys, uLib.cuda.driver; print('uLib.cuda.gpuarray' in sys.modules)").stdout == "False\n"


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 3, 4), (0,), (3, 0, 2), (1, 5, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "?", "c8", "c16", "f2", "M8[s]", "S3"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_go_there_and_come_back(gpu, shape, dtype, order):
    want = numbers(shape, "u1", order).astype(dtype, order=order)
    found = gpuarray.to_gpu(want)
    assert same(found, want)
    home = found.get()
    for of in (found, home):
        assert of.flags.c_contiguous == want.flags.c_contiguous and of.flags.f_contiguous == want.flags.f_contiguous
    assert found.flags.forc
    assert (found.size, found.mem_size, found.nbytes) == (want.size, want.size, want.nbytes)
    assert (found.itemsize, found.ndim, found.base) == (want.itemsize, want.ndim, None)
    assert (found.ptr == 0) == (want.size == 0) == (found.gpudata is None)
    if want.size:
        assert isinstance(found.gpudata, cuda.DeviceAllocation) and int(found.gpudata) == found.ptr
    assert same(found.copy(), want) and same(copy.deepcopy(found), want) and same(copy.copy(found), want)
    assert same(pickle.loads(pickle.dumps(found)), want)
    np.testing.assert_array_equal(np.asarray(found), want)


def test_shapes_are_anything_that_numpy_takes(gpu):
    lines = (5, np.int64(5), np.array(5), [5])
    tables = ((2, 3), [np.int8(2), 3], np.array([2, 3]), iter((2, 3)))
    for shapes, want in ((lines, (5,)), (tables, (2, 3))):
        for shape in shapes:
            found = gpuarray.empty(shape, np.float32).shape
            assert found == want and all(type(n) is int for n in found)
    with pytest.raises(ValueError, match=r"^GPUArray: shape \(2, -1\) has a negative length"):
        gpuarray.empty((2, -1), "f4")
    with pytest.raises(ValueError, match="^GPUArray: order is 'X'"):
        gpuarray.empty((2, 2), "f4", order="X")


@pytest.mark.parametrize("permutation", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
@pytest.mark.parametrize("steps", [(1, 1, 1), (1, 1, -1), (-1, 2, 1)])
def test_the_order_of_axes_is_kept_and_gaps_are_not(gpu, permutation, steps):
    want = numbers((4, 5, 6)).transpose(permutation)[tuple(slice(None, None, step) for step in steps)]
    found = gpuarray.to_gpu(want)
    packed = want.copy(order="K")
    assert same(found, want) and found.strides == packed.strides
    assert found.get().strides == packed.strides
    for order in "CFAK":
        like = gpuarray.empty_like(want, order=order)
        assert like.strides == np.empty_like(want, order=order).strides
        assert gpuarray.empty_like(found, order=order).strides == np.empty_like(packed, order=order).strides
    assert gpuarray.zeros_like(found, np.int16).strides == np.zeros_like(want, np.int16).strides
    with pytest.raises(ValueError, match="^empty_like: order is 'Z'"):
        gpuarray.empty_like(found, order="Z")


def test_arrays_are_made_like_those_of_other_libraries(gpu):
    class Other:
        dtype = np.dtype(np.int16)

        def __init__(self, shape, strides):
            self.shape, self.strides = shape, strides

    found = gpuarray.empty_like(Other((np.uint8(200), np.uint8(4), np.uint8(100)), (np.int8(2), np.int64(4), np.int64(1600))))
    assert found.shape == (200, 4, 100) and found.strides == (2, 400, 1600)
    assert {type(n) for n in found.shape + found.strides} == {int}
    for shape, strides, error, words in (
        ((2, 3), (2,), ValueError, r"other has strides \(2,\) of 1 axes, and shape \(2, 3\)"),
        ((2, "3"), (2, 4), TypeError, "shape is .*: '(str|NoneType|float|object)' object cannot be"),
        ((2, -3), (2, 4), ValueError, r"shape \(2, -3\) has a negative length"),
        ((2, 3), None, TypeError, "strides is None"),
    ):
        with pytest.raises(error, match=f"^empty_like: {words}"):
            gpuarray.empty_like(Other(shape, strides))


@pytest.mark.parametrize("ours", ["C", "F", "permuted", "gaps", "backwards"])
@pytest.mark.parametrize("theirs", ["C", "F", "permuted", "gaps", "backwards"])
@pytest.mark.parametrize("how", ["now", "later", "stream", "device"])
def test_set_and_get_never_scramble(gpu, ours, theirs, how):
    shape = (3, 4, 5)
    layouts = {
        "C": lambda a: a.reshape(3, 4, 5),
        "F": lambda a: a.reshape(5, 4, 3).transpose(),
        "permuted": lambda a: a.reshape(4, 5, 3).transpose((2, 0, 1)),
    }
    sparse = {"gaps": lambda a: a[1:7:2, :4, 2:7], "backwards": lambda a: a[2::-1, 3::-1, 1:6]}
    here = layouts[ours](gpuarray.zeros(60)) if ours in layouts else sparse[ours](gpuarray.zeros((8, 6, 9)))
    want = layouts[theirs](np.zeros(60)) if theirs in layouts else sparse[theirs](np.zeros((8, 6, 9)))
    want[...] = numbers(shape, np.float64)
    stream = cuda.Stream()
    if how == "device":
        there = layouts[theirs](gpuarray.zeros(60)) if theirs in layouts else sparse[theirs](gpuarray.zeros((8, 6, 9)))
        there.set(want)
        assert there.strides == want.strides
        here.set(there)
    elif how == "later":
        here.set_async(want, stream)
        stream.synchronize()
    else:
        here.set(want, stream=stream if how == "stream" else None)
    assert same(here, want)
    into = np.zeros(shape) if theirs == "C" else want * 0
    if how == "later":
        assert here.get_async(stream, into) is into
        alone = here.get_async(stream)
        stream.synchronize()
        np.testing.assert_array_equal(alone, want)
    else:
        assert here.get(into) is into
    np.testing.assert_array_equal(into, want)
    # Nothing beside the view was touched.
    whole = here
    while whole.base is not None:
        whole = whole.base
    assert whole.get().sum() == want.sum()


@pytest.mark.parametrize("stream", [None, "a stream"])
def test_short_rows_far_and_near(gpu, stream):
    """However few of the bytes of the memory are wanted."""
    want = numbers((40, 50), np.int16)
    found = gpuarray.to_gpu(want)
    on = cuda.Stream() if stream else None
    for key in (np.s_[:, 3], np.s_[:, ::2], np.s_[::-1, ::7], np.s_[::20, ::10], np.s_[:, 10:45], np.s_[::9, 7], np.s_[2, 4:9]):
        np.testing.assert_array_equal(found[key].get(stream=on), want[key])
        np.testing.assert_array_equal(found[key].get(np.empty_like(want[key]), stream=on), want[key])
        np.testing.assert_array_equal(found.T[key[::-1]].get(pagelocked=True, stream=on), want.T[key[::-1]])


def test_set_and_get_check_what_they_get(gpu):
    found = gpuarray.zeros((2, 3), np.float32)
    with pytest.raises(TypeError, match="float64 into one of float32"):
        found.set(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="4 elements"):
        found.set(np.zeros(4, np.float32))
    with pytest.warns(UserWarning, match=r"shape \(6,\) into one of shape \(2, 3\)"):
        found.set(numbers(6))
    assert same(found, numbers(6).reshape(2, 3))
    flat = np.zeros(6, np.float32)
    with pytest.warns(UserWarning, match="into one of shape"):
        found.get(flat)
    np.testing.assert_array_equal(flat, numbers(6))
    for into in (np.zeros((2, 3)), np.zeros(5, np.float32)):
        with pytest.raises(ValueError, match="get: "):
            found.get(into)
    flat.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        found.get(flat)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(found, copy=False)


def test_page_locked_memory_and_what_a_copy_keeps(gpu):
    stream, want = cuda.Stream(), numbers((64, 3))
    locked = cuda.pagelocked_empty(want.shape, want.dtype)
    locked[:] = want
    pool = DeviceMemoryPool()
    found = gpuarray.to_gpu_async(locked, pool.allocate, stream)
    part = found[5:, 1:]
    home = part.get_async(stream)
    assert isinstance(found.get(pagelocked=True).base, (cuda.PagelockedHostAllocation, np.ndarray))
    del locked, found, part
    gc.collect()
    other = gpuarray.to_gpu_async(want * 0, pool.allocate, cuda.Stream())
    stream.synchronize()
    np.testing.assert_array_equal(home, want[5:, 1:])
    assert other.get().sum() == 0


def test_shapes_are_changed_as_numpy_does(gpu):
    for order in "CF":
        want = numbers((4, 3, 2), np.float32, order)
        found = gpuarray.to_gpu(want)
        for shape in ((24,), (6, 4), (2, -1), (-1,), (1, 24, 1)):
            for by in "CF":
                changed = found.reshape(shape, order=by)
                assert same(changed, want.reshape(shape, order=by))
                assert same(found.reshape(*shape, order=by), want.reshape(shape, order=by))
                assert (changed.ptr == found.ptr) == (by == order)
        assert same(gpuarray.reshape(found, 8, 3), want.reshape(8, 3))
        assert same(found.ravel(), want.ravel()) and same(found[::2, 1:].ravel(), want[::2, 1:].ravel())
        assert same(found[:, ::-1].reshape(24), want[:, ::-1].reshape(24))
        for shape in ((5, 5), (-1, 5), (-1, -1), (-2, -12)):
            with pytest.raises(ValueError, match="cannot reshape array of size 24"):
                found.reshape(shape)
        assert same(found.T, want.T) and same(found.transpose((1, 2, 0)), want.transpose((1, 2, 0)))
        assert same(gpuarray.transpose(found, (-1, 0, 1)), want.transpose((-1, 0, 1)))
        for axes in ((0, 1), (0, 1, 1), (0, 1, 3)):
            with pytest.raises(ValueError):
                found.transpose(axes)
        assert same(found[:, None, 1:2, None].squeeze(), want[:, None, 1:2, None].squeeze())
    assert same(gpuarray.zeros((0, 3)).reshape(3, 0, 2), np.zeros((3, 0, 2)))
    assert same(gpuarray.zeros((0, 3)).ravel(), np.zeros(0)) and same(gpuarray.zeros(()).ravel(), np.zeros(1))
    assert same(gpuarray.zeros((0, 3)).squeeze(), np.zeros((0, 3)))
    assert same(gpuarray.zeros((1, 0)).view("i2"), np.zeros((1, 0), "i2"))


def test_memory_is_viewed_as_other_types(gpu):
    want = numbers((3, 4), np.float32)
    found = gpuarray.to_gpu(want)
    for dtype in ("u4", "i2", "u1", "c8", "c16", "f8", vec.float2):
        assert same(found.view(dtype), want.view(dtype))
        assert found.view(dtype).ptr == found.ptr
    assert same(found[1:, 2:].view("f8"), want[1:, 2:].view("f8"))
    assert same(found[:, ::2].view("i4"), want[:, ::2].view("i4")) and same(found.view(), want)
    assert same(gpuarray.to_gpu(want[:, :1]).view("i2"), want[:, :1].copy().view("i2"))
    # In Fortran order it is the first axis whose elements follow each other.
    assert same(gpuarray.to_gpu(want.T).view("i2"), want.view("i2").T)
    for view, dtype in ((found[:, ::2], "f8"), (found[:, 1:], "f8"), (found[0, 0], "f8"), (found, "c16,f4")):
        with pytest.raises(ValueError, match="view: "):
            view.view(dtype)


def test_arrays_of_given_memory(gpu):
    memory = cuda.to_device(numbers(24))
    found = GPUArray((4, 6), "f4", gpudata=memory, base="something")
    assert same(found, numbers((4, 6))) and found.base == "something" and found.gpudata is memory
    assert same(GPUArray((2, 3), "f4", gpudata=int(memory) + 4), numbers(24)[1:7].reshape(2, 3))
    assert same(GPUArray((2, 2), "f4", gpudata=memory, strides=(48, 8)), numbers((4, 6))[::2, :4:2])
    assert same(GPUArray((2, 3), "f4", gpudata=memory, order="F"), numbers(6).reshape((2, 3), order="F"))
    assert same(GPUArray((3, 2), "f4", gpudata=memory, strides=(4, 0)), np.repeat(numbers(3)[:, None], 2, 1))
    assert same(GPUArray((5, 3), "f4", gpudata=memory, strides=(4, 4)), np.lib.stride_tricks.sliding_window_view(numbers(7), 3))
    for arguments in ({"shape": 25}, {"shape": 3, "strides": (-4,)}, {"shape": (2, 2), "strides": (92, 8)}):
        with pytest.raises(ValueError, match="memory of 96 bytes"):
            GPUArray(dtype="f4", gpudata=memory, **arguments)
    with pytest.raises(ValueError, match="base is of use"):
        GPUArray(3, "f4", base=found)
    with pytest.raises(ValueError, match="2 axes"):
        GPUArray(3, "f4", strides=(4, 4))
    sparse = GPUArray((3, 4), "f4", strides=(-32, 8))
    sparse.set(numbers((3, 4)))
    assert same(sparse, numbers((3, 4))) and sparse.nbytes == 48
    asked = []
    assert GPUArray((3, 4), "f4", lambda size: asked.append(size) or cuda.mem_alloc(size)).allocator is not None
    gpuarray.zeros(0, allocator=asked.append)
    assert asked == [48]


def test_views_keep_the_memory(gpu):
    pool = DeviceMemoryPool()
    view = gpuarray.to_gpu(numbers((8, 8)), pool.allocate)[2:5, ::-1].T
    gc.collect()
    assert pool.active_blocks == 1
    assert same(view, numbers((8, 8))[2:5, ::-1].T)
    del view
    gc.collect()
    assert pool.active_blocks == 0
    freed = gpuarray.zeros(4)
    freed.gpudata.free()
    with pytest.raises(cuda.LogicError, match="freed"):
        freed.get()


def test_arrays_in_python(gpu):
    want = numbers((3, 4))
    found = gpuarray.to_gpu(want)
    assert (repr(found), str(found)) == (repr(want), str(want))
    assert len(found) == 3 and [row.get().tolist() for row in found] == want.tolist()
    with pytest.raises(TypeError):
        len(found[0, 0])
    with pytest.raises(TypeError):
        iter(found[0, 0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)
    assert bool(found[0, 1]) and not found[0, 0] and not gpuarray.zeros((1, 1))
    for many in (found, found[:0]):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(many)
    assert np.asarray(found, dtype=np.float64).dtype == np.float64


def test_arrays_are_made_as_numpys(gpu):
    for ours, numpys in ((gpuarray.zeros, np.zeros), (gpuarray.ones, np.ones)):
        assert same(ours((3, 2)), numpys((3, 2))) and same(ours(4, np.int8), numpys(4, np.int8))
        found = ours((3, 2), "c8", order="F")
        assert same(found, numpys((3, 2), "c8")) and found.flags.f_contiguous and not found.flags.c_contiguous
    assert same(gpuarray.ones_like(found), np.ones((3, 2), "c8"))
    assert same(gpuarray.zeros_like(found, "i2"), np.zeros((3, 2), "i2"))
    assert same(gpuarray.ones_like(numbers(5)), np.ones(5, "f4"))
    assert same(gpuarray.empty_like(found).fill(2j), np.full((3, 2), 2j, "c8"))
    for arguments in ((7,), (2, 9), (2, 9, 3), (1.0, 0.0, -0.25)):
        assert same(gpuarray.arange(*arguments, dtype=np.float32), np.arange(*arguments, dtype=np.float32))
        with pytest.warns(UserWarning, match="no dtype was given"):
            assert same(gpuarray.arange(*arguments), np.arange(*arguments))
    stream = cuda.Stream()
    assert same(gpuarray.arange(5, dtype="i4", stream=stream), np.arange(5, dtype="i4"))
    with pytest.raises(TypeError, match="1 to 3 numbers"):
        gpuarray.arange()


def test_work_is_spread_over_whole_warps(gpu):
    device = cuda.Context.get_device()
    for n in (0, 1, 31, 32, 33, 127, 128, 129, 5000, 10**9):
        grid, block = gpuarray.splay(n)
        assert gpuarray.splay(n, device) == (grid, block) and len(grid) == 2 and block[1:] == (1, 1)
        assert block[0] % device.warp_size == 0 and 0 < block[0] <= device.max_threads_per_block and grid[0] >= 1 == grid[1]
        assert (grid[0] - 1) * block[0] < max(n, 1), "a block has nothing to do"
    most = device.multiprocessor_count * device.max_threads_per_multiprocessor
    assert grid[0] * block[0] <= most


# The compiler's sizes and alignments (CUDA's programming guide, table of vector types); of three as of one.
ALIGNED = {"char": (1, 2, 4), "short": (2, 4, 8), "int": (4, 8, 16), "long": (8, 16, 16), "float": (4, 8, 16)}
ALIGNED |= {"longlong": (8, 16), "double": (8, 16)}


def test_vector_types_are_cudas():
    counted = 0
    for name, alignments in ALIGNED.items():
        for sign in ("", "u") if name not in ("float", "double") else ("",):
            for count in range(1, 5 if len(alignments) == 3 else 3):
                dtype = getattr(vec, f"{sign}{name}{count}")
                one = alignments[0]
                assert dtype.names == tuple("xyzw"[:count]) and dtype.itemsize == count * one
                assert dtype["x"].kind == ("f" if name in ("float", "double") else sign or "i")
                made = getattr(vec, f"make_{sign}{name}{count}")(*range(1, count + 1))
                assert made.dtype == dtype and made.item() == tuple(range(1, count + 1))
                # The two long ones are one type.
                assert dtype_to_ctype(dtype) == f"{sign}{name}{count}".replace("longlong", "long")
                laid, _text = match_dtype_to_c_struct(None, "s", np.dtype([("a", "i1"), ("v", dtype), ("b", "i1")]))
                aligned = one if count == 3 else alignments[(1, 2, 4).index(count)]
                assert laid.fields["v"][1] == aligned
                assert laid.itemsize == -(-(aligned + dtype.itemsize + 1) // aligned) * aligned
                counted += 1
    assert counted == 42
    assert (vec.float3.itemsize, vec.float4.itemsize) == (12, 16)
    assert vec.make_float4(1, 2).item() == (1, 2, 0, 0)
    with pytest.raises(TypeError, match="takes 2 numbers"):
        vec.make_int2(1, 2, 3)


def test_arrays_of_vectors(gpu):
    want = np.zeros(5, vec.float3)
    want["y"] = np.arange(5)
    found = gpuarray.to_gpu(want)
    assert same(found, want) and same(found[1:4], want[1:4])
    found[2] = vec.make_float3(1, 2, 3)
    want[2] = (1, 2, 3)
    assert same(found, want)


def test_kernels_get_the_address(fake):
    text = """.version 7.0
.target sm_60
.address_size 64
.visible .entry fakecuda_parameters(.param .u64 out, .param .u64 x, .param .align 16 .b8 v[16])
{
    ret;
}
"""
    function = cuda.module_from_buffer(text).get_function("fakecuda_parameters")
    found = gpuarray.to_gpu(numbers((4, 6)))
    for array in (found, found[1:], found[::-1], found.T, found.view("i2"), found[2:2]):
        out = gpuarray.zeros(32, np.uint8)
        function(out, array, vec.make_float4(1, 2, 3, 4), block=(1, 1, 1))
        cuda.Context.synchronize()
        sent = out.get().tobytes()
        assert struct.unpack("<QQffff", sent) == (out.ptr, array.ptr, 1, 2, 3, 4)
    function.prepare("PP16s")
    function.prepared_call((1, 1), (1, 1, 1), out.gpudata, found.gpudata, vec.make_int4())
    cuda.Context.synchronize()
    assert struct.unpack("<Q", out.get().tobytes()[8:16]) == (found.ptr,)


@pytest.mark.parametrize("start", [0, 8])
@pytest.mark.parametrize("work", ["kernel", "set", "set rows", "fill", "copy"])
def test_the_next_user_of_a_views_memory_comes_after_the_first(fake, start, work):
    text = ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry fakecuda_parameters(.param .u64 out)\n{\n    ret;\n}\n"
    function = cuda.module_from_buffer(text).get_function("fakecuda_parameters")
    kinds = cuda.stream_flags.NON_BLOCKING
    pool, first, second = DeviceMemoryPool(), cuda.Stream(kinds), cuda.Stream(kinds)
    found = gpuarray.empty(64, np.uint64, pool.allocate)
    address, source = found.ptr, gpuarray.zeros(64, np.uint64)
    fake("deferred 1")
    view = found[start:]
    if work == "kernel":
        function(view, block=(1, 1, 1), stream=first)
    elif work == "fill":
        view.fill(0, first)
    elif work == "copy":
        view.set(source[start:], stream=first)
    else:
        view = view[::2] if work == "set rows" else view
        view.set_async(cuda.pagelocked_zeros(view.shape, view.dtype), first)
    del found, view
    gc.collect()
    other = gpuarray.empty(64, np.uint64, lambda size: pool.allocate(size, second))
    assert other.ptr == address
    other.fill(7, second)
    second.synchronize()
    first.synchronize()
    assert other.get().tolist() == [7] * 64
    assert fake("faults") == 0


def test_others_read_the_protocol(gpu):
    want = numbers((4, 6))
    found = gpuarray.to_gpu(want)
    seen = found[1:, ::-2].__cuda_array_interface__
    assert (seen["version"], seen["shape"], seen["typestr"], seen["stream"]) == (3, (3, 3), "<f4", None)
    assert seen["data"] == (found.ptr + 44, False) and seen["strides"] == (24, -8)
    assert gpuarray.zeros((0, 2)).__cuda_array_interface__["data"] == (0, False)
    assert gpuarray.zeros(2, vec.float2).__cuda_array_interface__["descr"] == [("x", "<f4"), ("y", "<f4")]
    back = np.empty_like(want)
    cuda.memcpy_dtoh(back, found)
    np.testing.assert_array_equal(back, want)
    import uLib

    line = uLib.FloatCollection(6)
    with cuda.Device(0).retain_primary_context():
        line.SetValues(found[2, ::-1])
    np.testing.assert_array_equal(np.asarray(line), want[2, ::-1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_for_textures_are_made_of_them(gpu, order):
    want = np.asarray(numbers((5, 6)), order=order)
    for found, host in (
        (gpuarray.to_gpu(want), want),
        (gpuarray.to_gpu(numbers((8, 6)))[::2], numbers((8, 6))[::2]),
        (gpuarray.to_gpu(numbers((8, 6, 2)))[::2, :, 0], numbers((8, 6, 2))[::2, :, 0]),
    ):
        array = cuda.gpuarray_to_array(found, order)
        slow = host if order == "C" else host.T
        back = np.empty(slow.shape, np.float32)
        array.copy_to(back)
        np.testing.assert_array_equal(back, slow)


def test_texture_references_read_the_memory(gpu):
    text = ".version 7.0\n.target sm_60\n.address_size 64\n.visible .global .align 8 .b8 tex[8];\n"
    texref = cuda.module_from_buffer(text + ".visible .entry nothing()\n{\n    ret;\n}\n").get_texref("tex")
    found = gpuarray.zeros(64, np.int16)
    assert found.bind_to_texref_ext(texref) == 0
    assert texref.get_format() == (cuda.array_format.SIGNED_INT16, 1)
    assert texref.get_flags() & cuda.TRSF_READ_AS_INTEGER
    with pytest.raises(cuda.LogicError, match="allow_offset"):
        found[3:].bind_to_texref(texref)
    assert found[3:].bind_to_texref(texref, allow_offset=True) == 3
    double = gpuarray.zeros(8)
    with pytest.raises(TypeError, match="has to be allowed"):
        double.bind_to_texref_ext(texref)
    double.bind_to_texref_ext(texref, allow_double_hack=True)
    assert texref.get_format() == (cuda.array_format.SIGNED_INT32, 2)
