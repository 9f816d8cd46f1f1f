"""Memory of every kind, made and dropped in any order by several threads, with the collector at work."""

import gc
import random
import threading

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda

KINDS = ["allocations", "host_allocations", "registrations", "managed_allocations"]


def registered():
    return cuda.register_host_memory(cuda.aligned_zeros(5000, np.int8))


MAKERS = [
    lambda pools: cuda.mem_alloc(1000),
    lambda pools: cuda.mem_alloc_pitch(100, 5, 4)[0],
    lambda pools: cuda.mem_alloc(64).as_buffer(10, 5),
    lambda pools: pools[0].allocate(random.randrange(3000)),
    lambda pools: pools[1].allocate((random.randrange(1, 50), 7), np.float32)[1:],
    lambda pools: pools[2].allocate(500),
    lambda pools: cuda.pagelocked_empty((4, 5), np.float64)[:, 2:],
    lambda pools: cuda.pagelocked_zeros(10, np.int8, mem_flags=cuda.host_alloc_flags.WRITECOMBINED),
    lambda pools: cuda.aligned_empty(10, np.int8),
    lambda pools: registered()[10:],
    lambda pools: cuda.managed_zeros(100, np.int32)[3:],
]


def use(thing, stream):
    """Queues work on some of them, so that they go while it is pending."""
    if isinstance(thing, cuda.DeviceAllocation) or type(thing).__name__ == "PooledDeviceAllocation":
        if thing.size:
            cuda.memset_d8_async(thing, 1, min(thing.size, 50), stream)
    elif isinstance(thing, np.ndarray) and thing.flags.c_contiguous:
        target = cuda.mem_alloc(max(1, thing.nbytes))
        cuda.memcpy_htod_async(target, thing, stream)


@pytest.mark.parametrize("seed", range(4))
def test_memory_of_every_kind_goes_in_any_order(gpu, seed):
    gc.collect()
    before = cuda.live_objects()
    uLib.device.errors()
    failures = []

    def work(number):
        try:
            choice = random.Random(100 * seed + number)
            stream = cuda.Stream(number % 2)
            pools = [cuda.DeviceMemoryPool(), cuda.PageLockedMemoryPool(), cuda.StreamMemoryPool()]
            things = []
            for _ in range(60):
                if things and choice.random() < 0.4:
                    things.pop(choice.randrange(len(things)))
                    continue
                thing = choice.choice(MAKERS)(pools)
                use(thing, stream)
                # Some go only with the collector.
                things.append([thing, things] if choice.random() < 0.2 else thing)
            if choice.random() < 0.5:
                del pools
            choice.shuffle(things)
            stream.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    cuda.Context.synchronize()
    gc.collect()
    after = cuda.live_objects()
    assert {kind: after[kind] for kind in KINDS} == {kind: before[kind] for kind in KINDS}
    assert uLib.device.errors() == []


def test_it_leaves_nothing_with_the_driver(fake):
    test_memory_of_every_kind_goes_in_any_order(None, 99)
    assert (fake("live_registered"), fake("live_pinned")) == (0, 0)
    assert fake("faults") == 0
