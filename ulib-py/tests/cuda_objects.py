"""One maker for every kind of object of ``uLib.cuda``, and something that each does with the driver, for tests of lifetimes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import uLib.cuda.driver as cuda
from cuda_programs import SECOND, SOURCE
from uLib.cuda import gpuarray
from uLib.cuda.tools import DebugMemoryPool

Maker = Callable[[], Any]
Use = Callable[[Any], object]


def _array(surface: bool = True) -> cuda.Array:
    return cuda.np_to_array(np.zeros((4, 8), np.float32), "C", surface)


def _graph() -> cuda.Graph:
    stream, memory = cuda.Stream(1), cuda.mem_alloc(64)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 1, 64, stream)
    return graph


def _capture() -> cuda.Capture:
    capture = cuda.Stream(1).capture()
    capture.__enter__()
    return capture


def _linker() -> cuda.Linker:
    linker = cuda.Linker()
    linker.add_data(SECOND.encode(), cuda.jit_input_type.PTX, "second.ptx")
    return linker


def _reference() -> cuda.TextureReference:
    module = cuda.module_from_buffer(SOURCE)
    reference = module.get_texref("tex")
    reference.set_array(_array())
    module.get_function("fakecuda_parameters")(cuda.mem_alloc(64), 0, block=(1, 1, 1), texrefs=[reference])
    return reference


def _function() -> cuda.Function:
    return cuda.module_from_buffer(SOURCE).get_function("fakecuda_parameters").prepare("PQ")


def _copy() -> cuda.Memcpy2D:
    copy = cuda.Memcpy2D()
    copy.set_src_host(cuda.pagelocked_zeros((4, 8), np.uint8))
    copy.set_dst_device(cuda.mem_alloc(32))
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 8
    copy.height = 4
    return copy


def _handler() -> cuda.In:
    handler = cuda.In(np.zeros(4))
    handler.get_device_alloc()
    return handler


def _timed() -> Any:
    return _function().prepared_timed_call((1, 1), (1, 1, 1), cuda.mem_alloc(64), 1)


def _event() -> cuda.Event:
    return cuda.Event().record(cuda.Stream(1))


class _Mute:
    def write(self, text: str) -> None:
        pass


def _download(memory: Any) -> object:
    return cuda.memcpy_dtoh(bytearray(4), memory)


def _upload(array: np.ndarray) -> object:
    return cuda.memcpy_htod(cuda.mem_alloc(array.nbytes), array)


KINDS: dict[str, tuple[Maker, Use]] = {
    "context": (lambda: cuda.Device(0).retain_primary_context(), lambda it: it.push()),
    "memory": (lambda: cuda.mem_alloc(1000), _download),
    "rows": (lambda: cuda.mem_alloc_pitch(100, 5, 4)[0], _download),
    "block of a pool": (lambda: cuda.DeviceMemoryPool().allocate(random.randrange(4, 3000)), _download),
    "block of a stream's pool": (lambda: cuda.StreamMemoryPool().allocate(500), _download),
    "pool": (lambda: cuda.DeviceMemoryPool(), lambda it: it.allocate(10)),
    "pool for debugging": (lambda: DebugMemoryPool(False, _Mute()), lambda it: it.allocate(10)),
    "stream's pool": (lambda: cuda.StreamMemoryPool(), lambda it: it.allocate(10)),
    "page-locked array": (lambda: cuda.pagelocked_empty((4, 5), np.float64)[1:], _upload),
    "write-combined array": (lambda: cuda.pagelocked_zeros(10, np.int8, mem_flags=cuda.host_alloc_flags.WRITECOMBINED), _upload),
    "page-locked block": (lambda: cuda.PageLockedMemoryPool().allocate((5, 7), np.float32)[1:], _upload),
    "registered array": (lambda: cuda.register_host_memory(cuda.aligned_zeros(5000, np.int8))[10:], _upload),
    "managed array": (lambda: cuda.managed_zeros(100, np.int32)[3:], lambda it: cuda.memset_d8(it, 0, 4)),
    "stream": (lambda: cuda.Stream(1), lambda it: it.synchronize()),
    "event": (_event, lambda it: it.synchronize()),
    "module": (lambda: cuda.module_from_buffer(SOURCE), lambda it: it.get_global("table")),
    "function": (_function, lambda it: it.prepared_call((1, 1), (1, 1, 1), 0, 0)),
    "linker": (_linker, lambda it: it.link_module()),
    "time of a launch": (_timed, lambda it: it()),
    "graph": (_graph, lambda it: it.instantiate()),
    "graph to launch": (lambda: _graph().instantiate(), lambda it: it.launch()),
    "open capture": (_capture, lambda it: it.__exit__(None, None, None)),
    "array": (_array, lambda it: it.copy_to(np.zeros((4, 8), np.float32))),
    "mipmapped array": (lambda: cuda.MipmappedArray(_array().get_descriptor_3d(), 2), lambda it: cuda.TextureObject(it)),
    "texture": (lambda: cuda.TextureObject(_array()), lambda it: cuda.TextureObject(_array())),
    "surface": (lambda: cuda.SurfaceObject(_array()), lambda it: it.array.copy_to(np.zeros((4, 8), np.float32))),
    "reference": (_reference, lambda it: it._module.get_global("tex")),
    "copy": (_copy, lambda it: it()),
    "argument": (_handler, lambda it: it.pre_call(None)),
    "array of the device": (lambda: gpuarray.zeros((3, 4), np.float32)[::-1].T, lambda it: it.get()),
}
