"""``uLib.io``: volumes and tables in files, against NumPy and nibabel."""

import csv

import numpy as np
import pytest
import uLib

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 5.5


@pytest.fixture
def image(place):
    image = uLib.VoxImage(4, 3, 2, spacing=(0.5, 1, 2), origin=(-1, 0, 1))
    image.SetValues(VALUES)
    image.PreferredDevice = place
    return image


def test_numpy_reads_what_is_written(tmp_path, image):
    before = image.Transfers.downloads
    uLib.io.write_image(image, tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), VALUES)
    assert image.Transfers.downloads - before <= 1
    uLib.io.write_image(image, str(tmp_path / "b.npz"), scale=2, dtype=np.float64, array="density", compressed=True)
    with np.load(tmp_path / "b.npz") as file:
        assert list(file) == ["density"] and file["density"].dtype == np.float64
        np.testing.assert_array_equal(file["density"], 2 * VALUES.astype(np.float64))
    uLib.io.write_image(image, tmp_path / "c.npy", dtype="int16")
    assert np.load(tmp_path / "c.npy").dtype == np.int16
    # To the nearest, ties to even.
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.rint(VALUES))


def test_what_numpy_and_nibabel_write_is_read(tmp_path):
    np.save(tmp_path / "a.npy", VALUES.astype(">f8"))
    image = uLib.io.read_image(tmp_path / "a.npy", scale=0.5)
    assert image.GetDims() == (4, 3, 2) and image.VoxelBytes == 8
    np.testing.assert_array_equal(np.asarray(image.Grid()), VALUES / 2)
    assert uLib.io.read_image(tmp_path / "a.npy", voxel_bytes=4).VoxelBytes == 4
    np.savez(tmp_path / "b.npz", one=VALUES, two=-VALUES)
    assert uLib.io.read_image(tmp_path / "b.npz", array="two").Sum() == -VALUES.sum()
    channels = uLib.io.read_multi_image(tmp_path / "b.npz", arrays=["two", "one"])
    channels.SetActive(1, 0)
    assert channels.Sum() == VALUES.sum()
    nibabel = pytest.importorskip("nibabel")
    nibabel.Nifti1Image(VALUES.transpose(), np.diag([0.5, 1, 2, 1])).to_filename(tmp_path / "c.nii.gz")
    image = uLib.io.read_image(tmp_path / "c.nii.gz")
    assert image.GetSpacing() == (0.5, 1, 2)
    np.testing.assert_array_equal(np.asarray(image.Grid()), VALUES)


@pytest.mark.parametrize("end", ["vti", "vtk", "mha", "mhd", "nrrd", "nhdr"])
def test_the_other_formats_keep_values_and_geometry(tmp_path, image, end):
    path = tmp_path / f"a.{end}"
    uLib.io.write_image(image, path)
    info = uLib.io.image_info(path)
    assert info["default"] == 0
    (array,) = info["arrays"]
    assert (array["typestr"], array["components"], array["dims"]) == ("<f4", 1, (4, 3, 2))
    assert (array["spacing"], array["origin"]) == ((0.5, 1, 2), (-1, 0, 1))
    again = uLib.io.read_image(path, format=info["format"])
    assert (again.GetSpacing(), again.GetOrigin()) == ((0.5, 1, 2), (-1, 0, 1))
    np.testing.assert_array_equal(np.asarray(again.Grid()), VALUES)


def test_a_multi_image_and_a_proxy_are_written(tmp_path):
    channels = uLib.MultiVoxImage(4, 3, 2, channels=2)
    channels.SetValues(VALUES)
    scene = uLib.scene.Scene({"channels": channels})
    uLib.io.write_image(scene.proxy("channels"), tmp_path / "a.npz", array=["one", "two"])
    with np.load(tmp_path / "a.npz") as file:
        np.testing.assert_array_equal(file["one"], VALUES)
        assert not file["two"].any()


def test_errors_name_the_file(tmp_path, image):
    with pytest.raises(FileNotFoundError, match="nothing.npy"):
        uLib.io.read_image(tmp_path / "nothing.npy")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00")
    with pytest.raises(uLib.FormatError, match="bad.npy"):
        uLib.io.read_image(tmp_path / "bad.npy")
    with pytest.raises(ValueError, match=r"a\.gif"):
        uLib.io.write_image(image, tmp_path / "a.gif")
    with pytest.raises(ValueError, match=".gif. is none of vtk, vti"):
        uLib.io.write_image(image, tmp_path / "a.npy", format="gif")
    with pytest.raises(TypeError, match="an? (uLib.)?EventTable is no image"):
        uLib.io.write_image(uLib.EventTable("a"), tmp_path / "a.npy")
    with pytest.raises(TypeError, match="is no EventTable"):
        uLib.io.write_table(image, tmp_path / "a.csv")
    with pytest.raises(ValueError, match="voxel_bytes 5"):
        uLib.io.read_image(tmp_path / "bad.npy", voxel_bytes=5)


def test_one_of_something_and_articles(tmp_path):
    assert repr(uLib.EventTable("a", 1)).startswith("<uLib.EventTable 1 row of (a),")
    assert repr(uLib.EventTable("a", 2)).startswith("<uLib.EventTable 2 rows of (a),")
    scene = uLib.scene.Scene()
    scene["recipe"] = uLib.Recipe("def run(ctx): pass")
    scene["table"] = uLib.EventTable("a", 1)
    assert "<uLib.Recipe 1 line, Host>" in repr(scene)
    scene.save(tmp_path / "scene.gcx")
    scene.report(tmp_path / "scene.html")
    assert "1 row x 1 column &middot;" in (tmp_path / "scene.html").read_text()
    with pytest.raises(TypeError, match="'n' cannot be an int, only"):
        scene["n"] = 1
    with pytest.raises(TypeError, match="'n' cannot be a str, only"):
        scene["n"] = "1"
    with pytest.raises(TypeError, match="an int is no image"):
        uLib.io.write_image(1, tmp_path / "a.npy")


def test_tables(tmp_path, place):
    table = uLib.EventTable("slice,total")
    table.AddRows([[0, 0.1], [1, float("nan")]])
    table.PreferredDevice = place
    uLib.io.write_table(table, tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["slice", "total"] and [float(cell) for cell in rows[1]] == [0, 0.1] and len(rows) == 3
    again = uLib.io.read_table(tmp_path / "a.csv")
    assert again.Columns == "slice,total" and np.array_equal(np.asarray(again), np.asarray(table), equal_nan=True)
    uLib.io.write_table(table, tmp_path / "a.parquet")
    total = uLib.io.read_table(tmp_path / "a.parquet", ["total"])
    assert total.Columns == "total" and np.asarray(total)[0, 0] == 0.1
    with pytest.raises(FileNotFoundError):
        uLib.io.read_table(tmp_path / "nothing.csv")
