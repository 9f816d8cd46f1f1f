"""The modules of ``uLib.cuda`` under PyCUDA's names, for code that cannot be edited."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_OURS = "uLib.cuda"
_THEIRS = "pycuda"


def install_as_pycuda() -> None:
    """Makes ``import pycuda``, ``import pycuda.driver`` and so on give the modules of ``uLib.cuda``, in this process.

    Raises RuntimeError when PyCUDA itself has been imported already. Calling it again changes nothing.
    """
    found = sys.modules.get(_THEIRS)
    if found is not None and found is not sys.modules[_OURS]:
        raise RuntimeError(f"install_as_pycuda: {_THEIRS} has been imported already, from {getattr(found, '__file__', None)}")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module of PyCUDA's name as ours of the same name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        if importlib.util.find_spec(_OURS + fullname.removeprefix(_THEIRS)) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader())


class _Loader(importlib.abc.Loader):
    """Gives the module that exists; its own name stays what it is."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_OURS + spec.name.removeprefix(_THEIRS))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The machinery has given the module the other name's specification.
        module.__spec__ = self._spec
