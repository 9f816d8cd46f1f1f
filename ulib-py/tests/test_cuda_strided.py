"""Copies of rows and slices, and memory of other processes."""

import gc

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.device import Stream


def cube(*shape):
    return np.arange(np.prod(shape), dtype=np.int16).reshape(shape)


@pytest.mark.parametrize("how", ["aligned", "unaligned", "default", "stream"])
def test_rows_go_to_pitched_memory_and_back(gpu, how):
    rows, stream = cube(9, 11), Stream()
    allocation, pitch = cuda.mem_alloc_pitch(22, 9, 4)
    cuda.memset_d8(allocation, 0xEE, allocation.size)
    up = cuda.Memcpy2D()
    up.set_src_host(rows)
    up.set_dst_device(allocation)
    up.src_pitch, up.dst_pitch = 22, pitch
    up.width_in_bytes, up.height = 22, 9
    assert (up.src_pitch, up.dst_pitch, up.width_in_bytes, up.height) == (22, pitch, 22, 9)
    assert (up.src_x_in_bytes, up.src_y, up.dst_x_in_bytes, up.dst_y) == (0, 0, 0, 0)
    assert (up.src_memory_type, up.dst_memory_type) == (1, 2)
    assert (up.src_device, up.dst_device) == (0, int(allocation))

    def run(copy):
        arguments = {"aligned": (True,), "unaligned": (False,), "default": (), "stream": (stream,)}[how]
        copy(*arguments)

    run(up)
    stream.Synchronize()
    there = cuda.from_device(allocation, (9, pitch), np.uint8)
    assert (there[:, :22].copy().view(np.int16) == rows).all() and (there[:, 22:] == 0xEE).all()
    back = np.zeros((4, 5), np.int16)
    down = cuda.Memcpy2D()
    down.set_src_device(int(allocation))
    down.set_dst_host(back)
    down.src_pitch, down.dst_pitch = pitch, 10
    down.src_x_in_bytes, down.src_y = 6, 2
    down.width_in_bytes, down.height = 6, 3
    down.dst_x_in_bytes, down.dst_y = 2, 1
    run(down)
    stream.Synchronize()
    want = np.zeros((4, 5), np.int16)
    want[1:4, 1:4] = rows[2:5, 3:6]
    assert (back == want).all()


@pytest.mark.parametrize("later", [False, True])
def test_slices_are_copied_in_any_direction(gpu, later):
    volume, stream = cube(5, 6, 7), Stream()
    there, other = cuda.to_device(volume), cuda.mem_alloc_like(volume)
    cuda.memset_d8(other, 0, volume.nbytes)
    copy = cuda.Memcpy3D()
    copy.set_src_device(there)
    copy.set_dst_device(other)
    copy.src_pitch = copy.dst_pitch = 14
    copy.src_height = copy.dst_height = 6
    copy.src_x_in_bytes, copy.src_y, copy.src_z = 2, 1, 2
    copy.dst_x_in_bytes, copy.dst_y, copy.dst_z = 4, 2, 1
    copy.width_in_bytes, copy.height, copy.depth = 6, 3, 2
    assert (copy.depth, copy.src_lod, copy.dst_lod, copy.src_z, copy.dst_height) == (2, 0, 0, 2, 6)
    copy(stream) if later else copy()
    want = np.zeros_like(volume)
    want[1:3, 2:5, 2:5] = volume[2:4, 1:4, 1:4]
    assert (cuda.from_device_like(other, want) == want).all()
    out = np.zeros((2, 3, 3), np.int16)
    home = cuda.Memcpy3D()
    home.set_src_device(there)
    home.set_dst_unified(cuda.register_host_memory(out))
    home.src_pitch, home.src_height, home.dst_pitch, home.dst_height = 14, 6, 6, 3
    home.src_x_in_bytes, home.src_y, home.src_z = 2, 1, 2
    home.width_in_bytes, home.height, home.depth = 6, 3, 2
    home(stream) if later else home()
    stream.Synchronize()
    assert home.dst_memory_type == 4
    assert (out == volume[2:4, 1:4, 1:4]).all()


def test_the_host_buffer_is_kept_until_the_copy_has_run(fake):
    stream, rows = Stream(), cuda.pagelocked_empty((4, 8), np.int8)
    rows[:] = want = np.arange(32, dtype=np.int8).reshape(4, 8)
    allocation = cuda.mem_alloc(32)
    copy = cuda.Memcpy2D()
    copy.set_src_host(rows)
    copy.set_dst_device(allocation)
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 8
    copy.height = 4
    fake("deferred 1")
    copy(stream)
    del rows, copy
    gc.collect()
    assert (cuda.from_device_like(allocation, want) == want).all()
    assert fake("faults") == 0


def test_rows_go_through_an_array(gpu):
    rows = np.arange(6 * 8, dtype=np.float32).reshape(6, 8)
    descriptor = cuda.ArrayDescriptor()
    descriptor.width, descriptor.height, descriptor.num_channels = 8, 6, 1
    descriptor.format = cuda.dtype_to_array_format(np.float32)
    array, back = cuda.Array(descriptor), np.zeros_like(rows)
    up, down = cuda.Memcpy2D(), cuda.Memcpy2D()
    up.set_src_host(rows)
    up.set_dst_array(array)
    down.set_src_array(array)
    down.set_dst_host(back)
    up.src_pitch = down.dst_pitch = up.width_in_bytes = down.width_in_bytes = 32
    up.height = down.height = 6
    assert (up.dst_memory_type, down.src_memory_type, up.dst_device) == (3, 3, 0)
    up(aligned=True)
    stream = Stream()
    down(stream)
    stream.Synchronize()
    assert (back == rows).all()


def test_memory_types_may_be_set_by_number(gpu):
    source, target = cuda.to_device(cube(16)), cuda.mem_alloc(32)
    copy = cuda.Memcpy2D()
    copy.set_src_unified(source)
    copy.set_dst_unified(target)
    assert (copy.src_memory_type, copy.dst_memory_type) == (4, 4)
    copy.src_memory_type = copy.dst_memory_type = cuda.memory_type.DEVICE
    copy.width_in_bytes, copy.height = 32, 1
    copy()
    assert (cuda.from_device(target, 16, np.int16) == cube(16)).all()


def test_what_lies_outside_is_refused(gpu):
    allocation, host = cuda.mem_alloc(100), np.zeros(100, np.int8)
    copy = cuda.Memcpy2D()
    copy()
    copy.width_in_bytes, copy.height = 10, 10
    with pytest.raises(cuda.LogicError, match="Memcpy2D: the source has not been set"):
        copy()
    copy.set_src_host(host)
    copy.set_dst_device(allocation)
    copy.src_pitch = copy.dst_pitch = 10
    copy()
    copy.src_y = 1
    with pytest.raises(cuda.LogicError, match="Memcpy2D: 110 bytes exceed the 100 bytes of the source"):
        copy()
    copy.src_y, copy.dst_pitch = 0, 11
    with pytest.raises(cuda.LogicError, match="Memcpy2D: 109 bytes exceed the 100 bytes of the destination"):
        copy(True)
    copy.src_pitch = 2**62
    with pytest.raises(cuda.LogicError, match="reaches beyond every address"):
        copy()
    with pytest.raises(cuda.LogicError, match="Memcpy2D.set_dst_host: buffer is read-only"):
        copy.set_dst_host(b"constant")
    with pytest.raises(cuda.LogicError, match="Memcpy2D.set_src_array: <class 'int'> is no Array"):
        copy.set_src_array(3)
    deep = cuda.Memcpy3D()
    deep.set_src_host(host)
    deep.set_dst_device(allocation)
    deep.src_pitch = deep.dst_pitch = 5
    deep.src_height = deep.dst_height = 5
    deep.width_in_bytes, deep.height, deep.depth = 5, 5, 5
    with pytest.raises(cuda.LogicError, match="Memcpy3D: 125 bytes exceed the 100 bytes of the source"):
        deep()


def test_copies_within_one_device_need_no_peer(gpu):
    want = cube(50)
    source, target = cuda.to_device(want), cuda.mem_alloc_like(want)
    cuda.memcpy_peer(target, source, want.nbytes)
    assert (cuda.from_device_like(target, want) == want).all()
    cuda.memcpy_peer_async(target, source, 0, stream=Stream())
    with pytest.raises(cuda.LogicError, match="memcpy_peer: 101 bytes exceed the 100 bytes of dest"):
        cuda.memcpy_peer(target, source, 101)


def test_the_software_driver_shares_nothing_with_other_processes(fake):
    with pytest.raises(cuda.LogicError) as raised:
        cuda.mem_get_ipc_handle(cuda.mem_alloc(10))
    assert raised.value.code == 801
    with pytest.raises(cuda.LogicError) as raised:
        cuda.IPCMemoryHandle(bytes(64))
    assert raised.value.code == 801
    with pytest.raises(cuda.LogicError, match="handle has 3 bytes, expected 64"):
        cuda.IPCMemoryHandle(b"abc")


def test_memory_of_another_process(real, python):
    want = cube(1000)
    allocation = cuda.to_device(want)
    handle = cuda.mem_get_ipc_handle(allocation)
    assert isinstance(handle, bytearray) and len(handle) == 64
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
with cuda.IPCMemoryHandle(bytearray.fromhex({handle.hex()!r})) as memory:
    seen = cuda.from_device(memory, 1000, np.int16)
    cuda.memset_d16(memory, 7, 10)
for use in (memory.close, memory.__int__, memory.__index__, lambda: cuda.memset_d8(memory, 0, 1)):
    try:
        use()
    except cuda.LogicError as error:
        print(error)
print(int(seen.sum()))
"""
    )
    assert done.stdout.splitlines() == [
        "IPCMemoryHandle.close: the IPCMemoryHandle has been unmapped",
        "IPCMemoryHandle.__int__: the IPCMemoryHandle has been unmapped",
        "IPCMemoryHandle.__index__: the IPCMemoryHandle has been unmapped",
        "memset_d8: the IPCMemoryHandle has been unmapped",
        str(int(want.sum(dtype=np.int64))),
    ]
    assert (cuda.from_device(allocation, 10, np.int16) == 7).all()


def test_any_call_may_fail_without_a_leak(fake, in_turn):
    def script():
        stream, rows = Stream(), np.zeros((4, 8), np.int8)
        allocation, pitch = cuda.mem_alloc_pitch(8, 4, 4)
        copy = cuda.Memcpy2D()
        copy.set_src_host(rows)
        copy.set_dst_device(allocation)
        copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 8, pitch, 8, 4
        copy(stream)
        copy(False)
        stream.Synchronize()

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
    assert failures > len(in_turn(calls)) // 4


def test_setters_run_the_programs_code_with_nothing_locked(gpu):
    copy = cuda.Memcpy2D()

    class Reads:
        @property
        def gpudata(self):
            return memory if copy.src_y == 0 else None

    memory = cuda.mem_alloc(16)
    copy.set_src_device(Reads())
    copy.set_dst_unified(Reads())
    assert copy.src_device == copy.dst_device == int(memory)

    class Dies(np.ndarray):
        def __del__(self):
            seen.append(copy.width_in_bytes)

    seen = []
    copy.set_src_host(np.zeros(4, np.uint8).view(Dies))
    copy.set_src_host(b"xxxx")
    gc.collect()
    assert seen == [0]
