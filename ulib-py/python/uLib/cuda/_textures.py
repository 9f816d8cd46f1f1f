"""Texture and surface references: names in a program's source that are bound to memory from outside.

A program that declares ``texture<float, 2> tex;`` or ``surface<void, 2> surf;`` at file scope has a variable of that name, which
holds the number of a texture or surface object. What is bound to the reference becomes such an object at the next launch. A graph
reads what was bound when its launches were captured, and keeps it.
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._arguments import instance, integer, integers, shown
from ._arrays import ArrayDescriptor, matrix_to_array
from ._enums import (
    TRSF_NORMALIZED_COORDINATES,
    TRSF_READ_AS_INTEGER,
    address_mode,
    array_format,
    device_attribute,
    filter_mode,
)
from ._errors import LogicError
from ._native import (
    Array,
    Context,
    DeviceAllocation,
    PooledDeviceAllocation,
    SurfaceObject,
    TextureObject,
    described,
    keep_in_capture,
    mem_get_address_range,
    memcpy_htod,
    memset_d32_async,
    needed,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["SurfaceReference", "TextureReference", "bind_array_to_texref", "matrix_to_texref"]

_Mode = TypeVar("_Mode", address_mode, filter_mode)
_ITEM = {1: 1, 2: 2, 3: 4, 8: 1, 9: 2, 10: 4, 16: 2, 32: 4}


class _Use:
    """What a graph uses of a reference: it lives as long as the graph."""

    def __init__(self, made: TextureObject | SurfaceObject, module: Any) -> None:
        self.made = made
        self.module = module


class _Reference:
    """A variable of a program, of 64 bits, that holds the number of an object.

    Launches that are captured write the variable as a part of their graph, each time it is launched. Others write it when it does not
    hold the number that it should, as far as that is known here: not while there are graphs that write it.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._address = 0
        self._module: Any = None
        self._object: TextureObject | SurfaceObject | None = None
        # How often something was bound, and how often that was when the object was made. Threads bind and launch at once: the first
        # lock is held for moments only, the second one while the variable is written, which may wait for the device. Code of the
        # program that runs on the thread meanwhile (signal handlers, what garbage does as it goes) may take them again.
        self._version, self._made = 1, 0
        self._lock, self._writing = threading.RLock(), threading.RLock()
        self._is_written = False
        # What keeps the memory that is bound, and that of the object.
        self._keep: Any = None
        self._kept: Any = None
        # What launches outside of graphs have written last; None where that is not known.
        self._holds: int | None = None
        # The streams that have read the variable since it was written for all, and the one that a write waits in.
        self._readers: set[int] = set()
        self._written_in: int | None = None
        # What graphs use; and what captures of other libraries do, of which nobody knows whether there is a graph.
        self._graphs: list[weakref.ref[_Use]] = []
        self._elsewhere: list[_Use] = []
        # The capture of which it is known what it has written in which stream.
        self._captured: tuple[int, int, int] | None = None

    def _bind(self, module: Any, name: str) -> None:
        """Makes this the reference ``name`` of a loaded program."""
        address, size = module.get_global(name)
        if size != 8:
            raise LogicError(f"{type(self).__name__}: the variable {name!r} has {size} bytes; a reference has 8")
        self._module, self._name, self._address = module, name, int(address)

    def _maker(self) -> Callable[[], TextureObject | SurfaceObject]:
        """What makes the object of what is bound now."""
        raise NotImplementedError

    def _is_bound(self) -> bool:
        raise NotImplementedError

    def _use_if_bound(self, stream: Any = None) -> None:
        """Prepares the variable for a launch in ``stream`` that may not read it."""
        if self._is_bound():
            self._use(stream)

    def _use(self, stream: Any = None) -> None:
        """Prepares the variable for a launch in ``stream``."""
        if self._name is None:
            raise LogicError(f"{type(self).__name__}: it belongs to no program; get_texref and get_surfref of a module give one that does")
        with self._writing:
            if self._is_written:
                raise LogicError(f"{type(self).__name__}: {self._name!r} is being written for another launch of this thread, which has not ended")
            self._is_written = True
            try:
                self._write_for(stream)
            finally:
                self._is_written = False

    def _write_for(self, stream: Any) -> None:
        # The object before goes at the end, after a wait for the kernels that use it.
        before, made = self._object, self._object
        if made is None or self._made != self._version:
            with self._lock:
                version, make, keep = self._version, self._maker(), self._keep
            made = make()
            self._object, self._made, self._kept = made, version, keep
        use = _Use(made, self._module)
        capture = keep_in_capture(stream, [use, self._kept])
        if capture is None:
            self._prepare(made.handle, stream)
        else:
            self._prepare_in_graph(use, capture, stream)
        del before

    def _prepare(self, handle: int, stream: Any) -> None:
        here = _number(stream)
        alive = [graph for graph in self._graphs if graph() is not None]
        if len(alive) < len(self._graphs):
            self._graphs, self._holds = alive, None
        if self._holds == handle and (self._graphs or self._elsewhere):
            # A graph may have written another number, or does so before this launch; what other launches read stays the same.
            self._put(handle, stream)
        elif self._holds != handle:
            self._write(handle, stream, here)
            self._holds = handle
        elif self._written_in not in (None, here):
            Context.synchronize()
            self._written_in = None
        self._readers.add(here)

    def _prepare_in_graph(self, use: _Use, capture: int, stream: Any) -> None:
        here, handle = _number(stream), use.made.handle
        if capture == 0:
            if not any(known.made is use.made for known in self._elsewhere):
                self._elsewhere.append(use)
        elif self._captured == (capture, here, handle):
            # The graph has written it already, and kept the object.
            return
        elif self._captured is not None and self._captured[0] == capture and self._captured[2] != handle:
            if self._captured[1] != here:
                raise LogicError(
                    f"{type(self).__name__}: {self._name!r} was bound anew since a launch in another stream of the same capture, which "
                    "has no order with this one"
                )
        if capture:
            self._graphs.append(weakref.ref(use))
        self._put(handle, stream)
        self._captured = (capture, here, handle) if capture else None

    def _put(self, handle: int, stream: Any) -> None:
        """Writes the variable in the order of the stream."""
        memset_d32_async(self._address, handle & 0xFFFFFFFF, 1, stream)
        memset_d32_async(self._address + 4, handle >> 32, 1, stream)

    def _write(self, handle: int, stream: Any, here: int) -> None:
        self._holds = None
        if self._readers <= {here} and self._written_in in (None, here):
            # In order with all that reads it.
            self._put(handle, stream)
            self._written_in = here
        else:
            Context.synchronize()
            memcpy_htod(self._address, handle.to_bytes(8, "little"))
            self._readers, self._written_in = set(), None


def _number(stream: Any) -> int:
    if stream is None:
        return 0
    handle = getattr(stream, "handle", None)
    if handle is None:
        handle = stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream
    return operator.index(handle)


class TextureReference(_Reference):
    """A texture that a program declares: ``texture<float, 2> tex;``. ``module.get_texref('tex')`` gives it.

    It keeps what is bound to it, and its settings hold from the next launch on.
    """

    __module__ = "uLib.cuda.driver"

    def __init__(self) -> None:
        super().__init__()
        self._array: Array | None = None
        self._memory: dict[str, Any] | None = None
        self._format = array_format(array_format.FLOAT)
        self._channels = 1
        self._address_modes = [address_mode(address_mode.CLAMP)] * 3
        self._filter = filter_mode(filter_mode.POINT)
        self._flags = 0

    def set_array(self, array: Array) -> None:
        """Binds an array, whose format it takes over."""
        descr = _array("TextureReference.set_array", array).get_descriptor()
        with self._lock:
            self._array, self._memory, self._keep = array, None, None
            self._format, self._channels = descr.format, descr.num_channels
            self._version += 1

    def get_array(self) -> Array:
        """The array that is bound."""
        if self._array is None:
            raise LogicError("TextureReference: no array is bound")
        return self._array

    def set_address(self, devptr: Any, bytes: int, allow_offset: bool = False) -> int:
        """Binds ``bytes`` bytes of linear memory, read by index (``tex1Dfetch``). Answers the bytes that the device begins
        before ``devptr``, since it can't begin anywhere; with ``allow_offset`` they may be more than 0, and a kernel adds
        them."""
        op = "TextureReference.set_address"
        address, length = _address(op, devptr), integer(op, "bytes", bytes)
        room = _room(devptr, address)
        if not 0 < length <= room:
            raise LogicError(f"TextureReference.set_address: bytes is {length}, expected 1 to the {room} of the memory at {address:#x}")
        alignment = int(Context.get_device().get_attribute(device_attribute.TEXTURE_ALIGNMENT))
        offset = address % alignment
        if offset and not allow_offset:
            raise LogicError(
                f"TextureReference.set_address: devptr is {address:#x}, expected a multiple of {alignment} bytes, or allow_offset"
            )
        with self._lock:
            self._array, self._keep = None, devptr
            self._memory = {"resource": address - offset if offset else devptr, "bytes": length + offset}
            self._version += 1
        return offset

    def set_address_2d(self, devptr: Any, descr: ArrayDescriptor, pitch: int) -> None:
        """Binds rows of linear memory, ``pitch`` bytes apart, that look as ``descr`` says."""
        op = "TextureReference.set_address_2d"
        descr = instance(op, "descr", descr, ArrayDescriptor)
        width, height, pitch = integers(op, "width, height and pitch", (descr.width, descr.height, pitch))
        found, channels = descr.format, integer(op, "num_channels", descr.num_channels)
        memory: dict[str, Any] = {"resource": devptr, "width": width, "height": height, "pitch": pitch}
        try:
            # What the device cannot read is refused here, and not at a launch.
            TextureObject(format=int(found), num_channels=channels, **memory).close()
        except (IndexError, LogicError) as error:
            raise LogicError(f"{op}: {error}") from None
        with self._lock:
            self._array, self._keep, self._memory = None, devptr, memory
            self._format, self._channels = found, channels
            self._version += 1

    def get_address(self) -> int:
        """The address of the memory that is bound: where the device begins to read."""
        if self._memory is None:
            raise LogicError("TextureReference: no memory is bound")
        return _address("TextureReference.get_address", self._memory["resource"])

    def set_format(self, fmt: int, num_components: int) -> None:
        """What texels of linear memory are."""
        op = "TextureReference.set_format"
        found, channels = array_format(integer(op, "fmt", fmt)), integer(op, "num_components", num_components)
        if int(found) not in _ITEM or channels not in (1, 2, 4):
            raise LogicError(f"{op}: {channels} components of {found!r} are no texel")
        with self._lock:
            self._format, self._channels = found, channels
            self._version += 1

    def get_format(self) -> tuple[array_format, int]:
        """What texels are: the type of each number, and how many there are."""
        return self._format, self._channels

    def set_address_mode(self, dim: int, am: int) -> None:
        """What lies beyond the edges along one axis."""
        axis, mode = _axis(dim), _known(address_mode, "am", am)
        with self._lock:
            self._address_modes[axis] = mode
            self._version += 1

    def get_address_mode(self, dim: int) -> address_mode:
        """What lies beyond the edges along one axis."""
        return self._address_modes[_axis(dim)]

    def set_filter_mode(self, fm: int) -> None:
        """What lies between texels."""
        mode = _known(filter_mode, "fm", fm)
        with self._lock:
            self._filter, self._version = mode, self._version + 1

    def get_filter_mode(self) -> filter_mode:
        """What lies between texels."""
        return self._filter

    def set_flags(self, flags: int) -> None:
        """``TRSF_READ_AS_INTEGER`` and ``TRSF_NORMALIZED_COORDINATES``, or both, or 0: without the first, integers of 8 and
        16 bits are read as floats up to 1."""
        number = integer("TextureReference.set_flags", "flags", flags)
        if number & ~(TRSF_READ_AS_INTEGER | TRSF_NORMALIZED_COORDINATES):
            raise LogicError(f"TextureReference.set_flags: flags is {number}, expected 0 to 3")
        with self._lock:
            self._flags, self._version = number, self._version + 1

    def get_flags(self) -> int:
        """The flags."""
        return self._flags

    def _is_bound(self) -> bool:
        return self._array is not None or self._memory is not None

    def _maker(self) -> Callable[[], TextureObject]:
        how: dict[str, Any] = {
            "address_mode": [int(mode) for mode in self._address_modes],
            "filter_mode": int(self._filter),
            "normalized_float": not self._flags & TRSF_READ_AS_INTEGER,
            "normalized_coords": bool(self._flags & TRSF_NORMALIZED_COORDINATES),
        }
        if self._array is not None:
            return functools.partial(TextureObject, self._array, **how)
        if self._memory is None:
            raise LogicError(f"TextureReference: nothing is bound to {self._name!r}; set_array, set_address and set_address_2d do")
        what = dict(self._memory)
        resource, length = what.pop("resource"), what.pop("bytes", None)
        if length is not None:
            what["width"] = length // (_ITEM[int(self._format)] * self._channels)
        return functools.partial(TextureObject, resource, format=int(self._format), num_channels=self._channels, **what, **how)


class SurfaceReference(_Reference):
    """A surface that a program declares: ``surface<void, 2> surf;``. ``module.get_surfref('surf')`` gives it."""

    __module__ = "uLib.cuda.driver"

    def __init__(self) -> None:
        super().__init__()
        self._array: Array | None = None

    def set_array(self, array: Array, flags: int = 0) -> None:
        """Binds an array that kernels may write (``array3d_flags.SURFACE_LDST``), and keeps it."""
        if integer("SurfaceReference.set_array", "flags", flags) != 0:
            raise LogicError(f"SurfaceReference.set_array: flags is {flags}, expected 0")
        if not _array("SurfaceReference.set_array", array).get_descriptor_3d().flags & 2:
            raise LogicError("SurfaceReference.set_array: array was made without array3d_flags.SURFACE_LDST")
        with self._lock:
            self._array, self._version = array, self._version + 1

    def get_array(self) -> Array:
        """The array that is bound."""
        if self._array is None:
            raise LogicError("SurfaceReference: no array is bound")
        return self._array

    def _is_bound(self) -> bool:
        return self._array is not None

    def _maker(self) -> Callable[[], SurfaceObject]:
        if self._array is None:
            raise LogicError(f"SurfaceReference: nothing is bound to {self._name!r}; set_array does")
        return functools.partial(SurfaceObject, self._array)


def _axis(dim: int) -> int:
    axis = integer("TextureReference", "dim", dim)
    if not 0 <= axis < 3:
        raise LogicError(f"TextureReference: dim is {axis}, expected 0, 1 or 2")
    return axis


def _known(kind: type[_Mode], name: str, number: int) -> _Mode:
    found = kind(integer("TextureReference", name, number))
    if found.name is None:
        raise LogicError(f"TextureReference: {found!r} is unknown; expected one of {', '.join(kind.names)}")
    return found


def _address(op: str, devptr: Any) -> int:
    needed(op, devptr)
    seen = described(f"{op}: devptr", devptr)
    if seen is not None:
        return seen[0]
    return integer(op, "devptr", getattr(devptr, "gpudata", devptr))


def _room(devptr: Any, address: int) -> int:
    """Bytes from ``address`` to the end of its memory."""
    if isinstance(devptr, (DeviceAllocation, PooledDeviceAllocation)):
        return devptr.size
    start, size = mem_get_address_range(address)
    return start + size - address


def _array(op: str, array: Any) -> Array:
    if isinstance(array, Array):
        needed(op, array)
        return array
    raise LogicError(f"{op}: {shown(array)} is no Array")


def bind_array_to_texref(ary: Array, texref: TextureReference) -> None:
    """Binds an array, clamped at the edges, to be read at the nearest texel."""
    instance("bind_array_to_texref", "texref", texref, TextureReference).set_array(ary)
    texref.set_address_mode(0, address_mode.CLAMP)
    texref.set_address_mode(1, address_mode.CLAMP)
    texref.set_filter_mode(filter_mode.POINT)


def matrix_to_texref(matrix: ArrayLike, texref: TextureReference, order: str) -> None:
    """Makes an array of a matrix (``matrix_to_array``) and binds it (``bind_array_to_texref``)."""
    texref = instance("matrix_to_texref", "texref", texref, TextureReference)
    bind_array_to_texref(matrix_to_array(matrix, order), texref)
