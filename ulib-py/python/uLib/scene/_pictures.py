"""What ``--png`` of ``gcompose`` draws."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import _ulib, picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._scene import Scene


def write(scene: Scene, folder: str) -> Iterator[tuple[str, str]]:
    """Writes the pictures of all objects that have some into a folder; the names of the objects and of the files."""
    os.makedirs(folder, exist_ok=True)
    taken: set[str] = set()
    for name, found in scene.items():
        stem: str | None = None
        for end, png in _drawings(name, found):
            stem = stem or _file_name(name, taken)
            path = os.path.join(folder, f"{stem}{end}.png")
            with open(path, "wb") as file:
                file.write(png)
            yield name, path


def _drawings(name: str, found: Any) -> Iterator[tuple[str, bytes]]:
    """The pictures of an object, with the ends of the names of their files."""
    if isinstance(found, _ulib.Image) and 0 not in found.GetDims():
        for axis in "zyx":
            yield f"-{axis}", picture.slice(found, axis)
            yield f"-maximum-{axis}", picture.projection(found, axis)
        yield "-profile-x", picture.profile(found, "x", title=name)
    elif isinstance(found, _ulib.EventTable) and found.Rows > 0:
        first, *others = found.Columns.split(",")
        yield "", picture.plot(found, first if others else None, title=name)


# What the names of files have after that of the object, and the longest such name in bytes, which leaves room for a number.
ENDS = ("", "-z", "-y", "-x", "-maximum-z", "-maximum-y", "-maximum-x", "-profile-x")
LONGEST = 200


def _file_name(name: str, taken: set[str]) -> str:
    """The name of an object as the beginning of names of files, none of which is that of another object."""
    letters = "".join(letter if letter.isalnum() or letter in " ._-" else "_" for letter in name)
    stem = letters.encode()[:LONGEST].decode(errors="ignore").strip(" .") or "_"
    found, number = stem, 2
    while any((found + end).casefold() in taken for end in ENDS):
        found, number = f"{stem} {number}", number + 1
    taken.update((found + end).casefold() for end in ENDS)
    return found
