"""What ``uLib.cuda.driver`` does with memory beyond single calls of the driver: arrays of the host, and their copies on a device."""

from __future__ import annotations

import collections
import ctypes
import math
import operator
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from . import _native
from ._arguments import element, integer, integers, shown
from ._errors import LogicError
from ._native import (
    AlignedHostAllocation,
    Context,
    DeviceAllocation,
    ManagedAllocation,
    PageLockedAllocator,
    PagelockedHostAllocation,
    RegisteredHostMemory,
    mem_alloc,
    memcpy_dtoh,
    memcpy_htod,
    refuse_masked,
)

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray

    _Shape = SupportsIndex | Iterable[SupportsIndex]
    _Order = Literal["C", "F"]


def _shape(op: str, shape: _Shape) -> tuple[int, ...]:
    # An array without axes is iterable too, by its class.
    one: Any = shape
    several = isinstance(shape, Iterable) and getattr(shape, "ndim", 1) != 0
    dims = integers(op, "shape", one) if several else (integer(op, "shape", one),)
    if any(n < 0 for n in dims):
        raise ValueError(f"{op}: shape {dims} has a negative length")
    return dims


def _dtype(op: str, dtype: DTypeLike) -> numpy.dtype[Any]:
    found = element(op, dtype)
    if found.hasobject:
        raise TypeError(f"{op}: elements of {found} are Python objects, which only the host can hold")
    return found


def _order(op: str, order: str) -> _Order:
    if order == "C":
        return "C"
    if order == "F":
        return "F"
    raise ValueError(f"{op}: order is {shown(order)}, expected 'C' or 'F'")


def _like(op: str, array: Any) -> tuple[tuple[int, ...], numpy.dtype[Any], _Order]:
    """What makes another array like this one: shape, type and order."""
    try:
        shape, dtype, flags = array.shape, array.dtype, array.flags
        c_contiguous, f_contiguous = flags.c_contiguous, flags.f_contiguous
    except AttributeError as error:
        raise TypeError(f"{op}: {shown(array)} is no array of NumPy: it has no {error.name}") from error
    if not c_contiguous and not f_contiguous:
        raise ValueError(f"{op}: could not detect array order: the array is contiguous in neither C nor Fortran order")
    return shape, dtype, "C" if c_contiguous else "F"


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    """Memory of the device for as many bytes as ``ary`` has (``ary.nbytes``); at least one."""
    return allocated_for("mem_alloc_like", ary)


def allocated_for(op: str, ary: Any) -> DeviceAllocation:
    """``mem_alloc_like``, for another operation."""
    nbytes = getattr(ary, "nbytes", None)
    if nbytes is None:
        raise TypeError(f"{op}: {shown(ary)} is no array: it has no number of bytes (nbytes)")
    return mem_alloc(max(1, integer(op, "nbytes", nbytes)))


def to_device(bf_obj: Any) -> DeviceAllocation:
    """A copy on the device of the bytes of ``bf_obj``, anything contiguous with a buffer."""
    refuse_masked("to_device", bf_obj)
    try:
        nbytes = memoryview(bf_obj).nbytes
    except TypeError as error:
        raise TypeError(f"to_device: {type(bf_obj).__name__} has no buffer of bytes") from error
    except ValueError:
        # Types that buffers have no letter for, such as dates.
        nbytes = bf_obj.nbytes
    allocation = mem_alloc(max(1, nbytes))
    memcpy_htod(allocation, bf_obj)
    return allocation


def from_device(devptr: Any, shape: _Shape, dtype: DTypeLike, order: _Order = "C") -> NDArray[Any]:
    """A new array of what stands in device memory from ``devptr`` on."""
    return _from_device("from_device", devptr, shape, dtype, order)


def from_device_like(devptr: Any, other_ary: NDArray[Any]) -> NDArray[Any]:
    """A new array of the shape, type and order of ``other_ary`` of what stands in device memory from ``devptr`` on."""
    op = "from_device_like"
    return _from_device(op, devptr, *_like(op, other_ary))


def _from_device(op: str, devptr: Any, shape: _Shape, dtype: DTypeLike, order: _Order) -> NDArray[Any]:
    import numpy

    dims, kind, direction, _ = _laid_out(op, shape, dtype, order)
    array = numpy.empty(dims, kind, direction)
    memcpy_dtoh(array, devptr)
    return array


# Host memory


def _laid_out(op: str, shape: _Shape, dtype: DTypeLike, order: str) -> tuple[tuple[int, ...], numpy.dtype[Any], _Order, int]:
    """What an array to be made looks like, and its bytes."""
    dims, kind, direction = _shape(op, shape), _dtype(op, dtype), _order(op, order)
    nbytes = math.prod(dims) * kind.itemsize
    if nbytes > sys.maxsize:
        raise ValueError(f"{op}: shape {dims} of {kind} has more bytes than memory")
    return dims, kind, direction, nbytes


def _array(op: str, memory: Callable[[int], Any], shape: _Shape, dtype: DTypeLike, order: str) -> NDArray[Any]:
    """An array in what ``memory`` gives for so many bytes, which becomes its base."""
    import numpy

    dims, kind, direction, nbytes = _laid_out(op, shape, dtype, order)
    return numpy.ndarray(dims, kind, buffer=memory(nbytes), order=direction)


def _pagelocked(op: str, shape: _Shape, dtype: DTypeLike, order: _Order, mem_flags: int) -> NDArray[Any]:
    return _array(op, lambda nbytes: PagelockedHostAllocation(nbytes, mem_flags), shape, dtype, order)


def _aligned(op: str, shape: _Shape, dtype: DTypeLike, order: _Order, alignment: int) -> NDArray[Any]:
    return _array(op, lambda nbytes: AlignedHostAllocation(nbytes, alignment), shape, dtype, order)


def _managed(op: str, shape: _Shape, dtype: DTypeLike, order: _Order, mem_flags: int) -> NDArray[Any]:
    return _array(op, lambda nbytes: ManagedAllocation(nbytes, mem_flags), shape, dtype, order)


def pagelocked_empty(shape: _Shape, dtype: DTypeLike, order: _Order = "C", mem_flags: int = 0) -> NDArray[Any]:
    """An array in page-locked memory, which is its base; ``mem_flags`` are those of ``host_alloc_flags``."""
    return _pagelocked("pagelocked_empty", shape, dtype, order, mem_flags)


def pagelocked_zeros(shape: _Shape, dtype: DTypeLike, order: _Order = "C", mem_flags: int = 0) -> NDArray[Any]:
    """An array of zeros in page-locked memory."""
    # Page-locked memory is zeroed when it is made.
    return _pagelocked("pagelocked_zeros", shape, dtype, order, mem_flags)


def pagelocked_empty_like(array: NDArray[Any], mem_flags: int = 0) -> NDArray[Any]:
    """An array in page-locked memory of the shape, type and order of ``array``."""
    op = "pagelocked_empty_like"
    return _pagelocked(op, *_like(op, array), mem_flags)


def pagelocked_zeros_like(array: NDArray[Any], mem_flags: int = 0) -> NDArray[Any]:
    """An array of zeros in page-locked memory of the shape, type and order of ``array``."""
    op = "pagelocked_zeros_like"
    return _pagelocked(op, *_like(op, array), mem_flags)


def aligned_empty(shape: _Shape, dtype: DTypeLike, order: _Order = "C", alignment: int = 4096) -> NDArray[Any]:
    """An array in ordinary memory that starts at a multiple of ``alignment`` bytes."""
    return _aligned("aligned_empty", shape, dtype, order, alignment)


def aligned_zeros(shape: _Shape, dtype: DTypeLike, order: _Order = "C", alignment: int = 4096) -> NDArray[Any]:
    """An array of zeros in ordinary memory that starts at a multiple of ``alignment`` bytes."""
    # The memory is zeroed when it is made.
    return _aligned("aligned_zeros", shape, dtype, order, alignment)


def aligned_empty_like(array: NDArray[Any], alignment: int = 4096) -> NDArray[Any]:
    """An aligned array of the shape, type and order of ``array``."""
    op = "aligned_empty_like"
    return _aligned(op, *_like(op, array), alignment)


def aligned_zeros_like(array: NDArray[Any], alignment: int = 4096) -> NDArray[Any]:
    """An aligned array of zeros of the shape, type and order of ``array``."""
    op = "aligned_zeros_like"
    return _aligned(op, *_like(op, array), alignment)


def managed_empty(shape: _Shape, dtype: DTypeLike, order: _Order = "C", mem_flags: int = 0) -> NDArray[Any]:
    """An array in managed memory, which is its base and which the host and the devices reach under one address.

    ``mem_flags`` are those of ``mem_attach_flags``; 0 stands for GLOBAL. The array, and any view of it, is given to kernels by its
    address. After a kernel was started, wait for it (``Context.synchronize()``) before the array is touched; with
    ``ULIB_MANAGED_GUARD=1`` in the environment a touch before that ends the program with a message.
    """
    return _managed("managed_empty", shape, dtype, order, mem_flags)


def managed_zeros(shape: _Shape, dtype: DTypeLike, order: _Order = "C", mem_flags: int = 0) -> NDArray[Any]:
    """An array of zeros in managed memory, which the host writes; with ``ULIB_MANAGED_GUARD=1`` it waits for the device before."""
    return _zeroed(_managed("managed_zeros", shape, dtype, order, mem_flags))


def _zeroed(array: NDArray[Any]) -> NDArray[Any]:
    if os.environ.get("ULIB_MANAGED_GUARD") == "1":
        Context.synchronize()
    if array.nbytes:
        # The bytes: zero is a letter to types of text.
        ctypes.memset(array.ctypes.data, 0, array.nbytes)
    return array


def managed_empty_like(array: NDArray[Any], mem_flags: int = 0) -> NDArray[Any]:
    """An array in managed memory of the shape, type and order of ``array``."""
    op = "managed_empty_like"
    return _managed(op, *_like(op, array), mem_flags)


def managed_zeros_like(array: NDArray[Any], mem_flags: int = 0) -> NDArray[Any]:
    """An array of zeros in managed memory of the shape, type and order of ``array``."""
    op = "managed_zeros_like"
    return _zeroed(_managed(op, *_like(op, array), mem_flags))


def register_host_memory(ary: NDArray[Any], flags: int = 0) -> NDArray[Any]:
    """The memory of ``ary``, page-locked: an array of the same bytes whose base is the ``RegisteredHostMemory``.

    It is unlocked with the last array of it, by ``base.unregister()``, or at the end of ``with array.base:``. ``flags`` are those
    of ``mem_host_register_flags``.
    """
    import numpy

    shape, dtype, order = _like("register_host_memory", ary)
    memory: Any = RegisteredHostMemory(ary, flags)
    return numpy.ndarray(shape, dtype, buffer=memory, order=order)


class PageLockedMemoryPool(_native.PageLockedMemoryPool):
    """Keeps page-locked memory that is freed, in bins of similar sizes, and hands it out again."""

    __module__ = "uLib.cuda.driver"

    def __init__(self, allocator: PageLockedAllocator | None = None) -> None:
        super().__init__()

    def allocate(self, shape: _Shape, dtype: DTypeLike, order: _Order = "C") -> NDArray[Any]:
        """An array whose base is a block of the pool, which goes back with the last array of it."""
        return _array("allocate", self._allocate, shape, dtype, order)


def _is_alive(block: Any) -> bool:
    try:
        return int(block) >= 0
    except LogicError:
        return False


class DebugMemoryPool(_native.DeviceMemoryPool):
    """A ``DeviceMemoryPool`` that writes what is asked of it to ``logfile`` (standard output if none is given), which sizes are in use,
    and what the device has left; with ``interactive`` it waits for Enter before each allocation."""

    __module__ = "uLib.cuda.tools"

    def __new__(cls, interactive: bool = True, logfile: Any = None) -> DebugMemoryPool:
        return super().__new__(cls)

    def __init__(self, interactive: bool = True, logfile: Any = None) -> None:
        super().__init__()
        self.interactive = interactive
        self.logfile = logfile
        self._sizes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def allocate(self, size: int, stream: Any = None) -> Any:
        """A block for ``size`` bytes, as of any pool, after a description of the request."""
        import traceback

        out = sys.stdout if self.logfile is None else self.logfile
        place = traceback.extract_stack(limit=2)[0]
        free, total = _native.mem_get_info()
        print(f"allocate {size} bytes at {place.filename}:{place.lineno} in {place.name}", file=out)
        print(
            f"  pool: {self.active_bytes} bytes in {self.active_blocks} blocks in use, {self.held_blocks} blocks held, "
            f"{self.managed_bytes} bytes in all; device: {free} of {total} bytes free",
            file=out,
        )
        with self._lock:
            known = list(self._sizes.items())
        sizes = collections.Counter(size for block, size in known if _is_alive(block))
        del known
        if sizes:
            print(f"  in use: {', '.join(f'{count} x {size} bytes' for size, count in sorted(sizes.items()))}", file=out)
        if self.interactive:
            input("  Enter to go on")
        block = super().allocate(size, stream)
        with self._lock:
            self._sizes[block] = operator.index(size)
        print(f"  -> {int(block):#x}", file=out)
        return block
