"""The exceptions of ``uLib.cuda``: PyCUDA's classes, each also a subclass of the builtin that fits."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any

from .._ulib import OutOfMemoryError

__all__ = ["CompileError", "Error", "LaunchError", "LogicError", "MemoryError", "RuntimeError"]


class Error(Exception):
    """A call of the driver layer failed.

    Where it was the driver that refused, ``code`` is its status and ``call`` the entry that gave it.
    """

    code: int
    call: str

    __module__ = "uLib.cuda.driver"


class MemoryError(Error, OutOfMemoryError):
    """No room on the device or the host; ``needs`` and ``free`` are byte counts."""

    __module__ = "uLib.cuda.driver"


class LaunchError(Error, builtins.RuntimeError):
    """A kernel could not be started, or failed while it ran."""

    __module__ = "uLib.cuda.driver"


class RuntimeError(Error, builtins.RuntimeError):
    """There is no device, no code for it, or no answer yet."""

    __module__ = "uLib.cuda.driver"


class LogicError(Error, builtins.ValueError):
    """A call that is wrong as it stands, or comes when it must not."""

    __module__ = "uLib.cuda.driver"


class CompileError(Error, builtins.RuntimeError):
    """A program could not be compiled or linked; ``stderr`` is what the compiler says, ``command_line`` what it was asked."""

    __module__ = "uLib.cuda.driver"

    def __init__(
        self,
        msg: str,
        command_line: Sequence[str | bytes | os.PathLike[Any]] = (),
        stdout: str | None = None,
        stderr: str | None = None,
    ) -> None:
        super().__init__(msg, command_line, stdout, stderr)
        self.msg = msg
        self.command_line = [os.fsdecode(part) for part in command_line]
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self) -> str:
        parts = [self.msg]
        if self.command_line:
            parts.append(f"[command: {' '.join(self.command_line)}]")
        parts += [f"[{name}:\n{text}]" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text]
        return "\n".join(parts)
