"""The native names of ``uLib.cuda.driver``, under the name by which some programs import PyCUDA's."""

from __future__ import annotations

from ._errors import CompileError, Error, LaunchError, LogicError, MemoryError, RuntimeError
from ._native import get_driver_version, init, mem_get_info

__all__ = [
    "CompileError",
    "Error",
    "LaunchError",
    "LogicError",
    "MemoryError",
    "RuntimeError",
    "get_driver_version",
    "init",
    "mem_get_info",
]
