"""The modules of ``uLib.cuda`` under PyCUDA's names, for code that cannot be edited."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_OURS = "uLib.cuda"
_THEIRS = "pycuda"

_STANDS_FOR = (2026, 1)
"""The release of PyCUDA whose names these modules have."""


def install_as_pycuda() -> None:
    """Makes ``import pycuda``, ``import pycuda.driver`` and so on give the modules of ``uLib.cuda``, in this process.

    ``pycuda.VERSION`` then is that of the PyCUDA which these modules stand in for, (2026, 1), since programs ask it what there is;
    ``uLib.cuda.VERSION`` stays uLib's own.

    An entry None of ``sys.modules``, which says that a module of PyCUDA is not to be imported, is taken away.

    Raises RuntimeError when PyCUDA itself has been imported already. Calling it again changes nothing.
    """
    found = sys.modules.get(_THEIRS)
    if found is not None and not isinstance(found, _Root):
        raise RuntimeError(f"install_as_pycuda: {_THEIRS} has been imported already, from {getattr(found, '__file__', None)}")
    for name, module in list(sys.modules.items()):
        if module is None and (name == _THEIRS or name.startswith(_THEIRS + ".")):
            del sys.modules[name]
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Root(ModuleType):
    """The package ``pycuda``: all names of ours, but for the version."""

    def __init__(self) -> None:
        ours = sys.modules[_OURS]
        super().__init__(_THEIRS, ours.__doc__)
        self.__file__ = ours.__file__
        self.__path__ = ours.__path__
        self.VERSION = _STANDS_FOR
        self.VERSION_STATUS = ""
        self.VERSION_TEXT = ".".join(map(str, _STANDS_FOR))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[_OURS], name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(sys.modules[_OURS])})


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module of PyCUDA's name as ours of the same name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        if fullname == _THEIRS:
            return importlib.machinery.ModuleSpec(fullname, _RootLoader(), is_package=True)
        try:
            found = importlib.util.find_spec(_OURS + fullname.removeprefix(_THEIRS))
        except ValueError:
            # A part of ours that is made and not found.
            return None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader())


class _RootLoader(importlib.abc.Loader):
    """Gives the package."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Root()

    def exec_module(self, module: ModuleType) -> None:
        # The machinery has given it the specification's empty path.
        module.__path__ = sys.modules[_OURS].__path__


class _Loader(importlib.abc.Loader):
    """Gives the module that exists; its own name stays what it is."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_OURS + spec.name.removeprefix(_THEIRS))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The machinery has given the module the other name's specification.
        module.__spec__ = self._spec
