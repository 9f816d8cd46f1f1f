"""PyCUDA's names: that each is there with its parameters, and that each is used by a test of what it does."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda
import uLib.cuda.driver as cuda
from cuda_names import ATTRIBUTES, COPIES, DEVICE_ATTRIBUTES, ENUMERATIONS, EXCEPTIONS, MODULES
from uLib.cuda import tools

LINES = [(module, line) for module, lines in MODULES.items() for line in lines.split("\n") if line]


def parsed(line):
    """The name of a line, and its parameters with their defaults; None for an attribute."""
    if "(" not in line:
        return line, None
    name = line.partition("(")[0]
    found = ast.parse(f"def f{line.removeprefix(name)}: pass").body[0].args
    plain = [argument.arg for argument in found.args]
    defaults = [ast.literal_eval(default) for default in found.defaults]
    parameters = dict.fromkeys(plain[: len(plain) - len(defaults)], inspect.Parameter.empty)
    parameters.update(zip(plain[len(plain) - len(defaults) :], defaults))
    if found.vararg:
        parameters[f"*{found.vararg.arg}"] = inspect.Parameter.empty
    for argument, default in zip(found.kwonlyargs, found.kw_defaults):
        parameters[argument.arg] = ast.literal_eval(default)
    return name, parameters


def found(module, name):
    """What a dotted name of a module is; what only the objects of a class have is looked up in an object of it."""
    here = importlib.import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        here = getattr(here, part)
    if not hasattr(here, last) and last not in vars(here):
        here = here()
    return getattr(here, last)


@pytest.mark.parametrize(("module", "line"), LINES, ids=[f"{module[10:]}:{line.partition('(')[0]}" for module, line in LINES])
def test_names_are_there_with_their_parameters(module, line):
    name, expected = parsed(line)
    it = found(module, name)
    if expected is None:
        return
    assert callable(it)
    if "__" in name:
        return
    has = list(inspect.signature(it).parameters.values())
    if has and has[0].name == "self" and "." in name:
        del has[0]
    plain = [p for p in has if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    star = next((position for position, parameter in enumerate(expected) if parameter[0] == "*"), len(expected))
    for (parameter, default), ours in zip(list(expected.items())[:star], plain, strict=False):
        assert parameter == ours.name, line
        # `flags=None` here is PyCUDA's 0, and `options=None` its empty list.
        assert default == ours.default or (not default and ours.default is None) or default is inspect.Parameter.empty, line
    assert len(plain) >= star
    # Ours beyond PyCUDA's can be left out.
    assert all(ours.default is not inspect.Parameter.empty for ours in plain[star:]), line
    names = {("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in has}
    assert set(expected) <= names, line


@pytest.mark.parametrize("copy", COPIES)
def test_copies_have_their_fields(copy):
    ends, setters, common = (names.split() for names in COPIES[copy])
    it = getattr(cuda, copy)()
    for name in common + [f"{side}_{name}" for side in ("src", "dst") for name in ends]:
        assert isinstance(getattr(it, name), int), name
        if not name.endswith(("memory_type", "device")):
            setattr(it, name, 3)
            assert getattr(it, name) == 3
    for name in (f"set_{side}_{name}" for side in ("src", "dst") for name in setters):
        assert len(inspect.signature(getattr(it, name)).parameters) == 1, name
    assert callable(it)


@pytest.mark.parametrize("name", [*ENUMERATIONS, "device_attribute"])
def test_enumerations_have_their_members(name):
    it = getattr(cuda, name)
    for member, number in (DEVICE_ATTRIBUTES if name == "device_attribute" else ENUMERATIONS[name]).items():
        assert int(getattr(it, member)) == number, member
        assert type(getattr(it, member)) in (it, int)
        if hasattr(it, "names"):
            assert it.names[member] is getattr(it, member) and it.values[number] == number
    if name == "device_attribute":
        assert len([number for number in it.values if number <= 115]) >= 107


def test_objects_have_their_attributes(gpu):
    data = tools.DeviceData()
    made = {
        "DeviceData": data,
        "OccupancyRecord": tools.OccupancyRecord(data, 128),
        "ScalarArg": tools.ScalarArg(np.float32, "a"),
        "VectorArg": tools.VectorArg(np.float32, "a"),
        "CompileError": cuda.CompileError("no", []),
    }
    for name, attributes in ATTRIBUTES.items():
        for attribute in attributes.split():
            assert hasattr(made[name], attribute), (name, attribute)


@pytest.mark.parametrize("status", EXCEPTIONS)
def test_statuses_of_the_driver_are_exceptions(fake, status):
    fake(f"fail cuCtxSynchronize:1:{status}")
    with pytest.raises(cuda.Error) as caught:
        cuda.Context.synchronize()
    assert type(caught.value) is getattr(cuda, EXCEPTIONS[status])
    if status != 2:
        assert (caught.value.code, caught.value.call) == (status, "cuCtxSynchronize")


def test_the_contexts_of_the_automatic_modules(gpu, python):
    done = python(
        """
import uLib.cuda.driver as cuda
for name in ("autoinit", "autoprimaryctx"):
    module = __import__("uLib.cuda." + name, fromlist=["context"])
    assert module.context == cuda.Context.get_current() and isinstance(module.device, cuda.Device)
    print(module.device == cuda.Context.get_device())
"""
    )
    assert done.stdout == "True\nTrue\n"


def public_names():
    """Every public name: as it is used alone, or behind a dot."""
    alone, behind = set(), set()
    # Flags that are numbers are looked at above.
    flags = {"array3d_flags", "host_alloc_flags", "mem_host_register_flags"}
    for module in MODULES:
        it = importlib.import_module(module)
        alone.update(getattr(it, "__all__", ()))
    for _, line in LINES:
        (behind if "." in parsed(line)[0] else alone).add(parsed(line)[0].rpartition(".")[2])
    for module in (cuda, tools, importlib.import_module("uLib.cuda.gl"), importlib.import_module("uLib.cuda.compiler")):
        for name in module.__all__:
            it = getattr(module, name)
            if isinstance(it, type) and not hasattr(it, "names") and not issubclass(it, Exception) and name not in flags:
                behind.update(member for member in vars(it) if not member.startswith("_"))
    for ends, setters, common in COPIES.values():
        sides = [f"{side}_{name}" for side in ("src", "dst") for name in ends.split()]
        behind.update(sides, (f"set_{side}_{name}" for side in ("src", "dst") for name in setters.split()), common.split())
    return alone, {name for name in behind if not re.fullmatch("__.*__", name)}


def test_every_name_is_used_by_a_test_of_what_it_does():
    alone, behind = public_names()
    used, used_behind = set(), set()
    for path in Path(__file__).parent.glob("test_cuda_*.py"):
        if path.name != Path(__file__).name:
            text = path.read_text()
            used.update(re.findall(r"[A-Za-z_]\w*", text))
            # Of an object, or of a class that a test derives.
            used_behind.update(re.findall(r"(?:\.|\bdef )\s*([A-Za-z_]\w*)", text))
            for pieces in re.findall(r'getattr\(cuda, f"(\w{6,}(?:\{.*?\}\w*)+)"\)', text):
                pattern = re.sub(r"\{.*?\}", r"\\w*", pieces)
                used.update(name for name in alone if re.fullmatch(pattern, name))
    assert sorted(alone - used) == []
    assert sorted(behind - used_behind) == []
