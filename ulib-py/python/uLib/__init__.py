"""Objects that own bulk numbers and know where they are: host memory, a GPU, or both.

``import uLib`` opens no driver and imports no NumPy; both are loaded when they are first needed. It imports ``logging``, to know
who listens to ``ulib.placement``.
"""

from __future__ import annotations

from ._ulib import (
    ArrayView,
    BulkArray,
    DeviceUnavailableError,
    DeviceView,
    DriverError,
    EventTable,
    FloatCollection,
    ForkedError,
    FormatError,
    GeantEventCollection,
    HostView,
    Image,
    LineCollection,
    MultiVoxImage,
    MuonScatterCollection,
    Numeric,
    OutOfMemoryError,
    Placed,
    Recipe,
    ResidencyError,
    Transfers,
    VoxImage,
    __version__,
)
from . import _log as _log
from . import device, io, picture, scene

__all__ = [
    "ArrayView",
    "BulkArray",
    "DeviceUnavailableError",
    "DeviceView",
    "DriverError",
    "EventTable",
    "FloatCollection",
    "ForkedError",
    "FormatError",
    "GeantEventCollection",
    "HostView",
    "Image",
    "LineCollection",
    "MultiVoxImage",
    "MuonScatterCollection",
    "Numeric",
    "OutOfMemoryError",
    "Placed",
    "Recipe",
    "ResidencyError",
    "Transfers",
    "VoxImage",
    "__version__",
    "device",
    "io",
    "picture",
    "scene",
]
