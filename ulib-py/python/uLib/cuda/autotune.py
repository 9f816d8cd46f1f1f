"""Finding the fastest of many ways to compile and launch a kernel, and remembering it for each device.

::

    tuner = Autotuner(source, "scale", {"BLOCK": [64, 128, 256], "UNROLL": [1, 2, 4]}, constraints=[lambda p: p["BLOCK"] * p["UNROLL"] <= 512])
    tuned = tuner.tune(lambda scale, p: scale(a, n, block=(p["BLOCK"], 1, 1), grid=(n // p["BLOCK"], 1)))
    tuned.function(a, n, block=(tuned.parameters["BLOCK"], 1, 1), grid=...)
"""

from __future__ import annotations

import itertools
import json
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import compiler
from ._arguments import converted, function as callable_of, instance, integer, shown
from ._errors import CompileError, Error, LaunchError, LogicError
from ._native import Context, Event, Function, captures_are_open, get_driver_version, recall_kept, remember_kept

__all__ = ["Autotuner", "Trial", "Tuned"]

Parameters = dict[str, Any]
"""A value for each parameter."""


@dataclass(frozen=True)
class Trial:
    """What became of one configuration: ``"ran"``, ``"pruned"`` (so slow that it ran only once), ``"wrong"`` or ``"failed"``."""

    parameters: Parameters
    outcome: str
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Tuned:
    """The fastest configuration, its kernel, the seconds of a launch when it was found, and what was tried: nothing, when it was
    remembered."""

    parameters: Parameters
    function: Function
    seconds: float
    trials: list[Trial] = field(default_factory=list)

    @property
    def remembered(self) -> bool:
        """Whether it came from the cache."""
        return not self.trials


class Autotuner:
    """A kernel whose source has parameters, and the values that they may have.

    Args:
        source: the source, in which parameters are macros; or a template with ``render`` (Jinja's) or ``substitute``
            (``string.Template``), or a function of the parameters, which gives the source.
        kernel: the kernel's name; with ``name_expression`` it may be one in C++, in which ``{NAME}`` stands for a
            parameter, which then is no macro.
        parameters: the values of each parameter.
        constraints: functions of the parameters; a configuration for which one is false is left out.
        repeats: how often each configuration is timed; its fastest time counts.
        prune: a configuration that takes so many times as long as the best one so far is not run again.
        max_trials: if there are more configurations, so many are tried, chosen by ``seed``.
        options, include_dirs, no_extern_c, arch, cache_dir: as ``SourceModule`` takes them.
    """

    def __init__(
        self,
        source: Any,
        kernel: str,
        parameters: Mapping[str, Iterable[Any]],
        *,
        constraints: Iterable[Callable[[Parameters], bool]] = (),
        repeats: int = 5,
        prune: float = 2.0,
        max_trials: int | None = None,
        seed: int = 0,
        options: Sequence[str] | None = None,
        include_dirs: Iterable[str | os.PathLike[str]] | None = None,
        no_extern_c: bool = False,
        name_expression: bool = False,
        arch: str | None = None,
        cache_dir: str | os.PathLike[str] | bool | None = None,
    ) -> None:
        self.source = source
        self.kernel = instance("Autotuner", "kernel", kernel, str)
        self.parameters = _values(parameters)
        self.constraints = converted("Autotuner", "constraints", constraints, list)
        for constraint in self.constraints:
            callable_of("Autotuner", "one of constraints", constraint)
        self.repeats = _count("repeats", repeats)
        self.prune = converted("Autotuner", "prune", prune, float)
        self.max_trials = None if max_trials is None else _count("max_trials", max_trials)
        self.seed = seed
        self._options = list(compiler.DEFAULT_NVCC_FLAGS if options is None else options)
        self._include_dirs = [os.fspath(folder) for folder in include_dirs or ()]
        self._no_extern_c = no_extern_c or name_expression
        self._name_expression = name_expression
        self._arch = arch
        self._cache_dir = cache_dir

    def configurations(self) -> list[Parameters]:
        """What will be tried, in order."""
        found = [c for c in self._all() if all(holds(dict(c)) for holds in self.constraints)]
        if self.max_trials is not None and len(found) > self.max_trials:
            kept = sorted(random.Random(self.seed).sample(range(len(found)), self.max_trials))
            found = [found[index] for index in kept]
        return found

    def _all(self) -> Iterator[Parameters]:
        for values in itertools.product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))

    def render(self, parameters: Parameters) -> str:
        """The source for a configuration."""
        if isinstance(self.source, str):
            return self.source
        if hasattr(self.source, "render"):
            return str(self.source.render(**parameters))
        if hasattr(self.source, "substitute"):
            return str(self.source.substitute({name: str(value) for name, value in parameters.items()}))
        return str(self.source(dict(parameters)))

    def compile(self, parameters: Parameters) -> Function:
        """The kernel for a configuration."""
        options = list(self._options)
        if isinstance(self.source, str):
            in_name = [name for name in parameters if self._name_expression and f"{{{name}}}" in self.kernel]
            options += [f"-D{name}={_text(value)}" for name, value in parameters.items() if name not in in_name]
        name = self.kernel.format(**{n: _text(v) for n, v in parameters.items()}) if self._name_expression else self.kernel
        with warnings.catch_warnings():
            # What a compiler remarks on one of a hundred variants is nobody's concern.
            warnings.simplefilter("ignore")
            module = compiler.SourceModule(
                self.render(parameters),
                options=options,
                no_extern_c=self._no_extern_c,
                arch=self._arch,
                cache_dir=self._cache_dir,
                include_dirs=self._include_dirs,
                name_expressions=[name] if self._name_expression else (),
            )
        return module.get_function(name)

    def tune(
        self,
        launch: Callable[[Function, Parameters], object],
        check: Callable[[Parameters], object] | None = None,
        *,
        stream: Any = None,
        again: bool = False,
    ) -> Tuned:
        """The fastest configuration: remembered, unless ``again``, or found by trying all.

        ``launch(function, parameters)`` launches the kernel once, in ``stream`` if that is given. ``check(parameters)`` is called when a
        configuration has run for the first time: it compares the results with a reference, and says by False or an
        ``AssertionError`` that they are wrong. A configuration that does not compile or cannot be launched is passed over. While a
        stream is being captured, it is a ``LogicError``.
        """
        callable_of("Autotuner.tune", "launch", launch)
        if check is not None:
            callable_of("Autotuner.tune", "check", check)
        if captures_are_open():
            raise LogicError(
                f"Autotuner: {self.kernel} cannot be tuned while a stream is being captured into a graph: launches are timed and waited "
                "for; tune it before"
            )
        configurations = self.configurations()
        if not configurations:
            raise ValueError(f"Autotuner: the constraints leave no configuration of {self.kernel}")
        key, folder = self._key(configurations), compiler.folder_of_cache(self._cache_dir)
        if not again:
            kept = self._remembered(folder, key, configurations)
            if kept is not None:
                return kept
        best: tuple[float, int, Function] | None = None
        trials = []
        for index, parameters in enumerate(configurations):
            try:
                function = self.compile(parameters)
            except CompileError as error:
                trials.append(Trial(parameters, "failed", error=str(error)))
                continue
            trial = self._try(function, parameters, launch, check, stream, best[0] if best else None)
            trials.append(trial)
            if trial.outcome == "ran" and trial.seconds is not None and (best is None or trial.seconds < best[0]):
                best = (trial.seconds, index, function)
        if best is None:
            first = trials[0]
            raise ValueError(
                f"Autotuner: no configuration of {self.kernel} works: {first.parameters}: {first.error or 'wrong results'}"
            )
        seconds, index, function = best
        remember_kept(folder, key, json.dumps([index, seconds]).encode())
        return Tuned(configurations[index], function, seconds, trials)

    def _try(
        self,
        function: Function,
        parameters: Parameters,
        launch: Callable[[Function, Parameters], object],
        check: Callable[[Parameters], object] | None,
        stream: Any,
        fastest: float | None,
    ) -> Trial:
        try:
            launch(function, dict(parameters))
        except (Error, TypeError, ValueError) as error:
            if isinstance(error, LaunchError):
                # The device is broken for this process.
                raise
            return Trial(parameters, "failed", error=str(error))
        Context.synchronize()
        if check is not None:
            try:
                good = check(dict(parameters))
            except AssertionError as error:
                return Trial(parameters, "wrong", error=str(error))
            if good is not None and not good:
                return Trial(parameters, "wrong")
        seconds = float("inf")
        for _ in range(self.repeats):
            begin, end = Event(), Event()
            begin.record(stream)
            launch(function, dict(parameters))
            end.record(stream)
            end.synchronize()
            seconds = min(seconds, end.time_since(begin) / 1000)
            if fastest is not None and seconds > fastest * self.prune:
                return Trial(parameters, "pruned", seconds)
        return Trial(parameters, "ran", seconds)

    def _key(self, configurations: list[Parameters]) -> str:
        """Everything that the answer depends on."""
        device = Context.get_device()
        sources = [self.render(configurations[0])] if isinstance(self.source, str) else map(self.render, configurations)
        about = [device.name(), device.pci_bus_id(), get_driver_version(), self.kernel, self._options, self._include_dirs]
        about += [self._arch, self._no_extern_c, [str(c) for c in configurations], list(sources)]
        return "uLib.cuda.autotune " + json.dumps(about)

    def _remembered(self, folder: str | None, key: str, configurations: list[Parameters]) -> Tuned | None:
        kept = recall_kept(folder, key)
        if kept is None:
            return None
        try:
            index, seconds = json.loads(kept)
            parameters = configurations[int(index)]
        except (ValueError, TypeError, IndexError):
            return None
        return Tuned(parameters, self.compile(parameters), float(seconds))


def _values(parameters: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """The values of each parameter, of which there is at least one."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"Autotuner: parameters is {shown(parameters)}, expected the values of each name, as a dict has them")
    found = {}
    for name, values in parameters.items():
        instance("Autotuner", "the name of a parameter", name, str)
        found[name] = converted("Autotuner", f"parameters[{name!r}]", values, list)
        if not found[name]:
            raise ValueError(f"Autotuner: parameters[{name!r}] is {shown(values)}, expected at least one value")
    return found


def _count(name: str, value: int) -> int:
    """A number of times."""
    count = integer("Autotuner", name, value)
    if count < 1:
        raise ValueError(f"Autotuner: {name} is {count}, expected at least 1")
    return count


def _text(value: Any) -> str:
    """A value as C has it."""
    if isinstance(value, bool):
        return str(int(value))
    return str(value)
