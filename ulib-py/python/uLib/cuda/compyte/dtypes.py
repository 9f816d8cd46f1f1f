"""C's names for NumPy's types: those of ``uLib.cuda.tools``, and the tables that they are looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .._dtypes import (
    Argument,
    ScalarArg,
    VectorArg,
    dtype_to_ctype,
    get_or_register_dtype,
    match_dtype_to_c_struct,
    parse_c_arg,
    register_dtype,
    tables,
)

if TYPE_CHECKING:
    import numpy

__all__ = [
    "DTYPE_TO_NAME",
    "NAME_TO_DTYPE",
    "Argument",
    "ScalarArg",
    "VectorArg",
    "dtype_to_ctype",
    "get_or_register_dtype",
    "match_dtype_to_c_struct",
    "parse_c_arg",
    "register_dtype",
]

_by_name, _by_type = tables()

NAME_TO_DTYPE: Mapping[str, numpy.dtype[Any]] = MappingProxyType(_by_name)
"""The type of each name, as it is now: ``get_or_register_dtype`` adds to it."""
DTYPE_TO_NAME: Mapping[numpy.dtype[Any], str] = MappingProxyType(_by_type)
"""The name by which each type is written."""
