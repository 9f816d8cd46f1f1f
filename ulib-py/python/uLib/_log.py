"""Keeps the native side told whether anybody listens to ``ulib.placement``, so that it says nothing to nobody.

Imported with the package: an import during an operation could be going on in another thread when the process forks.
"""

from __future__ import annotations

import atexit
import logging
from typing import Any

from . import _ulib

LOGGER = logging.getLogger("ulib.placement")


def changed() -> None:
    _ulib.placement_log(LOGGER.isEnabledFor(logging.DEBUG))


class _Levels(dict[Any, Any]):
    """What the logger remembers of its level; ``logging`` clears it whenever a level anywhere changes."""

    def clear(self) -> None:
        super().clear()
        changed()


if isinstance(getattr(LOGGER, "_cache", None), dict):
    LOGGER._cache = _Levels()  # type: ignore[attr-defined]
changed()
# Registered late and so run early: threads that are still at work say nothing to an interpreter that is going away.
atexit.register(_ulib.placement_log, False)
