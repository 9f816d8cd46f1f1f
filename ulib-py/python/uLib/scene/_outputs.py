"""What ``--save``, ``--export``, ``--png`` and ``--html`` of ``gcompose`` write to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import _ulib, io
from ._settings import Usage, after_name

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from ._scene import Scene

# How the names of files end to which objects can be exported.
IMAGES = (".vti", ".vtk", ".mha", ".mhd", ".nrrd", ".nhdr", ".npy", ".npz")
TABLES = (".csv", ".tsv", ".parquet")


def check(scene: Scene, options: Namespace, recipes: Sequence[str]) -> None:
    """Refuses what could not be written in the end, before the recipes are run."""
    for text in options.export:
        _check_export(scene, text, recipes)
    for option, path in (("--save", options.save), ("--html", options.html)):
        if path is not None:
            _check_file(option, path, path)
    if options.png is not None:
        _check_folder(options.png)


def export(scene: Scene, text: str) -> tuple[str, str]:
    """Writes an object to a file in the format of its name; both names."""
    name, path = _sides(scene, text)
    found = scene[name]
    _check_kind(text, path, found)
    if isinstance(found, _ulib.EventTable):
        io.write_table(found, path)
    else:
        io.write_image(found, path)
    return name, path


def _sides(scene: Scene, text: str) -> tuple[str, str]:
    """The two sides of ``NAME=FILE``."""
    name, path = after_name(scene, text, "=", "--export", "NAME=FILE")
    if not path:
        raise Usage(f"--export: {text!r} is not of the form NAME=FILE")
    return name, path


def _check_export(scene: Scene, text: str, recipes: Sequence[str]) -> None:
    try:
        name, path = _sides(scene, text)
    except Usage:
        found = _told(scene, text, recipes)
        if found is None:
            raise
        name, path = found
    if name in scene:
        _check_kind(text, path, scene[name])
    elif not (_ends(path, IMAGES) or _ends(path, TABLES)):
        raise Usage(f"--export: {text!r} ends in no format; images end in {' '.join(IMAGES)}, tables in {' '.join(TABLES)}")
    _check_file("--export", text, path)


def _told(scene: Scene, text: str, recipes: Sequence[str]) -> tuple[str, str] | None:
    """The two sides where the name is that of an object which a recipe may make: it is in its source, or in a parameter."""
    import re

    told = [part for name in recipes for part in (scene[name].Source, *scene[name].Parameters.values())]
    parts = text.split("=")
    for count in range(len(parts) - 1, 0, -1):
        name, path = "=".join(parts[:count]), "=".join(parts[count:])
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if name and path and any(map(word.search, told)):
            return name, path
    return None


def _check_kind(text: str, path: str, found: object) -> None:
    """Whether there is a format of this name for an object of this class."""
    what = type(found).__name__
    ends: tuple[str, ...]
    if isinstance(found, _ulib.Image):
        ends = IMAGES
    elif isinstance(found, _ulib.EventTable):
        ends = TABLES
    else:
        raise Usage(f"--export: {text!r}: {_ulib.class_of(found)} cannot be exported; only images and tables can be")
    if not _ends(path, ends):
        raise Usage(f"--export: {text!r} ends in no format for class {what}; only {' '.join(ends)}")


def _ends(path: str, ends: tuple[str, ...]) -> bool:
    return os.path.splitext(os.path.basename(path))[1].lower() in ends


def _check_file(option: str, value: str, path: str) -> None:
    """Whether a file of this name can be written."""
    if not path:
        raise Usage(f"{option}: {value!r} is no name; only that of a file can be written to")
    if path.endswith(os.sep) or (os.path.exists(path) and not os.path.isfile(path)):
        what = "a folder" if path.endswith(os.sep) or os.path.isdir(path) else "no regular file"
        raise Usage(f"{option}: {value!r} is {what}; only a file can be written")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise Usage(f"{option}: {value!r} is not yours to write to; only a file that is can be replaced")
    _check_inside(option, value, os.path.dirname(path) or ".")


def _check_folder(path: str) -> None:
    """Whether files can be written into a folder, which is made where it is missing."""
    if not path:
        raise Usage(f"--png: {path!r} is no name; only that of a folder can have the pictures")
    path = path.rstrip(os.sep) or path
    if os.path.isdir(path):
        _check_inside("--png", path, path)
    elif os.path.lexists(path):
        raise Usage(f"--png: {path!r} is a file; only a folder can have the pictures")
    else:
        _check_inside("--png", path, os.path.dirname(path) or ".")


def _check_inside(option: str, value: str, folder: str) -> None:
    if not os.path.isdir(folder):
        raise Usage(f"{option}: {value!r}: there is no folder {folder!r}; only one that exists can be written to")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Usage(f"{option}: {value!r}: the folder {folder!r} is not yours to write to; only one that is can be")
