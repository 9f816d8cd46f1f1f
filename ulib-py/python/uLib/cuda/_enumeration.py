"""What the enumerations of the driver layer are made of."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ._arguments import converted

__all__ = ["Enumeration"]


class _Plain(type):
    """Members are numbers and nothing else, in every enumeration."""

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
        return super().__new__(mcs, name, bases, {"__slots__": (), **members})


class Enumeration(int, metaclass=_Plain):
    """An integer of the driver's with a name.

    ``names`` gives the members by their names, ``values`` by their numbers. A number without a name is allowed, since drivers
    may be newer than this.
    """

    names: ClassVar[dict[str, Self]] = {}
    values: ClassVar[dict[int, Self]] = {}

    def __init_subclass__(cls) -> None:
        numbers = {name: number for name, number in vars(cls).items() if type(number) is int and name[0] != "_"}
        # Of the class that is being made, which type checkers cannot say here.
        by_name: dict[str, Any] = {}
        by_number: dict[int, Any] = {}
        for name, number in numbers.items():
            by_name[name] = by_number.setdefault(number, int.__new__(cls, number))
            setattr(cls, name, by_name[name])
        cls.names, cls.values = by_name, by_number
        cls.__module__ = "uLib.cuda.driver"

    def __new__(cls, value: int = 0) -> Self:
        number = converted(cls.__name__, "value", value, int)
        known = cls.values.get(number)
        return int.__new__(cls, number) if known is None else known

    @property
    def name(self) -> str | None:
        """Its name; None for a number without one."""
        return next((name for name, member in self.names.items() if member is self), None)

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (int(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}" if self.name else f"{type(self).__name__}({int(self)})"

    def __str__(self) -> str:
        return self.name or repr(self)
