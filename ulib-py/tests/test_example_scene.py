"""The scene of the examples, run by ``gcompose`` with and without a device and the libraries that its recipe takes."""

import json
import pathlib
import sys

import pytest
from test_gcompose import gcompose


EXAMPLE = pathlib.Path(__file__).parents[2] / "assets/examples/math/02_images_on_the_gpu.gcx"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not here")


def total(x):
    """The sum of a slice: of a ball of density 1 with a core of density 3, under a slope along x."""
    squared = [(2 * x - 31) ** 2 + (2 * y - 31) ** 2 + (2 * z - 31) ** 2 for y in range(32) for z in range(32)]
    return sum(3 if found <= 144 else 1 if found <= 784 else 0 for found in squared) + 1024 * x / 32


TOTALS = [total(x) for x in range(32)]


def test_the_example_gives_the_same_numbers_with_and_without_a_device(mode):
    done = gcompose("--json", EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert [found["preferred"] for found in document["objects"]] == ["Device"] * 3
    (run,) = document["runs"]
    assert run["tables"]["profile"] == {"columns": ["slice", "total"], "rows": [[x, total] for x, total in enumerate(TOTALS)]}
    place = "Host (" if mode == "nodriver" else "Device: "
    for found in run["objects"][:2]:
        assert found["location"].startswith(place)
    assert run["output"].startswith(f"voxels are {place}")

    # The table that people see has the same numbers.
    done = gcompose(EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout[done.stdout.index("  slice  total\n") :].splitlines()
    shown = [tuple(map(float, line.split())) for line in table[1:11]]
    assert shown == [(x, total) for x, total in enumerate(TOTALS[:10])]
    assert table[11] == "  ... 22 more"


# Modules in the place of the libraries, which need a card: what they are given has to be what the real ones take.
CUPY = """
import numpy
def asarray(image):
    assert image.__cuda_array_interface__['strides'] == (8,)
    return numpy.array(image)
asnumpy = numpy.asarray
"""
NUMBA = """
import numpy
class cuda:
    def as_cuda_array(image):
        assert image.__cuda_array_interface__['typestr'] == '<f4'
        class View:
            def copy_to_host(self):
                return numpy.array(image)
        return View()
"""


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ({"cupy": CUPY, "numba": NUMBA}, "summed on the GPU with CuPy, reading the voxels in place"),
        ({"cupy": "raise ImportError", "numba": NUMBA}, "summed on the host, from the device array that numba took"),
        (
            {"cupy": "def asarray(image): raise RuntimeError('no driver')", "numba": "raise ImportError"},
            "not with cupy: no driver\nsummed on the host with NumPy",
        ),
        ({"cupy": "raise ImportError", "numba": "raise ImportError"}, "summed on the host with NumPy"),
    ],
)
def test_the_recipe_takes_what_there_is(fake, tmp_path, modules, said):
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(source)
    run = json.loads(gcompose("--json", EXAMPLE, PYTHONPATH=str(tmp_path)).stdout)["runs"][0]
    assert run["output"].endswith(f"\n{said}\n")
    assert run["tables"]["profile"]["rows"] == [[x, total] for x, total in enumerate(TOTALS)]


@pytest.mark.real
@pytest.mark.parametrize(("library", "said"), [("cupy", "on the GPU with CuPy"), ("numba", "that numba took")])
def test_the_recipe_on_a_card(consumer, tmp_path, library, said):
    consumer(library)
    if library == "numba":
        (tmp_path / "cupy.py").write_text("raise ImportError")
        # As in conftest.py.
        (tmp_path / "sitecustomize.py").write_text(
            "import numpy\nif not hasattr(numpy, 'row_stack'): numpy.row_stack = numpy.vstack\n"
        )
    paths = [str(tmp_path), *filter(None, sys.path)]
    run = json.loads(gcompose("--json", EXAMPLE, PYTHONPATH=":".join(paths)).stdout)["runs"][0]
    assert said in run["output"]
    assert run["tables"]["profile"]["rows"] == [[x, total] for x, total in enumerate(TOTALS)]
