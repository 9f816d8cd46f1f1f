"""What tests of the device's arrays are made of, and their comparison with those of NumPy."""

import numpy as np
import uLib.cuda.driver as cuda


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


def plane(dtype=np.float32, surface=False):
    return cuda.np_to_array(np.arange(48, dtype=dtype).reshape(6, 8), "C", surface)
