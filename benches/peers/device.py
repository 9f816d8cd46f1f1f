"""Operations on an image that is on the card, beside CuPy's and PyTorch's on the same numbers."""

import uLib

from timing import events, median


def resident(edge, voxel_bytes):
    image = uLib.VoxImage(*edge, voxel_bytes=voxel_bytes)
    image.Fill(1)
    assert image.SetPreferredDevice("Device"), image.GetDataLocation()
    return image


def values(peers, image):
    """The image's values as CuPy's and PyTorch's own arrays of the same layout, `(nz, ny, nx)`, each None where there is none."""
    count, step = len(image), image.VoxelBytes // 4
    shape = image.Grid().Shape
    in_cupy = peers.cupy.ones((count, step), dtype=peers.cupy.float32)[:, 0].reshape(shape) if peers.cupy else None
    torch = peers.torch_on_card
    in_torch = torch.ones((count, step), device="cuda")[:, 0].reshape(shape) if torch else None
    return in_cupy, in_torch


def rows(table, peers, name, edge, voxel_bytes):
    """A row for each operation on an image of `edge` voxels, with its whole time: call, kernels, result."""
    image = resident(edge, voxel_bytes)
    other = resident(edge, voxel_bytes)
    image.Grid()
    c, t = values(peers, image)
    lines = len(image) * voxel_bytes
    cupy, torch = peers.cupy, peers.torch_on_card
    strided = voxel_bytes > 4

    def row(work, touched, ours, in_cupy=None, in_torch=None, cupy_part=1):
        table.row(
            f"{work} {name}",
            touched,
            median(ours, peers.wait),
            {
                "CuPy": cupy_part * median(in_cupy, peers.wait) if c is not None and in_cupy else None,
                "PyTorch": median(in_torch, peers.wait) if t is not None and in_torch else None,
            },
        )

    # CuPy reduces strided arrays with one thread block an output: a slice of 1/64, times 64.
    part = c if c is None or not strided else c[: max(1, c.shape[0] // 64)]
    factor = 1 if part is None else c.size / part.size

    def cupy_scale():
        nonlocal c
        c *= 1.0000001

    row("scale, in place", 2 * lines, lambda: image.Scale(1.0000001), cupy_scale, lambda: t.mul_(1.0000001))
    if cupy and torch:
        c2, t2 = cupy.ones_like(c), torch.ones_like(t)
        row("multiply by another image, in place", 3 * lines, lambda: image.Multiply(other),
            lambda: cupy.multiply(c, c2, out=c), lambda: t.mul_(t2))
        row("axpy", 3 * lines, lambda: image.Axpy(0.5, other), None, lambda: t.add_(t2, alpha=0.5))
        del c2, t2
    row("clamp, in place", 2 * lines, lambda: image.Clamp(0.0, 2.0), lambda: cupy.clip(c, 0, 2, out=c), lambda: t.clamp_(0, 2))
    row("square root, in place", 2 * lines, image.Sqrt, lambda: cupy.sqrt(c, out=c), lambda: t.sqrt_())
    row("exp, in place", 2 * lines, image.Exp, lambda: cupy.exp(c, out=c), lambda: t.exp_())
    image.Fill(1)
    row("sum", lines, image.Sum, lambda: part.sum(), lambda: t.sum(), factor)
    row("mean", lines, image.Mean, lambda: part.mean(), lambda: t.mean(), factor)
    row("variance", lines, image.Variance, lambda: part.var(), lambda: t.var(), factor)
    row("min", lines, image.Min, lambda: part.min(), lambda: t.min(), factor)
    row("max", lines, image.Max, lambda: part.max(), lambda: t.max(), factor)
    row("argmax", lines, image.ArgMax, lambda: part.argmax(), lambda: t.argmax(), factor)
    row("norm", lines, image.Norm, None, lambda: torch.linalg.vector_norm(t))
    row("dot", 2 * lines, lambda: image.Dot(other))
    spread(image)
    if c is not None:
        c[...] = cupy.asarray(image.Grid())
    if t is not None:
        t.copy_(torch.as_tensor(image.Grid(), device="cuda"))
    image.EndExports()
    row("histogram of 256 bins", lines, lambda: image.Histogram(256, (0.0, 1.0)),
        lambda: cupy.histogram(c.ravel(), 256, (0.0, 1.0)), lambda: torch.histc(t, 256, 0.0, 1.0))
    row("quantile 0.9", lines, lambda: image.Quantile(0.9),
        lambda: cupy.quantile(c.ravel(), 0.9) if c.size <= 1 << 28 else None, None)


def spread(image):
    """Numbers from 0 to 1 that look random, made by the card where it can."""
    import numpy as np

    rng = np.random.default_rng(1)
    block = rng.random(1 << 20, dtype=np.float32)
    image.SetValues(np.resize(block, len(image)))
    image.Update()


def profiles(table, peers, edge):
    image = resident((edge,) * 3, 8)
    c, t = values(peers, image)
    for kept, axes in (("fastest", (0, 1)), ("middle", (0, 2)), ("slowest", (1, 2))):
        table.row(
            f"profile of {edge}^3 voxels of 8 bytes, keep the {kept} axis",
            8 * edge**3,
            median(lambda axes=axes: image.Sum(axis=axes), peers.wait),
            {
                "CuPy": median(lambda a=axes: c.sum(axis=a), peers.wait) if c is not None else None,
                "PyTorch": median(lambda a=axes: t.sum(dim=a), peers.wait) if t is not None else None,
            },
        )


def by_events(table, peers):
    """2 GiB, the time between two events: what the card itself needs, as published figures of peers are taken."""
    if not peers.cupy:
        return
    for name, edge, voxel_bytes in (("2 GiB of voxels of 8 bytes", (1024, 512, 512), 8), ("2 GiB of float32", (1024, 1024, 512), 4)):
        image = resident(edge, voxel_bytes)
        c, t = values(peers, image)
        part = c if voxel_bytes == 4 else c[:8]
        lines = len(image) * voxel_bytes

        def cupy_scale():
            nonlocal c
            c *= 1.0000001

        for work, touched, ours, in_cupy, in_torch, factor in (
            ("scale", 2 * lines, lambda: image.Scale(1.0000001), cupy_scale, lambda: t.mul_(1.0000001), 1),
            ("sum", lines, image.Sum, lambda: part.sum(), lambda: t.sum(), c.size / part.size),
        ):
            table.row(
                f"{work} {name}",
                touched,
                events(peers.cupy, ours),
                {
                    "CuPy": factor * events(peers.cupy, in_cupy),
                    "PyTorch": events(peers.cupy, in_torch) if t is not None else None,
                },
            )
        del image, c, t, part
