"""Random calls with random arguments: Python exceptions only, never a panic, a crash or a hang."""

import copy
import os
import pickle
import random
import warnings

import numpy as np
import pytest
import uLib

STEPS = 20000 if os.environ.get("ULIB_TEST_FULL") else 3000

MAKERS = [
    lambda: uLib.VoxImage(2, 2, 2),
    lambda: uLib.VoxImage(2, 2, 2, voxel_bytes=4),
    lambda: uLib.VoxImage(),
    lambda: uLib.MultiVoxImage(2, 2, 2, channels=2, components=2),
    lambda: uLib.EventTable("a,b", rows=2),
    lambda: uLib.MuonScatterCollection(2),
    lambda: uLib.FloatCollection(8),
    lambda: uLib.LineCollection(2),
    lambda: uLib.GeantEventCollection([("a", "b")]),
]

VALUES = [
    None,
    True,
    0,
    1,
    -1,
    2,
    3,
    1 << 62,
    1 << 63,
    -(1 << 63),
    1 << 70,
    0.5,
    float("nan"),
    float("inf"),
    -1e300,
    "",
    "x",
    "Host",
    "Device",
    "Device:1",
    "Device:999",
    "Value",
    "Count",
    "Momentum",
    "XYZ",
    "YXZ",
    b"",
    b"abcd",
    (),
    (1, 2, 3),
    (0, 0, 0),
    (1.0, 2.0, float("nan")),
    [1, 2],
    [[1, 2], [3, 4]],
    {},
    object(),
    range(3),
    slice(1),
    (2, 0),
    (1, 0),
    (7, 7),
    (1, 1),
    np.zeros(3),
    np.zeros((2, 3), np.float32),
    np.zeros(8, np.float32),
    np.zeros((2, 2, 2), np.float32),
    np.array(3.0),
    np.zeros(0, np.float32),
    np.float32(2),
    np.int8(1),
]

HELPERS = [
    uLib.device.location,
    uLib.device.is_device_resident,
    uLib.device.array_info,
    lambda o: uLib.device.as_array(o, copy_to_host=True),
    uLib.device.name,
    uLib.device.held,
    uLib.device.memory_info,
    uLib.device.unavailable_reason,
    np.asarray,
    memoryview,
    repr,
    len,
    list,
    copy.copy,
    copy.deepcopy,
    lambda o: pickle.loads(pickle.dumps(o)),
    np.from_dlpack,
    lambda o: np.from_dlpack(o, copy=True),
]

SPECIAL = {
    "__dlpack__",
    "__array__",
    "__setstate__",
    "__copy__",
    "__dlpack_device__",
    "__cuda_array_interface__",
    "__array_interface__",
    "__reduce__",
    "__iter__",
    "__enter__",
    "__exit__",
}

CLASSES = [
    value
    for name in uLib.__all__
    if isinstance(value := getattr(uLib, name), type) and not issubclass(value, BaseException)
]


@pytest.mark.parametrize("seed", range(4))
def test_random_calls(seed):
    choose = random.Random(seed)
    objects, kept = [], []

    def value():
        return choose.choice([*VALUES, *objects])

    def call(target):
        kind = choose.random()
        if kind < 0.15:
            return choose.choice(HELPERS)(target if choose.random() < 0.8 else value())
        if kind < 0.25:
            return choose.choice(CLASSES)(*[value() for _ in range(choose.randrange(5))])
        names = [name for name in dir(type(target)) if not name.startswith("__") or name in SPECIAL]
        if kind < 0.35:
            return setattr(target, choose.choice(names), value())
        if kind < 0.4 and hasattr(target, "__dlpack__"):
            return target.__dlpack__(dl_device=value(), copy=value(), max_version=value(), stream=value())
        found = getattr(target, choose.choice(names))
        return found(*[value() for _ in range(choose.choice([0, 0, 1, 1, 2, 3, 4]))]) if callable(found) else found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(STEPS):
            while len(objects) < 8:
                objects.append(choose.choice(MAKERS)())
            if choose.random() < 0.1:
                objects.pop(choose.randrange(len(objects)))
                kept.clear()
            try:
                result = call(choose.choice(objects))
            except Exception as error:
                assert not isinstance(error, SystemError), (seed, step)
                continue
            if choose.random() < 0.3:
                kept.append(result)
                if isinstance(result, (uLib.Placed, uLib.DeviceView, uLib.HostView)) and len(objects) < 12:
                    objects.append(result)
    kept.clear()
    objects.clear()
