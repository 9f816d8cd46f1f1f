"""The names of PyCUDA's driver layer as this project knows them from its documentation: what ``test_cuda_names.py`` looks for.

One name a line, with its parameters and their defaults; ``Class.member`` is a method, a line without brackets an attribute, a class
without parameters of its own or a constant. What a name has here beyond its line (more parameters with defaults, more members) is ours.
"""

from __future__ import annotations

EXCEPTIONS = {
    # Status of the driver: the class.
    1: "LogicError",
    2: "MemoryError",
    100: "RuntimeError",
    201: "LogicError",
    209: "RuntimeError",
    214: "RuntimeError",
    301: "RuntimeError",
    400: "LogicError",
    500: "LogicError",
    600: "RuntimeError",
    700: "LogicError",
    701: "LaunchError",
    702: "LaunchError",
    703: "LaunchError",
    719: "LaunchError",
    999: "Error",
}

MODULES = {
    "uLib.cuda": """
VERSION
VERSION_STATUS
VERSION_TEXT
""",
    "uLib.cuda.driver": """
Error
MemoryError
LaunchError
RuntimeError
LogicError
CompileError(msg, command_line, stdout=None, stderr=None)
get_version()
get_driver_version()
init(flags=0)
set_debugging(flag=True)
CUDA_DEBUGGING
have_gl_ext()
initialize_profiler(config_file, output_file, output_mode)
start_profiler()
stop_profiler()
TRSA_OVERRIDE_FORMAT
TRSF_READ_AS_INTEGER
TRSF_NORMALIZED_COORDINATES
TR_DEFAULT
Device(ordinal)
Device.count()
Device.name()
Device.pci_bus_id()
Device.compute_capability()
Device.total_memory()
Device.get_attribute(attr)
Device.get_attributes()
Device.make_context(flags=0)
Device.retain_primary_context()
Device.can_access_peer(other)
Context
Context.attach(flags=0)
Context.pop()
Context.get_device()
Context.synchronize()
Context.get_current()
Context.set_limit(limit, value)
Context.get_limit(limit)
Context.get_cache_config()
Context.set_cache_config(fc)
Context.get_shared_config()
Context.set_shared_config(sc)
Context.enable_peer_access(peer, flags=0)
Context.disable_peer_access(peer)
Context.push()
Context.detach()
Context.get_api_version()
Context.handle
Stream(flags=0)
Stream.synchronize()
Stream.is_done()
Stream.wait_for_event(evt)
Stream.handle
Event(flags=0)
Event.record(stream=None)
Event.synchronize()
Event.query()
Event.time_since(event)
Event.time_till(event)
Event.ipc_handle()
Event.from_ipc_handle(handle)
Module
Module.get_function(name)
Module.get_global(name)
Module.get_texref(name)
Module.get_surfref(name)
module_from_file(filename)
module_from_buffer(buffer, options=[], message_handler=None)
Linker(message_handler=None, options=None, log_verbose=False)
Linker.add_data(data, input_type, name='unknown')
Linker.add_file(filename, input_type)
Linker.link_module()
Function
Function.prepare(arg_types, texrefs=None)
Function.prepared_call(grid, block, *args, shared_size=0)
Function.prepared_async_call(grid, block, stream, *args, shared_size=0)
Function.prepared_timed_call(grid, block, *args, shared_size=0)
Function.get_attribute(attribute)
Function.set_attribute(attribute, value)
Function.set_cache_config(config)
Function.param_set_texref(texref)
Function._launch_kernel(grid, block, buf, shared, stream)
Function._set_block_shape(*bs)
ArgumentHandler(ary)
ArgumentHandler.get_device_alloc()
ArgumentHandler.pre_call(stream)
In(ary)
Out(ary)
InOut(ary)
mem_get_info()
mem_alloc(bytes)
mem_alloc_pitch(width, height, access_size)
mem_alloc_like(ary)
mem_get_address_range(ptr)
to_device(bf_obj)
from_device(devptr, shape, dtype, order='C')
from_device_like(devptr, other_ary)
DeviceAllocation
DeviceAllocation.free()
DeviceAllocation.as_buffer(size, offset=0)
DeviceAllocation.__int__()
DeviceAllocation.__index__()
PointerHolderBase
PointerHolderBase.get_pointer()
mem_get_ipc_handle(devptr)
IPCMemoryHandle(handle, flags=1)
IPCMemoryHandle.close()
pagelocked_empty(shape, dtype, order='C', mem_flags=0)
pagelocked_zeros(shape, dtype, order='C', mem_flags=0)
pagelocked_empty_like(array, mem_flags=0)
pagelocked_zeros_like(array, mem_flags=0)
aligned_empty(shape, dtype, order='C', alignment=4096)
aligned_zeros(shape, dtype, order='C', alignment=4096)
aligned_empty_like(array, alignment=4096)
aligned_zeros_like(array, alignment=4096)
managed_empty(shape, dtype, order='C', mem_flags=0)
managed_zeros(shape, dtype, order='C', mem_flags=0)
managed_empty_like(array, mem_flags=0)
managed_zeros_like(array, mem_flags=0)
register_host_memory(ary, flags=0)
HostPointer
HostPointer.get_device_pointer()
PagelockedHostAllocation
PagelockedHostAllocation.free()
PagelockedHostAllocation.get_flags()
HostAllocation
AlignedHostAllocation
AlignedHostAllocation.free()
ManagedAllocation
ManagedAllocation.get_device_pointer()
ManagedAllocation.attach(mem_flags, stream=None)
RegisteredHostMemory
RegisteredHostMemory.unregister()
memset_d8(dest, data, count)
memset_d16(dest, data, count)
memset_d32(dest, data, count)
memset_d2d8(dest, pitch, data, width, height)
memset_d2d16(dest, pitch, data, width, height)
memset_d2d32(dest, pitch, data, width, height)
memset_d8_async(dest, data, count, stream=None)
memset_d16_async(dest, data, count, stream=None)
memset_d32_async(dest, data, count, stream=None)
memset_d2d8_async(dest, pitch, data, width, height, stream=None)
memset_d2d16_async(dest, pitch, data, width, height, stream=None)
memset_d2d32_async(dest, pitch, data, width, height, stream=None)
memcpy_htod(dest, src)
memcpy_dtoh(dest, src)
memcpy_dtod(dest, src, size)
memcpy_htod_async(dest, src, stream=None)
memcpy_dtoh_async(dest, src, stream=None)
memcpy_dtod_async(dest, src, size, stream=None)
memcpy_peer(dest, src, size, dest_context=None, src_context=None)
memcpy_peer_async(dest, src, size, dest_context=None, src_context=None, stream=None)
memcpy_dtoa(ary, index, src, len)
memcpy_atod(dest, ary, index, len)
memcpy_atoa(dest, dest_index, src, src_index, len)
py_memcpy_htoa(ary, index, src)
py_memcpy_atoh(dest, ary, index)
memcpy_htoa(ary, index, src)
memcpy_atoh(dest, ary, index)
Memcpy2D()
Memcpy3D()
Memcpy3DPeer()
ArrayDescriptor()
ArrayDescriptor.width
ArrayDescriptor.height
ArrayDescriptor.format
ArrayDescriptor.num_channels
ArrayDescriptor3D()
ArrayDescriptor3D.depth
ArrayDescriptor3D.flags
Array(descr)
Array.free()
Array.get_descriptor()
Array.get_descriptor_3d()
Array.handle
dtype_to_array_format(dtype)
matrix_to_array(matrix, order, allow_double_hack=False)
np_to_array(nparray, order, allowSurfaceBind=False)
gpuarray_to_array(gpuarray, order, allowSurfaceBind=False)
make_multichannel_2d_array(ndarray, order)
TextureReference()
TextureReference.set_array(array)
TextureReference.set_address(devptr, bytes, allow_offset=False)
TextureReference.set_address_2d(devptr, descr, pitch)
TextureReference.set_format(fmt, num_components)
TextureReference.set_address_mode(dim, am)
TextureReference.set_filter_mode(fm)
TextureReference.set_flags(flags)
TextureReference.get_array()
TextureReference.get_address()
TextureReference.get_format()
TextureReference.get_address_mode(dim)
TextureReference.get_filter_mode()
TextureReference.get_flags()
SurfaceReference()
SurfaceReference.set_array(array, flags=0)
SurfaceReference.get_array()
bind_array_to_texref(ary, texref)
matrix_to_texref(matrix, texref, order)
DeviceMemoryPool()
PageLockedMemoryPool(allocator=None)
PageLockedAllocator(flags=0)
PooledDeviceAllocation
PooledHostAllocation
bitlog2(n)
get_curand_version()
_get_direction_vectors(set, dst, count)
_get_scramble_constants32(dst, count)
_get_scramble_constants64(dst, count)
SourceModule(source, nvcc=None, options=None, keep=False, no_extern_c=False, arch=None, code=None, cache_dir=None, include_dirs=None)
""",
    "uLib.cuda.compiler": """
compile(source, nvcc=None, options=None, keep=False, no_extern_c=False, arch=None, code=None, cache_dir=None, include_dirs=None, target='cubin')
SourceModule(source, nvcc=None, options=None, keep=False, no_extern_c=False, arch=None, code=None, cache_dir=None, include_dirs=None)
SourceModule.get_function(name)
SourceModule.get_global(name)
SourceModule.get_texref(name)
SourceModule.get_surfref(name)
DynamicModule(nvcc=None, link_options=None, keep=False, no_extern_c=False, arch=None, code=None, cache_dir=None, include_dirs=None, message_handler=None, log_verbose=False, cuda_libdir=None)
DynamicModule.add_source(source, nvcc_options=None, name='kernel.ptx')
DynamicModule.add_data(data, input_type, name='unknown')
DynamicModule.add_file(filename, input_type)
DynamicModule.add_stdlib(libname)
DynamicModule.link()
DynamicSourceModule(source, nvcc=None, options=None, keep=False, no_extern_c=False, arch=None, code=None, cache_dir=None, include_dirs=None, cuda_libdir=None)
CudaModule
DEFAULT_NVCC_FLAGS
compile_plain(source, options)
preprocess_source(source, options, nvcc)
get_nvcc_version(nvcc)
""",
    "uLib.cuda.tools": """
DeviceMemoryPool()
DeviceMemoryPool.allocate(size)
DeviceMemoryPool.held_blocks
DeviceMemoryPool.active_blocks
DeviceMemoryPool.managed_bytes
DeviceMemoryPool.active_bytes
DeviceMemoryPool.free_held()
DeviceMemoryPool.stop_holding()
PageLockedMemoryPool(allocator=None)
PageLockedMemoryPool.allocate(shape, dtype, order='C')
PageLockedMemoryPool.held_blocks
PageLockedMemoryPool.active_blocks
PageLockedMemoryPool.managed_bytes
PageLockedMemoryPool.active_bytes
PageLockedMemoryPool.free_held()
PageLockedMemoryPool.stop_holding()
PooledDeviceAllocation
PooledDeviceAllocation.free()
PooledDeviceAllocation.__int__()
PooledDeviceAllocation.__index__()
PooledDeviceAllocation.__len__()
PooledHostAllocation
PooledHostAllocation.free()
PooledHostAllocation.get_flags()
PageLockedAllocator(flags=0)
bitlog2(n)
DebugMemoryPool(interactive=True, logfile=None)
DebugMemoryPool.allocate(size)
make_default_context(ctx_maker=None)
get_default_device(default=0)
DeviceData(dev=None)
DeviceData.align(bytes, word_size=4)
DeviceData.align_dtype(elements, dtype_size)
DeviceData.align_words(word_size)
DeviceData.align_bytes(word_size=4)
DeviceData.coalesce(thread_count)
DeviceData.make_valid_tex_channel_count(size)
OccupancyRecord(devdata, threads, shared_mem=0, registers=0)
dtype_to_ctype(dtype, with_fp_tex_hack=False)
get_or_register_dtype(c_names, dtype=None)
register_dtype(dtype, name)
Argument
ScalarArg(dtype, name)
ScalarArg.declarator()
VectorArg(dtype, name)
VectorArg.declarator()
parse_c_arg(c_arg)
get_arg_type(c_arg)
context_dependent_memoize(func)
context_dependent_memoized_functions
clear_context_caches()
mark_cuda_test(inner_f)
init_cuda_context_fixture()
""",
    "uLib.cuda.gl": """
init()
make_context(dev, flags=0)
graphics_map_flags
RegisteredBuffer(glbuf, flags=0)
RegisteredBuffer.map(stream=None)
RegisteredBuffer.unregister()
RegisteredBuffer.gl_handle()
RegisteredImage(gltex, target, flags=0)
RegisteredImage.map(stream=None)
RegisteredImage.unregister()
RegisteredImage.gl_handle()
RegisteredMapping
RegisteredMapping.unmap(stream=None)
RegisteredMapping.device_ptr_and_size()
RegisteredMapping.array(index, level)
BufferObject(handle)
BufferObject.handle()
BufferObject.map()
BufferObject.unregister()
BufferObjectMapping
BufferObjectMapping.device_ptr()
BufferObjectMapping.size()
BufferObjectMapping.unmap()
""",
    "uLib.cuda.characterize": """
platform_bits()
has_stack()
has_double_support()
sizeof(type_name, preamble='')
""",
    "uLib.cuda.debug": """
main()
""",
    "uLib.cuda._cluda": """
CLUDA_PREAMBLE
""",
    "uLib.cuda._pvt_struct": """
pack(format, *args)
unpack(format, data)
calcsize(format)
error
""",
    "uLib.cuda.compyte.array": """
c_contiguous_strides(itemsize, shape)
f_contiguous_strides(itemsize, shape)
equal_strides(strides1, strides2, shape)
is_c_contiguous_strides(strides, itemsize, shape)
is_f_contiguous_strides(strides, itemsize, shape)
""",
    "uLib.cuda.compyte.dtypes": """
dtype_to_ctype(dtype)
get_or_register_dtype(c_names, dtype=None)
match_dtype_to_c_struct(device, name, dtype, context=None)
parse_c_arg(c_arg)
register_dtype(dtype, name)
DTYPE_TO_NAME
NAME_TO_DTYPE
""",
}

_ROWS = "x_in_bytes y memory_type device pitch"
_SLICES = _ROWS + " z lod height"
COPIES = {
    "Memcpy2D": (_ROWS, "host device array unified", "width_in_bytes height"),
    "Memcpy3D": (_SLICES, "host device array unified", "width_in_bytes height depth"),
    "Memcpy3DPeer": (_SLICES, "host device array unified context", "width_in_bytes height depth"),
}
"""What each end of a copy has, what sets it, and what both have."""

# The attributes of objects that exist only once they are made: the class, and what its objects have.
ATTRIBUTES = {
    "DeviceData": """max_threads warp_size warps_per_mp thread_blocks_per_mp registers shared_memory smem_alloc_granularity
smem_granularity""",
    "OccupancyRecord": "tb_per_mp tb_per_mp_limits limited_by warps_per_mp occupancy",
    "ScalarArg": "dtype name struct_char",
    "VectorArg": "dtype name struct_char",
    "CompileError": "msg command_line stdout stderr",
}

ENUMERATIONS = {
    "ctx_flags": {
        "SCHED_AUTO": 0,
        "SCHED_SPIN": 1,
        "SCHED_YIELD": 2,
        "SCHED_MASK": 7,
        "BLOCKING_SYNC": 4,
        "SCHED_BLOCKING_SYNC": 4,
        "MAP_HOST": 8,
        "LMEM_RESIZE_TO_MAX": 16,
        "FLAGS_MASK": 255,
    },
    "event_flags": {"DEFAULT": 0, "BLOCKING_SYNC": 1, "DISABLE_TIMING": 2, "INTERPROCESS": 4},
    "array_format": {
        "UNSIGNED_INT8": 1,
        "UNSIGNED_INT16": 2,
        "UNSIGNED_INT32": 3,
        "SIGNED_INT8": 8,
        "SIGNED_INT16": 9,
        "SIGNED_INT32": 10,
        "HALF": 16,
        "FLOAT": 32,
    },
    "array3d_flags": {
        "ARRAY3D_2DARRAY": 1,
        "ARRAY3D_LAYERED": 1,
        "2DARRAY": 1,
        "SURFACE_LDST": 2,
        "CUBEMAP": 4,
        "TEXTURE_GATHER": 8,
    },
    "address_mode": {"WRAP": 0, "CLAMP": 1, "MIRROR": 2, "BORDER": 3},
    "filter_mode": {"POINT": 0, "LINEAR": 1},
    "pointer_attribute": {"CONTEXT": 1, "MEMORY_TYPE": 2, "DEVICE_POINTER": 3, "HOST_POINTER": 4},
    "profiler_output_mode": {"KEY_VALUE_PAIR": 0, "CSV": 1},
    "func_cache": {"PREFER_NONE": 0, "PREFER_SHARED": 1, "PREFER_L1": 2, "PREFER_EQUAL": 3},
    "shared_config": {"DEFAULT_BANK_SIZE": 0, "FOUR_BYTE_BANK_SIZE": 1, "EIGHT_BYTE_BANK_SIZE": 2},
    "function_attribute": {
        "MAX_THREADS_PER_BLOCK": 0,
        "SHARED_SIZE_BYTES": 1,
        "CONST_SIZE_BYTES": 2,
        "LOCAL_SIZE_BYTES": 3,
        "NUM_REGS": 4,
        "PTX_VERSION": 5,
        "BINARY_VERSION": 6,
        "CACHE_MODE_CA": 7,
        "MAX_DYNAMIC_SHARED_SIZE_BYTES": 8,
        "PREFERRED_SHARED_MEMORY_CARVEOUT": 9,
    },
    "memory_type": {"HOST": 1, "DEVICE": 2, "ARRAY": 3, "UNIFIED": 4},
    "compute_mode": {"DEFAULT": 0, "PROHIBITED": 2, "EXCLUSIVE_PROCESS": 3},
    "jit_option": {
        "MAX_REGISTERS": 0,
        "THREADS_PER_BLOCK": 1,
        "WALL_TIME": 2,
        "INFO_LOG_BUFFER": 3,
        "INFO_LOG_BUFFER_SIZE_BYTES": 4,
        "ERROR_LOG_BUFFER": 5,
        "ERROR_LOG_BUFFER_SIZE_BYTES": 6,
        "OPTIMIZATION_LEVEL": 7,
        "TARGET_FROM_CUCONTEXT": 8,
        "TARGET": 9,
        "FALLBACK_STRATEGY": 10,
    },
    "jit_target": {f"COMPUTE_{n}": n for n in (30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)}
    | {"COMPUTE_90A": 0x10000 + 90},
    "jit_fallback": {"PREFER_PTX": 0, "PREFER_BINARY": 1},
    "jit_input_type": {"CUBIN": 0, "PTX": 1, "FATBINARY": 2, "OBJECT": 3, "LIBRARY": 4},
    "host_alloc_flags": {"PORTABLE": 1, "DEVICEMAP": 2, "WRITECOMBINED": 4},
    "mem_host_register_flags": {"PORTABLE": 1, "DEVICEMAP": 2},
    "limit": {
        "STACK_SIZE": 0,
        "PRINTF_FIFO_SIZE": 1,
        "MALLOC_HEAP_SIZE": 2,
        "DEV_RUNTIME_SYNC_DEPTH": 3,
        "DEV_RUNTIME_PENDING_LAUNCH_COUNT": 4,
    },
    "mem_attach_flags": {"GLOBAL": 1, "HOST": 2, "SINGLE": 4},
    "ipc_mem_flags": {"LAZY_ENABLE_PEER_ACCESS": 1},
    "graphics_register_flags": {"NONE": 0, "READ_ONLY": 1, "WRITE_DISCARD": 2, "SURFACE_LDST": 4, "TEXTURE_GATHER": 8},
    "array_cubemap_face": {
        "POSITIVE_X": 0,
        "NEGATIVE_X": 1,
        "POSITIVE_Y": 2,
        "NEGATIVE_Y": 3,
        "POSITIVE_Z": 4,
        "NEGATIVE_Z": 5,
    },
    "direction_vector_set": {"VECTOR_32": 101, "SCRAMBLED_VECTOR_32": 102, "VECTOR_64": 103, "SCRAMBLED_VECTOR_64": 104},
}

# Some of the attributes of a device, one of each group of their numbers; the rest is checked against the driver's own list.
DEVICE_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1,
    "MAX_GRID_DIM_X": 5,
    "MAX_SHARED_MEMORY_PER_BLOCK": 8,
    "TOTAL_CONSTANT_MEMORY": 9,
    "WARP_SIZE": 10,
    "MAX_REGISTERS_PER_BLOCK": 12,
    "CLOCK_RATE": 13,
    "TEXTURE_ALIGNMENT": 14,
    "MULTIPROCESSOR_COUNT": 16,
    "COMPUTE_MODE": 20,
    "CONCURRENT_KERNELS": 31,
    "PCI_BUS_ID": 33,
    "MEMORY_CLOCK_RATE": 36,
    "UNIFIED_ADDRESSING": 41,
    "COMPUTE_CAPABILITY_MAJOR": 75,
    "COMPUTE_CAPABILITY_MINOR": 76,
    "MANAGED_MEMORY": 83,
    "CONCURRENT_MANAGED_ACCESS": 89,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 97,
    "MEMORY_POOLS_SUPPORTED": 115,
}
