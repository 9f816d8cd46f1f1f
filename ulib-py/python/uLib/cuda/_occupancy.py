"""How many blocks of a kernel a multiprocessor holds at once, from the device's own numbers."""

from __future__ import annotations

from collections.abc import Iterable

from ._arguments import instance, integer, shown
from ._native import Context, Device

__all__ = ["DeviceData", "OccupancyRecord"]

_REGISTER_UNIT = 256
"""Registers are given to a warp in pieces of so many."""
_WARP_UNIT = 4
"""A block's warps are spread over so many parts of a multiprocessor."""
_WORD = 4


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


class DeviceData:
    """What a device's multiprocessors hold.

    Args:
        dev: the device; by default the current one.
    """

    def __init__(self, dev: Device | None = None) -> None:
        device = Context.get_device() if dev is None else dev
        if not hasattr(device, "compute_capability"):
            raise TypeError(f"DeviceData: dev is {shown(dev)}, expected a Device")
        major, minor = device.compute_capability()
        self.max_threads: int = device.max_threads_per_block
        self.warp_size: int = device.warp_size
        self.warps_per_mp: int = device.max_threads_per_multiprocessor // self.warp_size
        # Drivers before CUDA 11 do not tell.
        self.thread_blocks_per_mp: int = getattr(device, "max_blocks_per_multiprocessor", 0) or 16
        self.registers: int = device.max_registers_per_block
        self.registers_per_mp: int = device.max_registers_per_multiprocessor
        # What a block may have when it asks for it, which launches do by themselves.
        self.shared_memory: int = device.max_shared_memory_per_block_optin or device.max_shared_memory_per_block
        self.shared_memory_per_mp: int = device.max_shared_memory_per_multiprocessor
        self.reserved_shared_memory: int = getattr(device, "reserved_shared_memory_per_block", 0)
        self.smem_alloc_granularity = 128 if (major, minor) >= (7, 0) else 256
        self.smem_granularity = 32

    def align(self, bytes: int, word_size: int = _WORD) -> int:
        """The next number of bytes at which reads of a warp, of words of that size, are not split."""
        return _up(integer("DeviceData.align", "bytes", bytes), self.align_bytes(word_size))

    def align_dtype(self, elements: int, dtype_size: int) -> int:
        """The next number of elements of that size whose bytes :meth:`align`."""
        return _up(integer("DeviceData.align_dtype", "elements", elements), self.align_words(dtype_size))

    def align_words(self, word_size: int) -> int:
        """How many words of that size :meth:`align_bytes` holds."""
        return self.align_bytes(word_size) // word_size

    def align_bytes(self, word_size: int = _WORD) -> int:
        """Bytes that a warp reads at once in words of that size (4, 8 or 16)."""
        if word_size not in (4, 8, 16):
            raise ValueError(f"DeviceData.align_bytes: word_size is {shown(word_size)}, expected 4, 8 or 16")
        return min(word_size * self.warp_size, 256)

    def coalesce(self, thread_count: int) -> int:
        """The next number of threads that fills warps."""
        return _up(integer("DeviceData.coalesce", "thread_count", thread_count), self.warp_size)

    @staticmethod
    def make_valid_tex_channel_count(size: int) -> int:
        """The next number of channels that a texture can have."""
        size = integer("DeviceData.make_valid_tex_channel_count", "size", size)
        for valid in (1, 2, 4):
            if size <= valid:
                return valid
        raise ValueError(f"DeviceData.make_valid_tex_channel_count: size is {size}, expected at most 4")


class OccupancyRecord:
    """How many blocks of a kernel one multiprocessor holds.

    Args:
        devdata: what the device's multiprocessors hold.
        threads: threads of a block.
        shared_mem: bytes of shared memory of a block.
        registers: registers of a thread; 0 leaves them out of account.

    Attributes:
        tb_per_mp: blocks on a multiprocessor.
        tb_per_mp_limits: how many there could be for each limit alone, with its name: ``device``, ``warps``, ``smem``, ``regs``.
        limited_by: the names of the limits that are reached.
        warps_per_mp: warps on a multiprocessor.
        occupancy: their part of the warps that fit, up to 1.
    """

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0, registers: int = 0) -> None:
        devdata = instance("OccupancyRecord", "devdata", devdata, DeviceData)
        for name, value, least, most in (
            ("threads", threads, 1, devdata.max_threads),
            ("shared_mem", shared_mem, 0, devdata.shared_memory),
            ("registers", registers, 0, 255),
        ):
            if not least <= integer("OccupancyRecord", name, value) <= most:
                raise ValueError(f"OccupancyRecord: {name} is {value}, expected {least} to {most}")
        warps = -(-threads // devdata.warp_size)
        limits = [
            (devdata.thread_blocks_per_mp, "device"),
            (devdata.warps_per_mp // warps, "warps"),
        ]
        shared = _up(shared_mem + devdata.reserved_shared_memory, devdata.smem_alloc_granularity)
        if shared > 0:
            limits.append((devdata.shared_memory_per_mp // shared, "smem"))
        if registers > 0:
            of_a_warp = _up(registers * devdata.warp_size, _REGISTER_UNIT)
            of_a_part = devdata.registers_per_mp // _WARP_UNIT
            limits.append((of_a_part // of_a_warp * _WARP_UNIT // _up(warps, _WARP_UNIT), "regs"))
        self.tb_per_mp_limits = limits
        self.tb_per_mp = min(limit for limit, _ in limits)
        self.limited_by = _names(name for limit, name in limits if limit == self.tb_per_mp)
        self.warps_per_mp = self.tb_per_mp * warps
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
