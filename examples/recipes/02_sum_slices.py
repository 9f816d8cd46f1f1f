"""Sums every slice of constant x where the voxels are, and writes the sums into the table."""

import uLib


def run(ctx):
    image = ctx["phantom"]
    print("voxels are", image.GetDataLocation())
    nx, ny, nz = image.GetDims()
    profile, how = sum_slices(ctx, image, (nz, ny, nx))
    ctx.log("summed", how)

    table = ctx["profile"]
    table.Columns = "slice,total"
    table.Clear()
    for index, total in enumerate(profile):
        table.AddRow([float(index), float(total)])
        ctx.progress(index + 1, nx)
    ctx.refresh()


def sum_slices(ctx, image, shape):
    """The sums, and how they were made: by CuPy or numba where the voxels are, or else on the host."""
    ways = with_cupy, with_numba
    if uLib.device.is_device_resident(image):
        for way in ways:
            try:
                return way(image, shape)
            except ImportError:
                continue
            except Exception as error:
                # A library that is installed and cannot work here is no reason to stop.
                ctx.log(f"not {way.__name__.replace('_', ' ')}: {error}")
    import numpy

    values = numpy.asarray(image).reshape(shape)
    return values.sum(axis=(0, 1), dtype="float64"), "on the host with NumPy"


def with_cupy(image, shape):
    import cupy

    block = cupy.asarray(image).reshape(shape)
    sums = cupy.asnumpy(block.sum(axis=(0, 1), dtype="float64"))
    return sums, "on the GPU with CuPy, reading the voxels in place"


def with_numba(image, shape):
    from numba import cuda

    view = cuda.as_cuda_array(image)  # no host copy yet
    values = view.copy_to_host().reshape(shape)  # one bulk copy
    return values.sum(axis=(0, 1), dtype="float64"), "on the host, from the device array that numba took"
