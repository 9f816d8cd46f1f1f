"""The driver layer: devices, contexts, streams, memory, modules and launches, under PyCUDA's names."""

from __future__ import annotations

from ._driver import *
from ._driver import __all__ as __all__

CUDA_DEBUGGING = False
"""Whether kernels are compiled for a debugger."""


def set_debugging(flag: bool = True) -> None:
    """Says whether kernels are compiled for a debugger from now on, and then neither optimised nor cached."""
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = bool(flag)
