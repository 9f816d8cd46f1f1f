"""``Scene``: objects under names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import _ulib
from . import _run

if TYPE_CHECKING:
    import os

    from typing_extensions import Self


# Names that an error lists.
NAMES = 50


class Scene(MutableMapping[str, Any]):
    """Objects of uLib under names, in the order in which they were put in.

    A scene is a mapping: ``scene['phantom'] = image`` puts an object in, or in the place of the one with this name;
    ``scene['phantom']`` is the object itself, and ``scene.proxy('phantom')`` stands for whichever object has the name.
    """

    def __init__(self, objects: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self._objects: dict[str, Any] = {}
        # Each under a key of its own: one may listen twice.
        self._listeners: dict[object, Callable[[Scene], object]] = {}
        self.update(objects)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The scene in a document, every object where it is preferred if that can be done. Runs nothing of what is inside.

        Raises ``FormatError`` for a document that is damaged or newer than this uLib, and ``OSError`` where it cannot be read.
        """
        return cls(_ulib.load_document(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene to a document, which replaces what has this name in one step, or leaves it after an error."""
        _ulib.save_document(path, list(self._objects.items()))

    def report(
        self, path: str | os.PathLike[str], *, title: str = "Scene", log: Iterable[tuple[bool, str]] = ()
    ) -> None:
        """Writes one page for a browser that shows every object: slices with sliders, plots, tables, sources. It needs nothing
        from elsewhere.

        ``log`` is shown below: lines, each with whether it is the head of a step.
        """
        lines = [(step, _encodable(text)) for step, text in log]
        _ulib.write_report(path, _encodable(title), list(self._objects.items()), lines)

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return list(self._objects)

    @property
    def recipes(self) -> list[str]:
        """The names of the recipes, in order."""
        return [name for name, found in self._objects.items() if isinstance(found, _ulib.Recipe)]

    def proxy(self, name: str) -> _ulib.Proxy:
        """What stands for the object of this name, also after another one was put in its place."""
        self[name]
        return _ulib.Proxy(self._objects, name)

    def refresh(self) -> None:
        """Puts the numbers of every object where they are preferred, then tells the listeners.

        All are updated and all listeners told before the first error is raised.
        """
        first: Exception | None = None
        for name, found in list(self._objects.items()):
            try:
                found.Update()
            except Exception as error:
                if first is None:
                    error.add_note(f"refreshing {name!r}")
                    first = error
        for listener in list(self._listeners.values()):
            try:
                listener(self)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    @property
    def listeners(self) -> tuple[Callable[[Scene], object], ...]:
        """Who is told of refreshes."""
        return tuple(self._listeners.values())

    def on_refresh(self, callback: Callable[[Scene], object]) -> Callable[[], None]:
        """Calls ``callback(scene)`` after every refresh, until the function that is returned is called."""
        key = object()
        self._listeners[key] = callback

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop

    def run(
        self,
        recipe: str | None = None,
        *,
        log: Callable[[str], object] = print,
        progress: Callable[[float, float], object] | None = None,
    ) -> None:
        """Runs the recipe of this name, or all of the scene in order. This runs the programs of the document.

        ``log`` gets what recipes say with ``ctx.log``. ``progress`` gets what is done and the whole of it; where it
        answers ``False`` the recipe is stopped with ``KeyboardInterrupt``. Raises ``RecipeError`` when a recipe fails; what it
        did until then stays in the scene.
        """
        for name in self.recipes if recipe is None else [recipe]:
            _run.run(self, name, log, progress)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._objects[name]
        except KeyError:
            raise KeyError(self._missing(name)) from None

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"scene: the name {name!r} is not a text of at least one letter")
        if _encodable(name) != name:
            raise ValueError(f"scene: the name {name!r} has halves of letters in it, which no file can hold")
        found = _ulib.unwrap(value)
        if not isinstance(found, _ulib.Placed) or isinstance(found, _ulib.ArrayView):
            raise TypeError(f"scene: {name!r} cannot be {_ulib.class_of(value)}, only an object of uLib")
        self._objects[name] = found

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._objects[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def __copy__(self) -> Self:
        """A scene of its own with the same objects, which nobody listens to."""
        return type(self)(self)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {found!r}" for name, found in self._objects.items())
        return f"<uLib.scene.Scene {{{inside}}}>"

    def _missing(self, name: object) -> str:
        first = list(islice(self._objects, NAMES))
        more = f" and {len(self) - NAMES} more" if len(self) > NAMES else ""
        known = f"only {', '.join(first)}{more}" if first else "it has no objects"
        return f"the scene has no object {name!r}, {known}"


def _encodable(text: str) -> str:
    """Without the halves of letters that names of files and the output of programs may have."""
    return text.encode(errors="backslashreplace").decode()
