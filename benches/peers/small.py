"""Copies, and calls whose time is not that of the numbers."""

import numpy as np
import uLib

from timing import many, median


def copies(table, peers):
    cupy, torch = peers.cupy, peers.torch_on_card
    for name, size in (("256 KiB", 1 << 18), ("1 GiB", 1 << 30)):
        numbers = uLib.FloatCollection()
        numbers.Resize(size // 4)
        if not numbers.SetPreferredDevice("Device"):
            print(f"{name}: {numbers.GetDataLocation()}")
            continue
        host = np.ones(size // 4, dtype=np.float32)
        held = cupy.asarray(host) if cupy else None
        tensor = torch.from_numpy(host) if torch else None
        on_card = tensor.cuda() if torch else None
        table.row(
            f"{name} of ordinary memory up",
            size,
            median(numbers.Update, peers.wait, lambda n=numbers: n.SetValue(0, 1.0)),
            {
                "CuPy": median(lambda h=held, a=host: h.set(a), peers.wait) if cupy else None,
                "PyTorch": median(lambda c=on_card, t=tensor: c.copy_(t), peers.wait) if torch else None,
            },
        )
        table.row(
            f"{name} down",
            size,
            median(lambda n=numbers: n.GetValue(0), peers.wait, lambda n=numbers: n.Scale(1)),
            {
                "CuPy": median(lambda h=held, a=host: h.get(out=a), peers.wait) if cupy else None,
                "PyTorch": median(lambda c=on_card, t=tensor: t.copy_(c), peers.wait) if torch else None,
            },
        )
        del held, on_card, numbers


def calls(table, peers):
    cupy, torch, cuda = peers.cupy, peers.torch_on_card, peers.cuda
    small = uLib.VoxImage(32, 32, 32)
    small.Fill(1)
    small.SetPreferredDevice("Device")
    in_cupy = cupy.ones((32**3, 2), dtype=cupy.float32)[:, 0] if cupy else None
    in_torch = torch.ones((32**3, 2), device="cuda")[:, 0] if torch else None

    def cupy_scale():
        nonlocal in_cupy
        in_cupy *= 1.0

    table.row(
        "scale a resident 32^3 image, one call of many",
        0,
        many(lambda: small.Scale(1.0), peers.wait),
        {
            "CuPy": many(cupy_scale, peers.wait) if cupy else None,
            "PyTorch": many(lambda: in_torch.mul_(1.0), peers.wait) if torch else None,
        },
    )
    table.row(
        "sum of a resident 32^3 image, with the result",
        0,
        many(small.Sum, peers.wait, 200),
        {
            "CuPy": many(lambda: float(in_cupy.sum()), peers.wait, 200) if cupy else None,
            "PyTorch": many(lambda: float(in_torch.sum()), peers.wait, 200) if torch else None,
        },
    )
    table.row(
        "reading `__cuda_array_interface__` when resident",
        0,
        many(lambda: small.__cuda_array_interface__),
        {
            "CuPy": many(lambda: in_cupy.__cuda_array_interface__) if cupy else None,
            "PyTorch": many(lambda: in_torch.__cuda_array_interface__) if torch else None,
        },
    )
    if cupy:
        other = torch.ones(32**3, device="cuda") if torch else None
        table.row(
            "cupy.asarray of a resident image (peer: of a PyTorch tensor)",
            0,
            many(lambda: cupy.asarray(small)),
            {"PyTorch": many(lambda: cupy.asarray(other)) if torch else None},
        )
    if cuda and cupy:
        table.row(
            "numba.cuda.as_cuda_array of a resident image (peer: of a CuPy array)",
            0,
            many(lambda: cuda.as_cuda_array(small)),
            {"CuPy": many(lambda: cuda.as_cuda_array(in_cupy))},
        )


def values(table):
    image = uLib.VoxImage(32, 32, 32)
    table.row("GetValue of an image on the host", 0, many(lambda: image.GetValue(7), calls=10000), {})
    table.row("an empty Python call in the same loop", 0, many(int.bit_count.__get__(7), calls=10000), {})
