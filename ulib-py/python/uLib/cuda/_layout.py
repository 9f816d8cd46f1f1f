"""Shapes and strides of arrays on a device: orders, indexing, and how an array is copied in rows and slices."""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ._arguments import integers

Ints = tuple[int, ...]

_MAX_PITCH = 2**31 - 1
"""Rows that are further apart are copied one by one."""


def packed_strides(shape: Ints, itemsize: int, order: str, like: Ints | None = None) -> Ints:
    """Strides without gaps: of order "C" or "F", or "K" with the axes in the order of those of the strides ``like``."""
    axes: Sequence[int]
    if order == "K" and like is not None:
        axes = sorted(range(len(shape)), key=lambda axis: -abs(like[axis]))
    else:
        axes = range(len(shape)) if order != "F" else range(len(shape))[::-1]
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def is_packed(shape: Ints, strides: Ints, itemsize: int) -> bool:
    """Whether elements follow each other without gaps, the last axis fastest. Strides of axes of length 1 do not count."""
    if 0 in shape:
        return True
    expected = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if stride != expected:
                return False
            expected *= n
    return True


def span(shape: Ints, strides: Ints, itemsize: int) -> tuple[int, int]:
    """The first byte of the array, and the one behind its last, counted from the element with all indices zero."""
    if 0 in shape:
        return 0, 0
    reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


class Flags(NamedTuple):
    """How the elements of an array lie."""

    c_contiguous: bool
    """Without gaps, the last axis fastest."""
    f_contiguous: bool
    """Without gaps, the first axis fastest."""

    @property
    def forc(self) -> bool:
        """One or the other."""
        return self.c_contiguous or self.f_contiguous


def flags(shape: Ints, strides: Ints, itemsize: int) -> Flags:
    return Flags(is_packed(shape, strides, itemsize), is_packed(shape[::-1], strides[::-1], itemsize))


def indexed(shape: Ints, strides: Ints, key: Any) -> tuple[int, Ints, Ints]:
    """Bytes to the first element of what ``key`` selects, its shape and its strides, as basic indexing of NumPy."""
    keys = key if isinstance(key, tuple) else (key,)
    if sum(entry is Ellipsis for entry in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(entry is not None and entry is not Ellipsis for entry in keys)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    if not any(entry is Ellipsis for entry in keys):
        keys = (*keys, Ellipsis)
    offset, axis = 0, 0
    lengths: list[int] = []
    steps: list[int] = []
    for entry in keys:
        if entry is None:
            lengths.append(1)
            steps.append(0)
        elif entry is Ellipsis:
            rest = len(shape) - used
            lengths += shape[axis : axis + rest]
            steps += strides[axis : axis + rest]
            axis += rest
        elif isinstance(entry, slice):
            chosen = range(shape[axis])[entry]
            lengths.append(len(chosen))
            step = strides[axis] * chosen.step
            # One element is not stepped from, and no step is wider than memory.
            steps.append(step if len(chosen) > 1 or abs(step) <= sys.maxsize else strides[axis])
            if chosen:
                offset += strides[axis] * chosen.start
            axis += 1
        else:
            offset += strides[axis] * _position(entry, axis, shape[axis])
            axis += 1
    return (0 if 0 in lengths else offset), tuple(lengths), tuple(steps)


def _position(entry: Any, axis: int, length: int) -> int:
    refused = "only integers, slices (':'), ellipsis ('...') and newaxis (None) are valid indices"
    if isinstance(entry, bool) or getattr(entry, "shape", ()) != () or getattr(entry, "dtype", None) == bool:
        raise IndexError(f"{refused}, not {type(entry).__name__}")
    try:
        index = operator.index(entry)
    except TypeError:
        raise IndexError(f"{refused}, not {type(entry).__name__}") from None
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return index % length


def shape_of_reshape(size: int, shape: Ints) -> Ints:
    """``shape`` with its -1, if it has one, replaced so that there are ``size`` elements."""
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known > 0 and size % known == 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if any(n < 0 for n in full) or math.prod(full) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return full


def axes_of_transpose(ndim: int, axes: Sequence[int] | None) -> Ints:
    """The axes in their new order: reversed without ``axes``."""
    if axes is None:
        return tuple(range(ndim))[::-1]
    given = integers("transpose", "axes", axes)
    if len(given) != ndim:
        raise ValueError(f"axes don't match array: {given} of an array of {ndim} axes")
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    found = tuple(axis % ndim for axis in given)
    if len(set(found)) != ndim:
        raise ValueError(f"repeated axis in transpose: {given}")
    return found


_SHORT = 64
"""Bytes of a row that is short: a copy takes as long for it as for one of this length."""
_MUCH = 16
"""How many times the bytes that are wanted are copied rather than short rows."""


class Piece(NamedTuple):
    """Rows of an array, for one copy."""

    offset: int
    """Bytes from the array's lowest address."""
    packed: int
    """Bytes from the start of the packed copy, in which the rows follow each other."""
    width: int
    """Bytes of a row."""
    height: int
    """Rows of a slice."""
    depth: int
    """Slices."""
    pitch: int
    """Bytes between rows."""
    rows: int
    """Rows between slices."""


class Plan:
    """How an array is copied to or from packed memory that has its axes in the order in which they lie.

    ``axes``: the axes, slowest first. ``flipped``: those that run backwards. ``shape``: that of the packed copy.
    ``strides``: of the array, its axes as in there. ``low``, ``high``: bytes from the element with all indices zero to the lowest
    address, and to the end.
    """

    def __init__(self, shape: Ints, strides: Ints, itemsize: int) -> None:
        self.axes = tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])))
        self.flipped = tuple(axis for axis, n in enumerate(shape) if n > 1 and strides[axis] < 0)
        self.shape = tuple(shape[axis] for axis in self.axes)
        self.itemsize = itemsize
        self.low, self.high = span(shape, strides, itemsize)
        self.strides = tuple(abs(strides[axis]) for axis in self.axes)

    def arranged(self, strides: Ints) -> Ints:
        """The strides of another array of the same shape, with its axes as they are here."""
        return tuple(-strides[axis] if axis in self.flipped else strides[axis] for axis in self.axes)

    def fits(self, strides: Ints) -> bool:
        """Whether another array of the same shape is the packed copy."""
        return is_packed(self.shape, self.arranged(strides), self.itemsize)

    def there(self, array: Any) -> Any:
        """A view of a NumPy array of this shape with its axes as they are here."""
        return self._flip(array).transpose(self.axes)

    def back(self, array: Any) -> Any:
        """A view of a packed NumPy array with the axes of the array itself."""
        return self._flip(array.transpose(tuple(self.axes.index(axis) for axis in range(len(self.axes)))))

    def _flip(self, array: Any) -> Any:
        if not self.flipped:
            return array
        return array[tuple(slice(None, None, -1 if axis in self.flipped else None) for axis in range(array.ndim))]

    def is_crumbs(self) -> bool:
        """Whether copying everything from the lowest address to the end is less work than copying short rows one by one."""
        wanted = math.prod(self.shape) * self.itemsize
        first = next(self.pieces(), None)
        return first is not None and first.width < min(_SHORT, wanted) and self.high - self.low <= _MUCH * wanted

    def pieces(self) -> Iterator[Piece]:
        """The copies to make."""
        if 0 in self.shape or self.itemsize == 0:
            return
        axes: list[tuple[int, int]] = []
        for n, stride in zip(self.shape, self.strides, strict=True):
            if n == 1:
                continue
            if axes and axes[-1][1] == n * stride:
                n *= axes.pop()[0]
            axes.append((n, stride))
        width = self.itemsize
        if axes and axes[-1][1] == width:
            width *= axes.pop()[0]
        height, pitch = 1, width
        if axes and width <= axes[-1][1] <= _MAX_PITCH:
            height, pitch = axes.pop()
        depth, rows = 1, height
        if height > 1 and axes and axes[-1][1] % pitch == 0 and axes[-1][1] // pitch >= height:
            depth, rows = axes[-1][0], axes.pop()[1] // pitch
        one = width * height * depth
        for number, indices in enumerate(itertools.product(*(range(n) for n, _ in axes))):
            offset = sum(i * stride for i, (_, stride) in zip(indices, axes, strict=True))
            yield Piece(offset, number * one, width, height, depth, pitch, rows)
