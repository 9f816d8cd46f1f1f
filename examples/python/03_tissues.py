"""Lesson 3 in Python: volumes of labels from files, one tissue of each measured, drawn, and kept as a scene.

Reads volumes whose voxels are labels, puts them where they are preferred, takes one label as a mask, counts its voxels and
its volume, sums its area in every slice along the three axes, draws slices, projections and the areas, and saves a scene with
the volume, the mask and the table, and a page for a browser. The numbers are the same with and without a GPU.

    python 03_tissues.py                                   the volumes that come with the package pyvista
    python 03_tissues.py --label 12 --out tissue frog_tissues.vti
"""

import argparse
import importlib.util
import pathlib
import sys

import uLib
from uLib.scene import Scene

SHIPPED = ("frog_tissues.vti", "channels.vti")
AXES = ("x", "y", "z")
MOST_LABELS = 1 << 16
# The axes of the grid, which is indexed [z, y, x], along which a slice lies.
ACROSS = {"x": (0, 1), "y": (0, 2), "z": (1, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("volumes", metavar="FILE", nargs="*", help="volumes of labels; without any, those of pyvista")
    parser.add_argument("--label", type=int, help="the label of the tissue (default: the most frequent one but 0)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tissues"), help="the folder of what is written (default: tissues)")
    arguments = parser.parse_args()
    print(uLib.device.describe())
    try:
        for file in arguments.volumes or shipped():
            measure(pathlib.Path(file), arguments.label, arguments.out)
    except (OSError, ValueError) as error:
        sys.exit(f"03_tissues.py: {error}")


def shipped():
    """The volumes that come with pyvista, which itself is not needed to read them."""
    package = importlib.util.find_spec("pyvista")
    if package is None:
        raise ValueError("pyvista is not installed, whose volumes these are: python -m pip install pyvista, or name files of your own")
    folder = pathlib.Path(package.origin).parent / "examples"
    return [folder / name for name in SHIPPED]


def measure(file, label, out):
    volume = uLib.io.read_image(file, voxel_bytes=4)
    volume.PreferredDevice = "Device"
    size = volume.GetSpacing()
    print(f"\n{file.name}: {by(volume.GetDims())} voxels of {by(map(number, size))} mm")
    print(f"    volume    {volume.GetDataLocation()}")
    counts = count_labels(volume)
    if label is None:
        label = max((found for found in counts if found != 0), key=counts.get, default=None)
    if counts.get(label, 0) == 0:
        raise ValueError(f"{file}: no voxel has the label {label}, only {', '.join(map(str, counts))}")
    print(f"    labels    {', '.join(map(str, counts))}")

    # Ones where the tissue is, made where the volume is.
    mask = uLib.VoxImage(*volume.GetDims(), voxel_bytes=4, spacing=size, origin=volume.GetOrigin())
    mask.PreferredDevice = "Device"
    volume.Threshold("==", label, out=mask)
    print(f"    mask      {mask.GetDataLocation()}")
    voxels = int(mask.Sum())
    print(f"    label {label}: {voxels} voxels, {number(voxels * size[0] * size[1] * size[2])} mm^3")

    areas = areas_of_slices(mask)
    print(f"    areas     {areas.GetDataLocation()}")
    places = {}
    for axis, dim in zip(AXES, volume.GetDims()):
        column = areas.GetColumn(axis)[:dim]
        places[axis] = largest = int(column.argmax())
        filled = column.nonzero()[0]
        print(
            f"    along {axis}   slices {filled[0]} to {filled[-1]}, "
            f"the largest is {largest} with {number(column[largest])} mm^2"
        )

    out.mkdir(parents=True, exist_ok=True)
    draw(out, file.stem, volume, mask, areas, places, max(counts))
    scene = Scene({"volume": volume, "mask": mask, "areas": areas})
    scene.save(out / f"{file.stem}.gcx")
    scene.report(out / f"{file.stem}.html", title=f"{file.name}, label {label}")
    print(f"    written   {out / file.stem}.gcx, {file.stem}.html and the pictures {file.stem}-*.png")


def count_labels(volume):
    """How many voxels each label has that occurs, counted where the volume is."""
    low, high = volume.Min(), volume.Max()
    if not 0 <= low <= high < MOST_LABELS:
        raise ValueError(f"the voxels are numbers from {number(low)} to {number(high)}, not labels from 0 to {MOST_LABELS - 1}")
    counts, _ = volume.Histogram(int(high) + 1, (-0.5, int(high) + 0.5))
    return {label: int(count) for label, count in enumerate(counts) if count}


def areas_of_slices(mask):
    """A table with a row for each slice, and in it the area of the mask in mm^2 in that slice along x, along y and along z.

    Along an axis that has no more slices there is no number.
    """
    size = dict(zip(AXES, mask.GetSpacing()))
    table = uLib.EventTable("slice,x,y,z", rows=max(mask.GetDims()))
    table.SetValues([[row, *[float("nan")] * 3] for row in range(table.Rows)])
    for axis in AXES:
        one, other = (size[found] for found in AXES if found != axis)
        for row, voxels in enumerate(mask.Sum(axis=ACROSS[axis])):
            table.SetValue(row, axis, voxels * one * other)
    table.PreferredDevice = "Device"
    return table


def draw(out, stem, volume, mask, areas, places, largest_label):
    """The slices with the largest areas, the mask seen along each axis, and the areas."""
    for axis, place in places.items():
        write = (out / f"{stem}-slice-{axis}.png").write_bytes
        write(uLib.picture.slice(volume, axis, place, window=(0, largest_label), colours="turbo"))
        write = (out / f"{stem}-mask-{axis}.png").write_bytes
        write(uLib.picture.projection(mask, axis, "maximum"))
    plot = uLib.picture.plot(areas, "slice", AXES, title=f"{stem}: area of the slices along x, y and z in mm^2")
    (out / f"{stem}-areas.png").write_bytes(plot)


def by(sides):
    return " x ".join(map(str, sides))


def number(value):
    """A number without the digits that say nothing."""
    return repr(float(value)).removesuffix(".0")


if __name__ == "__main__":
    main()
