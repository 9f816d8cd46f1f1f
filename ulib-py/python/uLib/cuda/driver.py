"""The driver layer: devices, contexts, streams, memory, modules and launches, under PyCUDA's names."""

from __future__ import annotations

from ._driver import *
from ._driver import __all__ as __all__
