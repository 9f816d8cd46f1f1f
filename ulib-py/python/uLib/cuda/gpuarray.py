"""Arrays on a device that look like NumPy's: ``GPUArray``, and the functions that make them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import DTypeLike, NDArray

from . import _layout
from ._arguments import converted, instance, integer, integers, shown
from ._arraybase import Allocator, _kind
from ._gpuarray import GPUArray
from ._memory import _shape
from ._native import Context, Device, mem_alloc, refuse_masked
from ._occupancy import DeviceData
from ._unfinished import later_function
from ._vec import vec

if TYPE_CHECKING:
    from ._memory import _Shape
else:

    def __getattr__(name: str) -> Any:
        later_function(__name__, name)


__all__ = [
    "GPUArray",
    "arange",
    "empty",
    "empty_like",
    "from_dlpack",
    "ones",
    "ones_like",
    "reshape",
    "splay",
    "to_gpu",
    "to_gpu_async",
    "transpose",
    "vec",
    "zeros",
    "zeros_like",
]

empty = GPUArray
"""An array whose elements are whatever is in its memory."""


def to_gpu(ary: Any, allocator: Allocator = mem_alloc) -> GPUArray:
    """A copy of an array of the host on the device, its axes in the same order and without gaps."""
    return _uploaded("to_gpu", ary, allocator, False, None)


def to_gpu_async(ary: Any, allocator: Allocator = mem_alloc, stream: Any = None) -> GPUArray:
    """``to_gpu`` without waiting for it; only from page-locked memory is it done beside the host."""
    return _uploaded("to_gpu_async", ary, allocator, True, stream)


def _uploaded(op: str, ary: Any, allocator: Allocator, async_: bool, stream: Any) -> GPUArray:
    refuse_masked(op, ary)
    given = numpy.asarray(ary)
    found = _alike(op, given, None, "K", allocator)
    found.set(given, async_=async_, stream=stream)
    return found


def from_dlpack(ary: Any, /, *, copy: bool | None = None) -> GPUArray:
    """The array on a device of another library (PyTorch, CuPy, JAX, ...), which keeps it: the same memory, unless ``copy`` asks for a
    copy. Of an array that its library says is read-only a copy is made, or with ``copy=False`` none."""
    return GPUArray._taken(ary, copy)


def zeros(shape: _Shape, dtype: DTypeLike = numpy.float64, allocator: Allocator = mem_alloc, order: str = "C") -> GPUArray:
    """An array of zeros."""
    return _zeroed(GPUArray(shape, dtype, allocator, order=order))


def _zeroed(found: GPUArray) -> GPUArray:
    # What zero is to the type: no letters, say.
    return found.fill(numpy.zeros((), found.dtype))


def ones(shape: _Shape, dtype: DTypeLike = numpy.float64, allocator: Allocator = mem_alloc, order: str = "C") -> GPUArray:
    """An array of ones."""
    return GPUArray(shape, dtype, allocator, order=order).fill(1)


def empty_like(
    other: GPUArray | NDArray[Any], dtype: DTypeLike | None = None, order: str = "K", *, allocator: Allocator | None = None
) -> GPUArray:
    """An array of the shape of another one, of the host or a device: in ``order`` "C", "F", "A" ("F" where the other one is only
    that, else "C") or "K" (axes in the order of the other one's)."""
    return _alike("empty_like", other, dtype, order, allocator)


def _alike(
    op: str, other: GPUArray | NDArray[Any], dtype: DTypeLike | None, order: str, allocator: Allocator | None = None
) -> GPUArray:
    if not all(hasattr(other, name) for name in ("shape", "strides", "dtype")):
        raise TypeError(f"{op}: other is {shown(other)}, expected an array of the host or a device")
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"{op}: order is {order!r}, expected 'C', 'F', 'A' or 'K'")
    kind = _kind(op, other.dtype if dtype is None else dtype)
    if order == "A":
        order = "F" if other.flags.f_contiguous and not other.flags.c_contiguous else "C"
    shape, like = _shape(op, other.shape), integers(op, "strides", other.strides)
    if len(like) != len(shape):
        raise ValueError(f"{op}: other has strides {like} of {len(like)} axes, and shape {shape}")
    strides = _layout.packed_strides(shape, kind.itemsize, order, like)
    if allocator is None:
        allocator = other.allocator if isinstance(other, GPUArray) else mem_alloc
    return GPUArray(shape, kind, allocator, strides=strides)


def zeros_like(other: GPUArray | NDArray[Any], dtype: DTypeLike | None = None, order: str = "K") -> GPUArray:
    """``empty_like`` of zeros."""
    return _zeroed(_alike("zeros_like", other, dtype, order))


def ones_like(other: GPUArray | NDArray[Any], dtype: DTypeLike | None = None, order: str = "K") -> GPUArray:
    """``empty_like`` of ones."""
    return _alike("ones_like", other, dtype, order).fill(1)


def arange(*args: Any, dtype: DTypeLike | None = None, stream: Any = None, allocator: Allocator = mem_alloc) -> GPUArray:
    """``arange([start,] stop[, step])``: as NumPy's, made on the host. Without ``dtype`` it is the one that NumPy finds, with a
    warning unless that is float32."""
    if not 1 <= len(args) <= 3:
        raise TypeError(f"arange takes 1 to 3 numbers, and got {len(args)}")
    values: NDArray[Any] = converted("arange", "args", args, lambda given: numpy.arange(*given, dtype=dtype))
    if dtype is None and values.dtype != numpy.float32:
        warnings.warn(f"arange: no dtype was given, and {values.dtype} is taken", stacklevel=2)
    return _uploaded("arange", values, allocator, stream is not None, stream)


def transpose(a: GPUArray, axes: Sequence[int] | None = None) -> GPUArray:
    """``a.transpose(axes)``."""
    return instance("transpose", "a", a, GPUArray).transpose(axes)


def reshape(a: GPUArray, *shape: Any, order: str = "C") -> GPUArray:
    """``a.reshape(*shape)``."""
    return instance("reshape", "a", a, GPUArray).reshape(*shape, order=order)


_BLOCK = 128
"""Threads of a block, for work of a thread per element."""


def splay(n: int, dev: Device | None = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """``(grid, block)`` for a kernel whose threads go through ``n`` elements in steps of the whole grid: whole warps, no more blocks
    than there is work, and no more than the device can hold at once."""
    device = Context.get_device() if dev is None else dev
    n, data = integer("splay", "n", n), DeviceData(device)
    warps = max(1, -(-min(n, _BLOCK) // data.warp_size))
    threads = min(warps * data.warp_size, data.max_threads)
    resident = min(data.thread_blocks_per_mp, max(1, data.warps_per_mp // warps)) * int(device.multiprocessor_count)
    blocks = max(1, min(-(-n // threads), resident))
    return (blocks, 1), (threads, 1, 1)
