"""`tools.DeviceData` and `tools.OccupancyRecord`."""

import types

import pytest
import uLib.cuda.driver as cuda
from uLib.cuda.tools import DeviceData, OccupancyRecord


def described(**numbers):
    """A device that has these numbers, as NVIDIA's tables give them for one of compute capability 9.0."""
    table = {
        "max_threads_per_block": 1024,
        "warp_size": 32,
        "max_threads_per_multiprocessor": 2048,
        "max_blocks_per_multiprocessor": 32,
        "max_registers_per_block": 65536,
        "max_registers_per_multiprocessor": 65536,
        "max_shared_memory_per_block": 49152,
        "max_shared_memory_per_block_optin": 232448,
        "max_shared_memory_per_multiprocessor": 233472,
        "reserved_shared_memory_per_block": 1024,
    }
    return DeviceData(types.SimpleNamespace(compute_capability=lambda: (9, 0), **(table | numbers)))


@pytest.mark.parametrize(
    ("threads", "shared", "registers", "blocks", "limited_by", "occupancy"),
    [
        # 2048 threads, in blocks of 256; 65536 registers hold as many of 32 each.
        (256, 0, 0, 8, "warps", 1.0),
        (256, 0, 32, 8, "warps, regs", 1.0),
        # 255 registers are 8192 to a warp of 32: 2 warps to a quarter, 8 in all, of which a block takes 8.
        (256, 0, 255, 1, "regs", 8 / 64),
        # 33 registers are rounded up to 1280 for a warp: 12 to a quarter, 48 in all, 6 blocks of 8.
        (256, 0, 33, 6, "regs", 48 / 64),
        # Blocks of one warp: 32 blocks, however small.
        (32, 0, 0, 32, "device", 32 / 64),
        (1, 0, 0, 32, "device", 32 / 64),
        # 100 KiB and the 1 KiB that each block is charged, twice in 228 KiB.
        (128, 102400, 0, 2, "smem", 8 / 64),
        (1024, 232448, 0, 1, "smem", 32 / 64),
        (1024, 0, 64, 1, "regs", 32 / 64),
    ],
)
def test_blocks_on_a_multiprocessor_of_today(threads, shared, registers, blocks, limited_by, occupancy):
    record = OccupancyRecord(described(), threads, shared, registers)
    assert (record.tb_per_mp, record.limited_by) == (blocks, limited_by)
    assert record.occupancy == occupancy
    assert record.warps_per_mp == blocks * -(-threads // 32)
    assert min(limit for limit, _ in record.tb_per_mp_limits) == blocks


def test_what_no_block_can_have_is_refused():
    data = described()
    for arguments, name in [((1025,), "threads"), ((0,), "threads"), ((32, 232449), "shared_mem"), ((32, 0, 256), "registers")]:
        with pytest.raises(ValueError, match=name):
            OccupancyRecord(data, *arguments)


def test_numbers_come_from_the_device(gpu):
    data, device = DeviceData(), cuda.Device(0)
    assert data.max_threads == device.max_threads_per_block
    assert data.warp_size == 32
    assert data.warps_per_mp == device.max_threads_per_multiprocessor // 32
    assert data.thread_blocks_per_mp == device.max_blocks_per_multiprocessor
    assert data.shared_memory == device.max_shared_memory_per_block_optin
    assert data.registers == device.max_registers_per_block
    assert OccupancyRecord(DeviceData(device), 32).tb_per_mp >= 1


def test_alignment():
    data = described()
    assert [data.align_bytes(size) for size in (4, 8, 16)] == [128, 256, 256]
    assert [data.align_words(size) for size in (4, 8, 16)] == [32, 32, 16]
    assert [data.align(n) for n in (0, 1, 128, 129)] == [0, 128, 128, 256]
    assert data.align_dtype(33, 4) == 64
    assert [data.coalesce(n) for n in (1, 32, 33)] == [32, 32, 64]
    assert [DeviceData.make_valid_tex_channel_count(n) for n in (1, 2, 3, 4)] == [1, 2, 4, 4]
    with pytest.raises(ValueError, match="5"):
        DeviceData.make_valid_tex_channel_count(5)
    with pytest.raises(ValueError, match="3"):
        data.align_bytes(3)
