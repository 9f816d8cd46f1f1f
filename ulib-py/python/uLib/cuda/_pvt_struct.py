"""Packed bytes as Python's ``struct`` makes them, with NumPy's complex numbers as well.

``F`` is a complex number of two floats, ``D`` one of two doubles, aligned as those are; ``P`` is an address, of an ``int`` or of what
becomes one, such as an allocation.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from typing import Any

from ._arguments import shown

__all__ = ["calcsize", "error", "pack", "unpack"]

error = struct.error

_PARTS = {"F": "f", "D": "d"}
_ITEM = re.compile(r"\s*(\d*)([A-Za-z?])\s*", re.ASCII)
_MOST_DIGITS = 20
"""A number of more is beyond every size, and need not be read."""

Items = list[tuple[str, int]]


def _parsed(format: str | bytes) -> tuple[str, Items]:
    """The format in letters that ``struct`` has, and the letters of the values with how many each stands for."""
    if not isinstance(format, str | bytes):
        raise TypeError(f"the format is {shown(format)}, expected str or bytes")
    # Bytes that are no letters are found to be none.
    text = format.decode("latin-1") if isinstance(format, bytes) else format
    order, rest = (text[0], text[1:]) if text[:1] in tuple("@=<>!") else ("", text)
    written, values, at = [order], Items(), 0
    while at < len(rest):
        item = _ITEM.match(rest, at)
        if item is None:
            left = rest[at:].strip()
            if left.isascii() and left.isdigit():
                raise error(f"struct format {shown(text)} ends with a count, {shown(left)}, of nothing")
            raise error(f"bad char in struct format {shown(text)}: {shown(left)}")
        count, letter = item.groups()
        digits = count.lstrip("0")
        if len(digits) > _MOST_DIGITS:
            raise error(f"total struct size too long: {shown(text)}")
        number = int(digits or 0) if count else 1
        if letter in _PARTS:
            written.append(f"{2 * number}{_PARTS[letter]}")
        else:
            written.append(f"{number}{letter}")
        # The length of a string counts its bytes, and padding has no value.
        values.append((letter, 1 if letter in "sp" else 0 if letter == "x" else number))
        at = item.end()
    found = "".join(written)
    # Too long for memory, or with letters that are none.
    struct.calcsize(found)
    return found, values


def _letters(values: Items) -> Iterator[str]:
    """The letter of each value."""
    return itertools.chain.from_iterable(itertools.repeat(*item) for item in values)


def calcsize(format: str | bytes) -> int:
    """The bytes that values of this format take, with the gaps between them."""
    return struct.calcsize(_parsed(format)[0])


def pack(format: str | bytes, *args: Any) -> bytes:
    """The values as bytes, each aligned as C does it unless the format says otherwise; as many as the format has."""
    written, values = _parsed(format)
    wanted = sum(count for _, count in values)
    if len(args) != wanted:
        raise error(f"pack requires exactly {wanted} arguments, not {len(args)}")
    parts: list[Any] = []
    for letter, value in zip(_letters(values), args, strict=True):
        if letter in _PARTS:
            number = _complex(value)
            parts += (number.real, number.imag)
        else:
            parts.append(value)
    return struct.pack(written, *parts)


def _complex(value: Any) -> complex:
    if not isinstance(value, str):
        try:
            return complex(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise error(f"required argument is not a complex number: {shown(value)}")


def unpack(format: str | bytes, data: Any) -> tuple[Any, ...]:
    """The values in bytes of exactly this format."""
    written, values = _parsed(format)
    parts = iter(struct.unpack(written, data))
    return tuple(complex(next(parts), next(parts)) if letter in _PARTS else next(parts) for letter in _letters(values))
