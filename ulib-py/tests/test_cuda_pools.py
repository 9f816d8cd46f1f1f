"""Pools of `uLib.cuda`: bins, counters, order among streams, room for others, and the end of the process."""

import gc
import io
import threading

import numpy as np
import pytest
import uLib.cuda.driver as cuda
import uLib.cuda.tools as tools
from uLib.device import Stream

GOLDEN = [
    (0, 0, 1),
    (1, 0, 1),
    (2, 16, 2),
    (3, 24, 3),
    (15, 62, 15),
    (17, 65, 17),
    (33, 80, 33),
    (100, 105, 103),
    (257, 128, 271),
    (1000, 159, 1023),
    (1025, 160, 1087),
    (4096, 192, 4351),
    (5000, 195, 5119),
    ((1 << 20) + 1, 320, 1114111),
    (10**6, 318, 1015807),
    (10**9, 477, 1006632959),
    (2**32 + 5, 512, 4563402751),
]


def counts(pool):
    return pool.held_blocks, pool.active_blocks, pool.managed_bytes, pool.active_bytes


@pytest.mark.parametrize("pool", [cuda.DeviceMemoryPool, cuda.PageLockedMemoryPool])
def test_bins_are_the_known_ones(pool):
    for size, bin, bytes in GOLDEN:
        assert pool.bin_number(size) == bin
        assert pool.alloc_size(bin) == bytes
    with pytest.raises(cuda.LogicError, match="there is no bin 1024"):
        pool.alloc_size(1024)


def test_bitlog2():
    assert [cuda.bitlog2(n) for n in (0, 1, 2, 3, 4, 255, 256, 2**40 + 1)] == [0, 0, 1, 1, 2, 7, 8, 40]
    assert tools.bitlog2 is cuda.bitlog2


def test_blocks_are_counted_as_they_come_and_go(gpu):
    pool = cuda.DeviceMemoryPool()
    assert counts(pool) == (0, 0, 0, 0)
    block = pool.allocate(1000)
    address = int(block)
    assert (len(block), block.size, block.__index__(), bool(block)) == (1000, 1000, address, True)
    assert counts(pool) == (0, 1, 1023, 1000)
    block.free()
    assert counts(pool) == (1, 0, 1023, 0)
    with pytest.raises(cuda.LogicError, match="^PooledDeviceAllocation.free: the PooledDeviceAllocation has been freed"):
        block.free()
    with pool.allocate(1020) as again:
        assert int(again) == address
        assert counts(pool) == (0, 1, 1023, 1020)
    empty = pool.allocate(0)
    assert int(empty) != 0 and len(empty) == 0 and empty
    assert counts(pool) == (1, 1, 1024, 0)
    del empty
    assert counts(pool) == (2, 0, 1024, 0)
    assert pool.statistics() == {
        "held_blocks": 2,
        "active_blocks": 0,
        "managed_bytes": 1024,
        "active_bytes": 0,
        "peak_managed_bytes": 1024,
        "peak_active_bytes": 1020,
        "reused": 1,
        "allocated": 2,
    }
    pool.free_held()
    assert counts(pool) == (0, 0, 0, 0)


def test_after_stop_holding_blocks_go_straight_back(fake):
    pool = cuda.DeviceMemoryPool()
    kept, block = pool.allocate(50), pool.allocate(500)
    del kept
    pool.stop_holding()
    assert counts(pool) == (0, 1, 511, 500)
    assert fake("live_memory") == 1
    del block
    assert fake("live_memory") == 0
    pool.allocate(10).free()
    assert counts(pool) == (0, 0, 0, 0)
    # Also before anything was allocated.
    other = cuda.DeviceMemoryPool()
    other.stop_holding()
    other.allocate(10).free()
    assert counts(other) == (0, 0, 0, 0)


def test_a_pool_keeps_to_its_limit(gpu):
    pool = cuda.DeviceMemoryPool(limit=10_000)
    assert pool.limit == 10_000
    pool.allocate(5000).free()
    block = pool.allocate(9000)
    assert pool.managed_bytes == 9215
    with pytest.raises(cuda.MemoryError, match="a pool limited to 10000 bytes"):
        pool.allocate(1000)
    pool.limit = None
    assert len(pool.allocate(1000)) == 1000
    del block
    pool.limit = 0
    assert counts(pool) == (0, 0, 0, 0)


def test_blocks_are_places_for_copies_and_fills(gpu):
    pool = cuda.DeviceMemoryPool()
    block, want = pool.allocate(400), np.arange(100, dtype=np.float32)
    cuda.memcpy_htod(block, want)
    assert (cuda.from_device_like(block, want) == want).all()
    with pytest.raises(cuda.LogicError, match="memset_d8: 401 bytes exceed the 400 bytes of dest"):
        cuda.memset_d8(block, 0, 401)


def test_a_block_is_not_in_two_pieces_of_work_at_once(fake):
    """With deferred streams the work of the first user would otherwise come after that of the second."""
    pool, first, second = cuda.DeviceMemoryPool(), Stream(), Stream()
    fake("deferred 1")
    block = pool.allocate(64, first)
    address = int(block)
    cuda.memset_d8_async(block, 1, 64, first)
    block.free()
    block = pool.allocate(64, second)
    assert int(block) == address
    cuda.memset_d8_async(block, 2, 64, second)
    second.Synchronize()
    first.Synchronize()
    assert bytes(cuda.from_device(address, 64, np.uint8)) == bytes([2]) * 64


def test_a_block_comes_back_after_the_streams_that_used_it(fake):
    pool, stream = cuda.DeviceMemoryPool(), Stream()
    fake("deferred 1")
    block = pool.allocate(64)
    address = int(block)
    cuda.memset_d8_async(block, 1, 64, stream)
    del block
    block = pool.allocate(64)
    assert int(block) == address
    cuda.memset_d8(block, 2, 64)
    assert bytes(cuda.from_device(address, 64, np.uint8)) == bytes([2]) * 64
    stream.Synchronize()
    assert bytes(cuda.from_device(address, 64, np.uint8)) == bytes([2]) * 64


def test_whoever_runs_out_of_memory_gets_what_pools_hold(fake):
    fake("memory_limit 4000000")
    pools = [cuda.DeviceMemoryPool() for _ in range(3)]
    for pool in pools:
        pool.allocate(1_000_000).free()
    assert cuda.mem_alloc(3_500_000).size == 3_500_000
    assert all(counts(pool) == (0, 0, 0, 0) for pool in pools)
    pools[0].allocate(1_000_000).free()
    assert len(pools[1].allocate(3_500_000)) == 3_500_000
    gc.disable()
    try:
        cycle = [pools[1].allocate(3_500_000)]
        cycle.append(cycle)
        del cycle
        assert len(pools[2].allocate(3_500_000)) == 3_500_000
    finally:
        gc.enable()
    with pytest.raises(cuda.MemoryError) as raised:
        pools[2].allocate(5_000_000)
    assert raised.value.needs == 5_000_000


def test_threads_share_a_pool(gpu):
    pool, wrong = cuda.DeviceMemoryPool(), []

    def work(seed):
        stream = Stream()
        for round in range(30):
            want = np.full(50 + seed * 7 + round, seed, np.uint8)
            block = pool.allocate(want.nbytes, stream)
            cuda.memcpy_htod_async(block, want, stream)
            back = np.zeros_like(want)
            cuda.memcpy_dtoh_async(back, block, stream)
            stream.Synchronize()
            wrong.extend([seed] * int((back != want).any()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert pool.active_blocks == 0


def test_a_pool_of_the_driver_allocates_in_the_order_of_streams(gpu):
    pool, stream = cuda.StreamMemoryPool(release_threshold=1 << 20), Stream()
    assert pool.release_threshold == 1 << 20
    block = pool.allocate(1000, stream)
    assert pool.used_bytes >= 1000 and pool.reserved_bytes >= pool.used_bytes
    want = np.arange(250, dtype=np.int32)
    cuda.memcpy_htod_async(block, want, stream)
    assert (cuda.from_device_like(block, want) == want).all()
    block.free()
    stream.Synchronize()
    pool.free_held()
    assert (pool.used_bytes, pool.reserved_bytes) == (0, 0)


def test_page_locked_blocks_are_arrays(gpu):
    pool = cuda.PageLockedMemoryPool()
    array = pool.allocate((10, 25), np.float32)
    assert array.shape == (10, 25) and array.dtype == np.float32 and array.flags.c_contiguous
    assert isinstance(array.base, cuda.PooledHostAllocation) and len(array.base) == 1000
    assert counts(pool) == (0, 1, 1023, 1000)
    address, view = array.ctypes.data, array[3:5]
    del array
    assert counts(pool) == (0, 1, 1023, 1000)
    del view
    assert counts(pool) == (1, 0, 1023, 0)
    again = pool.allocate(125, np.float64, order="F")
    assert again.ctypes.data == address
    pool.stop_holding()
    del again
    assert counts(pool) == (0, 0, 0, 0)


def test_page_locked_blocks_that_are_freed_live_as_long_as_their_arrays(gpu):
    pool = cuda.PageLockedMemoryPool(cuda.PageLockedAllocator(cuda.host_alloc_flags.PORTABLE))
    array = pool.allocate([100], np.uint8)
    array[:] = 7
    array.base.free()
    with pytest.raises(cuda.LogicError, match="has been freed"):
        array.base.free()
    other = pool.allocate([100], np.uint8)
    other[:] = 9
    assert (array == 7).all()


def test_a_pool_writes_down_what_is_asked_of_it(gpu):
    log = io.StringIO()
    pool = tools.DebugMemoryPool(interactive=False, logfile=log)
    block = pool.allocate(1000)
    text = log.getvalue()
    assert f"allocate 1000 bytes at {__file__}:" in text and f"-> {int(block):#x}" in text
    assert "in test_a_pool_writes_down_what_is_asked_of_it" in text
    assert counts(pool) == (0, 1, 1023, 1000) and "in use:" not in text
    more = [pool.allocate(1000), pool.allocate(64), pool.allocate(64)]
    more[1].free()
    log.truncate(0)
    pool.allocate(8)
    assert "  in use: 1 x 64 bytes, 2 x 1000 bytes\n" in log.getvalue()
    del more, block
    gc.collect()
    log.truncate(0)
    pool.allocate(8)
    assert "in use:" not in log.getvalue()


@pytest.mark.parametrize("order", ["pool first", "blocks first", "cycle", "kept"])
def test_the_process_ends_well_with_blocks_in_pools(gpu, python, order):
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
pool, host, ordered = cuda.DeviceMemoryPool(), cuda.PageLockedMemoryPool(), cuda.StreamMemoryPool()
blocks = [pool.allocate(1000), host.allocate((10,), np.int8), ordered.allocate(10)]
pool.allocate(77).free()
host.allocate((70,), np.int8)
if {order!r} == "pool first":
    del pool, host, ordered
elif {order!r} == "blocks first":
    del blocks
elif {order!r} == "cycle":
    blocks += [blocks, pool, host, ordered]
    del blocks, pool, host, ordered
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_any_call_may_fail_without_a_leak(fake, in_turn):
    def script():
        pool, stream = cuda.DeviceMemoryPool(), Stream()
        block = pool.allocate(300)
        cuda.memset_d8_async(block, 1, 300, stream)
        block.free()
        pool.allocate(300, stream).free()
        pool.allocate(299).free()
        ordered = cuda.StreamMemoryPool()
        ordered.allocate(100, stream).free()
        host = cuda.PageLockedMemoryPool()
        host.allocate((100,), np.uint8)
        pool.stop_holding()

    script()
    fake("reset")
    script()
    calls, failures = fake.count(), 0
    for nth in in_turn(calls):
        fake(f"fail *:{nth}:999")
        try:
            script()
        except (cuda.Error, RuntimeError):
            failures += 1
        fake("fail none")
        gc.collect()
        cuda.mem_alloc(1).free()
        assert fake("live_memory") == 0, f"call {nth} of {calls}"
    assert failures > len(in_turn(calls)) // 10
