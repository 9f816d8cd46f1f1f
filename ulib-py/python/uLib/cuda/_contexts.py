"""The context a program gets that does not say which, and what is remembered for each device."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from ._native import Context, Device, default_device, init

__all__ = [
    "clear_context_caches",
    "context_dependent_memoize",
    "context_dependent_memoized_functions",
    "get_default_device",
    "init_cuda_context_fixture",
    "make_default_context",
    "mark_cuda_test",
]

P = ParamSpec("P")
R = TypeVar("R")


def make_default_context(ctx_maker: Callable[[Device], Context] | None = None) -> Context:
    """Makes a context current on the device that ``CUDA_DEVICE`` names, or the file ``~/.cuda_device``, else on the first one
    that can be used.

    Args:
        ctx_maker: makes the context of the device it is given; by default ``Device.make_context``.
    """
    device = default_device()
    return device.make_context() if ctx_maker is None else ctx_maker(device)


def get_default_device(default: int = 0) -> Device:
    """The device that ``CUDA_DEVICE`` names, or the file ``~/.cuda_device``, else the one with the ordinal ``default``."""
    warnings.warn("get_default_device: use make_default_context", DeprecationWarning, stacklevel=2)
    return default_device(default)


context_dependent_memoized_functions: list[Callable[[], None]] = []
"""What empties the memory of each function that has one."""


def context_dependent_memoize(func: Callable[P, R]) -> Callable[P, R]:
    """A function that remembers its results, for each device's context apart."""
    results: dict[object, R] = {}

    @functools.wraps(func)
    def remembering(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (Context.get_device(), args, frozenset(kwargs.items()))
        try:
            return results[key]
        except KeyError:
            # Not locked: what is worked out twice at once is remembered once.
            return results.setdefault(key, func(*args, **kwargs))

    context_dependent_memoized_functions.append(results.clear)
    return remembering


def clear_context_caches() -> None:
    """Forgets what functions with ``context_dependent_memoize`` remember."""
    for clear in context_dependent_memoized_functions:
        clear()


def init_cuda_context_fixture() -> Iterator[Context]:
    """For a fixture of pytest: ``yield from init_cuda_context_fixture()`` gives a test a current context, and takes it away again."""
    init()
    with make_default_context() as context:
        # Made current twice: by its maker, and by the block.
        Context.pop()
        try:
            yield context
        finally:
            clear_context_caches()


def mark_cuda_test(inner_f: Callable[P, R]) -> Callable[P, R]:
    """A test that runs with a current context of its own."""

    @functools.wraps(inner_f)
    def with_context(*args: P.args, **kwargs: P.kwargs) -> R:
        fixture = init_cuda_context_fixture()
        next(fixture)
        try:
            return inner_f(*args, **kwargs)
        finally:
            next(fixture, None)

    return with_context
