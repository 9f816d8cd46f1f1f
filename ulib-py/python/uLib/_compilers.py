"""Which installed library can compile a kernel, found out by compiling one."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_answers: dict[str, str | None] = {}


def installed() -> list[str]:
    """The libraries that are installed, without importing them."""
    from importlib.util import find_spec

    found = []
    for compiler, module in (("numba", "numba"), ("cupy", "cupy")):
        try:
            if find_spec(module) is not None:
                found.append(compiler)
        except (ImportError, ValueError):
            continue
    return found


def reason(compiler: str) -> str | None:
    """Why ``compiler`` cannot compile a kernel; None when it can. Asked once per process."""
    if compiler not in _answers:
        if compiler not in installed():
            _answers[compiler] = f"{compiler} is not installed"
        else:
            try:
                PROBES[compiler]()
            except Exception as error:
                _answers[compiler] = f"{compiler}: {_explain(error)}"
            else:
                _answers[compiler] = None
    return _answers[compiler]


def _probe_numba() -> None:
    cuda = import_module("numba.cuda")

    def scale(values: Any, factor: Any) -> None:
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= factor

    # With a signature it is compiled, linked and loaded at once, exactly as a user's kernel is.
    cuda.jit("void(float32[:], float64)")(scale)


def _probe_cupy() -> None:
    cupy = import_module("cupy")
    # A number no cache has seen, so that the compiler runs, and finds the headers every kernel of CuPy includes.
    number = int.from_bytes(os.urandom(3), "little")
    kernel = cupy.ElementwiseKernel("float32 x", "float32 y", f"y = x * {number}.0f", "ulib_probe")
    kernel(cupy.zeros(1, dtype=cupy.float32)).get()


PROBES: dict[str, Callable[[], None]] = {"numba": _probe_numba, "cupy": _probe_cupy}


def _explain(error: Exception) -> str:
    text = " ".join(str(error).split())[:300] or type(error).__name__
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    where = f"CUDA_HOME is {home}" if home else "CUDA_HOME is not set"
    library_path = "<prefix>/targets/x86_64-linux/lib on LD_LIBRARY_PATH"
    lowered = text.lower()
    if "no supported gpu compute capabilities" in lowered or "cudart" in lowered:
        return (
            f"libcudart was not found, so the compiler knows no architecture ({where}); a toolkit outside the "
            f"environment needs CUDA_HOME=<prefix> and {library_path}. It says: {text}"
        )
    if "nvvm" in lowered:
        return f"libNVVM was not found ({where}); a toolkit outside the environment needs CUDA_HOME=<prefix>. It says: {text}"
    if "nvrtc" in lowered or "cuda_fp16.h" in lowered or "cuda headers" in lowered:
        return (
            f"NVRTC or its headers were not found ({where}); a toolkit outside the environment needs CUDA_HOME=<prefix> "
            f"and {library_path}. It says: {text}"
        )
    return text
