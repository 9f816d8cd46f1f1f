"""The autotuner: what it tries, what it refuses, what it remembers. On the software driver the kernel writes its parameters, on a
card what its source says."""

import string
import time

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from cuda_programs import kernel
from uLib.cuda.autotune import Autotuner

SOURCE = """
#if FACTOR == 3
#error three is not possible
#endif
__global__ void fakecuda_parameters(unsigned long long *out, unsigned long long value) {
    out[0] = (unsigned long long)out;
    out[1] = value;
}
"""
SPACE = {"FACTOR": [1, 2, 3, 4], "BLOCK": [32, 64, 4096]}
NAME = "fakecuda_parameters"


@pytest.fixture
def tuner(gpu, nvrtc, tmp_path):
    def make(source=SOURCE, name=NAME, space=SPACE, **how):
        return Autotuner(source, name, space, arch="compute_75", cache_dir=tmp_path / "kept", repeats=2, **how)

    return make


class Launches:
    def __init__(self):
        self.out = cuda.mem_alloc(16)
        self.count = 0

    def __call__(self, function, parameters):
        self.count += 1
        function(self.out, 7, block=(parameters.get("BLOCK", 32), 1, 1))

    def check(self, parameters):
        got = np.zeros(2, np.uint64)
        cuda.memcpy_dtoh(got, self.out)
        assert list(got) == [int(self.out), 7]
        return parameters.get("FACTOR") != 2


def test_the_best_is_found_and_remembered(tuner):
    made = tuner(constraints=[lambda p: p["FACTOR"] != 4])
    assert len(made.configurations()) == 9
    launches = Launches()
    tuned = made.tune(launches, launches.check)
    assert not tuned.remembered and len(tuned.trials) == 9
    for trial in tuned.trials:
        factor, block = trial.parameters["FACTOR"], trial.parameters["BLOCK"]
        if factor == 3:
            assert trial.outcome == "failed" and "three is not possible" in trial.error
        elif block == 4096:
            assert trial.outcome == "failed" and "block.x is 4096" in trial.error
        elif factor == 2:
            assert trial.outcome == "wrong"
        else:
            assert trial.outcome in ("ran", "pruned") and trial.seconds >= 0
    assert tuned.parameters["FACTOR"] == 1
    count = launches.count
    again = tuner(constraints=[lambda p: p["FACTOR"] != 4]).tune(launches, launches.check)
    assert again.remembered and launches.count == count
    assert (again.parameters, again.seconds) == (tuned.parameters, tuned.seconds)
    assert again.function.name == NAME
    assert not made.tune(launches, launches.check, again=True).remembered
    assert not tuner(SOURCE + "//", constraints=[lambda p: p["FACTOR"] == 1]).tune(launches).remembered


def test_sources_of_all_kinds(tuner):
    launches = Launches()
    space = {"FACTOR": [1]}

    class Template:
        def render(self, **parameters):
            return SOURCE.replace("FACTOR", str(parameters["FACTOR"]))

    for source in (
        Template(),
        string.Template(SOURCE.replace("FACTOR", "$FACTOR")),
        lambda parameters: SOURCE.replace("FACTOR", str(parameters["FACTOR"])),
    ):
        assert tuner(source, space=space).tune(launches, launches.check, again=True).parameters == {"FACTOR": 1}


def test_templates_of_c(tuner):
    source = "template <typename T, int N> __global__ void scale(T *a) { a[0] *= N; }\n"
    made = tuner(source, "scale<{T}, {N}>", {"T": ["float"], "N": [1, 2]}, name_expression=True)
    assert made.compile({"T": "float", "N": 2}).name == "_Z5scaleIfLi2EEvPT_"


def test_a_part_of_many_is_tried(tuner):
    made = tuner(space={"FACTOR": [1], "BLOCK": list(range(32, 96))}, max_trials=5, seed=3)
    chosen = made.configurations()
    assert len(chosen) == 5 and chosen == made.configurations()
    assert chosen == sorted(chosen, key=lambda p: p["BLOCK"])
    assert tuner(space={"FACTOR": [1], "BLOCK": list(range(32, 96))}, max_trials=5, seed=4).configurations() != chosen


@pytest.mark.parametrize("values", [[1, 1.0], [True, 1]])
def test_equal_values_that_are_written_differently_are_told_apart(gpu, tmp_path, values):
    compiled = kernel()

    class Tuner(Autotuner):
        def compile(self, parameters):
            return compiled

    def launch(function, parameters):
        if parameters["A"] is values[0]:
            time.sleep(0.02)

    tuner = Tuner("", NAME, {"A": values}, prune=100, cache_dir=tmp_path)
    found, remembered = tuner.tune(launch), tuner.tune(launch)
    assert remembered.remembered and not found.remembered
    for tuned in (found, remembered):
        assert type(tuned.parameters["A"]) is type(values[1])


def test_functions_that_change_the_parameters_change_nothing(gpu, tmp_path):
    compiled = kernel()

    class Tuner(Autotuner):
        def compile(self, parameters):
            assert parameters == {"A": 1}
            return compiled

    def change(parameters):
        parameters["A"] += 1
        parameters["B"] = 3
        return True

    def launch(function, parameters):
        assert change(parameters)

    def source(parameters):
        assert change(parameters)
        return ""

    tuner = Tuner(source, NAME, {"A": [1]}, constraints=[change], cache_dir=tmp_path)
    tuned = tuner.tune(launch, change)
    assert tuned.parameters == tuned.trials[0].parameters == tuner.tune(launch).parameters == {"A": 1}


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ({"parameters": ["A"]}, TypeError, r"^Autotuner: parameters is \['A'\], expected the values of each name"),
        ({"parameters": {1: [2]}}, TypeError, "^Autotuner: the name of a parameter is 1, which is no str"),
        ({"parameters": {"A": 3}}, TypeError, r"^Autotuner: parameters\['A'\] is 3: "),
        ({"parameters": {"A": []}}, ValueError, r"^Autotuner: parameters\['A'\] is \[\], expected at least one value"),
        ({"kernel": 3}, TypeError, "^Autotuner: kernel is 3, which is no str"),
        ({"constraints": [3]}, TypeError, "^Autotuner: one of constraints is 3, which is no function"),
        ({"repeats": "x"}, TypeError, "^Autotuner: repeats is 'x': "),
        ({"repeats": 0}, ValueError, "^Autotuner: repeats is 0, expected at least 1"),
        ({"prune": "x"}, ValueError, "^Autotuner: prune is 'x': "),
        ({"max_trials": -1}, ValueError, "^Autotuner: max_trials is -1, expected at least 1"),
        ({"max_trials": 0}, ValueError, "^Autotuner: max_trials is 0, expected at least 1"),
        ({"max_trials": 1.5}, TypeError, "^Autotuner: max_trials is 1.5: "),
    ],
)
def test_wrong_arguments_are_named(how, kind, message):
    with pytest.raises(kind, match=message):
        Autotuner(**{"source": "", "kernel": "k", "parameters": {"A": [1, 2]}, **how})


def test_what_cannot_be_called_is_named():
    tuner = Autotuner("", "k", {"A": [1, 2]})
    with pytest.raises(TypeError, match="^Autotuner.tune: launch is 3, which is no function"):
        tuner.tune(3)
    with pytest.raises(TypeError, match="^Autotuner.tune: check is 3, which is no function"):
        tuner.tune(print, 3)


def test_when_nothing_works_the_reason_is_said(tuner):
    launches = Launches()
    with pytest.raises(ValueError, match="(?s)no configuration of fakecuda_parameters works: .*three is not possible"):
        tuner(space={"FACTOR": [3]}).tune(launches)
    with pytest.raises(ValueError, match="wrong results"):
        tuner(space={"FACTOR": [1]}).tune(launches, lambda parameters: False)

    def disagree(parameters):
        raise AssertionError("off by one")

    with pytest.raises(ValueError, match="off by one"):
        tuner(space={"FACTOR": [1]}).tune(launches, disagree)
    with pytest.raises(ValueError, match="the constraints leave no configuration"):
        tuner(constraints=[lambda p: False]).tune(launches)


def test_a_card_is_tuned(real, nvrtc, tmp_path):
    source = """
__global__ void scale(float *a, int n) {
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        for (int k = 0; k < WORK; ++k) a[i] = a[i] * 1.0000001f + 1.0f;
}
"""
    n = 1 << 20
    a = cuda.to_device(np.zeros(n, np.float32))
    made = Autotuner(source, "scale", {"BLOCK": [32, 256], "WORK": [1, 2000]}, cache_dir=tmp_path)
    tuned = made.tune(lambda f, p: f(a, n, block=(p["BLOCK"], 1, 1), grid=(1024, 1)))
    assert tuned.parameters["WORK"] == 1 and tuned.seconds > 0
    assert made.tune(lambda f, p: None).remembered
