"""The second lesson in Python: `02_images_on_the_gpu.py`, and what the front page says it prints."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest
import uLib

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/python/02_images_on_the_gpu.py"
if not EXAMPLE.exists():  # in the bundle for machines with a GPU
    EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/02_images_on_the_gpu.py"


def printed(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, EXAMPLE, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not here")
def test_totals_that_are_not_exact_are_counted():
    *_, last = printed()
    said = re.fullmatch(
        r"checked against exactly rounded sums: (\d+) of (\d+) totals have the same bits(, the others are within rounding)?", last
    )
    assert said, last
    assert (said[1] != said[2]) == (said[3] is not None)


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="the front page is not here")
def test_the_front_page_has_what_it_prints_without_a_device(nodriver):
    nibabel = importlib.util.find_spec("nibabel")
    if nibabel is None:
        pytest.skip("nibabel is not installed")
    volume = pathlib.Path(nibabel.origin).parent / "tests/data/anatomical.nii"
    blocks = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    block = next(block for block in blocks if "no GPU" in block)
    block = block.replace("no NVIDIA driver library: libcuda.so.1", str(uLib.device.unavailable_reason()))
    first, second = block.split("  ...\n")
    told, more = first.splitlines(), second.splitlines()
    said = printed("--volume", volume)
    assert said[: len(told)] == told and said[-len(more) :] == more
