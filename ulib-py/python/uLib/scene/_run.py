"""Runs recipes, and says where one failed."""

from __future__ import annotations

import builtins
import inspect
import io
import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _ulib
from ._context import Context

if TYPE_CHECKING:
    from types import TracebackType

    from ._scene import Scene


# Of this process, of which recipes are a part.
BUILTINS = vars(builtins)
# Names of them that an error lists.
MOST = 3


class RecipeError(Exception):
    """A recipe failed: ``recipe`` is its name, ``line`` the line of its source (or None), ``__cause__`` the error itself."""

    def __init__(self, recipe: str, line: int | None, reason: str) -> None:
        super().__init__(recipe, line, reason)
        self.recipe = recipe
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        where = "" if self.line is None else f", line {self.line}"
        return f"recipe {self.recipe!r}{where}: {self.reason}"


def run(
    scene: Scene,
    name: str,
    log: Callable[[str], object],
    progress: Callable[[float, float], object] | None,
) -> Context:
    """Runs the recipe of this name; the context that it was given."""
    recipe = scene[name]
    if not isinstance(recipe, _ulib.Recipe):
        raise TypeError(f"run: {name!r} is {_ulib.class_of(recipe)}, not a recipe")
    # As in a file, where the mark of the encoding is no part of the program.
    source = recipe.Source.removeprefix("\ufeff")
    filename = f"<recipe {name!r}>"
    # Without a time, so that nobody looks for a file of this name. Tracebacks then show the lines, which end where Python's do.
    linecache.cache[filename] = (len(source), None, io.StringIO(source, newline=None).readlines(), filename)
    context = Context(scene, name, log, progress)
    # As programs have it; what is defined there knows its module by this name.
    space: dict[str, Any] = {"__name__": "__recipe__", "__file__": filename, "__builtins__": BUILTINS}
    kept, found, can_be_called = BUILTINS.copy(), BUILTINS, callable
    try:
        try:
            exec(compile(source, filename, "exec", dont_inherit=True), space)
            body = space.get("run")
            if not can_be_called(body):
                raise RecipeError(name, None, "it has no function run(ctx)")
            answer = body(context)
        finally:
            # Whoever runs the recipe needs what it may have replaced. Nothing is called here that it could be.
            found = BUILTINS.copy()
            BUILTINS.update(kept)
        if inspect.iscoroutine(answer) or inspect.isgenerator(answer) or inspect.isasyncgen(answer):
            # Silence its own warning: it is said here that nothing was run.
            getattr(answer, "close", lambda: None)()
            raise RecipeError(name, None, f"run(ctx) only made {_ulib.class_of(answer)}, which nothing runs")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, RecipeError) and error.recipe == name:
            raise
        replaced = [f"builtins.{key}" for key, value in kept.items() if key not in found or found[key] is not value]
        if space.get("__builtins__") is not BUILTINS:
            replaced.append("__builtins__")
        raise RecipeError(name, _line(error, filename), _words(error) + _because(replaced)) from error
    return context


def _because(replaced: list[str]) -> str:
    """Says what a recipe replaced that every program relies on."""
    more = f" and {len(replaced) - MOST} more" if len(replaced) > MOST else ""
    return f" (the recipe replaced {', '.join(replaced[:MOST])}{more})" if replaced else ""


def _line(error: BaseException, filename: str) -> int | None:
    """The innermost line of the recipe that the error came through."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return error.lineno
    line = None
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _words(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    except KeyboardInterrupt:
        raise
    except BaseException:
        # The error is the recipe's own, and so is what it says of itself.
        return kind
    return (f"{kind}: {text}" if text else kind) + notes
