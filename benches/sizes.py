"""Time against size for five operations, on the card and on the host: cost per voxel has to stay flat.

    python benches/sizes.py --csv sizes.csv [--largest 1024]     measure (needs the wheel)
    python benches/sizes.py --csv sizes.csv --plot sizes.svg     draw what was measured (needs matplotlib)

Images of edge^3 voxels of 8 bytes. Medians of whole calls from Python, result included: each waited for ("card", "host"), and,
of operations that give the host nothing to wait for, many in a row ("queue").
"""

import argparse
import csv
import pathlib
import sys

OPERATIONS = ("scale", "multiply", "sum", "max", "histogram")
EDGES = (16, 32, 64, 128, 256, 512, 768, 1024)
WITHOUT_RESULT = ("scale", "multiply")
IN_A_ROW = 64


def measure(path, largest):
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
    import uLib
    from timing import Peers, median

    peers = Peers()
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("where", "operation", "edge", "seconds"))

        def row(where, operation, edge, seconds):
            out.writerow((where, operation, edge, f"{seconds:.9f}"))
            print(f"{where} {operation} {edge}^3: {seconds * 1e6:.1f} us, {seconds / edge**3 * 1e12:.1f} ps a voxel", flush=True)

        for where in ("card", "host"):
            for edge in EDGES:
                if edge > largest or (where == "host" and edge > 512):
                    continue
                image, other = uLib.VoxImage(edge, edge, edge), uLib.VoxImage(edge, edge, edge)
                image.Fill(1)
                other.Fill(1)
                if where == "card" and not (image.SetPreferredDevice("Device") and other.SetPreferredDevice("Device")):
                    print(image.GetDataLocation(), file=sys.stderr)
                    continue
                calls = {
                    "scale": lambda: image.Scale(1.0000001),
                    "multiply": lambda: image.Multiply(other),
                    "sum": image.Sum,
                    "max": image.Max,
                    "histogram": lambda: image.Histogram(256, (0.0, 2.0)),
                }
                for operation in OPERATIONS:
                    row(where, operation, edge, median(calls[operation], peers.wait))
                    if where == "card" and operation in WITHOUT_RESULT:
                        queued = median(lambda call=calls[operation]: [call() for _ in range(IN_A_ROW)], peers.wait)
                        row("queue", operation, edge, queued / IN_A_ROW)


def plot(path, picture):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "uLib"
    import matplotlib.pyplot as plt

    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for i, operation in enumerate(OPERATIONS):
        for where, style in (("card", "-"), ("queue", "--"), ("host", ":")):
            points = [(int(r["edge"]) ** 3, float(r["seconds"])) for r in rows if (r["where"], r["operation"]) == (where, operation)]
            if points:
                axes.loglog(*zip(*points), style, marker="o", markersize=3, color=f"C{i}", label=f"{operation}, {where}")
    axes.set_xlabel("voxels of 8 bytes")
    axes.set_ylabel("seconds")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7, ncol=2)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", required=True, help="the measurements")
    parser.add_argument("--largest", type=int, default=1024, help="the longest edge on the card")
    parser.add_argument("--plot", help="draw the measurements into this file")
    arguments = parser.parse_args()
    if arguments.plot:
        plot(arguments.csv, arguments.plot)
    else:
        measure(arguments.csv, arguments.largest)


if __name__ == "__main__":
    main()
