"""CUDA's vector types as dtypes: ``vec.float4``, ``vec.make_float4(x, y, z, w)``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
from numpy.typing import NDArray

from ._arguments import converted
from ._dtypes import register_vector

_NUMBERS = {
    "char": ("b", 4),
    "uchar": ("B", 4),
    "short": ("h", 4),
    "ushort": ("H", 4),
    "int": ("i", 4),
    "uint": ("I", 4),
    "long": ("l", 4),
    "ulong": ("L", 4),
    "float": ("f", 4),
    "longlong": ("q", 2),
    "ulonglong": ("Q", 2),
    "double": ("d", 2),
}
"""The number of a vector, and how many of it there are at most."""


def _maker(name: str, dtype: numpy.dtype[Any], count: int) -> Callable[..., NDArray[Any]]:
    def make(*values: Any) -> NDArray[Any]:
        if len(values) > count:
            raise TypeError(f"make_{name} takes {count} numbers, and got {len(values)}")
        return converted(f"make_{name}", "values", values, lambda given: numpy.array((*given, *(0,) * (count - len(given))), dtype))

    make.__name__ = make.__qualname__ = f"make_{name}"
    make.__doc__ = f"A ``{name}`` as a NumPy array without axes; numbers that are not given are 0."
    return make


def _vectors() -> SimpleNamespace:
    found = SimpleNamespace()
    for number, (code, most) in _NUMBERS.items():
        for count in range(1, most + 1):
            name = f"{number}{count}"
            dtype = numpy.dtype([(field, code) for field in "xyzw"[:count]], align=True)
            size = numpy.dtype(code).itemsize
            # As the compiler has them: of two or four, as a whole, though never beyond 16 bytes; else as one number.
            register_vector(name, dtype, min(size * count, 16) if count in (2, 4) else size)
            setattr(found, name, dtype)
            setattr(found, f"make_{name}", _maker(name, dtype, count))
    return found


vec = _vectors()
"""The dtypes of CUDA's vector types (fields x, y, z, w), and functions ``make_...`` for a value of each.

NumPy knows the sizes; the stricter alignment that the compiler gives to vectors of two and four numbers is known to
``tools.match_dtype_to_c_struct``, which lays out structs that have vectors in them.
"""
