"""Volumes and tables in files.

Volumes: ``.vti``, ``.vtk``, ``.mha`` and ``.mhd``, ``.nrrd`` and ``.nhdr``, ``.nii`` (read only), ``.npy`` and ``.npz``.
Tables: ``.csv``, ``.tsv`` and ``.parquet``.

Files are read and written without NumPy and without the other programs' libraries. Numbers become float32. A file appears
whole or not at all. Ctrl-C stops long reads and writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _ulib

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import DTypeLike

__all__ = ["image_info", "read_image", "read_multi_image", "read_table", "write_image", "write_table"]

_TYPESTRS = {
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "int8": "|i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
}


def read_image(
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    array: str | None = None,
    component: int | None = None,
    any_orientation: bool = False,
    format: str | None = None,
    voxel_bytes: int = 8,
) -> _ulib.VoxImage:
    """The image in a file, its numbers times ``scale``.

    ``array`` and ``component`` say which one, where the file has several. Volumes whose axes are turned or flipped are refused
    unless ``any_orientation``. ``format`` is found out from the content; else it is a name that ``image_info`` gives.
    """
    return _ulib.read_image(
        path,
        scale=scale,
        array=array,
        component=component,
        any_orientation=any_orientation,
        format=format,
        voxel_bytes=voxel_bytes,
    )


def read_multi_image(
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    arrays: str | Iterable[str] = (),
    any_orientation: bool = False,
    format: str | None = None,
) -> _ulib.MultiVoxImage:
    """All components of an array in a file, or of several ``arrays``, each a channel."""
    return _ulib.read_multi_image(
        path, scale=scale, arrays=_names(arrays), any_orientation=any_orientation, format=format
    )


def write_image(
    image: Any,
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    dtype: DTypeLike = "float32",
    array: str | Iterable[str] = (),
    compressed: bool = False,
    ascii: bool = False,
    format: str | None = None,
) -> None:
    """Writes the values of a ``VoxImage``, or all of a ``MultiVoxImage``, times ``scale``, to a file whose name says the format.

    ``dtype`` is the type of the numbers in the file; integers are the nearest ones. ``array`` names the array, or one array for each
    channel. What is newer on a device comes home as one copy.
    """
    _ulib.write_image(
        image,
        path,
        scale=scale,
        dtype=_typestr(dtype),
        array=_names(array),
        compressed=compressed,
        ascii=ascii,
        format=format,
    )


def image_info(path: str | os.PathLike[str], *, format: str | None = None) -> dict[str, Any]:
    """What a file holds, without reading the numbers: ``format``, ``arrays`` and ``default``, the number of the one that
    ``read_image`` takes.

    Of each array: ``name``, ``typestr``, ``components``, ``dims``, ``spacing`` and ``origin``.
    """
    return _ulib.image_info(path, format=format)


def read_table(path: str | os.PathLike[str], columns: str | Iterable[str] | None = None) -> _ulib.EventTable:
    """The table in a file, or the ``columns`` of it in that order."""
    return _ulib.read_table(path, None if columns is None else _names(columns))


def write_table(table: Any, path: str | os.PathLike[str]) -> None:
    """Writes an ``EventTable`` to a file whose name says the format; it reads back as the same numbers."""
    _ulib.write_table(table, path)


def _names(names: str | Iterable[str]) -> list[str]:
    """One name is one, not its letters."""
    return [names] if isinstance(names, str) else list(names)


def _typestr(dtype: DTypeLike) -> str:
    if isinstance(dtype, str) and dtype in _TYPESTRS:
        return _TYPESTRS[dtype]
    if isinstance(dtype, str) and dtype in _TYPESTRS.values():
        return dtype
    import numpy

    return numpy.dtype(dtype).str
