"""Strides of arrays in C's and in Fortran's order."""

from __future__ import annotations

from collections.abc import Iterable

from .._layout import is_packed, packed_strides

__all__ = [
    "c_contiguous_strides",
    "equal_strides",
    "f_contiguous_strides",
    "is_c_contiguous_strides",
    "is_f_contiguous_strides",
]


def c_contiguous_strides(itemsize: int, shape: Iterable[int]) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis, without gaps, the last axis fastest."""
    return packed_strides(tuple(shape), itemsize, "C")


def f_contiguous_strides(itemsize: int, shape: Iterable[int]) -> tuple[int, ...]:
    """As ``c_contiguous_strides``, with the first axis fastest."""
    return packed_strides(tuple(shape), itemsize, "F")


def is_c_contiguous_strides(strides: Iterable[int], itemsize: int, shape: Iterable[int]) -> bool:
    """Whether elements follow each other without gaps, the last axis fastest. Strides of axes of length 1 do not count."""
    return is_packed(tuple(shape), tuple(strides), itemsize)


def is_f_contiguous_strides(strides: Iterable[int], itemsize: int, shape: Iterable[int]) -> bool:
    """As ``is_c_contiguous_strides``, with the first axis fastest."""
    return is_packed(tuple(shape)[::-1], tuple(strides)[::-1], itemsize)


def equal_strides(strides1: Iterable[int], strides2: Iterable[int], shape: Iterable[int]) -> bool:
    """Whether both reach the same elements: they are equal but for axes of length 1, or there are no elements at all."""
    lengths = tuple(shape)
    pairs = zip(tuple(strides1), tuple(strides2), lengths, strict=True)
    return all(a == b or n == 1 for a, b, n in pairs) or 0 in lengths
