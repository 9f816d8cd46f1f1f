"""Lesson 2 in Python: an image and a table beside it that both prefer the GPU, and a profile summed there.

Fills an image with a phantom, or with a volume from a file, sums every slice of constant x where the voxels are, and
writes the sums into an event table. It prints where everything is at each step; on a machine with no GPU it prints that
instead and computes the same numbers.

    python 02_images_on_the_gpu.py
    python 02_images_on_the_gpu.py --volume anatomical.nii
"""

import argparse
import math
import pathlib
import sys

import numpy as np
import uLib

# Voxels along each side of the phantom.
SIDE = 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volume", metavar="FILE", help="a NIfTI volume, read with nibabel")
    arguments = parser.parse_args()
    if arguments.volume is None:
        image, what = phantom(), "the phantom"
    else:
        image, what = volume(arguments.volume), pathlib.Path(arguments.volume).name
    table = uLib.EventTable("slice,total")
    nx, ny, nz = image.GetDims()
    print(f"{what}: {nx} x {ny} x {nz} voxels, order {image.GetDataOrder()}")
    print(uLib.device.describe())
    where_is("made on the host", image, table)

    # Both should live on the GPU. Where that cannot be, they stay on the host and say why.
    image.PreferredDevice = "Device"
    table.PreferredDevice = "Device"
    where_is("both prefer Device", image, table)
    if not image.CanUseDevice():
        print("no GPU can be used here: the same numbers are computed on the host")

    # The grid is indexed [z, y, x]. Summing over z and y leaves one total per slice of constant x.
    profile = image.Sum(axis=(0, 1))
    where_is("profile summed where the voxels are", image, table)

    # Rows are added on the host; the update takes the table back to where it is preferred.
    table.Columns = "slice,total"
    table.Clear()
    for index, total in enumerate(profile):
        table.AddRow([float(index), float(total)])
    where_is("table filled", image, table)
    table.Update()
    where_is("table updated", image, table)

    # The column is a strided view of the table, summed where the table is.
    grand_total = table.Column("total").Sum()
    print(f"array of the table: {table.Typestr} {list(table.Shape)}")
    print("slice  total")
    for index, total in table:
        print(f"{index:>5.0f}  {number(total)}")
    print(f"total of all slices: {number(grand_total)}")
    where_is("table printed from the host", image, table)

    copies = image.Transfers
    print(f"the image was copied {copies.uploads} times up and {copies.downloads} times down")
    return check(image, table)


def where_is(step, image, table):
    print(f"{step}:")
    print(f"    image  {image.GetDataLocation()}")
    print(f"    table  {table.GetDataLocation()}")


def number(value):
    """A number without the digits that say nothing."""
    return repr(float(value)).removesuffix(".0")


def phantom():
    """A ball of density 1 around the middle with a core of density 3, under a slope of 1/32 per voxel along x.

    Every value is a multiple of 1/32, so the sums are exact whatever their order.
    """
    z, y, x = np.indices((SIDE, SIDE, SIDE))
    # Twice the distance from the middle, which lies between two voxels.
    squared = sum((2 * i - (SIDE - 1)) ** 2 for i in (x, y, z))
    density = np.where(squared <= 144, 3.0, np.where(squared <= 784, 1.0, 0.0))  # radius 6, radius 14
    image = uLib.VoxImage(SIDE, SIDE, SIDE)
    image.SetValues((density + x / 32).astype(np.float32))
    return image


def volume(file):
    """The volume in a NIfTI file, with its voxel size."""
    import nibabel

    nifti = nibabel.load(file)
    data = np.asanyarray(nifti.dataobj)
    while data.ndim > 3 and data.shape[-1] == 1:
        data = data[..., 0]
    if data.ndim != 3:
        sys.exit(f"{file}: a 3-D volume is needed, this one has shape {data.shape}")
    image = uLib.VoxImage(*data.shape, spacing=[float(size) for size in nifti.header.get_zooms()[:3]])
    # The file's array is indexed [x, y, z].
    image.SetValues(data.transpose().astype(np.float32))
    return image


def check(image, table):
    """Compares the table with exactly rounded sums of the same values.

    A sum of n values in float64 may differ by n roundings of the sum of their magnitudes.
    """
    grid = np.asarray(image.Grid(), dtype=np.float64)
    equal = 0
    for x, found in enumerate(table.GetColumn("total")):
        values = grid[:, :, x].ravel()
        exact = math.fsum(values)
        allowed = values.size * np.finfo(np.float64).eps * np.abs(values).sum()
        if abs(found - exact) > allowed:
            print(f"the total of slice {x} is {found}, not {exact} up to {allowed}", file=sys.stderr)
            return 1
        equal += found == exact
    count = grid.shape[2]
    others = ", the others are within rounding" if equal < count else ""
    print(f"checked against exactly rounded sums: {equal} of {count} totals have the same bits{others}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
