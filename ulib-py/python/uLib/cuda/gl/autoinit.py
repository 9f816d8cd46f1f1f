"""Importing this makes the context of the device current that draws for this thread's OpenGL: ``context``, of ``device``.

OpenGL's own context has to be current before.
"""

from __future__ import annotations

import atexit

from .._contexts import clear_context_caches, make_default_context
from .._native import Device, gl_devices, init
from . import make_context

__all__ = ["context", "device"]

init()


def _draws(default: Device) -> Device:
    """The default device, unless OpenGL is on others."""
    found = gl_devices()
    return default if default in found or not found else found[0]


context = make_default_context(lambda default: make_context(_draws(default)))
device = context.get_device()

# Modules and memory that are remembered go while there is an interpreter to free them.
atexit.register(clear_context_caches)
