"""Loops that stay on the device: one upload, one download, no allocation, with somebody else's kernel in the middle."""

import ctypes

import numpy as np
import pytest
import uLib

SIDE = 16
ALLOCATIONS = (
    "cuMemAlloc_v2",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocManaged",
    "cuMemHostAlloc",
    "cuMemHostRegister_v2",
)


def voxels():
    return np.random.default_rng(1).random(SIDE**3, dtype=np.float32)


def image_on(place):
    image = uLib.VoxImage(SIDE, SIDE, SIDE)
    image.SetValues(voxels())
    image.Count.Fill(7)
    image.PreferredDevice = place
    return image


def iterate(image, outsider):
    """Ten operations and an outsider's kernel."""
    plane = image.Grid()
    image.Scale(0.5)
    image.Scale(-3)
    plane.Scale(0.25)
    image.Scale(8)
    image.Scale(-0.25)
    outsider(image)
    image.Scale(2)
    image.Count.Fill(5)
    plane.Scale(0.5)
    image.Scale(4)
    image.Scale(0.125)


def outsider_on_the_host(image):
    values = image.GetValues()
    values[:4] = 0.25
    image.SetValues(values)


def driver_writer(image):
    """The test's own writer: a copy by the driver, which is what a consumer's kernel looks like from here."""
    library = ctypes.CDLL(FAKE)
    with image.DeviceView() as view:
        interface = view.__cuda_array_interface__
        stride = interface["strides"][0]
        value = np.array([0.25], np.float32).view(np.uint32)[0]
        for index in range(4):
            address = ctypes.c_uint64(interface["data"][0] + index * stride)
            status = library.cuMemsetD32_v2(address, ctypes.c_uint32(int(value)), ctypes.c_size_t(1))
            assert status == 0


def numba_writer(consumer):
    cuda = consumer("numba.cuda")

    @cuda.jit
    def store(values):
        index = cuda.grid(1)
        if index < 4:
            values[index] = 0.25

    def write(image):
        with image.DeviceView() as view:
            store[1, 32](cuda.as_cuda_array(view))

    return write


def cupy_writer(consumer):
    cupy = consumer("cupy")

    def write(image):
        with image.DeviceView() as view:
            cupy.asarray(view)[:4] = 0.25

    return write


def check_loop(writer):
    expected = image_on("Host")
    image = image_on("Device")
    assert image.IsDeviceResident(), image.GetDataLocation()
    for _ in range(3):
        iterate(image, writer)
        iterate(expected, outsider_on_the_host)
    moved = image.Transfers
    assert (moved.uploads, moved.downloads) == (1, 0)
    np.testing.assert_array_equal(image.GetValues(), expected.GetValues())
    np.testing.assert_array_equal(image.Count.GetValues(), expected.Count.GetValues())
    moved = image.Transfers
    assert (moved.uploads, moved.downloads) == (1, 1)


def bind_device():
    """A consumer has a context current; this test's writer borrows the primary one."""
    library = ctypes.CDLL(FAKE)
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0


def unbind_device():
    library = ctypes.CDLL(FAKE)
    assert library.cuCtxSetCurrent(None) == 0
    assert library.cuDevicePrimaryCtxRelease_v2(0) == 0


FAKE = None


@pytest.fixture
def writer(fake):
    global FAKE
    from conftest import FAKE_LIBRARY

    FAKE = FAKE_LIBRARY
    bind_device()
    yield driver_writer
    unbind_device()


def test_a_loop_moves_once_each_way(writer):
    check_loop(writer)


def test_a_loop_allocates_nothing(fake, writer):
    image = image_on("Device")
    iterate(image, writer)
    total = image.Sum()
    profile = image.Sum(axis=0)
    before = {call: fake.count(call) for call in (*ALLOCATIONS, "cuLaunchKernel")}
    for _ in range(100):
        iterate(image, writer)
        image.Sum()
        image.Sum(axis=0)
    assert [call for call in ALLOCATIONS if fake.count(call) != before[call]] == []
    assert fake.count("cuLaunchKernel") - before["cuLaunchKernel"] >= 1000
    assert np.shape(total) == np.shape(image.Sum()) and np.shape(profile) == np.shape(image.Sum(axis=0))
    assert (image.Transfers.uploads, image.Transfers.downloads) == (1, 0)


@pytest.mark.real
def test_a_loop_with_a_kernel_of_numba(consumer):
    if not uLib.device.kernels_available("numba"):
        from conftest import skip_or_fail

        skip_or_fail(f"numba compiles no kernels here: {uLib.device.kernels_unavailable_reason('numba')}")
    check_loop(numba_writer(consumer))


@pytest.mark.real
def test_a_loop_with_a_kernel_of_cupy(consumer):
    check_loop(cupy_writer(consumer))
