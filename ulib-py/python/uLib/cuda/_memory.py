"""What ``uLib.cuda.driver`` does with memory beyond single calls of the driver: arrays of the host, and their copies on a device."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from ._native import DeviceAllocation, mem_alloc, memcpy_dtoh, memcpy_htod

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray

    _Shape = SupportsIndex | Iterable[SupportsIndex]
    _Order = Literal["C", "F"]


def _shape(shape: _Shape) -> tuple[int, ...]:
    if isinstance(shape, Iterable):
        dims = tuple(operator.index(n) for n in shape)
    else:
        dims = (operator.index(shape),)
    if any(n < 0 for n in dims):
        raise ValueError(f"shape {dims} has a negative length")
    return dims


def _dtype(dtype: DTypeLike) -> numpy.dtype[Any]:
    import numpy

    found = numpy.dtype(dtype)
    if found.hasobject:
        raise TypeError(f"elements of {found} are Python objects, which only the host can hold")
    return found


def _order(order: str) -> _Order:
    if order == "C":
        return "C"
    if order == "F":
        return "F"
    raise ValueError(f"order is {order!r}, expected 'C' or 'F'")


def _order_of(array: NDArray[Any]) -> _Order:
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    raise ValueError("could not detect array order: the array is contiguous in neither C nor Fortran order")


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    """Memory of the device for as many bytes as ``ary`` has (``ary.nbytes``); at least one."""
    return mem_alloc(max(1, ary.nbytes))


def to_device(bf_obj: Any) -> DeviceAllocation:
    """A copy on the device of the bytes of ``bf_obj``, anything contiguous with a buffer."""
    view = memoryview(bf_obj)
    allocation = mem_alloc(max(1, view.nbytes))
    memcpy_htod(allocation, view)
    return allocation


def from_device(devptr: Any, shape: _Shape, dtype: DTypeLike, order: _Order = "C") -> NDArray[Any]:
    """A new array of what stands in device memory from ``devptr`` on."""
    import numpy

    array = numpy.empty(_shape(shape), _dtype(dtype), _order(order))
    memcpy_dtoh(array, devptr)
    return array


def from_device_like(devptr: Any, other_ary: NDArray[Any]) -> NDArray[Any]:
    """A new array of the shape, type and order of ``other_ary`` of what stands in device memory from ``devptr`` on."""
    return from_device(devptr, other_ary.shape, other_ary.dtype, _order_of(other_ary))
