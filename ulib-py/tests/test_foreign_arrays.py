"""Device arrays of others whose numbers are wrong: refused before anything is read, whatever protocol they came by."""

import ctypes

import numpy as np
import pytest
import uLib

CUDA, CUDA_MANAGED = 2, 13


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class ByInterface:
    """An array of float32 by ``__cuda_array_interface__``; strides in elements."""

    def __init__(self, data, shape, strides=None, byte_offset=0, device=0):
        assert device == 0, "the interface names no device"
        strides = strides and tuple(4 * stride for stride in strides)
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": "<f4",
            "data": (data + byte_offset, False),
            "version": 3,
        }


class ByDLPack:
    """The same by DLPack."""

    def __init__(self, data, shape, strides=None, byte_offset=0, device=0):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*(strides or ())) if strides else None
        self.device = device
        address = ctypes.addressof
        self.tensor = Tensor(
            data, CUDA, device, len(shape), 2, 32, 1, address(self.shape), None, byte_offset, None, None
        )
        if self.strides is not None:
            self.tensor.strides = address(self.strides)

    def __dlpack_device__(self):
        return CUDA, self.device

    def __dlpack__(self, **_keywords):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


protocols = pytest.mark.parametrize("protocol", [ByInterface, ByDLPack])


@pytest.fixture
def lent(gpu):
    """Eight floats on the device: their address, and the view that lends them."""
    source = uLib.FloatCollection(range(8))
    source.SetPreferredDevice("Device")
    view = source.DeviceView()
    return view.__cuda_array_interface__["data"][0], view


def targets():
    """Where the numbers would go: the same device, the host, a field of something, raw bytes."""
    on_device = uLib.FloatCollection(8)
    on_device.SetPreferredDevice("Device")
    return [on_device, uLib.FloatCollection(8), uLib.VoxImage(8, 1, 1).Value]


@protocols
def test_right_ones_are_taken(lent, protocol):
    base, _view = lent
    for target in targets():
        target.SetValues(protocol(base, (8,)))
        np.testing.assert_array_equal(np.asarray(target), range(8))
        target.SetValues(protocol(base + 28, (8,), (-1,)))
        np.testing.assert_array_equal(np.asarray(target), range(7, -1, -1))
        target.SetValues(protocol(base, (8,), (0,)))
        np.testing.assert_array_equal(np.asarray(target), [0] * 8)


WRONG = {
    "beyond the end": lambda base: {"data": base + 12},
    "strided beyond the end": lambda base: {"data": base, "strides": (2,)},
    "far beyond the end": lambda base: {"data": base, "strides": (1 << 40,)},
    "beyond every address": lambda base: {"data": base, "strides": (1 << 58,)},
    "backwards before the start": lambda base: {"data": base, "strides": (-1,)},
    "before the start": lambda base: {"data": base - 4},
    "below zero": lambda base: {"data": 8, "strides": (-1,)},
    "no memory": lambda base: {"data": 0xDEAD0000},
    "null": lambda base: {"data": 0},
    "the last address": lambda base: {"data": (1 << 64) - 4},
    "misaligned": lambda base: {"data": base + 1, "strides": (0,)},
    "offset beyond the end": lambda base: {"data": base, "byte_offset": 4},
    "offset beyond every address": lambda base: {"data": base, "byte_offset": 1 << 63},
    "offset that wraps": lambda base: {"data": base, "byte_offset": (1 << 64) - 4},
    "another device": lambda base: {"data": base, "device": 1},
}


@pytest.mark.parametrize(
    ("protocol", "wrong"),
    [
        pytest.param(protocol, wrong, id=f"{name}-{protocol.__name__}")
        for name, wrong in WRONG.items()
        for protocol in (ByInterface, ByDLPack)
        # The interface has neither an offset nor a device.
        if protocol is ByDLPack or not {"byte_offset", "device"} & set(wrong(0))
    ],
)
def test_wrong_ones_are_refused(lent, protocol, wrong):
    base, _view = lent
    for target in targets():
        target.Fill(5)
        with pytest.raises((ValueError, OverflowError)):
            target.SetValues(protocol(**{"shape": (8,), **wrong(base)}))
        np.testing.assert_array_equal(np.asarray(target), [5] * 8)


@protocols
def test_host_memory_is_no_device_memory(lent, protocol):
    numbers = np.zeros(8, np.float32)
    with pytest.raises(ValueError, match="0x"):
        targets()[0].SetValues(protocol(numbers.ctypes.data, (8,)))


@protocols
def test_an_empty_array_has_no_memory_to_be_wrong_about(gpu, protocol):
    empty = uLib.FloatCollection()
    empty.SetValues(protocol(0, (0,)))
    assert len(empty) == 0


@pytest.mark.parametrize("lend", ["interface", "DeviceView"])
@protocols
def test_a_source_inside_the_target_is_read_before_it_is_overwritten(gpu, protocol, lend):
    """Every order of one's own elements: as NumPy gives for the same assignment."""
    sides = (24, 17, 31)
    image = uLib.VoxImage(*sides, voxel_bytes=4)
    before = np.arange(np.prod(sides), dtype=np.float32)
    image.SetPreferredDevice("Device")
    flat = len(before)
    nx, ny, nz = sides
    for target, shape, start, strides in [
        (image, (flat,), flat - 1, (-1,)),
        (image, (flat,), 0, (1,)),
        (image, (flat,), 0, (0,)),
        (image, (flat,), flat // 2, (0,)),
        (image.Grid(), (nz, ny, nx), nx * (ny - 1), (nx * ny, -nx, 1)),
        (image.Grid(), (nz, ny, nx), flat - 1, (-nx * ny, -nx, -1)),
    ]:
        image.SetValues(before)
        image.Update()
        lender = image if lend == "interface" else image.DeviceView()
        base = lender.__cuda_array_interface__["data"][0]
        expected = np.lib.stride_tricks.as_strided(before[start:], shape, [4 * s for s in strides]).copy()
        target.SetValues(protocol(base + 4 * start, shape, strides))
        np.testing.assert_array_equal(np.asarray(target), expected)
        image.EndExports()


@protocols
def test_a_field_from_another_of_the_same_object(gpu, protocol):
    muons = uLib.MuonScatterCollection(300)
    muons.Momentum.SetValues(np.arange(300))
    muons.SetPreferredDevice("Device")
    base = muons.DeviceView().__cuda_array_interface__["data"][0] + 128
    muons.MomentumPrime.SetValues(protocol(base + 299 * 144, (300,), (-36,)))
    np.testing.assert_array_equal(np.asarray(muons.MomentumPrime), np.arange(300)[::-1])
    muons.Momentum.SetValues(protocol(base + 299 * 144, (300,), (-36,)))
    np.testing.assert_array_equal(np.asarray(muons.Momentum), np.arange(300)[::-1])
