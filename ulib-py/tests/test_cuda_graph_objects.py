"""Launches of graphs as operations on the objects that were captured: where their newest values are, and who is refused."""

import pickle

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda


def on_device(*values):
    numbers = uLib.FloatCollection(values)
    assert numbers.SetPreferredDevice("Device"), numbers.GetDataLocation()
    numbers.Scale(1)
    return numbers


def captured(stream, work):
    with stream.capture() as graph:
        work()
    return graph.instantiate()


@pytest.mark.parametrize(
    "read",
    [
        list,
        lambda numbers: np.asarray(numbers).tolist(),
        lambda numbers: numbers.GetValues().tolist(),
        lambda numbers: [numbers.GetValue(0), numbers.GetValue(1)],
        lambda numbers: memoryview(numbers).tolist(),
        lambda numbers: list(uLib.FloatCollection(numbers)),
        lambda numbers: list(pickle.loads(pickle.dumps(numbers))),
        lambda numbers: [numbers.Min(), numbers.Max()],
    ],
    ids=["list", "asarray", "GetValues", "GetValue", "memoryview", "copy", "pickle", "reductions"],
)
def test_every_launch_is_seen_by_every_reader(stream, read):
    numbers = on_device(1, 2)
    double = captured(stream, lambda: numbers.Scale(2))
    assert read(numbers) == [1, 2]
    for factor in (2, 4, 8):
        double.launch(stream)
        assert read(numbers) == [factor, 2 * factor]


def test_launches_are_not_lost_where_the_object_goes_to_the_host(stream):
    numbers = on_device(1, 2)
    double = captured(stream, lambda: numbers.Scale(2))
    assert list(numbers) == [1, 2]
    double.launch(stream)
    numbers.SetPreferredDevice("Host")
    numbers.Scale(10)
    assert list(numbers) == [20, 40]
    with pytest.raises(cuda.LogicError, match="an object of 8 bytes has given up the device memory that the graph uses"):
        double.launch(stream)
    assert list(numbers) == [20, 40]


def test_values_set_on_the_host_are_what_launches_work_on(stream):
    numbers = on_device(1, 2)
    double = captured(stream, lambda: numbers.Scale(2))
    numbers.SetValue(0, 5)
    double.launch(stream)
    assert list(numbers) == [10, 4]


def test_a_launch_on_released_memory_is_refused(stream):
    numbers = on_device(1, 2)
    double = captured(stream, lambda: numbers.Scale(2))
    numbers.ReleaseDevice()
    with pytest.raises(cuda.LogicError, match="it is on the host now; capture the work anew"):
        double.launch(stream)
    numbers.Scale(1)
    with pytest.raises(cuda.LogicError, match="it has other device memory now; capture the work anew"):
        double.launch(stream)
    assert list(numbers) == [1, 2]
    captured(stream, lambda: numbers.Scale(2)).launch(stream)
    assert list(numbers) == [2, 4]


def test_an_operand_counts_as_well(stream):
    total, step = on_device(0, 0), on_device(1, 2)
    add = captured(stream, lambda: total.Add(step))
    add.launch(stream)
    step.Fill(10)
    add.launch(stream)
    assert list(total) == [11, 12]
    step.SetValue(0, 100)
    add.launch(stream)
    assert list(total) == [111, 22]
    step.SetPreferredDevice("Host")
    step.Fill(1000)
    with pytest.raises(cuda.LogicError, match="has given up the device memory"):
        add.launch(stream)
    assert list(total) == [111, 22]
    # What is no object any more has the values that it had.
    kept = on_device(1, 1)
    add = captured(stream, lambda: total.Add(kept))
    del kept
    add.launch(stream)
    assert list(total) == [112, 23]


def test_streams_of_launches_that_are_over_are_forgotten(stream):
    memory = cuda.mem_alloc(64)
    fill = captured(stream, lambda: cuda.memset_d8_async(memory, 1, 64, stream))
    before = cuda.live_objects()["streams"]
    for _ in range(200):
        other = cuda.Stream(cuda.stream_flags.NON_BLOCKING)
        fill.launch(other)
        other.synchronize()
        del other
    assert cuda.live_objects()["streams"] - before < 64
    assert (cuda.from_device(memory, 64, np.uint8) == 1).all()
