"""PyCUDA's toolbox over uLib's driver layer: ``import uLib.cuda.driver as cuda`` in the place of ``import pycuda.driver as cuda``.

No compiler, toolkit or Boost is needed to install it. Contexts are the devices' primary ones, which CuPy, PyTorch and numba
use as well, so arrays, streams and modules can be handed to and fro.
"""

from __future__ import annotations

from .._ulib import __version__, load_cuda

load_cuda()

from ._install import install_as_pycuda  # noqa: E402
from ._unfinished import refuse_later_modules  # noqa: E402

refuse_later_modules()

__all__ = ["VERSION", "VERSION_STATUS", "VERSION_TEXT", "install_as_pycuda"]

VERSION = tuple(int(part) for part in __version__.split("."))
VERSION_STATUS = ""
VERSION_TEXT = __version__
