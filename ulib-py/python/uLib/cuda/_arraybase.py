"""What an array on a device is: its memory, how its elements lie there, and what describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy
from numpy.typing import DTypeLike

from . import _layout
from ._arguments import function, in_device_order, integers, shown
from ._errors import LogicError
from ._layout import Flags
from ._memory import _dtype, _order, _shape
from ._native import gpudata_address, mem_alloc, needed
from ._transfers import ALLOCATIONS, Place
from ._unfinished import NoArithmetic

if TYPE_CHECKING:
    from ._memory import _Shape

Allocator = Callable[[int], Any]


def _kind(op: str, dtype: DTypeLike) -> numpy.dtype[Any]:
    return in_device_order(op, _dtype(op, dtype))


def _allocated(allocator: Allocator, nbytes: int) -> Any:
    memory = function("GPUArray", "allocator", allocator)(nbytes)
    if isinstance(memory, ALLOCATIONS):
        enough = memory.size >= nbytes
    else:
        try:
            enough = gpudata_address(memory)[0] != 0
        except (TypeError, LogicError) as error:
            raise ValueError(f"GPUArray: allocator gave {shown(memory)} for {nbytes} bytes, which is no device memory") from error
    if not enough:
        raise ValueError(f"GPUArray: allocator gave {shown(memory)} for {nbytes} bytes")
    return memory


class ArrayBase(NoArithmetic):
    """Shape, type and memory of ``GPUArray``."""

    __array_priority__ = 100
    dtype: numpy.dtype[Any]
    _is_view = False

    def __init__(
        self,
        shape: _Shape,
        dtype: DTypeLike,
        allocator: Allocator = mem_alloc,
        base: Any = None,
        gpudata: Any = None,
        strides: Sequence[int] | None = None,
        order: str = "C",
    ) -> None:
        lengths, kind = _shape("GPUArray", shape), _kind("GPUArray", dtype)
        self.shape, self.dtype = lengths + kind.shape, kind.base
        if strides is None:
            self.strides = _layout.packed_strides(self.shape, self.dtype.itemsize, _order("GPUArray", order))
        else:
            steps = integers("GPUArray", "strides", strides)
            if len(steps) != len(lengths):
                raise ValueError(f"GPUArray: strides {steps} of {len(steps)} axes, of an array of shape {lengths}")
            self.strides = steps + _layout.packed_strides(kind.shape, self.dtype.itemsize, "C")
        self.allocator = allocator
        self.base = base
        low, high = _layout.span(self.shape, self.strides, self.dtype.itemsize)
        if gpudata is not None:
            needed("GPUArray", gpudata)
            self._place: Place | None = Place.of(gpudata)
            start, memory = self._place.offset, self._place.memory
            if isinstance(memory, ALLOCATIONS) and (start + low < 0 or start + high > memory.size):
                raise ValueError(
                    f"GPUArray: shape {self.shape}, strides {self.strides} and {self.dtype} reach from byte {start + low} to "
                    f"{start + high} of memory of {memory.size} bytes"
                )
            if high > low and int(memory) + start == 0:
                raise ValueError(f"GPUArray: gpudata is the null address, of an array of shape {self.shape} and {self.dtype}")
            if not 0 <= int(memory) + start + low <= int(memory) + start + high <= 1 << 64:
                raise ValueError(
                    f"GPUArray: shape {self.shape}, strides {self.strides} and {self.dtype} reach beyond every address from "
                    f"{int(memory) + start:#x} on"
                )
        elif base is not None:
            raise ValueError("GPUArray: base is of use with gpudata only")
        else:
            self._place = Place(_allocated(allocator, high - low), -low) if high > low else None

    @classmethod
    def _of(
        cls, source: Self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: numpy.dtype[Any]
    ) -> Self:
        """An array of the memory of ``source``, from ``offset`` bytes behind its first element on: its ``base`` is the array that
        has the memory, however many views are between."""
        found = cls.__new__(cls)
        found.shape, found.dtype = shape + dtype.shape, dtype.base
        found.strides = strides + _layout.packed_strides(dtype.shape, found.dtype.itemsize, "C")
        found.allocator, found.base, found._is_view = source.allocator, source.base if source._is_view else source, True
        place = source._place
        empty = 0 in shape or dtype.itemsize == 0
        found._place = None if place is None or empty else Place(place.memory, place.offset + offset, place.owner)
        return found

    @property
    def gpudata(self) -> Any:
        """The memory: the allocation, or, of an array that begins somewhere in it, the address; None where there is none."""
        return None if self._place is None else self._place.at()

    @property
    def _allocation(self) -> Any:
        """What launches note as used, wherever in there the array begins."""
        return None if self._place is None else self._place.memory

    @property
    def ptr(self) -> int:
        """The address of the element with all indices zero; 0 where there is none."""
        return 0 if self._place is None else int(self._place.at())

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def mem_size(self) -> int:
        """How many elements there are."""
        return self.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def flags(self) -> Flags:
        """``c_contiguous``, ``f_contiguous``, and ``forc`` for one or the other."""
        return _layout.flags(self.shape, self.strides, self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ptr, False),
            "strides": self.strides,
            "stream": None,
        }
        if self.dtype.names is not None:
            found["descr"] = self.dtype.descr
        return found
