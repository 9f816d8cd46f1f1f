"""What concerns the whole process: the profiler, OpenGL."""

from __future__ import annotations

import importlib.util
import warnings

__all__ = ["have_gl_ext", "initialize_profiler"]


def have_gl_ext() -> bool:
    """Whether there is a module ``uLib.cuda.gl``."""
    return importlib.util.find_spec("uLib.cuda.gl") is not None


def initialize_profiler(config_file: str, output_file: str, output_mode: int) -> None:
    """Does nothing: profilers of today are told from outside what to write where."""
    message = "initialize_profiler does nothing: start the program under a profiler"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
