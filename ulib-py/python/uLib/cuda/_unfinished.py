"""What is not there yet says so: modules of PyCUDA, and what arrays on a device cannot do, where Python would find an answer of its own."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["NoArithmetic", "refuse_later_modules"]

_PACKAGE = __name__.rpartition(".")[0]
_LATER = ("cumath", "curandom", "elementwise", "reduction", "scan", "sparse")


class _LaterModules(importlib.abc.MetaPathFinder):
    """Comes behind all who find modules, and says of PyCUDA's modules of arithmetic that they are not there yet."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        package, _, name = fullname.rpartition(".")
        if package == _PACKAGE and name in _LATER:
            raise ModuleNotFoundError(
                f"{fullname} is not there yet: of PyCUDA's modules those of arithmetic ({', '.join(_LATER)}) come later",
                name=fullname,
            )


def refuse_later_modules() -> None:
    """Makes an import of a module that is not there yet say so."""
    if not any(isinstance(finder, _LaterModules) for finder in sys.meta_path):
        sys.meta_path.append(_LaterModules())


def _lacks(what: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_others: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: {what} is not there yet; arithmetic and comparisons can be had of get(), the copy on the host"
        )

    return refuse


class NoArithmetic:
    """A class whose objects refuse to be compared and computed with: ``==`` would else tell whether they are the same object."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    """Functions of NumPy would copy the array to the host unasked."""

    __eq__ = _lacks("==")
    __ne__ = _lacks("!=")
    __lt__ = _lacks("<")
    __le__ = _lacks("<=")
    __gt__ = _lacks(">")
    __ge__ = _lacks(">=")
    __add__ = __radd__ = __iadd__ = _lacks("+")
    __sub__ = __rsub__ = __isub__ = _lacks("-")
    __mul__ = __rmul__ = __imul__ = _lacks("*")
    __truediv__ = __rtruediv__ = __itruediv__ = _lacks("/")
    __floordiv__ = __rfloordiv__ = __ifloordiv__ = _lacks("//")
    __mod__ = __rmod__ = __imod__ = _lacks("%")
    __divmod__ = __rdivmod__ = _lacks("divmod()")
    __pow__ = __rpow__ = __ipow__ = _lacks("**")
    __matmul__ = __rmatmul__ = __imatmul__ = _lacks("@")
    __and__ = __rand__ = __iand__ = _lacks("&")
    __or__ = __ror__ = __ior__ = _lacks("|")
    __xor__ = __rxor__ = __ixor__ = _lacks("^")
    __lshift__ = __rlshift__ = __ilshift__ = _lacks("<<")
    __rshift__ = __rrshift__ = __irshift__ = _lacks(">>")
    __neg__ = _lacks("unary -")
    __pos__ = _lacks("unary +")
    __abs__ = _lacks("abs()")
    __invert__ = _lacks("~")
    __contains__ = _lacks("in")
