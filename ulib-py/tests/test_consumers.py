"""numba, CuPy, PyTorch and JAX on a real card: zero-copy, in place, coherent; and the snippets that users start from."""

import gc

import numpy as np
import pytest
import uLib

pytestmark = pytest.mark.real

SIDE = 32
COUNT = SIDE**3


@pytest.fixture
def image(real):
    image = uLib.VoxImage(SIDE, SIDE, SIDE)
    image.SetValues(np.arange(COUNT, dtype=np.float32))
    image.Count.Fill(3)
    assert image.SetPreferredDevice("Device") is True, image.GetDataLocation()
    return image


@pytest.fixture
def kernels(real):
    if not uLib.device.kernels_available("numba"):
        reason = uLib.device.kernels_unavailable_reason("numba")
        from conftest import skip_or_fail

        skip_or_fail(f"numba compiles no kernels here: {reason}")


def test_numba_sees_a_view_of_device_memory(consumer, image):
    cuda = consumer("numba.cuda")
    values = cuda.as_cuda_array(image)
    assert (values.shape, str(values.dtype), values.strides) == ((COUNT,), "float32", (8,))
    np.testing.assert_array_equal(values.copy_to_host(), np.arange(COUNT))
    assert cuda.is_cuda_array(image)
    assert image.IsDeviceResident()


def test_numba_kernel_scales_in_place(consumer, kernels, image):
    cuda = consumer("numba.cuda")
    values = cuda.as_cuda_array(image)

    @cuda.jit
    def scale(values, factor):
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= factor

    scale[(values.size + 127) // 128, 128](values, 3.0)
    assert image.GetValue(7) == 21
    assert image.Count.Sum() == 3 * COUNT
    assert image.IsDeviceResident()


def test_numba_kernel_on_a_side_stream_then_a_host_read(consumer, kernels, image):
    cuda = consumer("numba.cuda")
    values = cuda.as_cuda_array(image)

    @cuda.jit
    def slow(values):
        i = cuda.grid(1)
        if i < values.size:
            value = values[i]
            for _ in range(20000):
                value = value * 1.0000001
            values[i] = -1.0

    stream = cuda.stream()
    for repeat in range(3):
        image.Fill(repeat)
        slow[(values.size + 127) // 128, 128, stream](values)
        assert image.GetValue(COUNT - 1) == -1, "the read waited for the side stream"


def test_cupy_sums_where_the_voxels_are(consumer, image):
    cupy = consumer("cupy")
    before = image.Transfers
    block = cupy.asarray(image)
    assert block.strides == (8,) and block.data.ptr == image.__cuda_array_interface__["data"][0]
    profile = cupy.asnumpy(block.reshape((SIDE, SIDE, SIDE)).sum(axis=(0, 1), dtype=cupy.float64))
    np.testing.assert_array_equal(profile, image.Sum(axis=(0, 1)))
    block *= 3
    assert image.Transfers.uploads == before.uploads
    assert image.GetValue(7) == 21
    np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(image.Grid())), np.asarray(image.Grid()))
    counts = cupy.asarray(image.Count)
    counts += 1
    assert image.Count.Sum() == 4 * COUNT


def test_cupy_non_blocking_stream(consumer, image):
    cupy = consumer("cupy")
    block = cupy.asarray(image)
    big = cupy.random.rand(2048, 2048)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(20):
            big = big @ big
            big /= cupy.linalg.norm(big)
        block[:] = 9
    assert image.GetValue(COUNT - 1) == 9


def test_torch_shares_the_memory(consumer, image):
    torch = consumer("torch")
    tensor = torch.as_tensor(image, device="cuda")
    assert tensor.stride() == (2,) and tensor.data_ptr() == image.__cuda_array_interface__["data"][0]
    tensor.mul_(2)
    assert image.GetValue(5) == 10
    image.EndExports()
    lent = torch.from_dlpack(image)
    assert lent.data_ptr() == tensor.data_ptr() and image.IsShared()
    lent.add_(1)
    assert image.GetValue(5) == 11
    grid = torch.from_dlpack(image.Grid())
    np.testing.assert_array_equal(grid.sum(dim=(0, 1), dtype=torch.float64).cpu().numpy(), image.Sum(axis=(0, 1)))
    del lent, grid
    gc.collect()
    assert not image.IsShared()


def test_jax_takes_packed_device_arrays(consumer, real):
    """JAX knows no strides, so it is given voxels without a Count."""
    jax = consumer("jax")
    packed = uLib.VoxImage(SIDE, SIDE, SIDE, voxel_bytes=4)
    packed.SetValues(np.arange(COUNT))
    packed.SetPreferredDevice("Device")
    before = packed.Transfers
    array = jax.dlpack.from_dlpack(packed)
    assert float(array.sum()) == packed.Sum()
    assert packed.Transfers.uploads == before.uploads
    assert float(jax.numpy.asarray(packed)[7]) == 7
    assert packed.Transfers.uploads == before.uploads


def test_events_and_tables(consumer, real):
    cupy = consumer("cupy")
    table = uLib.EventTable("slice,total", rows=4)
    table.PreferredDevice = "Device"
    on_device = cupy.asarray(table)
    assert on_device.shape == (4, 2) and on_device.dtype == cupy.float64
    on_device[:, 1] = cupy.arange(4) * 1.5
    assert table.GetRow(3) == (0, 4.5)
    muons = uLib.MuonScatterCollection(5)
    muons.PreferredDevice = "Device"
    raw = cupy.asarray(muons)
    assert raw.dtype == cupy.uint8 and raw.shape == (720,)
    cupy.asarray(muons.Momentum)[:] = 3
    assert list(muons.Momentum) == [3] * 5


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_set_values_from_consumers(consumer, image, library):
    consumer(library)
    before = image.Transfers
    if library == "cupy":
        import cupy

        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            source = cupy.full(COUNT, 4, dtype=cupy.float32)
            image.SetValues(source)
            assert image.Sum() == 4 * COUNT
            image.SetValues(cupy.arange(2 * COUNT, dtype=cupy.float32)[::2])
    else:
        import torch

        image.SetValues(torch.full((COUNT,), 4.0, device="cuda"))
        assert image.Sum() == 4 * COUNT
        image.SetValues(torch.arange(2 * COUNT, device="cuda", dtype=torch.float32)[::2])
    assert image.Transfers == before
    np.testing.assert_array_equal(np.asarray(image), np.arange(0, 2 * COUNT, 2))
    with pytest.raises(TypeError, match="f64|float64|<f8"):
        if library == "cupy":
            image.SetValues(cupy.zeros(COUNT))
        else:
            image.SetValues(torch.zeros(COUNT, device="cuda", dtype=torch.float64))


def attribute_rule_cases():
    def numpy_():
        return np.asarray

    def cupy_():
        import cupy

        return lambda o: cupy.asnumpy(cupy.asarray(o))

    def torch_():
        import torch

        return lambda o: torch.as_tensor(o).cpu().numpy()

    def torch_cuda():
        import torch

        return lambda o: torch.as_tensor(o, device="cuda").cpu().numpy()

    def torch_dlpack():
        import torch

        return lambda o: torch.from_dlpack(o).cpu().numpy()

    def jax_():
        import jax

        return lambda o: np.asarray(jax.numpy.asarray(o))

    return [
        ("numpy", numpy_),
        ("cupy", cupy_),
        ("torch", torch_),
        ("torch", torch_cuda),
        ("torch", torch_dlpack),
        ("jax", jax_),
    ]


@pytest.mark.parametrize(
    ("library", "make"), attribute_rule_cases(), ids=lambda value: getattr(value, "__name__", value)
)
@pytest.mark.parametrize("preference", ["Host", "Device"])
def test_every_consumer_takes_the_object_whatever_its_preference(consumer, library, make, preference):
    consumer(library)
    packed = library == "jax" and preference == "Device"  # JAX knows no strides
    image = uLib.VoxImage(4, 4, 4, voxel_bytes=4 if packed else 8)
    image.SetValues(np.arange(64))
    image.SetPreferredDevice(preference)
    np.testing.assert_array_equal(make()(image), np.arange(64))


def test_numba_says_no_to_a_host_object(consumer, real):
    cuda = consumer("numba.cuda")
    image = uLib.VoxImage(4, 4, 4)
    assert not cuda.is_cuda_array(image)
    with pytest.raises(TypeError):
        cuda.as_cuda_array(image)


def test_as_array_holds_a_lease(consumer, image):
    consumer("numba")
    array = uLib.device.as_array(image)
    assert type(array).__module__.split(".")[0] in {"numba", "cupy", "torch"}
    assert image.IsShared()
    image.SetDims(2, 2, 2)
    assert array.shape[0] == COUNT
    del array
    gc.collect()


def test_out_of_memory_on_a_full_card(consumer, real):
    cupy = consumer("cupy")
    image = uLib.VoxImage(512, 512, 256)  # 512 MiB
    image.Fill(2)
    free, _ = uLib.device.memory_info()
    hog = cupy.cuda.Memory(free - (256 << 20))
    assert image.SetPreferredDevice("Device") is False
    assert image.GetPreferredDevice() == "Device" and not image.IsDeviceResident()
    assert "out of device memory: needs 536870912 bytes, " in image.GetDataLocation()
    assert not hasattr(image, "__cuda_array_interface__")
    assert image.Sum() == 2 * 512 * 512 * 256, "the host computes meanwhile"
    del hog
    gc.collect()
    assert image.Update() is True and image.Sum() == 2 * 512 * 512 * 256


def test_a_broken_kernel_surfaces_as_the_drivers_words(consumer, python):
    consumer("cupy")
    done = python(
        """
import cupy, uLib
image = uLib.VoxImage(8, 8, 8)
image.SetPreferredDevice("Device")
block = cupy.asarray(image)
cupy.RawKernel('extern "C" __global__ void wild(float* p) { *(float*)8 = 1.0f; }', "wild")((1,), (1,), (block,))
try:
    image.GetValue(0)
except uLib.DriverError as error:
    print(error.code, "CUDA_ERROR" in str(error))
import os
os._exit(0)
"""
    )
    code, words = done.stdout.split()
    assert int(code) in (700, 716, 718, 719) and words == "True"


def test_the_usual_recipe(consumer, image):
    """The usual recipe, as a function of a context that hands out scene objects."""
    consumer("cupy")

    def run(ctx):
        image = ctx["phantom"]
        try:
            import cupy

            block = cupy.asarray(image).reshape((SIDE, SIDE, SIDE))
            profile = cupy.asnumpy(block.sum(axis=(0, 1)))
            how = "on the GPU with CuPy, reading the voxels in place"
        except ImportError:
            from numba import cuda

            view = cuda.as_cuda_array(image)
            profile = view.copy_to_host().reshape((SIDE, SIDE, SIDE)).sum(axis=(0, 1))
            how = "numba took the device view; summed on the host"
        table = ctx["profile"]
        table.Columns = "slice,total"
        table.Clear()
        for index, total in enumerate(profile):
            table.AddRow([float(index), float(total)])
        return how

    table = uLib.EventTable()
    table.PreferredDevice = "Device"
    assert "CuPy" in run({"phantom": image, "profile": table})
    np.testing.assert_allclose(table.GetColumn("total"), image.Sum(axis=(0, 1)), rtol=1e-6)


def test_the_usual_way_with_numba(consumer, image):
    cuda = consumer("numba.cuda")
    view = cuda.as_cuda_array(image)
    profile = view.copy_to_host().reshape((SIDE, SIDE, SIDE)).sum(axis=(0, 1), dtype=np.float64)
    np.testing.assert_array_equal(profile, image.Sum(axis=(0, 1)))


def test_kernels_available_admits_only_what_works(consumer, real):
    for library in ("numba", "cupy"):
        consumer(library)
        reason = uLib.device.kernels_unavailable_reason(library)
        assert (reason is None) == uLib.device.kernels_available(library)
        if reason is not None:
            assert reason.startswith(library)


def test_kernels_without_a_toolkit_are_refused_with_the_cause(consumer, python):
    """numba with nowhere to find a toolkit: the answer is no, and the snippet indeed fails."""
    consumer("numba")
    done = python(
        """
import uLib
print(uLib.device.kernels_available("numba"))
print(uLib.device.kernels_unavailable_reason("numba"))
try:
    from numba import cuda
    cuda.jit("void(float32[:])")(lambda a: None)
except Exception:
    print(False)
else:
    print(True)
"""
    )
    lines = done.stdout.splitlines()
    assert lines[0] == lines[-1]
