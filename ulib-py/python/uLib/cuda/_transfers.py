"""Copies of arrays on a device: home, there, and among themselves; and fills."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy
from numpy.typing import NDArray

from ._layout import Ints, Piece, Plan
from ._native import (
    DeviceAllocation,
    Event,
    IPCMemoryHandle,
    Memcpy3D,
    PooledDeviceAllocation,
    gpudata_address,
    memcpy_dtod,
    memcpy_dtod_async,
    memcpy_dtoh,
    memcpy_dtoh_async,
    memcpy_htod,
    memcpy_htod_async,
    memset_d2d8_async,
    memset_d2d16_async,
    memset_d2d32_async,
    memset_d8_async,
    memset_d16_async,
    memset_d32_async,
)


ALLOCATIONS = (DeviceAllocation, PooledDeviceAllocation)


class Place:
    """Where the lowest address of an array is: ``offset`` bytes into ``memory``, an allocation, an integer, or what is one."""

    def __init__(self, memory: Any, offset: int = 0, owner: Any = None) -> None:
        self.memory = memory
        self.offset = offset
        # What keeps the memory there, where that is something else.
        self.owner = owner

    @classmethod
    def of(cls, gpudata: Any) -> Place:
        """The memory that a program gives for an array: an allocation, an address, or what has one, which is looked up once."""
        if isinstance(gpudata, ALLOCATIONS):
            return cls(gpudata)
        address, stream = gpudata_address(gpudata)
        if type(gpudata) is int:
            return cls(address)
        if stream not in (None, 1):
            wait(stream)
        # Memory of ours is named as such, so that launches and copies are ordered by it.
        for found in (getattr(gpudata, "_allocation", None), getattr(gpudata, "gpudata", None)):
            if isinstance(found, ALLOCATIONS):
                return cls(found, address - int(found))
        return cls(gpudata) if isinstance(gpudata, IPCMemoryHandle) else cls(address, owner=gpudata)

    def at(self, more: int = 0) -> Any:
        """What calls of the driver take for the address so many bytes behind."""
        offset = self.offset + more
        return int(self.memory) + offset if offset else self.memory

    def use(self, stream: Any, write: bool) -> None:
        """Orders what comes next on ``stream`` behind the work that uses the allocation, which is not given out again before."""
        if isinstance(self.memory, ALLOCATIONS):
            # A copy of nothing: the use is noted, and the driver is not called.
            dest, source = (self.memory, 0) if write else (0, self.memory)
            memcpy_dtod_async(dest, source, 0, stream)


def wait(stream: Any) -> None:
    """Returns when the work on ``stream`` is done."""
    Event().record(stream).synchronize()


def _bytes(packed: NDArray[Any]) -> NDArray[numpy.uint8]:
    """The bytes of an array in C order: also of types whose buffers nobody understands."""
    return packed.reshape(-1).view(numpy.uint8)


def _copy(piece: Piece) -> Memcpy3D:
    copy = Memcpy3D()
    copy.width_in_bytes, copy.height, copy.depth = piece.width, piece.height, piece.depth
    return copy


def _is_run(piece: Piece) -> bool:
    return piece.height == 1 and piece.depth == 1


def _part(flat: NDArray[numpy.uint8], piece: Piece) -> NDArray[numpy.uint8]:
    return flat[piece.packed : piece.packed + piece.width * piece.height * piece.depth]


def upload(to: Place, plan: Plan, packed: NDArray[Any], stream: Any, asynchronous: bool) -> None:
    """Copies a packed array to where ``plan`` says."""
    if packed.nbytes == 0:
        return
    flat, on_stream = _bytes(packed), asynchronous or stream is not None
    to.use(stream, write=True)
    for piece in plan.pieces():
        part, target = _part(flat, piece), to.at(piece.offset)
        if not _is_run(piece):
            copy = _copy(piece)
            copy.set_src_host(part)
            copy.set_dst_device(target)
            copy.src_pitch, copy.src_height = piece.width, piece.height
            copy.dst_pitch, copy.dst_height = piece.pitch, piece.rows
            _run(copy, stream, on_stream)
        elif on_stream:
            memcpy_htod_async(target, part, stream)
        else:
            memcpy_htod(target, part)
    if on_stream and not asynchronous:
        wait(stream)


def download(packed: NDArray[Any], source: Place, plan: Plan, stream: Any, asynchronous: bool) -> None:
    """Copies what is where ``plan`` says to a packed array."""
    if packed.nbytes == 0:
        return
    flat, on_stream = _bytes(packed), asynchronous or stream is not None
    source.use(stream, write=False)
    if not asynchronous and plan.is_crumbs():
        everything = numpy.empty(plan.high - plan.low, numpy.uint8)
        if on_stream:
            memcpy_dtoh_async(everything, source.at(), stream)
            wait(stream)
        else:
            memcpy_dtoh(everything, source.at())
        packed[...] = numpy.ndarray(plan.shape, packed.dtype, everything, strides=plan.strides)
        return
    for piece in plan.pieces():
        part, start = _part(flat, piece), source.at(piece.offset)
        if not _is_run(piece):
            copy = _copy(piece)
            copy.set_src_device(start)
            copy.set_dst_host(part)
            copy.src_pitch, copy.src_height = piece.pitch, piece.rows
            copy.dst_pitch, copy.dst_height = piece.width, piece.height
            _run(copy, stream, on_stream)
        elif on_stream:
            memcpy_dtoh_async(part, start, stream)
        else:
            memcpy_dtoh(part, start)
    if on_stream and not asynchronous:
        wait(stream)


def _run(copy: Memcpy3D, stream: Any, on_stream: bool) -> None:
    if stream is not None:
        copy(stream)
    elif on_stream:
        # The default stream, without waiting for it.
        copy(0)
    else:
        copy()


def gather(to: Place, source: Place, plan: Plan, stream: Any) -> None:
    """Copies what is where ``plan`` says to packed memory of the device."""
    _among(to, source, plan, stream, into_packed=True)


def scatter(to: Place, source: Place, plan: Plan, stream: Any) -> None:
    """Copies packed memory of the device to where ``plan`` says."""
    _among(to, source, plan, stream, into_packed=False)


def _among(to: Place, source: Place, plan: Plan, stream: Any, into_packed: bool) -> None:
    to.use(stream, write=True)
    source.use(stream, write=False)
    for piece in plan.pieces():
        ahead = (piece.packed, piece.offset) if into_packed else (piece.offset, piece.packed)
        target, start = to.at(ahead[0]), source.at(ahead[1])
        if _is_run(piece):
            if stream is None:
                memcpy_dtod(target, start, piece.width)
            else:
                memcpy_dtod_async(target, start, piece.width, stream)
            continue
        copy = _copy(piece)
        copy.set_src_device(start)
        copy.set_dst_device(target)
        sparse, dense = (piece.pitch, piece.rows), (piece.width, piece.height)
        (copy.dst_pitch, copy.dst_height), (copy.src_pitch, copy.src_height) = (dense, sparse) if into_packed else (sparse, dense)
        _run(copy, stream, on_stream=True)


_FILLS = {
    1: (memset_d8_async, memset_d2d8_async),
    2: (memset_d16_async, memset_d2d16_async),
    4: (memset_d32_async, memset_d2d32_async),
}


def fill(to: Place, plan: Plan, element: bytes, stream: Any) -> bool:
    """Sets every element, if the driver can: elements of 1, 2 or 4 bytes, or of equal parts of these, in one run or in rows."""
    pieces = list(itertools.islice(plan.pieces(), 2))
    if len(pieces) != 1 or pieces[0].depth != 1:
        return False
    piece = pieces[0]
    for size, (run, rows) in _FILLS.items():
        if element != element[:size] * (len(element) // size):
            continue
        if int(to.at()) % size or (piece.height > 1 and piece.pitch % size):
            return False
        to.use(stream, write=True)
        value, width = int.from_bytes(element[:size], sys.byteorder), piece.width // size
        if piece.height == 1:
            run(to.at(), value, width, stream)
        else:
            rows(to.at(), piece.pitch, value, width, piece.height, stream)
        return True
    return False


def strides_of(array: NDArray[Any]) -> Ints:
    return tuple(int(stride) for stride in array.strides)
