"""The first lesson in Python: `01_placement.py`."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/python/01_placement.py"
if not EXAMPLE.exists():  # in the bundle for machines with a GPU
    EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/01_placement.py"


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not here")
def test_it_says_where_the_voxels_are(mode):
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, env=os.environ, timeout=120, check=True)
    said = done.stdout.splitlines()
    there = mode != "nodriver"
    assert f"    moved: {there}, a device could be used: {there}" in said
    assert [line for line in said if "the sum" in line] == [f"    the sum is {64**3 * 3.0}", f"    the sum is {64**3 * 3.0 + 97}"]
    assert "    voxel (1, 2, 3) is 3.0" in said
    after = dict(zip(said, said[1:], strict=False))
    for step in ("with the preference Device", "filled with 1.5 and scaled by 2", "after an update"):
        assert after[step].startswith("    Device: " if there else "    Host ("), after[step]
    assert any("copied so far: 2 up" in line for line in said) is there
    assert said[-1] == "    nothing is left on the device: True"
