"""What a call says that needs an object which has been freed, closed, unmapped or unregistered: the call and the object."""

import re

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import plane
from uLib.cuda import gpuarray, tools

PTX = """.version 7.0
.target sm_60
.address_size 64
.visible .entry fakecuda_parameters(.param .u64 out, .param .u64 object)
{
    ret;
}
"""


ARGUMENT = "parameter #1 (0-based) of kernel fakecuda_parameters"


def launch(given):
    kernel = cuda.module_from_buffer(PTX).get_function("fakecuda_parameters")
    kernel(cuda.mem_alloc(64), given, block=(1, 1, 1))


def prepared(given):
    kernel = cuda.module_from_buffer(PTX).get_function("fakecuda_parameters").prepare("PP")
    kernel.prepared_call((1, 1), (1, 1, 1), cuda.mem_alloc(64), given)


def array_over(memory):
    return gpuarray.GPUArray((16,), np.float32, gpudata=memory)


def graph():
    stream, memory = cuda.Stream(1), cuda.mem_alloc(64)
    with stream.capture() as made:
        cuda.memset_d8_async(memory, 1, 64, stream)
    return made


def row():
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.num_channels, descr.format = 16, 0, 1, cuda.array_format.FLOAT
    return cuda.Array(descr)


def levels():
    descr = cuda.ArrayDescriptor3D()
    descr.width, descr.height, descr.depth, descr.num_channels = 8, 8, 0, 1
    descr.format = cuda.array_format.FLOAT
    return cuda.MipmappedArray(descr, 2)


BYTES = np.zeros(64, np.uint8)

# Of memory of either kind, by the name of the call.
MEMORY = [
    ("memset_d8", lambda memory: cuda.memset_d8(memory, 0, 1)),
    ("memset_d8_async", lambda memory: cuda.memset_d8_async(memory, 0, 1)),
    ("memcpy_htod", lambda memory: cuda.memcpy_htod(memory, BYTES)),
    ("memcpy_htod_async", lambda memory: cuda.memcpy_htod_async(memory, BYTES)),
    ("memcpy_dtoh", lambda memory: cuda.memcpy_dtoh(BYTES, memory)),
    ("memcpy_dtoh_async", lambda memory: cuda.memcpy_dtoh_async(BYTES, memory)),
    ("memcpy_dtod", lambda memory: cuda.memcpy_dtod(memory, memory, 4)),
    ("memcpy_peer", lambda memory: cuda.memcpy_peer(memory, memory, 4)),
    ("mem_get_ipc_handle", lambda memory: cuda.mem_get_ipc_handle(memory)),
    ("Memcpy2D.set_src_device", lambda memory: cuda.Memcpy2D().set_src_device(memory)),
    ("Memcpy3D.set_dst_unified", lambda memory: cuda.Memcpy3D().set_dst_unified(memory)),
    ("Array.copy_from", lambda memory: plane().copy_from(memory)),
    ("Array.copy_to", lambda memory: plane().copy_to(memory)),
    ("memcpy_dtoa", lambda memory: cuda.memcpy_dtoa(row(), 0, memory, 4)),
    ("memcpy_atod", lambda memory: cuda.memcpy_atod(memory, row(), 0, 4)),
    ("GPUArray", array_over),
    ("TextureReference.set_address", lambda memory: cuda.TextureReference().set_address(memory, 64)),
    ("TextureObject", lambda memory: cuda.TextureObject(memory, format=cuda.array_format.FLOAT)),
    (ARGUMENT, launch),
    (ARGUMENT, prepared),
]

ARRAY = [
    ("Array.free", lambda array: array.free()),
    ("Array.get_descriptor", lambda array: array.get_descriptor()),
    ("Array.get_descriptor_3d", lambda array: array.get_descriptor_3d()),
    ("Array.handle", lambda array: array.handle),
    ("Array.nbytes", lambda array: array.nbytes),
    ("Array.copy_from", lambda array: array.copy_from(BYTES)),
    ("Array.copy_to", lambda array: array.copy_to(BYTES)),
    ("memcpy_dtoa", lambda array: cuda.memcpy_dtoa(array, 0, cuda.mem_alloc(4), 4)),
    ("memcpy_atod", lambda array: cuda.memcpy_atod(cuda.mem_alloc(4), array, 0, 4)),
    ("memcpy_atoa", lambda array: cuda.memcpy_atoa(array, 0, array, 0, 4)),
    ("memcpy_htoa", lambda array: cuda.memcpy_htoa(array, 0, BYTES)),
    ("memcpy_atoh", lambda array: cuda.memcpy_atoh(BYTES, array, 0)),
    ("Memcpy2D.set_src_array", lambda array: cuda.Memcpy2D().set_src_array(array)),
    ("Memcpy3D.set_dst_array", lambda array: cuda.Memcpy3D().set_dst_array(array)),
    ("TextureObject", cuda.TextureObject),
    ("SurfaceObject", cuda.SurfaceObject),
    ("TextureReference.set_array", lambda array: cuda.TextureReference().set_array(array)),
    ("SurfaceReference.set_array", lambda array: cuda.SurfaceReference().set_array(array)),
]

NUMBER = [
    ("{}.handle", lambda object: object.handle),
    ("{}.__int__", int),
    ("{}.__index__", lambda object: object.__index__()),
    ("{}.free", lambda object: object.free()),
    (ARGUMENT, launch),
]

STREAM = [
    ("Stream.synchronize", lambda stream: stream.synchronize()),
    ("Stream.is_done", lambda stream: stream.is_done()),
    ("Stream.wait_for_event", lambda stream: stream.wait_for_event(cuda.Event())),
    ("Stream.add_callback", lambda stream: stream.add_callback(print)),
    ("Stream.capture", lambda stream: stream.capture().__enter__()),
    ("Stream.handle", lambda stream: stream.handle),
    ("Stream.device", lambda stream: stream.device),
    ("Stream.flags", lambda stream: stream.flags),
    ("Stream.priority", lambda stream: stream.priority),
    ("Stream.is_capturing", lambda stream: stream.is_capturing),
    ("Stream.__cuda_stream__", lambda stream: stream.__cuda_stream__()),
    ("Stream.__enter__", lambda stream: stream.__enter__()),
    ("Stream.__eq__", lambda stream: stream == stream),
    ("Stream.__hash__", hash),
    ("Event.record", lambda stream: cuda.Event().record(stream)),
    ("memset_d8_async", lambda stream: cuda.memset_d8_async(cuda.mem_alloc(4), 0, 4, stream)),
    ("Array.copy_from", lambda stream: plane().copy_from(BYTES, stream=stream)),
    ("Memcpy2D", lambda stream: cuda.Memcpy2D()(stream)),
    ("GraphExec.launch", lambda stream: graph().instantiate().launch(stream)),
]

EVENT = [
    ("Event.ipc_handle", lambda event: event.ipc_handle()),
    ("Event.record", lambda event: event.record()),
    ("Event.synchronize", lambda event: event.synchronize()),
    ("Event.query", lambda event: event.query()),
    ("Event.time_since", lambda event: event.time_since(cuda.Event())),
    ("Event.time_since", lambda event: cuda.Event().time_since(event)),
    ("Event.time_till", lambda event: event.time_till(cuda.Event())),
    ("Event.handle", lambda event: event.handle),
    ("Stream.wait_for_event", lambda event: cuda.Stream().wait_for_event(event)),
]

EXEC = [
    ("GraphExec.launch", lambda exec: exec.launch()),
    ("GraphExec.update", lambda exec: exec.update(graph())),
    ("GraphExec.synchronize", lambda exec: exec.synchronize()),
    ("GraphExec.handle", lambda exec: exec.handle),
]

GRAPH = [
    ("Graph.instantiate", lambda graph: graph.instantiate()),
    ("Graph.node_count", lambda graph: graph.node_count),
    ("Graph.node_kinds", lambda graph: graph.node_kinds),
    ("Graph.handle", lambda graph: graph.handle),
    ("GraphExec.update", lambda closed: graph().instantiate().update(closed)),
]

LEVELS = [
    ("MipmappedArray.free", lambda array: array.free()),
    ("MipmappedArray.__len__", len),
    ("MipmappedArray.level", lambda array: array.level(0)),
    ("MipmappedArray.get_descriptor_3d", lambda array: array.get_descriptor_3d()),
    ("MipmappedArray.handle", lambda array: array.handle),
    ("TextureObject", cuda.TextureObject),
]

OWN = [("{}.free", lambda memory: memory.free()), *[(name, use) for name, use in NUMBER if "__" in name]]

MANAGED = [
    *OWN,
    ("{}.as_buffer", lambda memory: memory.as_buffer(4)),
    ("{}.get_device_pointer", lambda memory: memory.get_device_pointer()),
    ("{}.attach", lambda memory: memory.attach(cuda.mem_attach_flags.GLOBAL)),
    ("{}.prefetch", lambda memory: memory.prefetch(0)),
    ("{}.advise", lambda memory: memory.advise("read_mostly")),
    ("{}.__buffer__", memoryview),
]

HOST = [
    ("memcpy_htod", lambda memory: cuda.memcpy_htod(cuda.mem_alloc(64), memory)),
    ("memcpy_dtoh_async", lambda memory: cuda.memcpy_dtoh_async(memory, cuda.mem_alloc(64))),
    ("Memcpy2D.set_src_host", lambda memory: cuda.Memcpy2D().set_src_host(memory)),
    ("Array.copy_from", lambda memory: plane().copy_from(memory)),
    ("{}.get_device_pointer", lambda memory: memory.get_device_pointer()),
    ("{}.__buffer__", memoryview),
]

PAGELOCKED = [*HOST, ("{}.free", lambda memory: memory.free()), ("{}.get_flags", lambda memory: memory.get_flags())]


def freed(made):
    made.free()
    return made


def closed(made):
    made.close()
    return made


def unregistered():
    memory = cuda.register_host_memory(np.zeros(64, np.uint8)).base
    memory.unregister()
    return memory


ENDED = {
    "DeviceAllocation": (
        lambda: freed(cuda.mem_alloc(64)),
        "freed",
        [*MEMORY, *OWN, ("{}.as_buffer", lambda memory: memory.as_buffer(4))],
    ),
    "PooledDeviceAllocation": (lambda: freed(tools.DeviceMemoryPool().allocate(64)), "freed", [*MEMORY, *OWN]),
    "ManagedAllocation": (lambda: freed(cuda.ManagedAllocation(64)), "freed", [*MEMORY, *MANAGED]),
    "Array": (lambda: freed(plane()), "freed", ARRAY),
    "MipmappedArray": (lambda: freed(levels()), "freed", LEVELS),
    "TextureObject": (lambda: freed(cuda.TextureObject(plane())), "freed", NUMBER),
    "SurfaceObject": (
        lambda: freed(cuda.SurfaceObject(plane(surface=True))),
        "freed",
        [*NUMBER, ("SurfaceObject.array", lambda surface: surface.array)],
    ),
    "PagelockedHostAllocation": (lambda: freed(cuda.pagelocked_empty(64, np.uint8).base), "freed", PAGELOCKED),
    "AlignedHostAllocation": (lambda: freed(cuda.aligned_empty(64, np.uint8).base), "freed", HOST),
    "PooledHostAllocation": (
        lambda: freed(cuda.PageLockedMemoryPool().allocate((64,), np.uint8).base),
        "freed",
        [*HOST, ("{}.free", lambda memory: memory.free())],
    ),
    "RegisteredHostMemory": (unregistered, "unregistered", [*HOST, ("{}.unregister", lambda memory: memory.unregister())]),
    "Stream": (lambda: closed(cuda.Stream()), "closed", STREAM),
    "Event": (lambda: closed(cuda.Event()), "closed", EVENT),
    "Graph": (lambda: closed(graph()), "closed, or its capture was left by an exception", GRAPH),
    "GraphExec": (lambda: closed(graph().instantiate()), "closed", EXEC),
}


@pytest.mark.parametrize("name", ENDED)
def test_a_call_is_named_with_the_ended_object_that_it_needs(fake, name):
    make, how, uses = ENDED[name]
    ended = make()
    for op, use in uses:
        with pytest.raises(cuda.LogicError) as raised:
            use(ended)
        assert str(raised.value) == f"{op.format(name)}: the {name} has been {how}", op


def test_arrays_over_freed_memory_name_it(fake):
    memory = cuda.mem_alloc(64)
    array = array_over(memory)
    part = array[4:8]
    memory.free()
    other = gpuarray.zeros(16, np.float32)
    for given in (array, part, array[::2]):
        for op, use in [
            ("get", lambda: given.get()),
            ("set", lambda: given.set(np.zeros(given.shape, np.float32))),
            ("set", lambda: other[: given.size].set(given)),
            ("fill", lambda: given.fill(1)),
            ("copy", lambda: given.copy()),
            ("__setitem__", lambda: given.__setitem__(slice(0, 1), other[:1])),
            ("GPUArray.__dlpack__", lambda: given.__dlpack__()),
            ("TextureReference.set_address", lambda: cuda.TextureReference().set_address(given, 8)),
        ]:
            with pytest.raises(cuda.LogicError) as raised:
                use()
            assert str(raised.value) == f"{op}: the DeviceAllocation has been freed"
    for given in (array, part, array[::2]):
        for call in (launch, prepared):
            with pytest.raises(cuda.LogicError, match=rf"^{re.escape(ARGUMENT)}: the DeviceAllocation has been freed$"):
                call(given)
