"""What tests of the device's arrays are made of, and their comparison with those of NumPy."""

import numpy as np


def numbers(shape, dtype=np.float32, order="C"):
    count = int(np.prod(shape, dtype=int))
    return (np.arange(count) * 37 % 251).astype(dtype).reshape(shape).copy(order)


def same(found, want):
    """An array of the device has the values, shape and type of one of NumPy."""
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    home = found.get()
    assert (home.shape, home.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(home, want)
    return True
