"""VoxImage and MultiVoxImage on the host: values, geometry, bulk access."""

import math

import numpy as np
import pytest
import uLib


def ramp(nx=3, ny=4, nz=5, **keywords):
    image = uLib.VoxImage(nx, ny, nz, **keywords)
    image.SetValues(np.arange(nx * ny * nz, dtype=np.float32))
    return image


def test_new_images_are_zero_and_have_their_dimensions():
    image = uLib.VoxImage(3, 4, 5)
    assert image.GetDims() == (3, 4, 5)
    assert image.Shape == (60,)
    assert len(image) == 60
    assert image.Typestr == "<f4"
    assert image.Strides == (8,)
    assert image.VoxelBytes == 8
    assert list(image) == [0.0] * 60
    assert uLib.VoxImage(3, 4, 5, voxel_bytes=4).Strides is None


def test_values_by_index_and_by_triple():
    image = uLib.VoxImage(3, 4, 5)
    image.SetValue(7, 1.5)
    assert image.GetValue(7) == 1.5
    assert image.UnMap(7) == (1, 2, 0)
    assert image.GetValue(1, 2, 0) == 1.5
    image.SetValue(2, 3, 4, 2.5)
    assert image.GetValue((2, 3, 4)) == image.GetValue(59) == 2.5
    image.SetValue((0, 0, 1), -1)
    assert image.GetValue(12) == -1.0
    assert image.Map(0, 0, 1) == 12
    assert image.GetValue(np.int64(12)) == -1.0


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_the_grid_is_nz_ny_nx_under_every_order(order):
    image = uLib.VoxImage(2, 3, 4, order=order)
    assert image.GetDataOrder() == order
    for z in range(4):
        for y in range(3):
            for x in range(2):
                image.SetValue(x, y, z, x + 10 * y + 100 * z)
    grid = image.Grid().GetValues()
    assert grid.shape == (4, 3, 2)
    z, y, x = np.indices(grid.shape)
    np.testing.assert_array_equal(grid, x + 10 * y + 100 * z)
    image.Grid().Field("Count").SetValues(grid.astype(np.uint32))
    other = "ZXY" if order == "XYZ" else "XYZ"
    view = np.asarray(image)
    with pytest.raises(BufferError):
        image.SetDataOrder(other)
    del view
    image.SetDataOrder(other)
    np.testing.assert_array_equal(np.asarray(image.Grid()), grid)
    np.testing.assert_array_equal(np.asarray(image.Grid().Field("Count")), grid)
    image.SetDataOrder("XYZ")
    np.testing.assert_array_equal(np.asarray(image).reshape(4, 3, 2), grid)


def test_set_values_takes_flat_and_grid_shapes():
    volume = np.random.default_rng(1).normal(size=(5, 4, 3)).astype(np.float32)
    image = uLib.VoxImage(3, 4, 5, order="YXZ")
    image.SetValues(volume)
    np.testing.assert_array_equal(np.asarray(image.Grid()), volume)
    assert image.GetValue(2, 1, 3) == volume[3, 1, 2]
    image.Grid().SetValues(volume[::-1])
    np.testing.assert_array_equal(np.asarray(image.Grid()), volume[::-1])
    flat = uLib.VoxImage(3, 4, 5)
    flat.SetValues(range(60))
    assert flat.GetValue(59) == 59.0


def test_set_values_converts_like_numpy_same_kind():
    image = uLib.VoxImage(2, 1, 1)
    for values in (
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2]),
        np.array([1.0, 2.0]),
        np.array([1, 2], dtype=">f4"),
        np.array([1, 2], dtype=np.float16),
    ):
        image.Fill(0)
        image.SetValues(values)
        assert list(image) == [1.0, 2.0]
    strided = np.arange(4, dtype=np.float32)[::2]
    image.SetValues(strided)
    assert list(image) == [0.0, 2.0]
    image.SetValues(memoryview(b"\x00\x00\x80\x3f\x00\x00\x00\x40").cast("f"))
    assert list(image) == [1.0, 2.0]


def test_set_values_keeps_counts():
    image = uLib.VoxImage(2, 2, 1)
    image.Count.SetValues(np.array([1, 2, 3, 4], dtype=np.uint32))
    image.SetValues([9, 8, 7, 6])
    image.Fill(5)
    image.Scale(2)
    assert list(image.Count) == [1, 2, 3, 4]
    assert list(image.Value) == [10.0] * 4
    assert image.Count.Sum() == 10 and isinstance(image.Count.Sum(), int)
    assert image.Fields() == ["Value", "Count"]
    assert image.Count.Typestr == "<u4" and image.Count.Strides == (8,)
    assert np.asarray(image.Grid().Field("Count")).shape == (1, 2, 2)


def test_get_values_is_a_copy():
    image = ramp()
    values = image.GetValues()
    values[:] = -1
    assert image.GetValue(7) == 7.0
    assert values.flags.writeable and values.strides == (4,)


def test_sums():
    image = ramp()
    grid = np.arange(60, dtype=np.float64).reshape(5, 4, 3)
    assert image.Sum() == grid.sum()
    for axis in (0, 1, 2, -1, (0, 1), (0, 2), (2, 1), (0, 1, 2)):
        found = image.Sum(axis=axis)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, grid.sum(axis=axis))
    np.testing.assert_array_equal(image.Grid().Sum(axis=0), grid.sum(axis=0))
    assert uLib.VoxImage().Sum() == 0.0


def test_geometry():
    image = uLib.VoxImage(10, 10, 10, spacing=(3, 3, 3))
    assert image.GetWorldPoint((2, 0, 0)) == (6, 0, 0)
    image.SetPosition((1, 1, 1))
    assert image.GetWorldPoint((1, 1, 1)) == (4, 4, 4)
    assert image.GetLocalPoint((4, 4, 4)) == (1, 1, 1)
    assert not image.IsInsideBounds((5, 33, -5))
    assert not image.IsInsideBounds((0, 0, 0))
    assert image.IsInsideBounds((1, 1, 1))
    image.SetOrigin((-1, 1, -1))
    assert image.GetWorldPoint((1, 1, 1)) == (3, 5, 3)
    assert image.Find((3.5, 5.5, 3.5)) == (1, 1, 1)
    assert image.IsInsideGrid(9, 9, 9) and not image.IsInsideGrid(10, 0, 0) and not image.IsInsideGrid(-1, 0, 0)
    assert (image.GetSpacing(), image.GetOrigin(), image.GetPosition()) == ((3, 3, 3), (-1, 1, -1), (1, 1, 1))
    image.SetSpacing([1, 2, 4])
    assert image.GetSpacing() == (1, 2, 4)


def test_resizing_keeps_what_exists_before_and_after():
    image = ramp(2, 2, 1)
    image.SetDims(3, 1, 2)
    assert list(image) == [0, 1, 0, 0, 0, 0]
    image.Clear()
    assert image.GetDims() == (0, 0, 0) and len(image) == 0 and list(image) == []
    image.SetDims(1, 1, 1)
    assert list(image) == [0]


def test_multi_vox_image():
    image = uLib.MultiVoxImage(2, 3, 4, channels=3, components=2)
    assert (image.Channels, image.Components, image.ActiveChannel, image.ActiveComponent) == (3, 2, 0, 0)
    assert image.Strides == (24,)
    image.SetActive(2, 1)
    image.Fill(5)
    image.ActiveChannel = 1
    assert image.Sum() == 0
    image.ActiveComponent = 0
    image.SetValues(np.arange(24))
    assert image.GetValue(1, 2, 3) == 23
    np.testing.assert_array_equal(image.Sum(axis=(0, 1)), np.arange(24).reshape(4, 3, 2).sum(axis=(0, 1)))
    image.SetActive(2, 1)
    assert list(image) == [5] * 24
    with pytest.raises(IndexError, match="channel.*3"):
        image.SetActive(3)
    with pytest.raises(IndexError, match="component.*-1"):
        image.ActiveComponent = -1
    with pytest.raises(ValueError, match="0 x 2"):
        uLib.MultiVoxImage(2, 2, 2, channels=0, components=2)


@pytest.mark.parametrize(
    ("make", "error", "names"),
    [
        (lambda: uLib.VoxImage(0, 1, 1), ValueError, "0"),
        (lambda: uLib.VoxImage(-3, 1, 1), ValueError, "-3"),
        (lambda: uLib.VoxImage(1 << 40, 1 << 40, 1 << 40), (OverflowError, ValueError), None),
        (lambda: uLib.VoxImage(1 << 70, 1, 1), OverflowError, None),
        (lambda: uLib.VoxImage(1 << 20, 1 << 20, 1 << 10), (MemoryError, OverflowError), None),
        (lambda: uLib.VoxImage(1, 1), TypeError, "three dimensions"),
        (lambda: uLib.VoxImage(1.5, 1, 1), TypeError, None),
        (lambda: uLib.VoxImage(1, 1, 1, voxel_bytes=6), ValueError, "6"),
        (lambda: uLib.VoxImage(1, 1, 1, spacing=(1, math.nan, 1)), ValueError, "(?i)nan"),
        (lambda: uLib.VoxImage(1, 1, 1, spacing=(0, 1, 1)), ValueError, "0"),
        (lambda: uLib.VoxImage(1, 1, 1, origin=(1, math.inf, 1)), ValueError, "inf"),
        (lambda: uLib.VoxImage(1, 1, 1, spacing=(1, 1)), ValueError, None),
        (lambda: uLib.VoxImage(1, 1, 1, order="XYY"), ValueError, "XYY"),
        (lambda: ramp().GetValue(60), IndexError, "60"),
        (lambda: ramp().GetValue(-1), IndexError, "-1"),
        (lambda: ramp().GetValue(0, 4, 0), IndexError, "voxel y.*4"),
        (lambda: ramp().GetValue(0, 0, -1), IndexError, "voxel z.*-1"),
        (lambda: ramp().GetValue(0, 1), TypeError, "GetValue"),
        (lambda: ramp().GetValue("a"), TypeError, None),
        (lambda: ramp().SetValue(60, 1), IndexError, "60"),
        (lambda: ramp().SetValue(1), TypeError, "SetValue"),
        (lambda: ramp().SetValue(1, "x"), TypeError, None),
        (lambda: ramp().SetDims(2, 0, 2), ValueError, "0"),
        (lambda: ramp().SetValues(np.zeros(59, np.float32)), ValueError, "60.*59"),
        (lambda: ramp().SetValues(np.zeros((3, 4, 5), np.float32)), ValueError, "3, 4, 5"),
        (lambda: ramp().SetValues(np.zeros(60, np.complex64)), TypeError, "complex64"),
        (lambda: ramp().SetValues(np.array(["a"] * 60)), TypeError, None),
        (lambda: ramp().SetValues("text"), TypeError, "text"),
        (lambda: ramp().SetValues(3.0), ValueError, "Fill"),
        (lambda: ramp().SetValues(None), TypeError, None),
        (lambda: ramp().Sum(axis=3), IndexError, "3"),
        (lambda: ramp().Sum(axis=(0, 0)), ValueError, None),
        (lambda: ramp().Sum(axis="x"), TypeError, "axis"),
        (lambda: ramp().Fill("x"), TypeError, None),
        (lambda: ramp().Field("Weight"), IndexError, "Weight"),
        (lambda: uLib.VoxImage(1, 1, 1, voxel_bytes=4).Count, IndexError, "Count"),
        (lambda: ramp().Count.Fill(-1), OverflowError, None),
        (lambda: ramp().Count.Fill(1.5), TypeError, None),
        (lambda: ramp().UnMap(60), IndexError, "60"),
        (lambda: ramp().Find((math.nan, 0, 0)), ValueError, "(?i)nan"),
    ],
)
def test_bad_input_raises_the_fitting_exception_naming_the_value(make, error, names):
    with pytest.raises(error, match=names):
        make()
