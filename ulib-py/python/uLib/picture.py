"""Pictures of images and tables: slices and projections as PNG, plots as PNG or SVG.

Pixels are square in the world, whatever the spacing. A slice along z has x to the right and y up, along y x and z, along x y and z.
Projections are computed where the image is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _ulib

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["plot", "profile", "projection", "slice"]


def slice(
    image: Any,
    axis: str = "z",
    index: int | None = None,
    *,
    window: tuple[float, float] | None = None,
    colours: str = "greys",
    size: int = 1024,
) -> bytes:
    """A PNG picture of one slice of an image, the middle one without ``index``.

    ``window`` are the values between which the colours change, without it the smallest and largest of the slice. ``colours`` is
    ``greys``, ``viridis``, ``inferno``, ``magma`` or ``turbo``. ``size`` is the largest width and height in pixels.
    """
    return _ulib.render_image(image, axis, index, None, window, colours, size)


def projection(
    image: Any,
    axis: str = "z",
    kind: str = "maximum",
    *,
    window: tuple[float, float] | None = None,
    colours: str = "greys",
    size: int = 1024,
) -> bytes:
    """A PNG picture of the ``maximum``, ``mean`` or ``minimum`` of all slices along an axis."""
    return _ulib.render_image(image, axis, None, kind, window, colours, size)


def profile(image: Any, axis: str = "x", *, title: str = "", svg: bool = False) -> bytes:
    """A plot of the mean of every slice along an axis: PNG, or an SVG element in UTF-8."""
    return _ulib.plot_profile(image, axis, title, svg)


def plot(
    table: Any, x: str | None = None, columns: str | Iterable[str] = (), *, title: str = "", svg: bool = False
) -> bytes:
    """A plot of columns of an ``EventTable`` over the column ``x``, or over the number of the row: PNG, or an SVG element in UTF-8.

    Without ``columns`` those are all but ``x``.
    """
    return _ulib.plot_table(table, x, [columns] if isinstance(columns, str) else list(columns), title, svg)
