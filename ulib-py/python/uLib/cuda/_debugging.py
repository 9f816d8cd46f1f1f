"""Whether programs are compiled for a debugger."""

from __future__ import annotations

_enabled = False


def enabled() -> bool:
    """Whether ``set_debugging`` is on."""
    return _enabled


def set_debugging(flag: bool = True) -> None:
    """Lets everything that is compiled from now on be compiled for a debugger, and be kept out of the cache."""
    global _enabled
    _enabled = bool(flag)
