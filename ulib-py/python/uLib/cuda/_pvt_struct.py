"""Packed bytes as Python's ``struct`` makes them, with NumPy's complex numbers as well.

``F`` is a complex number of two floats, ``D`` one of two doubles, aligned as those are; ``P`` is an address, of an ``int`` or of what
becomes one, such as an allocation.
"""

from __future__ import annotations

import re
import struct
from typing import Any

__all__ = ["calcsize", "error", "pack", "unpack"]

error = struct.error

_PARTS = {"F": "f", "D": "d"}
_ITEM = re.compile(r"\s*(\d*)([A-Za-z?])\s*")


def _parsed(format: str | bytes) -> tuple[str, list[str]]:
    """The format in letters that ``struct`` has, and the letter of each value."""
    text = format.decode("ascii") if isinstance(format, bytes) else format
    order, rest = (text[0], text[1:]) if text[:1] in tuple("@=<>!") else ("", text)
    written, values, at = [order], list[str](), 0
    while at < len(rest):
        item = _ITEM.match(rest, at)
        if item is None:
            raise error(f"bad char in struct format {text!r}: {rest[at:].strip()!r}")
        count, letter = item.groups()
        number = int(count) if count else 1
        if letter in _PARTS:
            written.append(f"{2 * number}{_PARTS[letter]}")
        else:
            written.append(f"{count}{letter}")
        # The length of a string counts its bytes, and padding has no value.
        values += [letter] if letter in "sp" else [] if letter == "x" else [letter] * number
        at = item.end()
    return "".join(written), values


def calcsize(format: str | bytes) -> int:
    """The bytes that values of this format take, with the gaps between them."""
    return struct.calcsize(_parsed(format)[0])


def pack(format: str | bytes, *args: Any) -> bytes:
    """The values as bytes, each aligned as C does it unless the format says otherwise; as many as the format has."""
    written, letters = _parsed(format)
    if len(args) != len(letters):
        raise error(f"pack requires exactly {len(letters)} arguments, not {len(args)}")
    parts: list[Any] = []
    for letter, value in zip(letters, args, strict=True):
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
        except TypeError:
            pass
    raise error(f"required argument is not a complex number: {value!r}")


def unpack(format: str | bytes, data: Any) -> tuple[Any, ...]:
    """The values in bytes of exactly this format."""
    written, letters = _parsed(format)
    parts = iter(struct.unpack(written, data))
    return tuple(complex(next(parts), next(parts)) if letter in _PARTS else next(parts) for letter in letters)
