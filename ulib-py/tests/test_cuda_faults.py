"""Every call of the driver fails in turn, in the programs of ``cuda_programs.py``: each run ends with an exception that fits or with
the right numbers, leaves nothing behind, and the next one works."""

import os
import subprocess
import sys
from pathlib import Path

import opengl_stand_in
import pytest
from cuda_programs import PROGRAMS

HERE = Path(__file__).parent

# Two halves that take about as long as each other.
HALVES = (
    "launches memory streams_and_events contexts memory_of_the_host graphs arrays linker modules prepared_launches",
    "fills_and_rows slices references_to_arrays references_to_memory textures arrays_of_the_device pools arrays_as_arguments opengl",
)


def test_no_program_is_left_out():
    assert sorted(" ".join(HALVES).split()) == sorted(PROGRAMS)


@pytest.mark.parametrize(("status", "deferred"), [(999, "1"), (2, "0")], ids=["unknown", "out_of_memory"])
def test_every_call_of_every_program_fails_in_turn(fake, tmp_path, status, deferred):
    """Once with work that waits until somebody synchronises, and once with work that is done at once."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    environment["FAKECUDA_DEFERRED"] = deferred
    library = opengl_stand_in.build(tmp_path)
    if library is not None:
        environment["EGL"] = str(library)
    running = []
    for names in HALVES:
        wanted = [name for name in names.split() if name != "opengl" or library is not None]
        command = [sys.executable, str(HERE / "cuda_fault_runner.py"), str(status), *wanted]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append((process, wanted))
    try:
        for process, wanted in running:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, f"{out}\n{err}"
            assert err == ""
            lines = [line.split() for line in out.splitlines()]
            assert [line[0] for line in lines] == wanted
            for name, _, calls, raised in lines:
                # Most of the others are questions that need no answer, and calls that are made again.
                assert int(calls) > 50 and int(raised) > int(calls) // 8, name
    finally:
        for process, _ in running:
            process.kill()
            process.wait()
