"""Arguments that copy arrays of the host to the device before a call, and back after it."""

from __future__ import annotations

from typing import Any

from ._memory import allocated_for
from ._native import DeviceAllocation, check_written, memcpy_dtoh, memcpy_dtoh_async, memcpy_htod, memcpy_htod_async

__all__ = ["ArgumentHandler", "In", "InOut", "Out"]


class ArgumentHandler:
    """An array of the host that has a place on the device for the time of a call: the base of ``In``, ``Out`` and ``InOut``.

    A class of one's own overrides ``pre_call`` and ``post_call``, which are called around the launch with its stream, or None.
    """

    def __init__(self, ary: Any) -> None:
        self.array = ary
        self.dev_alloc: DeviceAllocation | None = None

    __module__ = "uLib.cuda.driver"
    # Whether the array is written after the call.
    _writes = False

    def get_device_alloc(self) -> DeviceAllocation:
        """The place on the device, made when it is first asked for."""
        if self.dev_alloc is None:
            dtype = getattr(self.array, "dtype", None)
            if not getattr(dtype, "isnative", True):
                raise TypeError(
                    f"{type(self).__name__}: an array of dtype {dtype}, whose bytes are in the other order than the device's: "
                    "a.astype(a.dtype.newbyteorder('=')) turns them round"
                )
            allocation = allocated_for(type(self).__name__, self.array)
            if self._writes:
                # Not only once the kernel has run.
                check_written(type(self).__name__, "the array", self.array)
            self.dev_alloc = allocation
        return self.dev_alloc

    def pre_call(self, stream: Any) -> None:
        """Called before the launch."""

    def post_call(self, stream: Any) -> None:
        """Called after the launch; what it puts into the stream is waited for."""


class In(ArgumentHandler):
    """The kernel reads the array."""

    __module__ = "uLib.cuda.driver"

    def pre_call(self, stream: Any) -> None:
        if stream is None:
            memcpy_htod(self.get_device_alloc(), self.array)
        else:
            memcpy_htod_async(self.get_device_alloc(), self.array, stream)


class Out(ArgumentHandler):
    """The kernel writes the array, all of it."""

    __module__ = "uLib.cuda.driver"
    _writes = True

    def post_call(self, stream: Any) -> None:
        if stream is None:
            memcpy_dtoh(self.array, self.get_device_alloc())
        else:
            memcpy_dtoh_async(self.array, self.get_device_alloc(), stream)


class InOut(In, Out):
    """The kernel reads and changes the array."""

    __module__ = "uLib.cuda.driver"
