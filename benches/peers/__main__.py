"""uLib beside its peers, in one run: the same work on the same machine, medians, and their ratios.

    python benches/peers [--edge 512] [--threads N] [--only host,device,events,copies,calls] [--out FILE]

Needs the wheel; CuPy, PyTorch and numba-cuda are timed if they are installed and there is a GPU, NumPy always. "Bytes" are those of
the cache lines touched: a voxel has 8, its Value 4. A ratio above 1 means that uLib is faster.
"""

import argparse
import os

PARTS = ("device", "events", "copies", "calls", "host")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=int, default=512, help="voxels along each side")
    parser.add_argument("--threads", type=int, help="threads on the host, for uLib and PyTorch (default: all)")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts, with commas")
    parser.add_argument("--out", help="write the table to this file, too")
    arguments = parser.parse_args()
    if arguments.threads:
        # Read when the libraries start their threads.
        os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(arguments.threads)

    import uLib

    import device
    import host
    import small
    from timing import Peers, Table

    peers, table = Peers(), Table()
    if peers.torch and arguments.threads:
        peers.torch.set_num_threads(arguments.threads)
    wanted = arguments.only.split(",")
    table.put(uLib.device.describe())
    if uLib.device.available():
        if "events" in wanted:
            table.title("The card alone: 2 GiB, between two events")
            device.by_events(table, peers)
        if "device" in wanted:
            edge = arguments.edge
            table.title("On the card, whole calls")
            device.rows(table, peers, f"{edge}^3 voxels of 8 bytes", (edge,) * 3, 8)
            device.profiles(table, peers, edge)
            table.title("On the card, whole calls, packed")
            device.rows(table, peers, f"{edge}^3 float32", (edge,) * 3, 4)
        if "copies" in wanted:
            table.title("Copies")
            small.copies(table, peers)
        if "calls" in wanted:
            table.title("Small calls")
            small.calls(table, peers)
    if "calls" in wanted:
        table.title("Values on the host")
        small.values(table)
    if "host" in wanted:
        table.title(f"On the host, {arguments.threads or os.cpu_count()} threads")
        host.rows(table, peers, arguments.edge)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(table.lines) + "\n")


if __name__ == "__main__":
    main()
