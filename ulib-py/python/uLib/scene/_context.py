"""``Context``: what ``run(ctx)`` of a recipe works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _ulib

if TYPE_CHECKING:
    from ._scene import Scene

T = TypeVar("T")


class Context:
    """The scene as a recipe sees it: ``ctx['phantom']`` and ``ctx.phantom`` are proxies of its objects.

    Assigning puts an object into the scene: ``ctx['profile'] = uLib.EventTable('slice,total')``.
    """

    __slots__ = ("_asked", "_log", "_parameters", "_progress", "_recipe", "_scene")

    _scene: Scene
    _recipe: str
    _parameters: dict[str, str]
    _asked: set[str]
    _log: Callable[[str], object]
    _progress: Callable[[float, float], object] | None

    def __init__(
        self,
        scene: Scene,
        recipe: str,
        log: Callable[[str], object],
        progress: Callable[[float, float], object] | None,
    ) -> None:
        for name, value in (
            ("_scene", scene),
            ("_recipe", recipe),
            ("_parameters", scene[recipe].Parameters),
            ("_asked", set()),
            ("_log", log),
            ("_progress", progress),
        ):
            object.__setattr__(self, name, value)

    @property
    def scene(self) -> Scene:
        """The scene itself."""
        return self._scene

    @property
    def recipe(self) -> str:
        """The name of the recipe that runs."""
        return self._recipe

    def __getitem__(self, name: str) -> _ulib.Proxy:
        return self._scene.proxy(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._scene[name] = value

    def __getattr__(self, name: str) -> _ulib.Proxy:
        if name in Context.__slots__:
            # A copy that is being made has none of them yet.
            raise AttributeError(name)
        if name in self._scene:
            return self._scene.proxy(name)
        raise AttributeError(self._scene._missing(name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(f"ctx.{name} cannot be set; ctx[{name!r}] = ... puts an object into the scene")
        self._scene[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._scene

    def __iter__(self) -> Iterator[str]:
        return iter(self._scene.names)

    def __len__(self) -> int:
        return len(self._scene)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(name for name in self._scene if name.isidentifier())]

    def refresh(self) -> None:
        """Puts the numbers of every object where they are preferred, and tells whoever listens to the scene."""
        self._scene.refresh()

    def log(self, *values: object) -> None:
        """Says something to whoever watches the run, as ``print`` does."""
        self._log(" ".join(map(str, values)))

    def progress(self, done: float, total: float) -> None:
        """Says how much of the work is done. Raises ``KeyboardInterrupt`` when whoever watches wants it to stop."""
        if self._progress is not None and self._progress(done, total) is False:
            raise KeyboardInterrupt

    def parameter(self, name: str, default: T) -> T:
        """The parameter of this name as the document or the caller set it, as a value of the type of ``default``; else
        ``default`` itself.

        Truth values are ``true`` or ``false``, ``yes`` or ``no``, ``1`` or ``0``. Types that are not numbers, texts or truth values
        are written as in Python.
        """
        self._asked.add(name)
        if name not in self._parameters:
            return default
        return converted(self._parameters[name], default, f"parameter {name!r}")


# Letters of a text that an error shows.
LONGEST = 200
TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def converted(text: str, like: T, what: str) -> T:
    """What ``text`` means, as a value of the type of ``like``."""
    kind = type(like)
    value: Any
    try:
        if like is None or kind is str:
            value = text
        elif kind is bool:
            value = TRUTHS[text.strip().lower()]
        elif kind in (int, float, complex):
            value = kind(text)  # type: ignore[call-arg]
        else:
            from ast import literal_eval

            value = literal_eval(text)
            if not isinstance(value, kind):
                value = _as(kind, value, like)
    except (KeyError, ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        # The last two are how Python says that a text has too many brackets.
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        raise ValueError(f"{what} is {shown!r}, which is no {kind.__name__}") from None
    answer: T = value
    return answer


def _as(kind: type, value: Any, like: Any) -> Any:
    """A value of another type as one of this: numbers as numbers, groups as groups, members of an enumeration by their values.
    Other types take numbers for sizes: ``bytes(5)`` has five zeros."""
    # Few recipes need it, and every import of the package would wait for it.
    from numbers import Number

    groups = (list, tuple, set, frozenset)
    if isinstance(like, (Number, Enum)) and isinstance(value, (int, float, complex, str)):
        return kind(value)
    if isinstance(like, groups) and isinstance(value, groups):
        return kind(value)
    raise TypeError
