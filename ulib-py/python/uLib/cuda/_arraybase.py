"""What an array on a device is: its memory, how its elements lie there, and what describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy
from numpy.typing import DTypeLike

from . import _layout
from ._arguments import function, in_device_order, integers
from ._layout import Flags
from ._memory import _dtype, _order, _shape
from ._native import mem_alloc
from ._transfers import ALLOCATIONS, Place
from ._unfinished import NoArithmetic

if TYPE_CHECKING:
    from ._memory import _Shape

Allocator = Callable[[int], Any]


def _kind(op: str, dtype: DTypeLike) -> numpy.dtype[Any]:
    return in_device_order(op, _dtype(op, dtype))


def _allocated(allocator: Allocator, nbytes: int) -> Any:
    memory = function("GPUArray", "allocator", allocator)(nbytes)
    if memory is None or (isinstance(memory, ALLOCATIONS) and memory.size < nbytes):
        raise ValueError(f"GPUArray: allocator gave {memory!r} for {nbytes} bytes")
    return memory


class ArrayBase(NoArithmetic):
    """Shape, type and memory of ``GPUArray``."""

    __array_priority__ = 100

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
        self.shape = _shape("GPUArray", shape)
        self.dtype: numpy.dtype[Any] = _kind("GPUArray", dtype)
        if strides is None:
            self.strides = _layout.packed_strides(self.shape, self.dtype.itemsize, _order("GPUArray", order))
        else:
            self.strides = integers("GPUArray", "strides", strides)
            if len(self.strides) != len(self.shape):
                raise ValueError(f"GPUArray: strides {self.strides} of {len(self.strides)} axes, of an array of shape {self.shape}")
        self.allocator = allocator
        self.base = base
        low, high = _layout.span(self.shape, self.strides, self.dtype.itemsize)
        if gpudata is not None:
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
        """An array of the memory of ``source``, from ``offset`` bytes behind its first element on."""
        found = cls.__new__(cls)
        found.shape, found.strides, found.dtype = shape, strides, dtype
        found.allocator, found.base = source.allocator, source
        place = source._place
        empty = 0 in shape or dtype.itemsize == 0
        found._place = None if place is None or empty else Place(place.memory, place.offset + offset)
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
