"""The command ``gcompose``: opens a scene, shows what is in it, runs its recipes and shows what they did."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._settings import Usage

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

# As the shell has them for a process that a signal ended.
INTERRUPTED = 130
NOBODY_READS = 141

EXAMPLES = """\
examples:
  gcompose scene.gcx                              show the scene and run its recipes, in order
  gcompose --no-run scene.gcx                     show what is inside; nothing of it is run
  gcompose --set phantom.PreferredDevice=Host --set "sum slices.side=16" scene.gcx
  gcompose --recipe "sum slices" --save done.gcx scene.gcx
  gcompose --no-run --export phantom=phantom.vti scene.gcx
  gcompose --png pictures --html report.html scene.gcx
  gcompose --json scene.gcx | jq .objects

A recipe is a program: run those of people whom you trust. exit status: 0 all is well, 1 something failed, 2 the command line
is wrong, 130 interrupted. ULIB_TRACEBACK=1 shows where in the program an error came from.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit status."""
    try:
        _streams()
        try:
            return _compose(_parser().parse_args(arguments))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED, None)
    except BrokenPipeError:
        # Whatever is still to be written at the end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except Usage as error:
        return _failed(str(error), 2, error)
    except (OSError, ValueError, TypeError, RuntimeError, MemoryError, BufferError, LookupError) as error:
        # What the library raises, which names the file and the cause.
        return _failed(_message(error), 1, error)
    except Exception as error:
        # What recipes left behind can do anything when it is looked at.
        return _failed(f"{type(error).__name__}: {_message(error)}", 1, error)


def _streams() -> None:
    """Makes sure that there is something to write to, and that no letter of a name is too much for it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _failed(message: str, status: int, error: BaseException | None) -> int:
    if error is not None and os.environ.get("ULIB_TRACEBACK") == "1":
        from traceback import print_exception

        print_exception(error)
    print(f"gcompose: {message}", file=sys.stderr)
    return status


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    from .. import __version__

    parser = ArgumentParser(
        prog="gcompose",
        description="Opens a scene, shows its objects, runs its recipes and shows what they did.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE.gcx", help="the document of the scene")
    parser.add_argument("--no-run", action="store_true", help="run no recipe")
    parser.add_argument("--recipe", metavar="NAME", action="append", help="run this recipe only (may be repeated)")
    parser.add_argument(
        "--set",
        metavar="OBJECT.PROPERTY=VALUE",
        action="append",
        default=[],
        help="set a property of an object, or a parameter of a recipe, before anything is run (may be repeated)",
    )
    parser.add_argument("--device", choices=["host", "device"], help="what every object prefers, whatever the document says")
    parser.add_argument("--save", metavar="OUT.gcx", help="write the scene to a document when all recipes have run")
    parser.add_argument(
        "--export",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="write an object to a file in the format of its name: images as .vti .vtk .mha .mhd .nrrd .nhdr .npy .npz, "
        "tables as .csv .tsv .parquet (may be repeated)",
    )
    parser.add_argument(
        "--png", metavar="DIR", help="write pictures into a folder: slices and projections of images, plots of tables"
    )
    parser.add_argument(
        "--html", metavar="REPORT.html", help="write a page for a browser: slices with sliders, plots, tables, recipes, the log"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of text")
    parser.add_argument("--version", action="version", version=f"gcompose {__version__}")
    return parser


def _compose(options: Namespace) -> int:
    from . import Scene, _outputs, _pictures, _settings
    from ._show import Json, Text

    show = Json() if options.json else Text()
    scene = Scene.load(options.file)
    if options.device is not None:
        for found in scene.values():
            found.SetPreferredDevice(options.device.capitalize())
    set_here = [_settings.apply(scene, setting) for setting in options.set]
    recipes = _recipes(scene, options)
    _outputs.check(scene, options, recipes)
    show.opened(options.file, scene)
    for name in recipes:
        with _same_folder():
            error = show.run(scene, name)
        if isinstance(error.__cause__ if error else None, BrokenPipeError):
            raise BrokenPipeError
        if error is not None:
            if options.html is not None:
                # What was done until then is to be seen there, too.
                show.note(str(error))
                _report(options, scene, show)
            show.finished()
            status = _failed(f"{error}{_source_line(error)}", 1, error)
            if options.save is not None or options.export or options.png is not None:
                print("gcompose: nothing was saved, exported or drawn, since a recipe failed", file=sys.stderr)
            return status
    for recipe, parameter in filter(None, set_here):
        if recipe in show.asked and parameter not in show.asked[recipe]:
            print(f"gcompose: --set: recipe {recipe!r} did not ask for a parameter {parameter!r}", file=sys.stderr)
    if options.save is not None:
        scene.save(options.save)
        show.wrote("saved", options.save)
    for export in options.export:
        name, path = _outputs.export(scene, export)
        show.wrote("exported", path, name)
    if options.png is not None:
        for name, path in _pictures.write(scene, options.png):
            show.wrote("drawn", path, name)
    if options.html is not None:
        _report(options, scene, show)
    show.finished()
    return 0


@contextmanager
def _same_folder() -> Iterator[None]:
    """Comes back to the present folder, which the names of files on the command line are relative to."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        # It was removed: no name is relative to it any more.
        yield
        return
    try:
        yield
    finally:
        os.chdir(here)


def _report(options: Namespace, scene: Scene, show: Json | Text) -> None:
    scene.report(options.html, title=os.path.basename(options.file), log=show.log)
    show.wrote("reported", options.html)


def _recipes(scene: Scene, options: Namespace) -> list[str]:
    """The names of the recipes to run."""
    if options.no_run:
        if options.recipe:
            raise Usage("--recipe and --no-run exclude each other")
        return []
    if options.recipe is None:
        return scene.recipes
    for name in options.recipe:
        if name not in scene.recipes:
            known = ", ".join(map(repr, scene.recipes)) or "none"
            raise Usage(f"--recipe: there is no recipe {name!r}; those of the scene: {known}")
    names: list[str] = options.recipe
    return names


def _source_line(error: RecipeError) -> str:
    """The line of the recipe in which it failed, to be shown below the message."""
    if error.line is None:
        return ""
    from linecache import getline

    text = getline(f"<recipe {error.recipe!r}>", error.line).strip()
    return f"\n    {error.line} | {text}" if text else ""


if TYPE_CHECKING:
    from . import RecipeError, Scene
    from ._show import Json, Text

if __name__ == "__main__":
    sys.exit(main())
