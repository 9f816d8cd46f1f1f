"""Importing this makes the default device's context current: ``context``, of ``device``."""

from __future__ import annotations

import atexit

from ._contexts import clear_context_caches, make_default_context
from ._native import init

__all__ = ["context", "device"]

init()
context = make_default_context()
device = context.get_device()

# Modules and memory that are remembered go while there is an interpreter to free them.
atexit.register(clear_context_caches)
