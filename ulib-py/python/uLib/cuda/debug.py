"""Runs a program with kernels that a debugger can look into: ``cuda-gdb --args python -m uLib.cuda.debug script.py arguments``."""

from __future__ import annotations

import runpy
import sys

from . import driver


def main() -> None:
    """Runs the script that the command line names, with the arguments behind it."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m uLib.cuda.debug SCRIPT [ARGUMENT ...]")
    driver.set_debugging()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
