"""Files of other programs, read here, and ours, read there: VTK, SimpleITK, nibabel, NumPy, pyvista's examples, Arrow.

Nothing here depends on where the numbers are; scripts/gpu-bundle.sh leaves this file out.
"""

import itertools

import numpy as np
import pytest
import uLib
from uLib import io

vtk = pytest.importorskip("vtk", reason="VTK is not installed")
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy  # noqa: E402

DIMS = (5, 4, 3)
SPACING = (0.5, 1.25, 3.0)
ORIGIN = (-1.0, 2.5, 10.0)
TYPES = ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def numbers(dtype, dims=DIMS, components=1):
    """x fastest, shape (nz, ny, nx[, components]): small, of both signs where there are two, with fractions where there are some."""
    count = int(np.prod(dims)) * components
    values = np.arange(count) - (count // 2 if np.dtype(dtype).kind != "u" else 0)
    if np.dtype(dtype).kind == "f":
        values = values * 0.25
    shape = dims[::-1] + ((components,) if components > 1 else ())
    return values.astype(dtype).reshape(shape)


def volume(values, spacing=SPACING, origin=ORIGIN):
    """An image of our own with these numbers, in the order x fastest."""
    image = uLib.VoxImage(*values.shape[::-1])
    image.SetSpacing(spacing)
    image.SetOrigin(origin)
    image.SetValues(values.astype(np.float32).ravel())
    return image


def values_of(image):
    """The numbers of an image of ours, shape (nz, ny, nx)."""
    return np.array(image.GetValues()).reshape(image.GetDims()[::-1])


def assert_same(image, expected, spacing=SPACING, origin=ORIGIN):
    np.testing.assert_array_equal(values_of(image), expected.astype(np.float32))
    np.testing.assert_allclose(image.GetSpacing(), spacing, rtol=1e-6)
    np.testing.assert_allclose(image.GetOrigin(), origin, rtol=1e-6)


def vtk_image(values, cells=False, name="density", spacing=SPACING, origin=ORIGIN):
    components = values.shape[3] if values.ndim == 4 else 1
    image = vtk.vtkImageData()
    dims = values.shape[2::-1]
    image.SetDimensions(*(side + cells for side in dims))
    image.SetSpacing(*spacing)
    image.SetOrigin(*origin)
    array = numpy_to_vtk(np.ascontiguousarray(values).reshape(-1, components), deep=True)
    array.SetName(name)
    (image.GetCellData() if cells else image.GetPointData()).SetScalars(array)
    return image


def vtk_values(image):
    data = image.GetPointData().GetScalars()
    cells = data is None
    if cells:
        data = image.GetCellData().GetScalars() or image.GetCellData().GetArray(0)
    dims = [side - cells for side in image.GetDimensions()]
    return vtk_to_numpy(data).reshape(dims[::-1])


def vtk_write(writer, image, path):
    writer.SetFileName(str(path))
    writer.SetInputData(image)
    assert writer.Write() == 1


def vtk_read(reader, path):
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


MODES = ("ascii", "binary", "appended-raw", "appended-base64")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_vti_of_vtk(tmp_path, mode, dtype):
    for cells, compressed, wide, big in itertools.product((False, True), repeat=4):
        if mode == "ascii" and (compressed or wide or big):
            continue
        writer = vtk.vtkXMLImageDataWriter()
        writer.SetDataMode({"ascii": vtk.vtkXMLWriter.Ascii, "binary": vtk.vtkXMLWriter.Binary}.get(mode, vtk.vtkXMLWriter.Appended))
        writer.SetEncodeAppendedData(mode == "appended-base64")
        if compressed:
            writer.SetCompressorTypeToZLib()
        else:
            writer.SetCompressorTypeToNone()
        (writer.SetHeaderTypeToUInt64 if wide else writer.SetHeaderTypeToUInt32)()
        (writer.SetByteOrderToBigEndian if big else writer.SetByteOrderToLittleEndian)()
        vtk_write(writer, vtk_image(numbers(dtype), cells), tmp_path / "theirs.vti")
        assert_same(io.read_image(tmp_path / "theirs.vti"), numbers(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_vtk_of_vtk(tmp_path, dtype):
    for ascii, cells in itertools.product((False, True), repeat=2):
        writer = vtk.vtkStructuredPointsWriter()
        (writer.SetFileTypeToASCII if ascii else writer.SetFileTypeToBinary)()
        image = vtk.vtkStructuredPoints()
        image.ShallowCopy(vtk_image(numbers(dtype), cells))
        vtk_write(writer, image, tmp_path / "theirs.vtk")
        assert_same(io.read_image(tmp_path / "theirs.vtk"), numbers(dtype))


@pytest.mark.parametrize("ascii", (False, True))
@pytest.mark.parametrize("compressed", (False, True))
@pytest.mark.parametrize("dtype", TYPES)
def test_our_files_in_vtk(tmp_path, dtype, compressed, ascii):
    for name, reader in (("ours.vti", vtk.vtkXMLImageDataReader), ("ours.vtk", vtk.vtkStructuredPointsReader)):
        if compressed and (ascii or name == "ours.vtk"):
            continue
        io.write_image(volume(numbers(dtype)), tmp_path / name, dtype=dtype, compressed=compressed, ascii=ascii)
        theirs = vtk_read(reader(), tmp_path / name)
        np.testing.assert_array_equal(vtk_values(theirs), numbers(dtype))
        np.testing.assert_allclose(theirs.GetSpacing(), SPACING)
        np.testing.assert_allclose(theirs.GetOrigin(), ORIGIN)


def test_units_and_orders(tmp_path):
    """uLib's files hold the value times 1e6, x fastest whatever the order in memory."""
    values = numbers("float32") * np.float32(1e-6)
    image = volume(values)
    image.SetDataOrder("ZYX")
    io.write_image(image, tmp_path / "density.vtk", scale=1e6)
    theirs = vtk_values(vtk_read(vtk.vtkStructuredPointsReader(), tmp_path / "density.vtk"))
    np.testing.assert_allclose(theirs, numbers("float32"), rtol=1e-6)
    again = io.read_image(tmp_path / "density.vtk", scale=1e-6)
    np.testing.assert_allclose(values_of(again), values, rtol=1e-6)


def test_several_arrays_and_components(tmp_path):
    image = vtk_image(numbers("int16", components=3), name="colour")
    other = numpy_to_vtk(numbers("float32").ravel(), deep=True)
    other.SetName("weight")
    image.GetPointData().AddArray(other)
    vtk_write(vtk.vtkXMLImageDataWriter(), image, tmp_path / "several.vti")
    info = io.image_info(tmp_path / "several.vti")
    assert [(array["name"], array["components"]) for array in info["arrays"]] == [("colour", 3), ("weight", 1)]
    assert_same(io.read_image(tmp_path / "several.vti", array="weight"), numbers("float32"))
    assert_same(io.read_image(tmp_path / "several.vti", array="colour", component=2), numbers("int16", components=3)[..., 2])
    colours = io.read_multi_image(tmp_path / "several.vti", arrays=["colour"])
    for component in range(3):
        colours.SetActive(0, component)
        np.testing.assert_array_equal(values_of(colours), numbers("int16", components=3)[..., component])
    with pytest.raises(ValueError, match="components of array"):
        io.read_image(tmp_path / "several.vti", array="colour")
    with pytest.raises(IndexError, match="size"):
        io.read_image(tmp_path / "several.vti", array="size")


@pytest.mark.parametrize("name", ("a.mha", "a.mhd", "a.nrrd", "a.nhdr", "a.nii", "a.nii.gz"))
def test_simpleitk(tmp_path, name):
    sitk = pytest.importorskip("SimpleITK", reason="SimpleITK is not installed")
    for dtype, compressed in itertools.product(TYPES, (False, True)):
        if name.endswith("gz") != compressed and ".nii" in name:
            continue
        if ".nii" in name and dtype in ("int64", "uint64"):
            continue
        theirs = sitk.GetImageFromArray(numbers(dtype))
        theirs.SetSpacing(SPACING)
        # NIfTI's x and y point the other way than ITK's.
        turned = ".nii" in name
        theirs.SetOrigin(ORIGIN)
        if turned:
            theirs.SetDirection((-1, 0, 0, 0, -1, 0, 0, 0, 1))
            theirs.SetOrigin((-ORIGIN[0], -ORIGIN[1], ORIGIN[2]))
        sitk.WriteImage(theirs, str(tmp_path / name), useCompression=compressed)
        assert_same(io.read_image(tmp_path / name), numbers(dtype))
        if turned:
            continue
        io.write_image(volume(numbers(dtype)), tmp_path / f"ours-{name}", dtype=dtype, compressed=compressed)
        ours = sitk.ReadImage(str(tmp_path / f"ours-{name}"))
        np.testing.assert_array_equal(sitk.GetArrayFromImage(ours), numbers(dtype))
        np.testing.assert_allclose(ours.GetSpacing(), SPACING)
        np.testing.assert_allclose(ours.GetOrigin(), ORIGIN)


@pytest.mark.parametrize("name", ("a.nii", "a.nii.gz"))
def test_nibabel(tmp_path, name):
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    affine = np.diag([*SPACING, 1.0])
    affine[:3, 3] = ORIGIN
    for kind, dtype in itertools.product((nibabel.Nifti1Image, nibabel.Nifti2Image), TYPES):
        theirs = kind(numbers(dtype).T, affine, dtype=dtype)
        nibabel.save(theirs, tmp_path / name)
        assert_same(io.read_image(tmp_path / name), numbers(dtype))
    scaled = nibabel.Nifti1Image(numbers("int16").T, affine)
    scaled.header.set_slope_inter(0.5, -3.0)
    scaled.to_filename(tmp_path / name)
    expected = np.asarray(nibabel.load(tmp_path / name).dataobj).T
    assert_same(io.read_image(tmp_path / name), expected)
    assert not np.array_equal(expected, numbers("int16"))


@pytest.mark.parametrize("dtype", (*TYPES, "float16", "bool", ">f4", ">i2"))
def test_numpy(tmp_path, dtype):
    values = numbers("float32") > 0 if dtype == "bool" else numbers("float32").astype(dtype) if ">" in dtype else numbers(dtype)
    for order in "CF":
        np.save(tmp_path / "a.npy", np.asarray(values, order=order))
        assert_same(io.read_image(tmp_path / "a.npy"), values, (1, 1, 1), (0, 0, 0))
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", first=values, second=values[::-1])
        assert_same(io.read_image(tmp_path / "a.npz", array="second"), values[::-1], (1, 1, 1), (0, 0, 0))
    if dtype in TYPES:
        for compressed in (False, True):
            io.write_image(volume(values), tmp_path / "b.npz", dtype=dtype, array="ours", compressed=compressed)
            with np.load(tmp_path / "b.npz") as file:
                np.testing.assert_array_equal(file["ours"], values)
                assert file["ours"].dtype == np.dtype(dtype)
        io.write_image(volume(values), tmp_path / "b.npy", dtype=dtype)
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values)


@pytest.mark.parametrize(("name", "dims"), (("frog_tissues.vti", (500, 470, 136)), ("channels.vti", (250, 250, 100))))
def test_examples_that_pyvista_ships(name, dims):
    examples = pytest.importorskip("pyvista.examples", reason="pyvista is not installed")
    path = f"{examples.dir_path}/{name}"
    theirs = vtk_read(vtk.vtkXMLImageDataReader(), path)
    image = io.read_image(path)
    assert tuple(image.GetDims()) == dims
    assert_same(image, vtk_values(theirs), theirs.GetSpacing(), theirs.GetOrigin())


def test_tables_of_arrow(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rows = 100_000
    columns = {name: (np.arange(rows) % 120).astype(name) for name in TYPES}
    columns["flag"] = np.arange(rows) % 3 == 0
    holes = [None if i % 7 == 0 else i / 8 for i in range(rows)]
    theirs = arrow.table({**columns, "holes": holes, "word": ["a"] * rows})
    for codec, version, dictionary in itertools.product(("none", "snappy", "gzip"), ("1.0", "2.0"), (True, False)):
        parquet.write_table(theirs, tmp_path / "a.parquet", compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=30_000)
        with pytest.raises(ValueError, match="column 'word'"):
            io.read_table(tmp_path / "a.parquet")
        table = io.read_table(tmp_path / "a.parquet", columns=[*columns, "holes"])
        ours = np.asarray(table)
        assert ours.shape == (rows, len(columns) + 1)
        for i, values in enumerate(columns.values()):
            np.testing.assert_array_equal(ours[:, i], values.astype(float))
        np.testing.assert_array_equal(ours[:, -1], np.array([np.nan if x is None else x for x in holes]))


def test_our_tables_in_arrow_and_numpy(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = uLib.EventTable("slice,total")
    cells = np.random.default_rng(7).standard_normal((1000, 2))
    for row in cells:
        table.AddRow(row.tolist())
    io.write_table(table, tmp_path / "a.parquet")
    theirs = parquet.read_table(tmp_path / "a.parquet")
    assert theirs.column_names == ["slice", "total"]
    np.testing.assert_array_equal(np.stack([theirs[name].to_numpy() for name in theirs.column_names], 1), cells)
    io.write_table(table, tmp_path / "a.csv")
    np.testing.assert_array_equal(np.genfromtxt(tmp_path / "a.csv", delimiter=",", skip_header=1), cells)
    np.savetxt(tmp_path / "b.csv", cells, delimiter=",", header="slice,total", comments="", fmt="%.17g")
    np.testing.assert_array_equal(np.asarray(io.read_table(tmp_path / "b.csv")), cells)
