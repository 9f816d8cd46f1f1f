"""The driver layer: devices, contexts, streams, memory, modules and launches, under PyCUDA's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._driver import *
from ._driver import __all__ as __all__

if TYPE_CHECKING:
    from .compiler import SourceModule as SourceModule

if not TYPE_CHECKING:
    # A list of its own: that of the other module stays what it is.
    __all__ = list(__all__)
__all__ += ["CUDA_DEBUGGING", "SourceModule", "set_debugging"]

CUDA_DEBUGGING = False
"""Whether kernels are compiled for a debugger."""


def set_debugging(flag: bool = True) -> None:
    """Says whether kernels are compiled for a debugger from now on, and then neither optimised nor cached."""
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = bool(flag)


def __getattr__(name: str) -> Any:
    if name == "SourceModule":
        # What compiles is imported when something is to be compiled.
        from .compiler import SourceModule

        return SourceModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
