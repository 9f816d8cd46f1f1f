"""What ``--png`` of ``gcompose`` draws."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import _ulib, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._scene import Scene


def write(scene: Scene, folder: str) -> Iterator[tuple[str, str]]:
    """Writes the pictures of all objects that have some into a folder; the names of the objects and of the files."""
    os.makedirs(folder, exist_ok=True)
    taken: set[str] = set()
    for name, found in scene.items():
        drawings: list[tuple[str, Callable[[], bytes]]] = []
        if isinstance(found, _ulib.Image) and 0 not in found.GetDims():
            for axis in "zyx":
                drawings.append((f"-{axis}", lambda axis=axis: picture.slice(found, axis)))
                drawings.append((f"-maximum-{axis}", lambda axis=axis: picture.projection(found, axis)))
            drawings.append(("-profile-x", lambda: picture.profile(found, "x", title=name)))
        elif isinstance(found, _ulib.EventTable) and found.Rows > 0:
            first, *others = found.Columns.split(",")
            drawings.append(("", lambda: picture.plot(found, first if others else None, title=name)))
        stem = _file_name(name, taken)
        for end, draw in drawings:
            path = os.path.join(folder, f"{stem}{end}.png")
            png = draw()
            with open(path, "wb") as file:
                file.write(png)
            yield name, path


def _file_name(name: str, taken: set[str]) -> str:
    """The name of an object as that of a file that no other object has."""
    stem = "".join(letter if letter.isalnum() or letter in " ._-" else "_" for letter in name).strip(" .") or "_"
    found, number = stem, 2
    while found.casefold() in taken:
        found, number = f"{stem} {number}", number + 1
    taken.add(found.casefold())
    return found
