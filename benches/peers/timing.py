"""Times, and the table they go into."""

import importlib
import statistics
import time

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # numba releases of today still use the name that NumPy 2.5 removed


def load(name):
    """A library, or None where it is not installed or does not load."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


class Peers:
    """The libraries there are, each None where it is missing or has no card."""

    def __init__(self):
        self.cupy, self.torch, self.cuda = load("cupy"), load("torch"), load("numba.cuda")
        self.torch_on_card = self.torch if self.torch and self.torch.cuda.is_available() else None

    def wait(self):
        """Waits for all work of the card."""
        if self.cupy:
            self.cupy.cuda.Device().synchronize()
        elif self.torch_on_card:
            self.torch_on_card.cuda.synchronize()


def nothing():
    pass


def median(work, wait=nothing, before=nothing, repeats=15, seconds=1.0):
    """The median wall time of one call in seconds, device work included. `before` is done ahead of each call and not timed."""
    for _ in range(3):
        before()
        work()
    wait()
    times = []
    begin = time.perf_counter()
    while len(times) < repeats and (len(times) < 3 or time.perf_counter() - begin < seconds):
        before()
        wait()
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def many(work, wait=nothing, calls=1000):
    """The time of one call among many, in seconds."""

    def loop():
        for _ in range(calls):
            work()

    return median(loop, wait) / calls


def events(cupy, work, repeats=20):
    """The median time between two events on the default stream around one call, in seconds."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
    return statistics.median(times)


class Table:
    """Lines of Markdown, shown as they come."""

    def __init__(self):
        self.lines = []

    def title(self, text):
        self.put(f"\n### {text}\n")
        self.put("| work | uLib | | peers (ratio) |\n|---|---|---|---|")

    def row(self, work, touched, ours, peers):
        """`touched` bytes of cache lines in `ours` seconds; peers by name, None for those that are missing."""
        rate = f"{touched / ours / 1e9:.0f} GB/s" if touched else ""
        found = {name: t for name, t in peers.items() if t is not None}
        others = "; ".join(f"{name} {text_of(t)} ({t / ours:.2f}x)" for name, t in found.items()) or "no peer here"
        self.put(f"| {work} | {text_of(ours)} | {rate} | {others} |")

    def put(self, line):
        self.lines.append(line)
        print(line, flush=True)


def text_of(seconds):
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3f} ms"
    return f"{seconds * 1e6:.1f} us" if seconds >= 1e-6 else f"{seconds * 1e9:.0f} ns"
