"""Where data can be kept, where it is, and who can compile kernels here.

Nothing in this module raises for the lack of a GPU: every question has an answer, and a companion that says why.
Every helper that takes an object takes anything with the same protocols, such as a proxy of it. ``device`` is an
ordinal, counted from 0.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _compilers, _log, _ulib
from ._ulib import Stream

if TYPE_CHECKING:
    import numpy

__all__ = [
    "Stream",
    "array_info",
    "as_array",
    "available",
    "count",
    "describe",
    "errors",
    "held",
    "is_device_resident",
    "kernels_available",
    "kernels_unavailable_reason",
    "location",
    "log_changed",
    "memory_info",
    "name",
    "unavailable_reason",
]


# What lending raises when there is no device array to lend; a broken device raises something else.
_ABSENT = (
    _ulib.DeviceUnavailableError,
    _ulib.ForkedError,
    _ulib.OutOfMemoryError,
    _ulib.ResidencyError,
    ValueError,
)


def count() -> int:
    """How many GPUs this process sees; 0 without a driver."""
    return _ulib.device_count()


def available(device: int = 0) -> bool:
    """Whether data can be kept on that GPU at all. Kernels are another matter: ``kernels_available()``."""
    return _ulib.device_unavailable_reason(device) is None


def unavailable_reason(device: int = 0) -> str | None:
    """Why data cannot be kept on that GPU, in words; None when it can."""
    return _ulib.device_unavailable_reason(device)


def name(device: int = 0) -> str | None:
    """The name of that GPU; None without one."""
    return _ulib.device_name(device)


def memory_info(device: int = 0) -> tuple[int, int]:
    """Free and total bytes of that GPU; ``(0, 0)`` without one."""
    return _ulib.device_memory_info(device)


def held(device: int | None = None) -> tuple[int, int]:
    """Bytes and number of the device blocks uLib has in use, on one GPU or on all. Cached memory does not count."""
    return _ulib.device_held(device)


def errors(device: int = 0) -> list[str]:
    """What went wrong where it could not be raised, such as in freeing memory; asking empties the list."""
    return _ulib.device_errors(device)


def log_changed() -> None:
    """Looks again at whether ``logging.getLogger("ulib.placement")`` wants debug records.

    Happens by itself whenever ``logging`` is told a new level (``setLevel``, ``basicConfig``, ``disable``); needed only after
    other changes, such as setting the logger's ``disabled``.
    """
    _log.changed()


def describe(device: int = 0) -> str:
    """One line for a log or a panel."""
    reason = unavailable_reason(device)
    if reason is not None:
        return f"no GPU: {reason}"
    free, total = memory_info(device)
    bytes_held, blocks = held(device)
    which = "GPU" if device == 0 else f"GPU {device}"
    return (
        f"{which}: {name(device)}, {_size(free)} of {_size(total)} free, "
        f"uLib holds {_size(bytes_held)} in {blocks} block{'' if blocks == 1 else 's'}"
    )


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def kernels_available(compiler: str | None = None) -> bool:
    """Whether a kernel can be *compiled* here: by ``'numba'``, by ``'cupy'``, or (None) by whichever of the two is
    installed; with both installed, by both.

    The answer comes from compiling a small kernel with that library, once per process.
    """
    return kernels_unavailable_reason(compiler) is None


def kernels_unavailable_reason(compiler: str | None = None) -> str | None:
    """Why no kernel can be compiled here, in words; None when one can."""
    if compiler is not None and compiler not in _compilers.PROBES:
        known = ", ".join(repr(known) for known in _compilers.PROBES)
        raise ValueError(f"kernels_available: compiler {compiler!r} is none of {known}")
    reason = unavailable_reason()
    if reason is not None:
        return reason
    if compiler is not None:
        return _compilers.reason(compiler)
    installed = _compilers.installed()
    if not installed:
        return "no library that compiles kernels is installed: neither numba-cuda nor CuPy"
    for compiler in installed:
        reason = _compilers.reason(compiler)
        if reason is not None:
            return reason
    return None


def location(obj: Any) -> str:
    """Where the object's data is, in words: ``Device: NAME``, ``Host`` or ``Host (REASON)``."""
    asked = getattr(obj, "GetDataLocation", None)
    if asked is not None:
        return str(asked())
    ordinal = _foreign_device(obj)
    if ordinal is None:
        if _has_host_array(obj):
            return "Host"
        raise TypeError(f"location: {type(obj).__name__} has neither GetDataLocation nor an array protocol")
    return f"Device{f' {ordinal}' if ordinal else ''}: {name(ordinal)}"


def is_device_resident(obj: Any) -> bool:
    """Whether the object's current data is on a GPU right now."""
    asked = getattr(obj, "IsDeviceResident", None)
    if asked is not None:
        return bool(asked())
    if _foreign_device(obj) is not None:
        return True
    if _has_host_array(obj):
        return False
    raise TypeError(f"is_device_resident: {type(obj).__name__} has neither IsDeviceResident nor an array protocol")


def _foreign_device(obj: Any) -> int | None:
    """The GPU of an array that is not ours; None for a host array. Never moves anything."""
    asked = getattr(obj, "__dlpack_device__", None)
    if asked is not None:
        kind, ordinal = asked()
        return int(ordinal) if kind in (2, 13) else None
    return 0 if hasattr(obj, "__cuda_array_interface__") else None


def _has_host_array(obj: Any) -> bool:
    if hasattr(obj, "__array_interface__") or hasattr(obj, "__array__"):
        return True
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def array_info(obj: Any) -> dict[str, Any] | None:
    """The object's device array: a dict with ``pointer``, ``count``, ``itemsize``, ``stride`` (bytes from one element to
    the next along the last axis), ``typestr``, ``shape`` and ``strides`` (bytes per axis).

    None when the object offers no device array. As with ``__cuda_array_interface__``, asking brings the data to where
    it is preferred, and from then on the object counts as shared.
    """
    found = _ulib.described("array_info", obj)
    if found is None:
        return None
    pointer, _, shape, strides, typestr, itemsize, _ = found
    elements = 1
    for length in shape:
        elements *= length
    return {
        "pointer": pointer,
        "count": elements,
        "itemsize": itemsize,
        "stride": strides[-1] if strides else itemsize,
        "typestr": typestr,
        "shape": shape,
        "strides": strides,
    }


def as_array(obj: Any, copy_to_host: bool = False) -> Any:
    """The object's device array as an array of numba, CuPy or PyTorch, whichever is installed (in that order).

    The array holds a lease: the object counts as shared until the array is gone. None when the object offers no device
    array. ``copy_to_host=True`` always gives a NumPy array, in one bulk copy; None only for an object with no array.

    Raises ``RuntimeError`` when the data is on the device and none of the libraries can take it.
    """
    if copy_to_host:
        return _host_copy(obj)
    lend = getattr(obj, "DeviceView", None)
    if lend is None:
        if getattr(obj, "__cuda_array_interface__", None) is None:
            return None
        view = obj
    else:
        try:
            view = lend()
        except _ABSENT:
            return None
    refusals = []
    for library, take in (("numba", _numba_array), ("cupy", _cupy_array), ("torch", _torch_array)):
        try:
            return take(view)
        except ImportError:
            continue
        except Exception as error:
            refusals.append(f"{library}: {error}")
    why = "; ".join(refusals) or "neither numba nor CuPy nor PyTorch is installed"
    raise RuntimeError(
        f"as_array: the data is on the device and no library could take it ({why}); "
        "as_array(obj, copy_to_host=True) gives a NumPy copy"
    )


def _host_copy(obj: Any) -> numpy.ndarray[Any, Any] | None:
    import numpy

    own = getattr(obj, "GetValues", None)
    if own is not None:
        array: numpy.ndarray[Any, Any] = own()
        return array
    if _has_host_array(obj):
        return numpy.array(obj)
    for download in ("copy_to_host", "get", "cpu"):
        copy = getattr(obj, download, None)
        if copy is not None:
            return numpy.asarray(copy())
    return None


# By name, so that type checkers need none of the three.
def _numba_array(view: Any) -> Any:
    return import_module("numba.cuda").as_cuda_array(view)


def _cupy_array(view: Any) -> Any:
    return import_module("cupy").asarray(view)


def _torch_array(view: Any) -> Any:
    torch = import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("this PyTorch has no CUDA")
    return torch.as_tensor(view, device="cuda")
