"""What programs on devices are like: sizes of types, and what every device can do today."""

from __future__ import annotations

import re

from . import compiler
from ._errors import Error
from ._native import device_architecture

__all__ = ["has_double_support", "has_stack", "platform_bits", "sizeof"]

_sizes: dict[tuple[str, str], int] = {}


def platform_bits() -> int:
    """Bits of an address."""
    return 64


def has_stack() -> bool:
    """Whether functions on the device can call themselves: on all that are supported."""
    return True


def has_double_support() -> bool:
    """Whether the device knows double precision: all that are supported do."""
    return True


def sizeof(type_name: str, preamble: str = "") -> int:
    """Bytes of a type of C++, which ``preamble`` may declare. Asks the compiler; no device is needed."""
    key = (type_name, preamble)
    if key not in _sizes:
        try:
            arch = device_architecture().replace("sm_", "compute_")
        except Error:
            # Any that all compilers of today know.
            arch = "compute_75"
        source = f'{preamble}\nextern "C" {{ __device__ char ulib_size_of_it[sizeof({type_name})]; }}\n'
        text = compiler.compile(source, options=[], no_extern_c=True, arch=arch).decode()
        found = re.search(r"\bulib_size_of_it(?:\[(\d+)\])?", text)
        if found is None:
            raise RuntimeError(f"sizeof: the compiler's answer for {type_name} is not understood")
        _sizes[key] = int(found[1] or 1)
    return _sizes[key]
