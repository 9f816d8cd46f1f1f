"""Arrays of `uLib.cuda.driver`: descriptors, arrays from NumPy's and from the device's, and copies of bytes."""

import gc
import threading

import numpy as np
import pytest
import uLib.cuda.driver as cuda

FORMATS = {
    "u1": cuda.array_format.UNSIGNED_INT8,
    "u2": cuda.array_format.UNSIGNED_INT16,
    "u4": cuda.array_format.UNSIGNED_INT32,
    "i1": cuda.array_format.SIGNED_INT8,
    "i2": cuda.array_format.SIGNED_INT16,
    "i4": cuda.array_format.SIGNED_INT32,
    "f2": cuda.array_format.HALF,
    "f4": cuda.array_format.FLOAT,
}


class OnDevice:
    """An array on the device, by its protocol."""

    def __init__(self, host, strides="of the host"):
        self.memory = cuda.to_device(np.ascontiguousarray(host).view(np.uint8).ravel() if strides is None else host)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": host.shape,
            "typestr": host.dtype.str,
            "data": (int(self.memory), False),
            "strides": None if strides is None else host.strides,
        }


def descriptor(width, height=0, depth=None, dtype="f4", channels=1, flags=0):
    descr = cuda.ArrayDescriptor() if depth is None else cuda.ArrayDescriptor3D()
    descr.width, descr.height, descr.num_channels = width, height, channels
    descr.format = FORMATS[dtype]
    if depth is not None:
        descr.depth, descr.flags = depth, flags
    return descr


def numbers(shape, dtype=np.float32):
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 251).astype(dtype).reshape(shape)


def content(array, dtype, shape):
    back = np.empty(shape, dtype)
    array.copy_to(back)
    return back


def test_formats_follow_from_dtypes():
    for name, expected in FORMATS.items():
        assert cuda.dtype_to_array_format(np.dtype(name)) == expected
        assert cuda.dtype_to_array_format(name) is expected
    for name in ("f8", "c8", "i8", "u8", "?", "S4", ">f4"):
        with pytest.raises(TypeError):
            cuda.dtype_to_array_format(np.dtype(name))


def test_descriptors_say_what_they_were_told():
    descr = descriptor(5, 4, 3, "i2", 2, cuda.array3d_flags.SURFACE_LDST)
    assert (descr.width, descr.height, descr.depth, descr.num_channels, descr.flags) == (5, 4, 3, 2, 2)
    assert descr.format is cuda.array_format.SIGNED_INT16
    assert repr(descr) == (
        "ArrayDescriptor3D(width=5, height=4, num_channels=2, format=array_format.SIGNED_INT16, depth=3, flags=2)"
    )
    assert isinstance(descr, cuda.ArrayDescriptor)


def test_an_array_is_what_its_descriptor_says(gpu):
    array = cuda.Array(descriptor(6, 5, 4, "u1", 4, cuda.array3d_flags.SURFACE_LDST))
    found = array.get_descriptor_3d()
    assert (found.width, found.height, found.depth) == (6, 5, 4)
    assert (found.format, found.num_channels, found.flags) == (cuda.array_format.UNSIGNED_INT8, 4, 2)
    flat = array.get_descriptor()
    assert type(flat) is cuda.ArrayDescriptor
    assert (flat.width, flat.height) == (6, 5)
    assert array.nbytes == 6 * 5 * 4 * 4
    assert array.handle != 0
    assert "Volume of [6, 5, 4] texels of 4 U8" in repr(array)


@pytest.mark.parametrize(
    ("size", "flags", "kind"),
    [
        ((9, 0, 0), 0, "Line"),
        ((9, 8, 0), 0, "Plane"),
        ((9, 0, 3), cuda.array3d_flags.ARRAY3D_LAYERED, "LayeredLine"),
        ((9, 8, 3), cuda.array3d_flags.ARRAY3D_2DARRAY, "LayeredPlane"),
        ((8, 8, 6), cuda.array3d_flags.CUBEMAP, "Cubemap"),
        ((8, 8, 12), cuda.array3d_flags.CUBEMAP | cuda.array3d_flags.ARRAY3D_LAYERED, "LayeredCubemap"),
    ],
)
def test_arrays_of_every_kind_keep_their_bytes(gpu, size, flags, kind):
    array = cuda.Array(descriptor(*size, "f4", 2, flags))
    assert f": {kind} of" in repr(array)
    given = numbers(array.nbytes // 4)
    array.copy_from(given)
    assert (content(array, np.float32, given.shape) == given).all()


def test_arrays_that_cannot_be_are_logic_errors(gpu):
    for descr, words in [
        (cuda.ArrayDescriptor(), "width is 0|format is 0"),
        (descriptor(0), "width is 0"),
        (descriptor(4, 4, channels=3), "channels is 3"),
        (descriptor(1 << 40, 4), "width is 1099511627776"),
        (descriptor(4, 5, 6, flags=cuda.array3d_flags.CUBEMAP), "height is 5"),
        (descriptor(-1), "width"),
    ]:
        with pytest.raises(cuda.LogicError, match=words):
            cuda.Array(descr)
    with pytest.raises(cuda.LogicError, match="no width"):
        cuda.Array(object())


def test_an_array_is_freed_once(gpu):
    array = cuda.Array(descriptor(4))
    array.free()
    for use in (array.free, array.get_descriptor, lambda: array.handle, lambda: array.copy_from(numbers(4))):
        with pytest.raises(cuda.LogicError, match=": the Array has been freed$"):
            use()
    array.close()
    assert "freed" in repr(array)
    with cuda.Array(descriptor(4)) as array:
        assert array.nbytes == 16
    with pytest.raises(cuda.LogicError, match="freed"):
        array.get_descriptor()


def test_arrays_go_with_their_objects_on_any_thread(fake):
    arrays = [cuda.Array(descriptor(16, 16)) for _ in range(4)]
    assert fake.count("cuArray3DCreate_v2") == 4

    def drop():
        while arrays:
            arrays.pop()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert fake.count("cuArrayDestroy") == 4


@pytest.mark.parametrize("dtype", sorted(FORMATS))
@pytest.mark.parametrize("order", ["C", "F"])
def test_matrices_become_arrays(gpu, dtype, order):
    given = numbers((5, 7), dtype)
    array = cuda.matrix_to_array(given, order)
    descr = array.get_descriptor()
    assert (descr.height, descr.width) == ((5, 7) if order == "C" else (7, 5))
    assert (descr.format, descr.num_channels) == (FORMATS[dtype], 1)
    found = content(array, dtype, (descr.height, descr.width))
    assert (found == (given if order == "C" else given.T)).all()


def test_doubles_need_the_hack(gpu):
    given = numbers((3, 4), np.float64)
    with pytest.raises(TypeError):
        cuda.matrix_to_array(given, "C")
    array = cuda.matrix_to_array(given, "C", allow_double_hack=True)
    descr = array.get_descriptor()
    assert (descr.format, descr.num_channels) == (cuda.array_format.SIGNED_INT32, 2)
    assert (content(array, np.float64, (3, 4)) == given).all()


@pytest.mark.parametrize(("dtype", "channels"), [("f8", 2), ("c8", 2), ("c16", 4), ("f4", 1), ("i2", 1)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("shape", [(5, 6), (4, 5, 6)])
@pytest.mark.parametrize("side", ["host", "device"])
def test_arrays_of_numbers_become_arrays(gpu, dtype, channels, order, surface, shape, side):
    given = np.asarray(numbers(shape, dtype), order=order)
    if side == "host":
        array = cuda.np_to_array(given, order, surface)
    else:
        array = cuda.gpuarray_to_array(OnDevice(given), order, allowSurfaceBind=surface)
    slow = shape if order == "C" else shape[::-1]
    descr = array.get_descriptor_3d()
    assert (descr.height, descr.width, descr.num_channels) == (slow[-2], slow[-1], channels)
    flags = 0
    if surface:
        flags = cuda.array3d_flags.SURFACE_LDST
        if len(shape) == 2:
            flags |= cuda.array3d_flags.ARRAY3D_LAYERED
    assert descr.flags == flags
    assert descr.depth == (slow[0] if len(shape) == 3 else int(surface))
    found = content(array, dtype, slow)
    assert (found == (given if order == "C" else given.T)).all()


def test_device_arrays_without_strides_and_with_gaps(gpu):
    given = numbers((4, 6))
    packed = cuda.gpuarray_to_array(OnDevice(given, strides=None), "C")
    assert (content(packed, np.float32, (4, 6)) == given).all()
    # Every second row, and all but the first two columns.
    view = OnDevice(numbers((8, 6)))
    view.__cuda_array_interface__ |= {
        "shape": (4, 4),
        "strides": (48, 4),
        "data": (int(view.memory) + 8, False),
    }
    array = cuda.gpuarray_to_array(view, "C")
    assert (content(array, np.float32, (4, 4)) == numbers((8, 6))[::2, 2:]).all()
    # In the other order its rows are columns of the memory.
    array = cuda.gpuarray_to_array(view, "F")
    assert (content(array, np.float32, (4, 4)) == numbers((8, 6))[::2, 2:].T).all()
    with pytest.raises(cuda.LogicError, match="no array on a device"):
        cuda.gpuarray_to_array(given, "C")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "key",
    [
        np.s_[::2, ::3],
        np.s_[::-1],
        np.s_[:, ::-1],
        np.s_[1:2, 2:5],
        np.s_[1:3, ::2, 1:],
        np.s_[::-1, :, ::-2],
        np.s_[:, 1:2, :],
    ],
    ids=str,
)
def test_any_strides_become_arrays(gpu, key, order):
    from uLib.cuda import gpuarray

    axes = max(2, len(key) if isinstance(key, tuple) else 1)
    given = numbers((5, 6, 7)[:axes])
    view = gpuarray.to_gpu(given)[key]
    expected = given[key]
    array = cuda.gpuarray_to_array(view, order)
    lines = expected if order == "C" else expected.T
    assert (content(array, np.float32, lines.shape) == lines).all()
    swapped = cuda.gpuarray_to_array(view.T, order)
    assert (content(swapped, np.float32, lines.T.shape) == lines.T).all()


def test_the_other_byte_order_and_objects_are_refused(gpu):
    for dtype in (">f4", ">f8", ">u2", ">c8"):
        given = np.ones((2, 3), dtype)
        for make in (cuda.np_to_array, cuda.matrix_to_array):
            with pytest.raises(TypeError, match=f"^{make.__name__}: elements of .* are in the other byte order"):
                make(given, "C")
        with pytest.raises(TypeError, match="^matrix_to_array: .* byte order"):
            cuda.matrix_to_array(given, "C", allow_double_hack=True)
        with pytest.raises(TypeError, match="^make_multichannel_2d_array: .* byte order"):
            cuda.make_multichannel_2d_array(given[:, :, np.newaxis], "C")
        with pytest.raises(TypeError, match="^dtype_to_array_format: .* byte order"):
            cuda.dtype_to_array_format(dtype)
    with pytest.raises(TypeError, match=r"^np_to_array: .*dtype\('O'\)"):
        cuda.np_to_array(np.full((2, 3), None), "C")


def test_orders_and_axes_that_are_none(gpu):
    for make in (cuda.np_to_array, cuda.matrix_to_array):
        with pytest.raises(cuda.LogicError, match="order is 'A'"):
            make(numbers((3, 4)), "A")
        with pytest.raises(cuda.LogicError, match="1 axes"):
            make(numbers(4), "C")
        for shape in ((0, 4), (4, 0), (0, 0)):
            with pytest.raises(cuda.LogicError, match="has no elements"):
                make(numbers(shape), "C")
    view = OnDevice(numbers((4, 4)))
    view.__cuda_array_interface__ |= {"strides": (4,)}
    with pytest.raises(cuda.LogicError, match=r"strides is \(4,\), expected 2 numbers, as shape has"):
        cuda.gpuarray_to_array(view, "C")


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_channels_are_an_axis(gpu, channels):
    given = numbers((5, 6, channels), np.uint8)
    array = cuda.make_multichannel_2d_array(given, "C")
    descr = array.get_descriptor()
    assert (descr.height, descr.width, descr.num_channels) == (5, 6, channels)
    assert (content(array, np.uint8, given.shape) == given).all()
    turned = cuda.make_multichannel_2d_array(np.asfortranarray(given.transpose(2, 1, 0)), "F")
    assert (content(turned, np.uint8, given.shape) == given).all()
    with pytest.raises(cuda.LogicError, match="channels is 3"):
        cuda.make_multichannel_2d_array(numbers((5, 6, 3)), "C")


def test_bytes_of_a_row_go_to_and_fro(gpu):
    line, other = cuda.Array(descriptor(32)), cuda.Array(descriptor(32))
    given = numbers(32)
    cuda.memcpy_htoa(line, 0, given)
    back = np.zeros(8, np.float32)
    cuda.memcpy_atoh(back, line, 16)
    assert (back == given[4:12]).all()
    memory = cuda.to_device(numbers(16, np.float32)[::-1].copy())
    cuda.memcpy_dtoa(line, 64, memory, 64)
    cuda.memcpy_htoa(other, 0, np.zeros(32, np.float32))
    cuda.memcpy_atoa(other, 8, line, 60, 68)
    expected = np.zeros(32, np.float32)
    expected[2] = given[15]
    expected[3:19] = numbers(16)[::-1]
    assert (content(other, np.float32, 32) == expected).all()
    cuda.memcpy_atod(memory, other, 8, 12)
    assert (cuda.from_device(memory, 3, np.float32) == expected[2:5]).all()
    assert cuda.py_memcpy_htoa is cuda.memcpy_htoa and cuda.py_memcpy_atoh is cuda.memcpy_atoh


def test_bytes_outside_a_row_are_refused(gpu):
    line, plane = cuda.Array(descriptor(8)), cuda.Array(descriptor(8, 8))
    memory = cuda.mem_alloc(16)
    with pytest.raises(cuda.LogicError, match="16 bytes of a row from 20 exceed the 32"):
        cuda.memcpy_htoa(line, 20, numbers(4))
    with pytest.raises(cuda.LogicError, match="x is 2 bytes"):
        cuda.memcpy_htoa(line, 2, numbers(4))
    with pytest.raises(cuda.LogicError, match="20 bytes exceed the 16 bytes of src"):
        cuda.memcpy_dtoa(line, 0, memory, 20)
    with pytest.raises(cuda.LogicError, match="8 rows"):
        cuda.memcpy_htoa(plane, 0, numbers(4))
    with pytest.raises(cuda.LogicError, match="read-only"):
        cuda.memcpy_atoh(b"12345678", line, 0)
    with pytest.raises(cuda.LogicError, match="index"):
        cuda.memcpy_atoh(np.empty(2, np.float32), line, -4)
    cuda.memcpy_htoa(line, 0, np.empty(0, np.float32))


def test_device_memory_with_gaps_is_copied_both_ways(gpu):
    plane = cuda.Array(descriptor(4, 3, dtype="u1"))
    given = numbers((3, 8), np.uint8)
    memory = cuda.to_device(given)
    plane.copy_from(memory, pitch=8)
    assert (content(plane, np.uint8, (3, 4)) == given[:, :4]).all()
    cuda.memset_d8(memory, 7, 24)
    plane.copy_to(memory, pitch=8)
    back = cuda.from_device(memory, (3, 8), np.uint8)
    assert (back[:, :4] == given[:, :4]).all() and (back[:, 4:] == 7).all()
    with pytest.raises(cuda.LogicError, match="exceed the 24 bytes of dest"):
        plane.copy_to(memory, pitch=11)
    with pytest.raises(cuda.LogicError):
        plane.copy_from(given[:1])


def test_levels_are_arrays(gpu):
    whole = cuda.MipmappedArray(descriptor(8, 4), 4)
    assert len(whole) == 4
    sizes = [(level.width, level.height) for level in (whole.level(n).get_descriptor() for n in range(4))]
    assert sizes == [(8, 4), (4, 2), (2, 1), (1, 1)]
    level = whole.level(1)
    whole.free()
    level.copy_from(numbers((2, 4)))
    assert (content(level, np.float32, (2, 4)) == numbers((2, 4))).all()
    with pytest.raises(cuda.LogicError, match="freed"):
        whole.level(0)
    with pytest.raises(cuda.LogicError, match="levels is 5, expected 1 to 4"):
        cuda.MipmappedArray(descriptor(8, 4), 5)
    with pytest.raises(IndexError):
        cuda.MipmappedArray(descriptor(8, 4), 2).level(2)


def test_a_failure_of_any_call_leaks_nothing(fake, in_turn):
    def program():
        array = cuda.np_to_array(numbers((4, 5)), "C", True)
        surface, texture = cuda.SurfaceObject(array), cuda.TextureObject(array)
        assert surface.handle != texture.handle
        found = content(array, np.float32, (4, 5))
        assert (found == numbers((4, 5))).all()

    program()
    fake("reset")
    program()
    calls = fake.count()
    failed = 0
    for nth in in_turn(calls):
        fake("reset")
        fake(f"fail *:{nth}:12345")
        try:
            program()
        except (cuda.LogicError, cuda.RuntimeError):
            failed += 1
        gc.collect()
    fake("reset")
    assert failed > len(in_turn(calls)) // 8
    program()


def test_memory_that_is_shorter_than_its_description_is_named(fake):
    """The one who copies is told which array it is, and the texture that nothing can be read there."""
    memory = cuda.mem_alloc(64)
    interface = {"shape": (4, 8), "typestr": "<f4", "data": (int(memory), False), "version": 3}
    array = type("Short", (), {"__cuda_array_interface__": interface})()
    with pytest.raises(cuda.LogicError, match=r"gpuarray_to_array: gpuarray of shape \(4, 8\) .*INVALID_VALUE"):
        cuda.gpuarray_to_array(array, "C")
    with pytest.raises(cuda.LogicError, match="128 bytes at offset 0 exceed the 64 bytes"):
        cuda.TextureObject(array)


def test_garbage_is_collected_where_there_is_no_room_for_an_array(fake):
    class Cycle:
        pass

    def garbage():
        found = Cycle()
        found.memory, found.itself = cuda.mem_alloc(900_000), found

    cuda.mem_alloc(1)
    fake("memory_limit 1000000")
    gc.disable()
    try:
        for make in (
            lambda: cuda.np_to_array(np.zeros((256, 512), np.float32), "C"),
            lambda: cuda.Array(descriptor(512, 256)),
            lambda: cuda.MipmappedArray(descriptor(256, 256, 0), 2),
        ):
            garbage()
            make().free()
    finally:
        gc.enable()
        fake("memory_limit none")


def test_arrays_of_the_host_that_do_not_fit_say_why(gpu):
    array = cuda.Array(descriptor(8, 4))
    for copy, op in ((array.copy_from, "copy_from: source"), (array.copy_to, "copy_to: dest")):
        with pytest.raises(cuda.LogicError, match=f"^Array.{op} holds Python objects"):
            copy(np.zeros((4, 8), object))
        with pytest.raises(cuda.LogicError, match=f"^Array.{op} is not contiguous"):
            copy(np.zeros((4, 16), np.float32)[:, ::2])
