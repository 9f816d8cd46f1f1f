"""Every operation of every number that objects have, once over all axes and once over each set of them, on the device.

For tools that watch kernels (compute-sanitizer's racecheck): sizes with several blocks and remainders, no more launches than needed. The
results are compared with NumPy's, loosely: the twins are the test.
"""

import itertools

import numpy as np
import uLib

DIMS = (37, 19, 23)


def objects():
    """Objects and their numbers on the host, C order: strided f32, packed f32, u32 between others, f64."""
    numbers = np.random.default_rng(1).uniform(0.5, 2.0, DIMS[::-1]).astype(np.float32)
    for voxel_bytes in (8, 4):
        image = uLib.VoxImage(*DIMS, voxel_bytes=voxel_bytes)
        image.SetValues(numbers.ravel())
        assert image.SetPreferredDevice("Device"), image.GetDataLocation()
        yield f"VoxImage of {voxel_bytes} bytes", image, numbers
        if voxel_bytes == 8:
            image.Count.Fill(3)
            yield "Count", image.Count, np.full(numbers.size, 3, np.uint32)
    table = uLib.EventTable("a,b,c")
    for row in numbers.reshape(-1)[:3000].reshape(-1, 3).tolist():
        table.AddRow(row)
    assert table.SetPreferredDevice("Device"), table.GetDataLocation()
    yield "EventTable", table, numbers.reshape(-1)[:3000].reshape(-1, 3).astype(float)


def reductions(numbers):
    yield "Sum", (), lambda axis: numbers.sum(axis, dtype=float)
    yield "Mean", (), lambda axis: numbers.mean(axis, dtype=float)
    yield "Variance", (), lambda axis: numbers.astype(float).var(axis)
    yield "Norm", (), lambda axis: np.sqrt((numbers.astype(float) ** 2).sum(axis))
    yield "Min", (), lambda axis: numbers.min(axis)
    yield "Max", (), lambda axis: numbers.max(axis)
    yield "Quantile", (0.25,), lambda axis: np.quantile(numbers.astype(float), 0.25, axis=axis)


def main():
    count = 0
    for name, held, numbers in objects():
        axes = [None, *(set for n in range(1, numbers.ndim) for set in itertools.combinations(range(numbers.ndim), n))]
        for operation, arguments, expected in reductions(numbers):
            for axis in axes:
                found = getattr(held, operation)(*arguments, axis=axis)
                np.testing.assert_allclose(found, expected(axis), rtol=1e-5, err_msg=f"{operation} of {name} over {axis}")
                count += 1
        assert held.ArgMin() == numbers.argmin() and held.ArgMax() == numbers.argmax(), name
        np.testing.assert_allclose(held.Dot(held), (numbers.astype(float) ** 2).sum(), rtol=1e-5)
        integers = numbers.dtype.kind == "u"
        one, two = (1, 2) if integers else (0.75, 1.5)
        assert held.CountWhere(">", one) == (numbers > one).sum(), name
        np.testing.assert_array_equal(held.Histogram(64, (0, 4))[0], np.histogram(numbers, 64, (0, 4))[0], name)
        held.Fill(two)
        for operation in ("Add", "Multiply", "Divide", "Minimum", "Maximum", "Subtract"):
            getattr(held, operation)(one)
        held.Clamp(0, two)
        held.Abs()
        held.Fma(one, two)
        held.Threshold(">", one)
        if not integers:
            for operation in ("Exp", "Log", "Sqrt", "Negate"):
                getattr(held, operation)()
            held.Power(two)
        count += 20
        print(f"{name}: on {held.GetDataLocation() if hasattr(held, 'GetDataLocation') else 'the image'}", flush=True)
    print(f"{count} operations")


main()
