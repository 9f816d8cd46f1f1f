"""Operations on the host, beside NumPy's and PyTorch's."""

import numpy as np
import uLib

from timing import median


def rows(table, peers, edge):
    torch = peers.torch
    count = edge**3
    image = uLib.VoxImage(edge, edge, edge, voxel_bytes=4)
    other = uLib.VoxImage(edge, edge, edge, voxel_bytes=4)
    image.Fill(1)
    other.Fill(1)
    array, second = np.ones(count, dtype=np.float32), np.ones(count, dtype=np.float32)
    tensor, addend = (torch.ones(count), torch.ones(count)) if torch else (None, None)
    lines = 4 * count

    def scale():
        nonlocal array
        array *= 1.0000001

    for work, touched, ours, in_numpy, in_torch in (
        ("fill", lines, lambda: image.Fill(1), lambda: array.fill(1), lambda: tensor.fill_(1)),
        ("scale, in place", 2 * lines, lambda: image.Scale(1.0000001), scale, lambda: tensor.mul_(1.0000001)),
        ("add another, in place", 3 * lines, lambda: image.Add(other), lambda: np.add(array, second, out=array), lambda: tensor.add_(addend)),
        ("clamp, in place", 2 * lines, lambda: image.Clamp(0, 2), lambda: np.clip(array, 0, 2, out=array), lambda: tensor.clamp_(0, 2)),
        ("square root, in place", 2 * lines, image.Sqrt, lambda: np.sqrt(array, out=array), lambda: tensor.sqrt_()),
        ("sum", lines, image.Sum, lambda: array.sum(), lambda: tensor.sum()),
        ("variance", lines, image.Variance, lambda: array.var(), lambda: tensor.var()),
        ("max", lines, image.Max, lambda: array.max(), lambda: tensor.max()),
        ("argmax", lines, image.ArgMax, lambda: array.argmax(), lambda: tensor.argmax()),
        ("histogram of 256 bins", lines, lambda: image.Histogram(256, (0, 2)), lambda: np.histogram(array, 256, (0, 2)), lambda: torch.histc(tensor, 256, 0, 2)),
    ):
        table.row(
            f"{work} {edge}^3 float32",
            touched,
            median(ours, repeats=7),
            {"NumPy": median(in_numpy, repeats=7), "PyTorch": median(in_torch, repeats=7) if torch else None},
        )
