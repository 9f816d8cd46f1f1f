"""Tools: the default context, memory for each device, occupancy."""

from __future__ import annotations

from ._contexts import (
    clear_context_caches,
    context_dependent_memoize,
    context_dependent_memoized_functions,
    get_default_device,
    make_default_context,
)
from ._occupancy import DeviceData, OccupancyRecord

__all__ = [
    "DeviceData",
    "OccupancyRecord",
    "clear_context_caches",
    "context_dependent_memoize",
    "context_dependent_memoized_functions",
    "get_default_device",
    "make_default_context",
]
