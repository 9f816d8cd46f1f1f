"""Buffers and pictures of OpenGL, used by kernels: the names of ``pycuda.gl``.

Every call wants the program's OpenGL context to be current on its thread; without one, or for an object that OpenGL does not have
any more, it is a ``LogicError``.
"""

from __future__ import annotations

import warnings

from .._arguments import instance
from .._enumeration import Enumeration
from .._native import Context, Device, RegisteredBuffer, RegisteredImage, RegisteredMapping, gl_devices

__all__ = [
    "BufferObject",
    "BufferObjectMapping",
    "RegisteredBuffer",
    "RegisteredImage",
    "RegisteredMapping",
    "gl_devices",
    "graphics_map_flags",
    "init",
    "make_context",
]


class graphics_map_flags(Enumeration):
    """What is done with an object of OpenGL: the same numbers say so when it is registered."""

    NONE = 0
    READ_ONLY = 1
    WRITE_DISCARD = 2


graphics_map_flags.__module__ = __name__


def init() -> None:
    """Does nothing: the driver needs no preparation for OpenGL."""
    warnings.warn("gl.init does nothing, and need not be called", DeprecationWarning, stacklevel=2)


def make_context(dev: Device, flags: int = 0) -> Context:
    """Makes the context of ``dev`` current, as ``dev.make_context`` does. Any context of the device can use objects of OpenGL."""
    return instance("make_context", "dev", dev, Device).make_context(flags)


class BufferObject:
    """A buffer of OpenGL. ``RegisteredBuffer`` is the newer name for it."""

    def __init__(self, handle: int) -> None:
        warnings.warn("gl.BufferObject: use gl.RegisteredBuffer", DeprecationWarning, stacklevel=2)
        self._registered = RegisteredBuffer(handle)

    def handle(self) -> int:
        """Its number in OpenGL."""
        return self._registered.gl_handle()

    def map(self) -> BufferObjectMapping:
        """Gives it to the device."""
        return BufferObjectMapping(self._registered.map())

    def unregister(self) -> None:
        """Ends the registration."""
        self._registered.unregister()


class BufferObjectMapping:
    """A buffer of OpenGL while the device has it."""

    def __init__(self, mapping: RegisteredMapping) -> None:
        self._mapping = instance("BufferObjectMapping", "mapping", mapping, RegisteredMapping)
        self._address, self._size = mapping.device_ptr_and_size()

    def device_ptr(self) -> int:
        """The address of its bytes."""
        return self._address

    def size(self) -> int:
        """How many they are."""
        return self._size

    def unmap(self) -> None:
        """Gives it back to OpenGL."""
        self._mapping.unmap()
