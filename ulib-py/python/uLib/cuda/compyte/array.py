"""Strides of arrays in C's and in Fortran's order."""

from __future__ import annotations

from collections.abc import Iterable

from .._arguments import integer, integers
from .._layout import Ints, is_packed, packed_strides

__all__ = [
    "c_contiguous_strides",
    "equal_strides",
    "f_contiguous_strides",
    "is_c_contiguous_strides",
    "is_f_contiguous_strides",
]


def c_contiguous_strides(itemsize: int, shape: Iterable[int]) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis, without gaps, the last axis fastest."""
    op = "c_contiguous_strides"
    return packed_strides(integers(op, "shape", shape), integer(op, "itemsize", itemsize), "C")


def f_contiguous_strides(itemsize: int, shape: Iterable[int]) -> tuple[int, ...]:
    """As ``c_contiguous_strides``, with the first axis fastest."""
    op = "f_contiguous_strides"
    return packed_strides(integers(op, "shape", shape), integer(op, "itemsize", itemsize), "F")


def is_c_contiguous_strides(strides: Iterable[int], itemsize: int, shape: Iterable[int]) -> bool:
    """Whether elements follow each other without gaps, the last axis fastest. Strides of axes of length 1 do not count."""
    op = "is_c_contiguous_strides"
    lengths, (steps,) = _axes(op, shape, strides=strides)
    return is_packed(lengths, steps, integer(op, "itemsize", itemsize))


def is_f_contiguous_strides(strides: Iterable[int], itemsize: int, shape: Iterable[int]) -> bool:
    """As ``is_c_contiguous_strides``, with the first axis fastest."""
    op = "is_f_contiguous_strides"
    lengths, (steps,) = _axes(op, shape, strides=strides)
    return is_packed(lengths[::-1], steps[::-1], integer(op, "itemsize", itemsize))


def equal_strides(strides1: Iterable[int], strides2: Iterable[int], shape: Iterable[int]) -> bool:
    """Whether both reach the same elements: they are equal but for axes of length 1, or there are no elements at all."""
    lengths, both = _axes("equal_strides", shape, strides1=strides1, strides2=strides2)
    return all(a == b or n == 1 for a, b, n in zip(*both, lengths, strict=True)) or 0 in lengths


def _axes(op: str, shape: Iterable[int], **strides: Iterable[int]) -> tuple[Ints, list[Ints]]:
    """The shape, and the strides, of which there have to be as many."""
    lengths = integers(op, "shape", shape)
    found = {name: integers(op, name, given) for name, given in strides.items()}
    for name, steps in found.items():
        if len(steps) != len(lengths):
            raise ValueError(f"{op}: {name} is {steps}, of {len(steps)} axes, and shape is {lengths}, of {len(lengths)}")
    return lengths, list(found.values())
