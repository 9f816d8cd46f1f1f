"""The command ``gcompose`` from its first moment: loads what it needs, and is quiet when interrupted meanwhile.

What it does is in ``uLib.scene.console``.
"""

from __future__ import annotations

import os
import signal

# As type checkers know it; `typing` itself would take as long to import as all that is here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130


def main() -> int:
    """Runs the command; its exit status."""
    # Not for a process that was started to ignore it.
    quiet = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # An exception could be lost in what Python calls while it imports or ends, or be shown with all lines.
    if quiet:
        signal.signal(signal.SIGINT, _leave)
    import uLib.scene.console

    try:
        if quiet:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = uLib.scene.console.main()
        if quiet:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:
        _leave()
    return status


def _leave(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    """Ends the process, which has nothing to put away: it begins or ends."""
    try:
        os.write(2, b"gcompose: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
