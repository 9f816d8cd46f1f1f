"""Conversions of arguments, whose errors name the operation, the argument and the value."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

T = TypeVar("T")

_LONGEST = 200
# More numbers than any argument has.
_MOST = 1 << 12


def shown(value: Any) -> str:
    """A value in a message, in a readable length; of arrays on a device, whose elements it would take to copy, the class."""
    if hasattr(type(value), "__cuda_array_interface__"):
        return f"a {type(value).__name__}"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def refused(op: str, name: str, value: Any, error: Exception) -> Exception:
    """What is raised for an argument that a conversion has refused: a ``TypeError`` where that was one, else a ``ValueError``."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{op}: {name} is {shown(value)}: {error}")


def converted(op: str, name: str, value: Any, conversion: Callable[[Any], T]) -> T:
    """What ``conversion`` makes of the value. Interrupts, and that there is no memory, go through as they are."""
    try:
        return conversion(value)
    except MemoryError:
        raise
    except Exception as error:
        raise refused(op, name, value, error) from error


def integer(op: str, name: str, value: Any) -> int:
    """An integer, of whatever class."""
    return converted(op, name, value, operator.index)


def integers(op: str, name: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Several integers."""
    return converted(op, name, values, several)


def several(values: Iterable[Any]) -> tuple[int, ...]:
    """The integers of an iterable; one without an end is refused."""
    found = tuple(operator.index(number) for number in itertools.islice(values, _MOST + 1))
    if len(found) > _MOST:
        raise ValueError(f"more than {_MOST} numbers")
    return found


def element(op: str, dtype: DTypeLike) -> numpy.dtype[Any]:
    """A type of elements."""
    import numpy

    return converted(op, "dtype", dtype, numpy.dtype)


def in_device_order(op: str, dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """A type whose bytes are in the order that devices have."""
    if not dtype.isnative:
        raise TypeError(
            f"{op}: elements of {dtype!r} are in the other byte order, which kernels cannot read; "
            "convert them with a.astype(a.dtype.newbyteorder('='))"
        )
    return dtype


def instance(op: str, name: str, value: Any, kind: type[T]) -> T:
    """An object of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{op}: {name} is {shown(value)}, which is no {kind.__name__}")
    return value


def function(op: str, name: str, value: Callable[..., T]) -> Callable[..., T]:
    """Something to be called."""
    if not callable(value):
        raise TypeError(f"{op}: {name} is {shown(value)}, which is no function")
    return value
