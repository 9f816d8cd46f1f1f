"""Arrays on a device given to other libraries and taken from them by DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ._arguments import integers, shown
from ._native import dlpack_device, dlpack_export, dlpack_import, needed
from ._transfers import Place

if TYPE_CHECKING:
    from ._gpuarray import GPUArray
    from ._layout import Ints


def device(array: GPUArray) -> tuple[int, int]:
    """The kind of memory, and the number of the device."""
    return dlpack_device(array.ptr, array.shape, array.strides, array.dtype.str)


def export(
    array: GPUArray,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A capsule: of the memory itself, of a copy there, or of a copy on the host."""
    needed("GPUArray.__dlpack__", array)
    here = device(array)
    wanted = here if dl_device is None else _pair("dl_device", dl_device)
    if wanted == (1, 0):
        if stream is not None:
            raise ValueError(f"__dlpack__: stream is {stream!r}, and memory of the host has none")
        if copy is False:
            raise BufferError("__dlpack__: an array on a device cannot be one of the host without a copy")
        return array.get().__dlpack__()
    if wanted != here:
        raise BufferError(f"__dlpack__: the array is on the device {here}, and cannot be given for {wanted}")
    versioned = max_version is not None and _pair("max_version", max_version)[0] >= 1
    given = array.copy() if copy else array
    return dlpack_export(given, given.ptr, given.shape, given.strides, given.dtype.str, stream, versioned, bool(copy))


def _pair(name: str, given: tuple[int, int]) -> tuple[int, ...]:
    found = integers("__dlpack__", name, given)
    if len(found) != 2:
        raise ValueError(f"__dlpack__: {name} is {shown(given)}, expected two integers")
    return found


def taken(ary: Any) -> tuple[Place | None, Ints, Ints, numpy.dtype[Any], bool]:
    """Where the array of another library is, its shape, strides and type, and whether it is read-only."""
    memory, before, shape, strides, typestr, read_only = dlpack_import(ary)
    place = None if memory is None else Place(memory, before)
    return place, tuple(shape), tuple(strides), _type_of(typestr), read_only


def _type_of(typestr: str) -> numpy.dtype[Any]:
    """The type of a type string, of which ``<V2`` is bfloat16."""
    if typestr != "<V2":
        return numpy.dtype(typestr)
    from ._dtypes import get_or_register_dtype

    try:
        return get_or_register_dtype("__nv_bfloat16")
    except KeyError:
        raise TypeError("from_dlpack: arrays of bfloat16 need the package ml_dtypes") from None
