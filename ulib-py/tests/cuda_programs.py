"""Small programs over everything that ``uLib.cuda`` does on the host's side, for tests in which calls of the driver fail.

Each checks its own numbers and leaves nothing behind. They are for the software driver: its kernel ``fakecuda_parameters`` writes its
parameters to the address in the first one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import uLib.cuda.driver as cuda
from uLib.cuda import gl, gpuarray
from uLib.cuda.driver import In, InOut, Out

HEAD = ".version 7.0\n.target sm_60\n.address_size 64\n"
SOURCE = (
    HEAD
    + """.visible .global .align 8 .b8 tex[8];
.visible .global .align 8 .b8 surf[8];
.visible .global .align 4 .b8 table[48];
.visible .entry fakecuda_parameters(.param .u64 out, .param .u64 value)
{
    ret;
}
"""
)
SECOND = HEAD + ".visible .entry second()\n{\n    ret;\n}\n"

PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, dtype: str = "i2") -> np.ndarray:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def kernel() -> cuda.Function:
    return cuda.module_from_buffer(SOURCE).get_function("fakecuda_parameters")


@program
def contexts() -> None:
    first, second = cuda.Device(0), cuda.Device(1)
    assert first != second and first.name() and first.total_memory() > 0
    assert len(first.get_attributes()) > 50
    context = first.make_context()
    try:
        assert cuda.Context.get_current() == context and cuda.Context.get_device() == first
        stack = cuda.Context.get_limit(cuda.limit.STACK_SIZE)
        cuda.Context.set_limit(cuda.limit.STACK_SIZE, stack)
        cuda.Context.set_cache_config(cuda.func_cache.PREFER_L1)
        cuda.Context.get_cache_config()
        cuda.Context.synchronize()
        assert context.get_api_version() > 0
        with second.retain_primary_context() as other:
            assert cuda.Context.get_device() == second
            other.push()
            cuda.Context.pop()
            block = cuda.mem_alloc(16)
        block.free()
        if first.can_access_peer(second):
            with first.enable_peer_access(second):
                pass
    finally:
        cuda.Context.pop()


@program
def streams_and_events() -> None:
    memory = cuda.mem_alloc(64)
    called = threading.Semaphore(0)
    with cuda.Stream(cuda.stream_flags.NON_BLOCKING) as first, cuda.Stream(0, cuda.Stream.priority_range()[1]) as second:
        start, end = cuda.Event(), cuda.Event(cuda.event_flags.BLOCKING_SYNC)
        start.record(first)
        cuda.memset_d8_async(memory, 3, 64, first)
        first.add_callback(called.release)
        end.record(first)
        second.wait_for_event(end)
        cuda.memset_d8_async(memory, 4, 32, second)
        second.synchronize()
        assert end.synchronize().query() and second.is_done()
        assert end.time_since(start) >= 0
        first.synchronize()
        assert called.acquire(timeout=10) and not called.acquire(blocking=False)
    assert list(cuda.from_device(memory, 64, np.uint8)) == [4] * 32 + [3] * 32
    shared = cuda.Event(cuda.event_flags.INTERPROCESS | cuda.event_flags.DISABLE_TIMING)
    theirs = bytearray(shared.ipc_handle())
    theirs[8:12] = (os.getpid() ^ 1).to_bytes(4, "little")
    assert cuda.Event.from_ipc_handle(theirs).query()
    memory.free()


@program
def memory() -> None:
    given = numbers(100)
    with cuda.to_device(given) as first, cuda.mem_alloc_like(given) as second:
        cuda.memcpy_dtod(second, first, given.nbytes)
        assert (cuda.from_device_like(second, given) == given).all()
        cuda.memset_d16(second, 7, 50)
        cuda.memset_d32_async(int(second) + 100, 0x00080008, 25)
        back = np.zeros_like(given)
        cuda.memcpy_dtoh(back, second)
        assert list(back) == [7] * 50 + [8] * 50
        cuda.memcpy_peer(second, first, 20)
        cuda.memcpy_peer_async(int(second) + 20, int(first) + 20, 20)
        assert (cuda.from_device(second, 20, "i2") == given[:20]).all()
        assert cuda.mem_get_address_range(first) == (int(first), given.nbytes)
        assert cuda.mem_get_pointer_attributes(first)
    with cuda.Device(1).retain_primary_context() as context:
        other = cuda.mem_alloc(40)
        here = cuda.Context.get_device().retain_primary_context()
        assert context == here
    far = cuda.to_device(given[:20])
    cuda.memcpy_peer(other, far, 40, context)
    assert (cuda.from_device(other, 20, "i2") == given[:20]).all()
    try:
        cuda.mem_get_ipc_handle(far)
    except cuda.Error as error:
        if getattr(error, "code", 0) != 801:
            raise


@program
def fills_and_rows() -> None:
    given, stream = numbers(5, 6), cuda.Stream()
    pitched, pitch = cuda.mem_alloc_pitch(12, 5, 4)
    cuda.memset_d2d8(pitched, pitch, 1, 12, 5)
    cuda.memset_d2d16_async(pitched, pitch, 2, 2, 2, stream)
    cuda.memset_d2d32(pitched, pitch, 3, 1, 1)
    up, down, back = cuda.Memcpy2D(), cuda.Memcpy2D(), np.zeros_like(given)
    up.set_src_host(given)
    up.set_dst_device(pitched)
    up.src_pitch, up.dst_pitch, up.width_in_bytes, up.height = 12, pitch, 12, 5
    up(aligned=True)
    up(stream)
    down.set_src_device(pitched)
    down.set_dst_host(back)
    down.src_pitch, down.dst_pitch, down.width_in_bytes, down.height = pitch, 12, 12, 5
    stream.synchronize()
    down(False)
    assert (back == given).all()


@program
def slices() -> None:
    given, stream = numbers(4, 5, 6), cuda.Stream()
    there, whole = cuda.mem_alloc_like(given), np.zeros_like(given)
    for source, target in ((given, there), (there, whole)):
        copy = cuda.Memcpy3D()
        copy.set_src_host(given) if source is given else copy.set_src_device(there)
        copy.set_dst_host(whole) if target is whole else copy.set_dst_device(there)
        copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 12
        copy.src_height = copy.dst_height = copy.height = 5
        copy.depth = 4
        copy(stream)
        stream.synchronize()
        copy()
    assert (whole == given).all()


@program
def memory_of_the_host() -> None:
    given, stream = numbers(200, dtype="i4"), cuda.Stream(1)
    target = cuda.mem_alloc_like(given)
    locked = cuda.pagelocked_empty(given.shape, given.dtype, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    locked[:] = given
    assert locked.base.get_device_pointer() > 0
    cuda.memcpy_htod_async(target, locked, stream)
    back = cuda.pagelocked_zeros_like(given)
    cuda.memcpy_dtoh_async(back, target, stream)
    stream.synchronize()
    assert (back == given).all()
    with cuda.register_host_memory(cuda.aligned_zeros(5000, "i1")).base as registered:
        registered.get_device_pointer()
    managed = cuda.managed_zeros(given.shape, given.dtype)
    managed.base.attach(cuda.mem_attach_flags.GLOBAL, stream)
    managed.base.prefetch(cuda.Device(0), stream)
    stream.synchronize()
    managed[:] = given
    cuda.memcpy_dtod(target, managed[100:], 400)
    assert (cuda.from_device(target, 100, "i4") == given[100:]).all()
    del locked, back
    managed.base.free()


@program
def pools() -> None:
    stream = cuda.Stream()
    pool = cuda.DeviceMemoryPool(limit=1 << 20)
    block = pool.allocate(300)
    cuda.memset_d8_async(block, 1, 300, stream)
    assert (cuda.from_device(block, 300, "u1") == 1).all()
    block.free()
    with pool.allocate(299, stream) as block:
        cuda.memset_d8_async(block, 2, 299, stream)
    assert pool.active_blocks == 0
    pool.free_held()
    with cuda.StreamMemoryPool().allocate(100, stream) as block:
        cuda.memset_d8_async(block, 3, 100, stream)
    locked = cuda.PageLockedMemoryPool(cuda.PageLockedAllocator(cuda.host_alloc_flags.PORTABLE))
    array = locked.allocate((10, 10), "i2")
    array[:] = 5
    assert array.sum() == 500
    del array
    locked.stop_holding()
    pool.stop_holding()


@program
def modules() -> None:
    module = cuda.module_from_buffer(SOURCE)
    function = module.get_function("fakecuda_parameters")
    address, size = module.get_global("table")
    cuda.memcpy_htod(address, numbers(size // 2))
    assert (cuda.from_device(address, 24, "i2") == numbers(24)).all()
    assert function.num_regs >= 0 and function.max_threads_per_block > 0
    function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000)
    function.set_cache_config(cuda.func_cache.PREFER_SHARED)
    assert function.max_potential_block_size()[1] > 0


def wrote(out: cuda.DeviceAllocation, value: int) -> bool:
    cuda.Context.synchronize()
    return list(cuda.from_device(out, 2, "u8")) == [int(out), value]


@program
def launches() -> None:
    function, stream, out = kernel(), cuda.Stream(), cuda.mem_alloc(64)
    function(out, 1, block=(1, 1, 1))
    assert wrote(out, 1)
    function(out, 2, block=1, grid=2, stream=stream, shared=60000)
    assert wrote(out, 2)
    assert function(out, 3, block=1, time_kernel=True) >= 0
    assert wrote(out, 3)
    function(out, 4, block=1, cooperative=True)
    assert wrote(out, 4)


@program
def prepared_launches() -> None:
    function, stream, out = kernel(), cuda.Stream(), cuda.mem_alloc(64)
    function.prepare("PQ")
    function.prepared_call((1, 1), (1, 1, 1), out, 5)
    function.prepared_async_call((1, 1), (1, 1, 1), stream, out, 6)
    assert wrote(out, 6)
    assert function.prepared_timed_call((1, 1), (1, 1, 1), out, 7)() >= 0
    assert wrote(out, 7)


@program
def arrays_as_arguments() -> None:
    function, stream, array = kernel(), cuda.Stream(), np.zeros(4, "u8")
    function(InOut(array), 8, block=1)
    assert array[1] == 8
    function(Out(array), 9, block=1, stream=stream)
    assert array[1] == 9
    function(In(array), 10, block=1)


@program
def linker() -> None:
    said: list[tuple[bool, str, str]] = []
    linker = cuda.Linker(lambda *words: said.append(words), log_verbose=True)
    linker.add_data(SOURCE.encode(), cuda.jit_input_type.PTX, "first.ptx")
    linker.add_data(SECOND.encode(), cuda.jit_input_type.PTX, "second.ptx")
    module = linker.link_module()
    assert module.get_function("second").name == "second"
    out = cuda.mem_alloc(16)
    module.get_function("fakecuda_parameters")(out, 11, block=1)
    assert cuda.from_device(out, 2, "u8")[1] == 11


@program
def graphs() -> None:
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    write = kernel()
    with stream.capture() as graph:
        cuda.memset_d8_async(out, 9, 64, stream)
        write(out, 5, block=1, stream=stream)
    assert graph.node_kinds == ["fill", "kernel"]
    with graph, graph.instantiate() as ready:
        ready.launch(stream)
        stream.synchronize()
        assert cuda.from_device(out, 2, "u8")[1] == 5
        ready.set_kernel(1, write, out, 6, block=1)
        ready.launch(stream)
        ready.synchronize()
        assert cuda.from_device(out, 2, "u8")[1] == 6
        ready.update(graph)
    abandoned = stream.capture()
    abandoned.__enter__()
    abandoned.__exit__(None, None, None)


@program
def arrays() -> None:
    given = numbers(6, 8, dtype="f4")
    array, back = cuda.np_to_array(given, "C"), np.zeros_like(given)
    array.copy_to(back)
    assert (back == given).all()
    line = cuda.ArrayDescriptor()
    line.width, line.height, line.format, line.num_channels = 48, 0, cuda.array_format.FLOAT, 1
    with cuda.Array(line) as flat, cuda.Array(line) as other:
        cuda.memcpy_htoa(flat, 0, given)
        cuda.memcpy_atoa(other, 0, flat, 0, given.nbytes)
        there = cuda.mem_alloc_like(given)
        cuda.memcpy_atod(there, other, 0, given.nbytes)
        cuda.memset_d8(there, 0, 4)
        cuda.memcpy_dtoa(flat, 0, there, given.nbytes)
        cuda.memcpy_atoh(back, flat, 0)
        assert (back == given).all()
    cuda.make_multichannel_2d_array(numbers(4, 5, 2, dtype="f4"), "C").free()


@program
def textures() -> None:
    array = cuda.np_to_array(numbers(6, 8, dtype="f4"), "C", True)
    with cuda.MipmappedArray(array.get_descriptor_3d(), 2) as levels:
        levels.level(1).get_descriptor()
        cuda.TextureObject(levels, mipmap_filter_mode=1).close()
    surface, texture = cuda.SurfaceObject(array), cuda.TextureObject(array, filter_mode=cuda.filter_mode.LINEAR)
    assert surface.handle and texture.handle
    rows, pitch = cuda.mem_alloc_pitch(32, 6, 4)
    cuda.TextureObject(rows, format=cuda.array_format.FLOAT, width=8, height=6, pitch=pitch).free()
    array.free()


def held(module: cuda.Module, name: str) -> int:
    return int(cuda.from_device(module.get_global(name)[0], 1, "u8")[0])


@program
def references_to_arrays() -> None:
    module = cuda.module_from_buffer(SOURCE)
    tex, surf = module.get_texref("tex"), module.get_surfref("surf")
    cuda.matrix_to_texref(numbers(6, 8, dtype="f4"), tex, "C")
    surf.set_array(cuda.np_to_array(numbers(6, 8, dtype="f4"), "C", True))
    module.get_function("fakecuda_parameters")(cuda.mem_alloc(64), 0, block=1, texrefs=[tex])
    assert held(module, "tex") and held(module, "surf")


@program
def references_to_memory() -> None:
    module, stream = cuda.module_from_buffer(SOURCE), cuda.Stream(1)
    function, tex = module.get_function("fakecuda_parameters"), module.get_texref("tex")
    memory = cuda.to_device(numbers(6, 8, dtype="f4"))
    tex.set_address(memory, 192)
    function.param_set_texref(tex)
    function(cuda.mem_alloc(64), 0, block=1)
    first = held(module, "tex")
    tex.set_flags(cuda.TRSF_READ_AS_INTEGER)
    function(cuda.mem_alloc(64), 0, block=1, stream=stream)
    stream.synchronize()
    assert held(module, "tex") not in (0, first)


@program
def arrays_of_the_device() -> None:
    given, stream = numbers(7, 9, dtype="f4"), cuda.Stream()
    array = gpuarray.to_gpu(given)
    assert (array.get() == given).all()
    assert (array[::2, ::-3].get() == given[::2, ::-3]).all()
    array.set(given.T.copy().T)
    array[1:3].fill(2, stream=stream)
    stream.synchronize()
    assert (array.copy().T.get()[:, 1:3] == 2).all()
    assert (gpuarray.zeros((3, 4), "i4").get() == 0).all()
    assert (gpuarray.arange(5, dtype="i4").reshape(5, 1).get(pagelocked=True)[:, 0] == range(5)).all()


@program
def opengl() -> None:
    with gl.RegisteredBuffer(3).map() as mapping:
        address, size = mapping.device_ptr_and_size()
        cuda.memset_d32(address, 7, size // 4)
        assert (cuda.from_device(address, size // 4, "u4") == 7).all()
    image = gl.RegisteredImage(12, 0x0DE1, cuda.graphics_register_flags.SURFACE_LDST)
    with image.map(cuda.Stream()) as mapping:
        array = mapping.array(0, 0)
        cuda.TextureObject(array).close()
    image.unregister()
