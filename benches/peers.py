"""uLib beside its peers, in one run: the same work on the same machine, medians, and their ratios.

    python benches/peers.py [--edge 512] [--out FILE]

Needs the wheel; CuPy, PyTorch and numba-cuda are timed if they are installed and there is a GPU, NumPy always. "Bytes" are those of
the cache lines touched: a voxel has 8, its Value 4. A ratio above 1 means that uLib is faster.
"""

import argparse
import importlib
import statistics
import time

import numpy as np
import uLib

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # numba releases of today still use the name that NumPy 2.5 removed


def load(name):
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def median(work, wait, repeats=15, seconds=1.0):
    """The median time of one call in seconds, device work included."""
    for _ in range(3):
        work()
    wait()
    times = []
    begin = time.perf_counter()
    while len(times) < repeats and (len(times) < 3 or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Table:
    def __init__(self):
        self.lines = []

    def row(self, work, touched, ours, peers):
        rate = f"{touched / ours / 1e9:.0f} GB/s" if touched else ""
        others = "; ".join(f"{name} {time_text(t)} ({t / ours:.2f}x)" for name, t in peers.items()) or "no peer here"
        line = f"| {work} | {time_text(ours)} | {rate} | {others} |"
        self.lines.append(line)
        print(line, flush=True)


def time_text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def on_the_device(table, edge):
    cupy, torch, cuda = load("cupy"), load("torch"), load("numba.cuda")
    if torch is not None and not torch.cuda.is_available():
        torch = None
    wait = cupy.cuda.Device().synchronize if cupy else torch.cuda.synchronize if torch else lambda: None
    count = edge**3
    image = uLib.VoxImage(edge, edge, edge)
    image.Fill(1)
    assert image.SetPreferredDevice("Device"), image.GetDataLocation()
    pairs_c = cupy.ones((count, 2), dtype=cupy.float32) if cupy else None
    pairs_t = torch.ones((count, 2), device="cuda") if torch else None

    def peers(**work):
        return {name: median(call, wait) for name, call in work.items() if call}

    voxels = f"{edge}^3 voxels of 8 bytes"
    values_c = pairs_c[:, 0] if cupy else None
    values_t = pairs_t[:, 0] if torch else None

    def scale_cupy():
        nonlocal values_c
        values_c *= 1.0000001

    table.row(
        f"scale {voxels}, in place",
        16 * count,
        median(lambda: image.Scale(1.0000001), wait),
        peers(CuPy=scale_cupy if cupy else None, PyTorch=(lambda: values_t.mul_(1.0000001)) if torch else None),
    )
    table.row(
        f"sum {voxels}",
        8 * count,
        median(image.Sum, wait),
        # CuPy's strided sum takes seconds at full size: a slice of 1/64, times 64.
        {
            **({"CuPy": 64 * median(lambda: values_c[: count // 64].sum(), wait)} if cupy else {}),
            **peers(PyTorch=(lambda: values_t.sum()) if torch else None),
        },
    )
    for kept, axes in (("fastest", (0, 1)), ("middle", (0, 2)), ("slowest", (1, 2))):
        grid_c = values_c.reshape(edge, edge, edge) if cupy else None
        grid_t = values_t.reshape(edge, edge, edge) if torch else None
        table.row(
            f"profile of {voxels}, keep the {kept} axis",
            8 * count,
            median(lambda axes=axes: image.Sum(axis=axes), wait),
            peers(
                CuPy=(lambda g=grid_c, a=axes: g.sum(axis=a)) if cupy else None,
                PyTorch=(lambda g=grid_t, a=axes: g.sum(dim=a)) if torch else None,
            ),
        )
    del pairs_c, pairs_t, values_c, values_t, grid_c, grid_t

    for bytes_ in (1 << 18, 1 << 30):
        numbers = uLib.FloatCollection()
        numbers.Resize(bytes_ // 4)
        if not numbers.SetPreferredDevice("Device"):
            print(f"{bytes_} bytes: {numbers.GetDataLocation()}")
            continue
        host = np.ones(bytes_ // 4, dtype=np.float32)
        held = cupy.asarray(host) if cupy else None
        tensor = torch.from_numpy(host) if torch else None
        on_card = tensor.cuda() if torch else None

        def up(numbers=numbers):
            numbers.SetValue(0, 1.0)
            numbers.Update()

        def down(numbers=numbers):
            numbers.Scale(1)
            numbers.GetValue(0)

        size = "256 KiB" if bytes_ == 1 << 18 else "1 GiB"
        table.row(
            f"{size} of ordinary memory up",
            bytes_,
            median(up, wait),
            peers(
                CuPy=(lambda h=held, a=host: h.set(a)) if cupy else None,
                PyTorch=(lambda c=on_card, t=tensor: c.copy_(t)) if torch else None,
            ),
        )
        table.row(
            f"{size} down (with a kernel before it)",
            bytes_,
            median(down, wait),
            peers(
                CuPy=(lambda h=held, a=host: h.get(out=a)) if cupy else None,
                PyTorch=(lambda c=on_card, t=tensor: t.copy_(c)) if torch else None,
            ),
        )
        del held, on_card, numbers

    small = uLib.VoxImage(32, 32, 32)
    small.SetPreferredDevice("Device")
    small_c = cupy.ones((32**3, 2), dtype=cupy.float32)[:, 0] if cupy else None
    small_t = torch.ones((32**3, 2), device="cuda")[:, 0] if torch else None

    def scale_small():
        nonlocal small_c
        small_c *= 1.0

    calls = 1000
    table.row(
        "scale a resident 32^3 image, one call of many",
        0,
        median(lambda: [small.Scale(1.0) for _ in range(calls)], wait) / calls,
        {
            name: t / calls
            for name, t in peers(
                CuPy=(lambda: [scale_small() for _ in range(calls)]) if cupy else None,
                PyTorch=(lambda: [small_t.mul_(1.0) for _ in range(calls)]) if torch else None,
            ).items()
        },
    )
    nothing = lambda: None  # noqa: E731
    if cupy:
        other = torch.ones(32**3, device="cuda") if torch else None
        table.row(
            "cupy.asarray of a resident image (peer: of a PyTorch tensor)",
            0,
            median(lambda: [cupy.asarray(small) for _ in range(calls)], nothing) / calls,
            {"PyTorch": median(lambda: [cupy.asarray(other) for _ in range(calls)], nothing) / calls} if torch else {},
        )
        if cuda:
            table.row(
                "numba.cuda.as_cuda_array of a resident image (peer: of a CuPy array)",
                0,
                median(lambda: [cuda.as_cuda_array(small) for _ in range(calls)], nothing) / calls,
                {"CuPy": median(lambda: [cuda.as_cuda_array(small_c) for _ in range(calls)], nothing) / calls},
            )


def on_the_host(table, edge):
    torch = load("torch")
    count = edge**3
    image = uLib.VoxImage(edge, edge, edge, voxel_bytes=4)
    image.Fill(1)
    array = np.ones(count, dtype=np.float32)
    tensor = torch.ones(count) if torch else None
    nothing = lambda: None  # noqa: E731

    def scale_numpy():
        nonlocal array
        array *= 1.0000001

    for work, touched, ours, theirs in (
        (
            "scale",
            8 * count,
            lambda: image.Scale(1.0000001),
            {"NumPy": scale_numpy, "PyTorch": (lambda: tensor.mul_(1.0000001)) if torch else None},
        ),
        (
            "sum",
            4 * count,
            image.Sum,
            {"NumPy": lambda: array.sum(), "PyTorch": (lambda: tensor.sum()) if torch else None},
        ),
    ):
        table.row(
            f"host: {work} {edge}^3 float32",
            touched,
            median(ours, nothing),
            {name: median(call, nothing) for name, call in theirs.items() if call},
        )
    table.row("host: GetValue", 0, median(lambda: [image.GetValue(7) for _ in range(1000)], nothing) / 1000, {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=int, default=512, help="voxels along each side")
    parser.add_argument("--out", help="write the table to this file, too")
    arguments = parser.parse_args()
    table = Table()
    print(uLib.device.describe())
    print("| work | uLib | | peers (ratio) |\n|---|---|---|---|")
    if uLib.device.available():
        on_the_device(table, arguments.edge)
    on_the_host(table, arguments.edge)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(table.lines) + "\n")


if __name__ == "__main__":
    main()
