"""What is wrong with an argument is said: each argument of each operation in turn is something that it cannot be.

The operation may take it after all, or refuses it with an exception that fits and says what is meant.
"""

import inspect

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import HEAD
from uLib.cuda import compiler, gpuarray, tools

# The software driver's kernel that fills memory: at an address, so many bytes, with a value. Zeros do nothing.
STORE = HEAD + ".visible .global .align 8 .b8 table[8];\n.visible .entry fakecuda_store(\n.param .align 8 .b8 what[24]\n)\n{\n    ret;\n}\n"
WRONG = (None, "nonsense", -1, 2**70, 1.5, object())
FITTING = (TypeError, ValueError, LookupError, BufferError, MemoryError, OSError, cuda.Error)
# What some messages say instead of a name.
PHRASES = (
    "parameter #",
    "loading a program",
    "linking name",
    "is no number of bytes",
    "set: an array of",
    "are valid indices",
    "target is 'fatbin'",
)
# What the software driver cannot do, and what no compiler is needed for.
REFUSED = ("from_ipc_handle", "mem_get_ipc_handle", "IPCMemoryHandle", "compile", "compile_plain")


class Things:
    """What good arguments are made of."""

    def __init__(self, folder):
        self.file = folder / "store.ptx"
        self.file.write_text(STORE)
        self.memory, self.more = cuda.mem_alloc(4096), cuda.mem_alloc(4096)
        self.host, self.matrix = np.zeros(64, np.uint8), np.zeros((4, 4), np.float32)
        self.array, self.surface = cuda.np_to_array(self.matrix, "C"), cuda.np_to_array(self.matrix, "C", allowSurfaceBind=True)
        self.descr, self.deep = cuda.ArrayDescriptor(), cuda.ArrayDescriptor3D()
        for descr in (self.descr, self.deep):
            descr.width, descr.height, descr.format = 4, 4, cuda.array_format.FLOAT
        row = cuda.ArrayDescriptor()
        row.width, row.format = 64, cuda.array_format.UNSIGNED_INT8
        self.row = cuda.Array(row)
        self.device, self.other = cuda.Device(0), cuda.Device(1)
        self.context, self.others = self.device.retain_primary_context(), self.other.retain_primary_context()
        self.stream, self.event = cuda.Stream(), cuda.Event()
        self.module = cuda.module_from_buffer(STORE.encode())
        self.function = self.module.get_function("fakecuda_store").prepare("24s")
        self.texture = cuda.TextureReference()
        with self.stream.capture() as self.graph:
            self.function(np.zeros(3, np.uint64), block=(1, 1, 1), stream=self.stream)
        self.exec = self.graph.instantiate()
        self.on_device = gpuarray.to_gpu(self.matrix)
        self.pool, self.host_pool, self.stream_pool = tools.DeviceMemoryPool(), tools.PageLockedMemoryPool(), tools.StreamMemoryPool()
        self.managed = cuda.ManagedAllocation(64)
        self.occupancy = tools.DeviceData()


def calls(t):
    """Operations, their positional arguments and those by keyword, all good."""
    d, h, m = cuda, t.host, t.memory

    def make_context(flags):
        t.device.make_context(flags).pop()

    yield d.init, (0,), {}
    yield d.Device, (0,), {}
    yield t.device.get_attribute, (1,), {}
    yield make_context, (0,), {}
    yield t.device.can_access_peer, (t.other,), {}
    yield t.device.enable_peer_access, (t.other,), {}
    for name in ("attach", "set_cache_config", "set_shared_config", "get_limit"):
        yield getattr(d.Context, name), (0,), {}
    yield d.Context.set_limit, (0, 1024), {}
    yield d.Context.enable_peer_access, (t.others, 0), {}
    yield d.Context.disable_peer_access, (t.others,), {}
    yield d.Event, (0,), {}
    yield d.Event.from_ipc_handle, (bytes(64),), {}
    yield t.event.record, (t.stream,), {}
    yield t.event.time_since, (t.event,), {}
    yield t.event.time_till, (t.event,), {}
    yield d.Stream, (0, 0), {}
    yield d.Stream.from_handle, (t.stream, t.device), {}
    yield t.stream.wait_for_event, (t.event,), {}
    yield t.exec.launch, (t.stream,), {}
    yield t.exec.update, (t.graph,), {}
    yield t.exec.set_kernel, (0, t.function, np.zeros(3, np.uint64)), {"block": (1, 1, 1), "grid": (1, 1), "shared": 0}
    # Memory.
    yield d.mem_alloc, (64,), {}
    yield d.mem_alloc_like, (h,), {}
    yield d.mem_alloc_pitch, (64, 64, 4), {}
    yield d.mem_get_address_range, (m,), {}
    yield d.mem_get_pointer_attributes, (m,), {}
    yield d.mem_get_ipc_handle, (m,), {}
    yield d.IPCMemoryHandle, (bytes(64), 1), {}
    yield d.to_device, (h,), {}
    yield d.from_device, (m, (4,), np.float32, "C"), {}
    yield d.from_device_like, (m, h), {}
    yield m.as_buffer, (64, 0), {}
    for suffix, end in (("", ()), ("_async", (t.stream,))):
        yield getattr(d, f"memcpy_dtod{suffix}"), (m, t.more, 64, *end), {}
        yield getattr(d, f"memcpy_dtoh{suffix}"), (h, m, *end), {}
        yield getattr(d, f"memcpy_htod{suffix}"), (m, h, *end), {}
        yield getattr(d, f"memcpy_peer{suffix}"), (m, t.more, 64, t.context, t.context, *end), {}
        for bits in (8, 16, 32):
            yield getattr(d, f"memset_d{bits}{suffix}"), (m, 1, 16, *end), {}
            yield getattr(d, f"memset_d2d{bits}{suffix}"), (m, 64, 1, 4, 4, *end), {}
    for name in ("pagelocked", "aligned", "managed"):
        last = 4096 if name == "aligned" else 0
        for kind in ("empty", "zeros"):
            yield getattr(d, f"{name}_{kind}"), ((4,), np.float32, "C", last), {}
            yield getattr(d, f"{name}_{kind}_like"), (h, last), {}
    yield d.PagelockedHostAllocation, (64, 0), {}
    yield d.AlignedHostAllocation, (64, 64), {}
    yield d.ManagedAllocation, (64, 1), {}
    yield d.register_host_memory, (np.zeros(16), 0), {}
    yield t.managed.attach, (1, t.stream), {}
    yield t.managed.prefetch, (0, t.stream, 0, 64), {}
    yield t.managed.advise, ("read_mostly", 0, 0, 64), {}
    yield tools.DeviceMemoryPool, (64,), {}
    yield tools.StreamMemoryPool, (64,), {}
    yield tools.PageLockedAllocator, (0,), {}
    yield tools.PageLockedMemoryPool, (None,), {}
    for pool in (t.pool, t.host_pool):
        yield pool.bin_number, (64,), {}
        yield pool.alloc_size, (1,), {}
    yield t.pool.allocate, (64, t.stream), {}
    yield t.stream_pool.allocate, (64, t.stream), {}
    yield t.host_pool.allocate, ((4,), np.float32, "C"), {}
    yield tools.bitlog2, (4,), {}
    # Programs.
    yield d.module_from_buffer, (STORE.encode(), (), None), {}
    yield d.module_from_file, (t.file,), {}
    yield d.Linker, (None, None, False), {}
    yield d.Linker().add_data, (STORE.encode(), 1, "name"), {}
    yield d.Linker().add_file, (t.file, 1), {}
    for name in ("get_function", "get_global", "get_texref", "get_surfref"):
        yield getattr(t.module, name), ("fakecuda_store" if "function" in name else "table",), {}
    yield t.function, (np.zeros(3, np.uint64),), {"block": (1, 1, 1), "grid": (1, 1), "stream": t.stream, "shared": 0, "texrefs": (), "cluster": None}
    yield t.function.prepare, ("24s", ()), {}
    yield t.function.prepared_call, ((1, 1), (1, 1, 1), np.zeros(3, np.uint64)), {"shared_size": 0}
    yield t.function.prepared_async_call, ((1, 1), (1, 1, 1), t.stream, np.zeros(3, np.uint64)), {"shared_size": 0}
    yield t.function.prepared_timed_call, ((1, 1), (1, 1, 1), np.zeros(3, np.uint64)), {"shared_size": 0}
    yield t.function.get_attribute, (0,), {}
    yield t.function.set_attribute, (8, 0), {}
    yield t.function.set_cache_config, (0,), {}
    yield t.function.param_set_texref, (t.texture,), {}
    yield t.function.max_active_blocks_per_multiprocessor, (64, 0), {}
    yield t.function.max_potential_block_size, (0, 0), {}
    for handler in (d.In, d.Out, d.InOut):
        yield handler, (h,), {}
    # Arrays and textures.
    yield d.Array, (t.descr,), {}
    yield d.MipmappedArray, (t.deep, 1), {}
    yield d.TextureObject, (t.array,), {"filter_mode": 0, "max_anisotropy": 0, "address_mode": 0, "border": (0.0,) * 4, "mipmap_bias": 0.0}
    yield d.TextureObject, (m,), {"format": 0x20, "num_channels": 1, "width": 4, "height": 4, "pitch": 512}
    yield d.SurfaceObject, (t.surface,), {}
    yield t.array.copy_from, (t.matrix,), {"pitch": 16, "height": 4, "stream": t.stream}
    yield t.array.copy_to, (t.matrix,), {"pitch": 16, "height": 4, "stream": t.stream}
    yield d.memcpy_atoa, (t.row, 0, t.row, 32, 16), {}
    yield d.memcpy_atod, (m, t.row, 0, 16), {}
    yield d.memcpy_atoh, (h[:16], t.row, 0), {}
    yield d.memcpy_dtoa, (t.row, 0, m, 16), {}
    yield d.memcpy_htoa, (t.row, 0, h[:16]), {}
    yield d.dtype_to_array_format, (np.float32,), {}
    yield d.gpuarray_to_array, (t.on_device, "C"), {}
    yield d.np_to_array, (t.matrix, "C"), {}
    yield d.matrix_to_array, (t.matrix, "C"), {}
    yield d.make_multichannel_2d_array, (np.zeros((4, 4, 4), np.float32), "C"), {}
    yield d.bind_array_to_texref, (t.array, t.texture), {}
    yield d.matrix_to_texref, (t.matrix, t.texture, "C"), {}
    yield t.texture.set_array, (t.array,), {}
    yield t.texture.set_address, (m, 64), {}
    yield t.texture.set_address_2d, (m, t.descr, 512), {}
    yield t.texture.set_format, (0x20, 1), {}
    yield t.texture.set_address_mode, (0, 0), {}
    yield t.texture.get_address_mode, (0,), {}
    yield t.texture.set_filter_mode, (0,), {}
    yield t.texture.set_flags, (0,), {}
    yield d.SurfaceReference().set_array, (t.surface, 0), {}
    for copy in (d.Memcpy2D(), d.Memcpy3D(), d.Memcpy3DPeer()):
        for name in dir(copy):
            if name.startswith("set_"):
                good = t.array if "array" in name else t.context if "context" in name else m if "device" in name else h
                yield getattr(copy, name), (good,), {}
    # Arrays on the device.
    a, g = t.on_device, gpuarray
    yield g.GPUArray, ((4,), np.float32, d.mem_alloc, None, m, (4,), "C"), {}
    yield g.GPUArray, ((4,), np.float32, d.mem_alloc), {}
    for make in (g.zeros, g.ones):
        yield make, ((4,), np.float32, d.mem_alloc, "C"), {}
    for make in (g.empty_like, g.zeros_like, g.ones_like):
        yield make, (a, np.float32, "K"), {}
    yield g.to_gpu, (t.matrix, d.mem_alloc), {}
    yield g.to_gpu_async, (t.matrix, d.mem_alloc, t.stream), {}
    yield g.from_dlpack, (a,), {"copy": None}
    yield g.arange, (0, 4, 1), {"dtype": np.float32, "stream": t.stream, "allocator": d.mem_alloc}
    yield g.reshape, (a, 4, 4), {"order": "C"}
    yield g.transpose, (a, (1, 0)), {}
    yield g.splay, (100, t.device), {}
    yield g.vec.make_uchar4, (1, 2, 3, 4), {}
    yield g.vec.make_float2, (1, 2), {}
    yield a.reshape, (2, 8), {"order": "C"}
    yield a.reshape, ((2, 8),), {}
    yield a.transpose, ((1, 0),), {}
    yield a.view, (np.float32,), {}
    yield a.fill, (1.0, t.stream), {}
    yield a.set, (t.matrix, False, t.stream), {}
    yield a.set_async, (t.matrix, t.stream), {}
    yield a.get, (t.matrix, False, False, t.stream), {}
    yield a.get_async, (t.stream, t.matrix), {}
    yield a.bind_to_texref, (t.texture,), {}
    yield a.bind_to_texref_ext, (t.texture, 1), {}
    yield a.__dlpack__, (), {"stream": 1, "max_version": (1, 0), "dl_device": (2, 0), "copy": None}
    yield a.__getitem__, (0,), {}
    yield a.__setitem__, (0, 1.0), {}
    # Tools and the compiler.
    yield tools.DeviceData, (t.device,), {}
    yield tools.OccupancyRecord, (t.occupancy, 64, 0, 0), {}
    yield t.occupancy.align, (100, 4), {}
    yield t.occupancy.align_dtype, (100, 4), {}
    yield t.occupancy.align_words, (4,), {}
    yield t.occupancy.coalesce, (100,), {}
    yield t.occupancy.make_valid_tex_channel_count, (3,), {}
    yield tools.get_default_device, (0,), {}
    yield tools.dtype_to_ctype, (np.float32,), {}
    yield tools.get_or_register_dtype, ("float", None), {}
    yield tools.match_dtype_to_c_struct, (t.device, "name", np.dtype([("a", "f4")])), {}
    yield tools.parse_c_arg, ("float *a",), {}
    yield tools.ScalarArg, (np.float32, "name"), {}
    yield tools.VectorArg, (np.float32, "name"), {}
    yield compiler.compile, ("", None, (), False, False, "sm_90", None, False, ()), {"target": "fatbin"}
    yield compiler.compile_plain, ("", (), False, None, False, "fatbin"), {}


def parameters(call):
    """The names of the parameters by position, the last one for all that follow where it takes any number."""
    try:
        found = inspect.signature(call).parameters.values()
    except ValueError:
        found = ()
    for parameter in found:
        yield parameter.name
        while parameter.kind is parameter.VAR_POSITIONAL:
            yield parameter.name
    while True:
        yield "an argument"


def spoilt(call, positional, named):
    """The arguments with one that is wrong, and which that is."""
    for value in WRONG:
        for at, name in zip(range(len(positional)), parameters(call), strict=False):
            yield name, value, (*positional[:at], value, *positional[at + 1 :]), named
        for name in named:
            yield name, value, positional, {**named, name: value}


def is_said(op, name, value, text):
    """Whether a message is about the operation, the argument or the value."""
    return any(word in text for word in (op, name, str(value), *PHRASES))


@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_said(fake, tmp_path):
    silent = []
    for call, positional, named in calls(Things(tmp_path)):
        op = getattr(call, "__name__", "launch")
        if op not in REFUSED:
            call(*positional, **named)
        for name, value, args, kwargs in spoilt(call, positional, named):
            what = f"{op}({name}={value!r})"
            try:
                call(*args, **kwargs)
            except FITTING as error:
                text = "\n".join([str(error), *getattr(error, "__notes__", ())])
                if not is_said(op, name, value, text):
                    silent.append(f"{what}: {type(error).__name__}: {text}")
            except BaseException as error:
                silent.append(f"{what}: {type(error).__name__}: {error}")
    cuda.Context.synchronize()
    assert not silent, "\n".join(silent)


class Unspeakable:
    def __repr__(self):
        raise ZeroDivisionError


class Gives:
    """An array on a device whose capsule is something else."""

    def __init__(self, what):
        self._what = what

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        return self._what


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.exec.set_kernel(-1, t.function, block=1), cuda.LogicError, "GraphExec.set_kernel: node is -1"),
        (lambda t: t.function(block=1, grid="x"), TypeError, "launch: grid is 'x', expected one to three integers"),
        (lambda t: t.function(block=1, shared=-1), cuda.LogicError, "launch: shared is -1"),
        (lambda t: cuda.Context.set_limit(0, -1), cuda.LogicError, "Context.set_limit: value is -1"),
        (lambda t: cuda.Context.set_limit(999, 1), cuda.LogicError, "Context.set_limit: limit 999, value 1"),
        (lambda t: t.device.make_context(-1), cuda.LogicError, "Device.make_context: flags is -1"),
        (lambda t: t.device.get_attribute(2**70), cuda.LogicError, f"Device.get_attribute: attr is {2**70}"),
        (lambda t: t.device.get_attribute(9999), cuda.LogicError, "Device.get_attribute: attr 9999"),
        (lambda t: cuda.Stream(0, 2**40), cuda.LogicError, f"Stream: priority is {2**40}"),
        (lambda t: cuda.Stream(0, -(2**40)), cuda.LogicError, "which is more than 32 bits hold"),
        (lambda t: cuda.mem_alloc("x"), TypeError, "mem_alloc: bytes is 'x'"),
        (lambda t: t.pool.allocate(1.5), TypeError, "allocate: size is 1.5"),
        (lambda t: cuda.memset_d32(t.memory, 1.5, 1), TypeError, "memset_d32: data is 1.5"),
        (lambda t: cuda.Memcpy3D().__setattr__("height", "x"), TypeError, "Memcpy3D: height is 'x'"),
        (lambda t: t.stream.wait_for_event(5), TypeError, "Stream.wait_for_event: evt is 5, which is no Event"),
        (lambda t: t.event.record(2**63), cuda.LogicError, "Event.record: stream 0x8000000000000000"),
        (lambda t: t.on_device.fill(Unspeakable()), TypeError, "fill: value is a Unspeakable"),
        (lambda t: t.exec.update(None), TypeError, "GraphExec.update: graph is None, which is no Graph"),
        (lambda t: cuda.SurfaceObject(5), TypeError, "SurfaceObject: array is 5, which is no Array"),
        (lambda t: gpuarray.vec.make_uchar4(300), ValueError, r"make_uchar4: values is \(300,\)"),
        (lambda t: t.on_device.__dlpack__(max_version=()), ValueError, r"max_version is \(\), expected two integers"),
        (lambda t: t.on_device.fill(1j), TypeError, "fill: value is 1j"),
        (lambda t: gpuarray.zeros(3, np.uint8).fill(300), ValueError, "fill: value is 300"),
        (lambda t: gpuarray.GPUArray(3, np.int8, lambda n: None), ValueError, "allocator gave None for 3 bytes"),
        (lambda t: gpuarray.GPUArray(3, np.int8, lambda n: cuda.mem_alloc(1)), ValueError, "allocator gave .* for 3 bytes"),
        (lambda t: t.module.get_function("\ud800"), ValueError, r"Module.get_function: name is '\\ud800'"),
        (lambda t: cuda.Event.from_ipc_handle([300]), TypeError, r"Event.from_ipc_handle: handle is \[300\]"),
        (lambda t: gpuarray.from_dlpack(Gives(5)), TypeError, "__dlpack__ gave 5, expected a DLPack capsule"),
        (lambda t: compiler.compile("", cache_dir=5), TypeError, "cache_dir is 5"),
    ],
)
def test_the_operation_and_the_value_are_named(fake, tmp_path, call, error, message):
    with pytest.raises(error, match=message):
        call(Things(tmp_path))
