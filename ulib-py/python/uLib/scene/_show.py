"""How ``gcompose`` shows a scene and what happens to it: as text, or as one JSON document."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from .. import _ulib, device
from ._run import RecipeError
from . import _run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ._scene import Scene

# Rows of a table that are shown.
ROWS = 10
# Larger tables count as filled without a look at what was in them.
SMALL = 1 << 20


class Show:
    """What both have: the log of what happened, as ``Scene.report`` takes it."""

    def __init__(self) -> None:
        self.log: list[tuple[bool, str]] = []
        # The parameters that each recipe asked for.
        self.asked: dict[str, set[str]] = {}

    def step(self, text: str) -> None:
        self.log.append((True, text))

    def note(self, text: str) -> None:
        self.log += [(False, line) for line in text.splitlines()]

    def ran(self, scene: Scene, said: str) -> None:
        """Notes what a recipe said and where everything is after it."""
        self.note(said)
        self.log += [(False, f"{name}: {found.GetDataLocation()}") for name, found in scene.items()]


class Text(Show):
    """Lines for people."""

    def __init__(self) -> None:
        super().__init__()
        self._colours = _is_terminal(sys.stdout) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._progress = _Progress()

    def opened(self, path: str, scene: Scene) -> None:
        count = len(scene)
        print(f"{path}: {count} object{'' if count == 1 else 's'}", flush=True)
        print(device.describe())
        if scene:
            heads = ("name", "class", "size", "prefers", "location")
            rows = [
                (name, type(found).__name__, _ulib.size_of(found), found.PreferredDevice, found.GetDataLocation())
                for name, found in scene.items()
            ]
            self._columns([heads, *rows], head=True)

    def run(self, scene: Scene, name: str) -> RecipeError | None:
        """Runs one recipe and shows what it did."""
        before = _tables(scene)
        self.step(f"running {name!r}")
        print(f"\nrunning {name!r}", flush=True)
        progress = self._progress
        start = time.perf_counter()
        error = None
        out = sys.stdout
        sys.stdout = said = _Clearing(out, progress)
        try:
            self.asked[name] = _asked(scene, name, progress.show)
        except RecipeError as found:
            error = found
        finally:
            sys.stdout = out
            progress.clear()
        if error is not None and isinstance(error.__cause__, BrokenPipeError):
            return error
        seconds = time.perf_counter() - start
        self.ran(scene, said.text())
        print(f"{'failed' if error else 'done'} in {seconds:.2f} s; where everything is:")
        self._columns([(f"  {name}", found.GetDataLocation()) for name, found in scene.items()])
        for name, table in _filled(scene, before).items():
            self._table(name, table)
        sys.stdout.flush()
        return error

    def wrote(self, what: str, path: str, name: str | None = None) -> None:
        print(f"{what} {path}" if name is None else f"{what} {_printable(name)} to {path}")

    def finished(self) -> None:
        sys.stdout.flush()

    def _columns(self, rows: list[tuple[str, ...]], head: bool = False) -> None:
        rows = [tuple(map(_printable, row)) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for at, row in enumerate(rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            cells[-1] = row[-1] if head and at == 0 else self._coloured(row[-1])
            print("  ".join(cells))

    def _coloured(self, location: str) -> str:
        if not self._colours:
            return location
        # Green on a device, yellow where a reason stands.
        number = 32 if location.startswith("Device") else 33 if " (" in location else 0
        return f"\x1b[{number}m{location}\x1b[0m" if number else location

    def _table(self, name: str, table: Any) -> None:
        heads, rows = _cells(table, ROWS)
        left = table.Rows - len(rows)
        print(f"{_printable(name)}: {table.Rows} row{'' if table.Rows == 1 else 's'}")
        texts = [tuple(map(_printable, heads)), *(tuple(map(_number, row)) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
        if left > 0:
            print(f"  ... {left} more")


class Json(Show):
    """One JSON document on the standard output, and nothing else there: what recipes print is in it."""

    def __init__(self) -> None:
        super().__init__()
        self._document: dict[str, Any] = {"gcompose": _ulib.__version__}

    def opened(self, path: str, scene: Scene) -> None:
        self._document |= {"file": path, "device": device.describe(), "objects": _objects(scene), "runs": []}

    def run(self, scene: Scene, name: str) -> RecipeError | None:
        before = _tables(scene)
        start = time.perf_counter()
        error = None
        with _to_errors(), redirect_stdout(_Kept()) as said:
            try:
                self.asked[name] = _asked(scene, name, None)
            except RecipeError as found:
                error = found
        seconds = time.perf_counter() - start
        self.step(f"running {name!r}")
        self.ran(scene, said.getvalue())
        self._document["runs"].append(
            {
                "recipe": name,
                "seconds": round(seconds, 6),
                "output": said.getvalue(),
                "error": error and {"line": error.line, "message": error.reason},
                "objects": _objects(scene),
                "tables": {
                    name: {"columns": heads, "rows": [list(map(_json_number, row)) for row in rows]}
                    for name, table in _filled(scene, before).items()
                    for heads, rows in [_cells(table, table.Rows)]
                },
            }
        )
        return error

    def wrote(self, what: str, path: str, name: str | None = None) -> None:
        if name is None:
            self._document[what] = path
        else:
            self._document.setdefault(what, {}).setdefault(name, []).append(path)

    def finished(self) -> None:
        import json

        print(json.dumps(self._document, indent=2, allow_nan=False))


def _asked(scene: Scene, name: str, progress: Callable[[float, float], object] | None) -> set[str]:
    """Runs a recipe; the parameters that it asked for."""
    if name not in scene.recipes:
        raise RecipeError(name, None, "an earlier recipe took it out of the scene")
    errors = sys.stderr
    try:
        return _run.run(scene, name, print, progress)._asked
    finally:
        # Where the recipe put another one, or none.
        sys.stderr = errors


class _Kept(io.TextIOWrapper):
    """A standard output that keeps what was written, also when the recipe closes it."""

    mode = "w"

    def __init__(self) -> None:
        self._bytes = _KeptBytes()
        super().__init__(self._bytes, "utf-8", "backslashreplace", write_through=True)

    def getvalue(self) -> str:
        return _text(self._bytes.getvalue())

    def close(self) -> None:
        pass


class _KeptBytes(io.BytesIO):
    """What is behind it. Programs that are given its number write to the standard error, as all that recipes start do."""

    name = "<stdout>"
    mode = "wb"

    def fileno(self) -> int:
        if sys.__stdout__ is None:
            raise io.UnsupportedOperation("there is no standard output")
        return sys.__stdout__.fileno()

    def close(self) -> None:
        pass


def _text(said: bytes | bytearray) -> str:
    """What bytes of an output say; those that are no text are shown as numbers."""
    return said.decode("utf-8", "backslashreplace")


@contextmanager
def _to_errors() -> Iterator[None]:
    """Sends to the standard error what programs and libraries write to the standard output past Python."""
    sys.stdout.flush()
    try:
        out = os.dup(1)
    except OSError:
        yield
        return
    try:
        os.dup2(2, 1)
    except OSError:
        # There is no standard error.
        pass
    try:
        yield
    finally:
        os.dup2(out, 1)
        os.close(out)


def _objects(scene: Scene) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "class": type(found).__name__,
            "size": _ulib.size_of(found),
            "preferred": found.PreferredDevice,
            "location": found.GetDataLocation(),
        }
        for name, found in scene.items()
    ]


def _tables(scene: Scene) -> dict[str, tuple[Any, str, bytes | None]]:
    """What is in the tables of a scene, to see later which were filled. A small one is read, which never costs an upload."""
    return {
        name: (found, found.Columns, _content(found))
        for name, found in scene.items()
        if isinstance(found, _ulib.EventTable)
    }


def _content(table: Any) -> bytes | None:
    if table.Rows * len(_heads(table)) * 8 > SMALL:
        return None
    try:
        return bytes(memoryview(table))
    except (BufferError, RuntimeError):
        # In use, or on a broken device. Who shows it will say so.
        return None


def _heads(table: Any) -> tuple[str, ...]:
    return tuple(table.Columns.split(",")) if table.Columns else ()


def _filled(scene: Scene, before: dict[str, tuple[Any, str, bytes | None]]) -> dict[str, Any]:
    """The tables with rows that are not what they were."""
    filled = {}
    for name, (table, columns, content) in _tables(scene).items():
        old, old_columns, old_content = before.get(name, (None, "", b""))
        same = old is table and old_columns == columns and content is not None and old_content == content
        if table.Rows > 0 and not same:
            filled[name] = table
    return filled


def _cells(table: Any, most: int) -> tuple[tuple[str, ...], list[list[float]]]:
    """The heads and the first rows."""
    heads = _heads(table)
    cells: Any = memoryview(table)
    rows = [[float(cells[row, column]) for column in range(len(heads))] for row in range(min(table.Rows, most))]
    return heads, rows


def _printable(text: str) -> str:
    """Without letters that a terminal would obey: names come from documents."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _json_number(value: float) -> float | str:
    """JSON has no words for what is not finite."""
    return value if abs(value) < float("inf") else repr(value)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()


class _Progress:
    """One line on the terminal that says how far a recipe is."""

    def __init__(self) -> None:
        self._on = _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._shown = False
        self._last = 0.0

    def show(self, done: float, total: float) -> None:
        if not self._on:
            return
        try:
            over, share = not done < total, done / total
        except (ArithmeticError, TypeError):
            over, share = True, 1.0
        now = time.monotonic()
        if now - self._last < 0.05 and not over:
            return
        self._last = now
        # What is no number is nothing yet.
        share = min(max(share, 0.0), 1.0) if share == share else 0.0
        line = f"[{'#' * round(share * 30):<30}] {share:4.0%}  {done} of {total}"
        sys.stdout.flush()
        # Of one row: no more than one can be cleared.
        sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


class _Clearing:
    """The standard output while a recipe runs: takes the progress line away first, and keeps what is written."""

    def __init__(self, stream: Any, progress: _Progress) -> None:
        self._stream = stream
        self._progress = progress
        self._said = bytearray()

    def text(self) -> str:
        """What was written."""
        return _text(self._said)

    def write(self, text: str) -> int:
        self._progress.clear()
        count: int = self._stream.write(text)
        self._said += text.encode("utf-8", "backslashreplace")
        return count

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> _ClearingBytes:
        return _ClearingBytes(self)

    def close(self) -> None:
        """Does not: what follows the recipe is written there, too."""
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _ClearingBytes:
    """What is behind it."""

    def __init__(self, over: _Clearing) -> None:
        self._over = over

    def write(self, data: Any) -> int:
        self._over._progress.clear()
        # What was written as text comes first.
        self._over._stream.flush()
        count: int = self._over._stream.buffer.write(data)
        self._over._said += memoryview(data).cast("B")
        return count

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        self._over.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._over._stream.buffer, name)
