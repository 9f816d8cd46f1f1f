"""The programs of the documentation, each after those that come before it on its page."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ulib-py" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSUMERS = re.compile(r"^\s*(?:import|from) (cupy|jax|numba|torch)\b", re.MULTILINE)
PROGRAMS = {}
for page in PAGES:
    if page.exists():
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        PROGRAMS.update({f"{page.relative_to(ROOT)} {at + 1}": blocks[: at + 1] for at in range(len(blocks))})


def needs_a_card(block):
    """Kernels of the program's own are compiled and run."""
    return "SourceModule(" in block


def needs_a_device(block):
    return "uLib.device.Stream(" in block or "cuda.Stream(" in block


@pytest.mark.skipif(not PROGRAMS, reason="the documentation is not here")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, mode, python, request):
    *before, program = PROGRAMS[name]
    if needs_a_card(program):
        request.getfixturevalue("real")
    consumers = CONSUMERS.findall(program)
    # What a machine without a GPU skips by itself is run there.
    if consumers and (mode != "nodriver" or "if uLib.device.available():" not in program):
        for consumer in consumers:
            request.getfixturevalue("consumer")(consumer)
    leave = [block for block in before if CONSUMERS.search(block) or (mode == "nodriver" and needs_a_device(block))]
    code = "".join(block for block in [*before, program] if block not in leave)
    if "numba" in consumers:
        # As in conftest.py.
        code = "import numpy\nif not hasattr(numpy, 'row_stack'): numpy.row_stack = numpy.vstack\n" + code
    done = python(code, check=False)
    if mode == "nodriver" and needs_a_device(program):
        assert done.stderr.splitlines()[-1].startswith(("uLib.DeviceUnavailableError: ", "uLib.cuda.driver.RuntimeError: ")), done.stderr
    else:
        assert done.returncode == 0, done.stderr


KERNELS = [
    pytest.param(call.args[0].value, id=f"{name}, line {call.lineno}")
    for name, blocks in PROGRAMS.items()
    for call in ast.walk(ast.parse(blocks[-1]))
    if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "SourceModule"
]


@pytest.mark.skipif(not PROGRAMS, reason="the documentation is not here")
@pytest.mark.parametrize("source", KERNELS)
def test_kernels_compile_without_a_card(source, nvrtc):
    from uLib.cuda import compiler

    assert b".entry" in compiler.compile(source, arch="compute_75", target="ptx", cache_dir=False)


def test_every_page_with_programs_is_found():
    if not PROGRAMS:
        pytest.skip("the documentation is not here")
    assert {"README.md 1", "docs/python.md 1", "docs/python.md 6"} <= PROGRAMS.keys()
