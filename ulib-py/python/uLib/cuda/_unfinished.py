"""What is not there yet says so: modules of PyCUDA, and what arrays on a device cannot do, where Python would find an answer of its own."""

from __future__ import annotations

import abc
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["NoArithmetic", "later_function", "refuse_later_modules"]

_PACKAGE = __name__.rpartition(".")[0]
_LATER = ("cumath", "curandom", "elementwise", "reduction", "scan", "sparse")
_LATER_METHODS = ("all", "any", "astype", "conj", "conjugate", "imag", "max", "mean", "min", "mul_add", "real", "reverse", "sum")
_LATER_FUNCTIONS = (
    *("all", "any", "concatenate", "dot", "if_positive", "logical_and", "logical_not", "logical_or", "max", "maximum", "min", "minimum"),
    *("multi_put", "multi_take", "multi_take_put", "stack", "subset_dot", "subset_max", "subset_min", "subset_sum", "sum", "take", "where"),
)


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


def _later(owner: str, name: str) -> str:
    return f"{owner}.{name}: gpuarray arithmetic is not there yet; it can be had of get(), the copy on the host"


def later_function(module: str, name: str) -> NoReturn:
    """What a module says of a name that it has not: of PyCUDA's functions of arithmetic, that they are not there yet."""
    text = _later("gpuarray", name) if name in _LATER_FUNCTIONS else f"module {module!r} has no attribute {name!r}"
    raise AttributeError(text, name=name, obj=sys.modules.get(module))


def _lacks(what: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_others: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: {what} is not there yet; arithmetic and comparisons can be had of get(), the copy on the host"
        )

    return refuse


class _Later(abc.ABCMeta):
    """The class of a class that is asked for what only its objects would have; those of others may be mixed with it."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if name in _LATER_METHODS:
                raise AttributeError(_later(cls.__name__, name), name=name, obj=cls)
            return type.__getattribute__(cls, name)


class NoArithmetic(metaclass=_Later):
    """A class whose objects refuse to be compared and computed with: ``==`` would else tell whether they are the same object."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _LATER_METHODS and not any(name in vars(base) for base in type(self).__mro__):
                raise AttributeError(_later(type(self).__name__, name), name=name, obj=self)
            # Python's own words, or those of a property of a class made of this one that could not tell.
            return object.__getattribute__(self, name)

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
