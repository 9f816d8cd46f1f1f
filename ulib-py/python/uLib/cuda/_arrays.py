"""Arrays for textures and surfaces: what they look like, and how arrays of the host and the device become some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import element, in_device_order, integer, shown
from ._enums import array3d_flags, array_format
from ._errors import LogicError
from ._native import Array, described, refuse_masked

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = [
    "ArrayDescriptor",
    "ArrayDescriptor3D",
    "dtype_to_array_format",
    "gpuarray_to_array",
    "make_multichannel_2d_array",
    "matrix_to_array",
    "np_to_array",
]


class ArrayDescriptor:
    """An array of one row (``height`` is 0) or of rows."""

    __module__ = "uLib.cuda.driver"

    def __init__(self) -> None:
        self.width = 0
        """Texels of a row."""
        self.height = 0
        """Rows."""
        self.num_channels = 1
        """Numbers of a texel: 1, 2 or 4."""
        self._format = 0

    @property
    def format(self) -> array_format:
        """What each number is."""
        return array_format(self._format)

    @format.setter
    def format(self, value: int) -> None:
        self._format = integer(type(self).__name__, "format", value)

    def __repr__(self) -> str:
        shown = {**vars(self), "_format": self.format}
        said = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({said})"


class ArrayDescriptor3D(ArrayDescriptor):
    """An array of slices, layers or faces of a cube (``depth``), with ``flags`` from ``array3d_flags``."""

    __module__ = "uLib.cuda.driver"

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        """Slices, layers or faces."""
        self.flags = 0
        """What the array is for, and what ``depth`` counts."""


_FORMATS = {
    "u1": array_format.UNSIGNED_INT8,
    "u2": array_format.UNSIGNED_INT16,
    "u4": array_format.UNSIGNED_INT32,
    "i1": array_format.SIGNED_INT8,
    "i2": array_format.SIGNED_INT16,
    "i4": array_format.SIGNED_INT32,
    "f2": array_format.HALF,
    "f4": array_format.FLOAT,
}

# Numbers that the hardware does not know are read as two or four integers; the kernel puts them together again.
_IN_PIECES = {"f8": 2, "c8": 2, "c16": 4}


def _code(op: str, dtype: DTypeLike) -> str:
    found = in_device_order(op, element(op, dtype))
    return f"{found.kind}{found.itemsize}"


def dtype_to_array_format(dtype: DTypeLike) -> array_format:
    """The format of an array whose channels are of this type."""
    return _format("dtype_to_array_format", dtype)


def _format(op: str, dtype: DTypeLike) -> array_format:
    found = _FORMATS.get(_code(op, dtype))
    if found is None:
        raise TypeError(f"{op}: cannot convert dtype {dtype!r} to array format")
    return array_format(found)


def _texel(op: str, dtype: DTypeLike) -> tuple[array_format, int]:
    """Format and channels of elements of this type."""
    pieces = _IN_PIECES.get(_code(op, dtype))
    if pieces is not None:
        return array_format(array_format.SIGNED_INT32), pieces
    return _format(op, dtype), 1


def _sizes(op: str, shape: tuple[int, ...], order: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of the axes, slowest first."""
    if order not in ("C", "F"):
        raise LogicError(f"{op}: order is {order!r}, expected 'C' or 'F'")
    if len(shape) not in axes:
        allowed = " or ".join(map(str, axes))
        raise LogicError(f"{op}: an array of {len(shape)} axes, expected {allowed}")
    if 0 in shape:
        raise LogicError(f"{op}: an array of shape {shape} has no elements, and an Array at least one")
    return shape if order == "C" else shape[::-1]


def _packed(op: str, ary: ArrayLike, order: str) -> NDArray[Any]:
    import numpy

    refuse_masked(op, ary)
    return numpy.asarray(ary, order="C" if order == "C" else "F")


def matrix_to_array(matrix: ArrayLike, order: str, allow_double_hack: bool = False) -> Array:
    """A matrix as an array of rows. With ``order`` "C" its second axis runs along a row, with "F" its first.

    float64 is allowed with ``allow_double_hack`` only, and is then read in a kernel as two integers.
    """
    import numpy

    op = "matrix_to_array"
    packed = _packed(op, matrix, order)
    height, width = _sizes(op, packed.shape, order, (2,))
    descr = ArrayDescriptor()
    descr.width, descr.height = width, height
    if packed.dtype == numpy.float64 and allow_double_hack:
        descr.format, descr.num_channels = _texel(op, packed.dtype)
    else:
        descr.format = _format(op, packed.dtype)
    array = Array(descr)
    array.copy_from(packed)
    return array


def make_multichannel_2d_array(ndarray: ArrayLike, order: str) -> Array:
    """An array of rows whose texels have channels: of shape (height, width, channels) with ``order`` "C", (channels, width,
    height) with "F"."""
    op = "make_multichannel_2d_array"
    packed = _packed(op, ndarray, order)
    height, width, channels = _sizes(op, packed.shape, order, (3,))
    descr = ArrayDescriptor()
    descr.width, descr.height, descr.num_channels = width, height, channels
    descr.format = _format(op, packed.dtype)
    array = Array(descr)
    array.copy_from(packed)
    return array


def _array_for(op: str, shape: tuple[int, ...], dtype: DTypeLike, order: str, surface: bool) -> Array:
    sizes = _sizes(op, shape, order, (2, 3))
    descr: ArrayDescriptor
    if len(sizes) == 2 and not surface:
        descr = ArrayDescriptor()
    else:
        deep = descr = ArrayDescriptor3D()
        deep.depth = sizes[0] if len(sizes) == 3 else 1
        if surface:
            deep.flags = array3d_flags.SURFACE_LDST
        if len(sizes) == 2:
            deep.flags |= array3d_flags.ARRAY3D_LAYERED
    descr.height, descr.width = sizes[-2:]
    descr.format, descr.num_channels = _texel(op, dtype)
    return Array(descr)


def np_to_array(nparray: ArrayLike, order: str, allowSurfaceBind: bool = False) -> Array:
    """An array of two or three axes as an ``Array``. With ``order`` "C" its last axis runs along a row, with "F" its first.

    float64 and complex64 are read in a kernel as two integers, complex128 as four. With ``allowSurfaceBind`` kernels may write
    it through a surface; one of two axes is then a single layer.
    """
    op = "np_to_array"
    packed = _packed(op, nparray, order)
    array = _array_for(op, packed.shape, packed.dtype, order, allowSurfaceBind)
    array.copy_from(packed)
    return array


def gpuarray_to_array(gpuarray: Any, order: str, allowSurfaceBind: bool = False) -> Array:
    """As ``np_to_array``, from an array on the device: anything with ``__cuda_array_interface__``.

    Rows that one copy of the driver cannot go along (a step between elements, reversed or mixed axes) are first copied to memory without
    gaps, on the device.
    """
    import numpy

    op = "gpuarray_to_array"
    seen = described(f"{op}: gpuarray", gpuarray)
    if seen is None:
        raise LogicError(f"{op}: {shown(gpuarray)} is no array on a device")
    address, _, shape, strides, typestr, _, _ = seen
    dtype = numpy.dtype(typestr)
    array = _array_for(op, shape, dtype, order, allowSurfaceBind)
    lengths, steps = (shape, strides) if order == "C" else (shape[::-1], strides[::-1])
    pitches = _pitches(dtype, lengths, steps)
    try:
        _fill(array, gpuarray, pitches, packed=(lengths[-1] * dtype.itemsize, lengths[-2]), order=order)
    except LogicError as error:
        # Such as of memory that is shorter than what is said of it.
        raise LogicError(f"{op}: gpuarray of shape {shape} and strides {strides} at {address:#x}: {error}") from error
    return array


def _fill(array: Array, gpuarray: Any, pitches: tuple[int, int] | None, packed: tuple[int, int], order: str) -> None:
    """Copies an array of the device, whose rows and slices are ``pitches`` apart, into one of texels."""
    if pitches == packed:
        array.copy_from(gpuarray)
        return
    from ._gpuarray import GPUArray

    there = GPUArray._of_interface(gpuarray)
    if pitches is None:
        array.copy_from(there._copied(order))
    else:
        array.copy_from(there.gpudata, pitch=pitches[0], height=pitches[1])


def _pitches(dtype: numpy.dtype[Any], lengths: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, int] | None:
    """Bytes between rows, and rows between slices, of an array whose slowest axis is first, or nothing where there are none."""
    row = lengths[-1] * dtype.itemsize
    if lengths[-1] > 1 and steps[-1] != dtype.itemsize:
        return None
    pitch = steps[-2] if lengths[-2] > 1 else row
    if pitch < row:
        return None
    rows = lengths[-2]
    if len(lengths) == 3 and lengths[0] > 1:
        rows, rest = divmod(steps[0], pitch)
        if rest or rows < lengths[-2]:
            return None
    return pitch, rows
