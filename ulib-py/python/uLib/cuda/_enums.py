"""The enumerations of the driver layer: integers with names, under PyCUDA's names."""

from __future__ import annotations

from ._device_attributes import device_attribute
from ._enumeration import Enumeration

__all__ = [
    "address_mode",
    "array3d_flags",
    "array_cubemap_face",
    "array_format",
    "compute_mode",
    "ctx_flags",
    "device_attribute",
    "direction_vector_set",
    "event_flags",
    "filter_mode",
    "func_cache",
    "function_attribute",
    "graphics_register_flags",
    "host_alloc_flags",
    "ipc_mem_flags",
    "jit_fallback",
    "jit_input_type",
    "jit_option",
    "jit_target",
    "limit",
    "mem_attach_flags",
    "mem_host_register_flags",
    "memory_type",
    "pointer_attribute",
    "profiler_output_mode",
    "resource_view_format",
    "shared_config",
    "stream_flags",
    "TRSA_OVERRIDE_FORMAT",
    "TRSF_NORMALIZED_COORDINATES",
    "TRSF_READ_AS_INTEGER",
    "TR_DEFAULT",
]

TRSA_OVERRIDE_FORMAT = 1
TRSF_READ_AS_INTEGER = 1
TRSF_NORMALIZED_COORDINATES = 2
TR_DEFAULT = -1


class ctx_flags(Enumeration):
    """How the host waits for a device, and what else its context is made with."""

    SCHED_AUTO = 0
    SCHED_SPIN = 1
    SCHED_YIELD = 2
    SCHED_BLOCKING_SYNC = 4
    BLOCKING_SYNC = 4
    SCHED_MASK = 7
    MAP_HOST = 8
    LMEM_RESIZE_TO_MAX = 16
    COREDUMP_ENABLE = 32
    USER_COREDUMP_ENABLE = 64
    SYNC_MEMOPS = 128
    FLAGS_MASK = 255


class stream_flags(Enumeration):
    """Whether a stream is ordered with the default stream."""

    DEFAULT = 0
    NON_BLOCKING = 1


class event_flags(Enumeration):
    """How the host waits for an event, and what an event can do."""

    DEFAULT = 0
    BLOCKING_SYNC = 1
    DISABLE_TIMING = 2
    INTERPROCESS = 4


class array_format(Enumeration):
    """What an array's elements are."""

    UNSIGNED_INT8 = 1
    UNSIGNED_INT16 = 2
    UNSIGNED_INT32 = 3
    SIGNED_INT8 = 8
    SIGNED_INT16 = 9
    SIGNED_INT32 = 10
    HALF = 16
    FLOAT = 32


class _ArrayFlags(type):
    def __getattr__(cls, name: str) -> int:
        # A name that Python's grammar does not allow, and `getattr` does.
        if name == "2DARRAY":
            return 1
        raise AttributeError(f"array3d_flags has no attribute {name!r}")


class array3d_flags(metaclass=_ArrayFlags):
    """What an array is for."""

    ARRAY3D_LAYERED = 1
    ARRAY3D_2DARRAY = 1
    SURFACE_LDST = 2
    CUBEMAP = 4
    TEXTURE_GATHER = 8


class address_mode(Enumeration):
    """What a texture gives outside its array."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


class resource_view_format(Enumeration):
    """What a texture takes the bytes of an array's texels for: as many numbers of so many bits, or compressed blocks."""

    NONE = 0
    UINT_1X8 = 1
    UINT_2X8 = 2
    UINT_4X8 = 3
    SINT_1X8 = 4
    SINT_2X8 = 5
    SINT_4X8 = 6
    UINT_1X16 = 7
    UINT_2X16 = 8
    UINT_4X16 = 9
    SINT_1X16 = 10
    SINT_2X16 = 11
    SINT_4X16 = 12
    UINT_1X32 = 13
    UINT_2X32 = 14
    UINT_4X32 = 15
    SINT_1X32 = 16
    SINT_2X32 = 17
    SINT_4X32 = 18
    FLOAT_1X16 = 19
    FLOAT_2X16 = 20
    FLOAT_4X16 = 21
    FLOAT_1X32 = 22
    FLOAT_2X32 = 23
    FLOAT_4X32 = 24
    UNSIGNED_BC1 = 25
    UNSIGNED_BC2 = 26
    UNSIGNED_BC3 = 27
    UNSIGNED_BC4 = 28
    SIGNED_BC4 = 29
    UNSIGNED_BC5 = 30
    SIGNED_BC5 = 31
    UNSIGNED_BC6H = 32
    SIGNED_BC6H = 33
    UNSIGNED_BC7 = 34


class filter_mode(Enumeration):
    """How a texture reads between elements."""

    POINT = 0
    LINEAR = 1


class pointer_attribute(Enumeration):
    """What can be asked of an address."""

    CONTEXT = 1
    MEMORY_TYPE = 2
    DEVICE_POINTER = 3
    HOST_POINTER = 4
    P2P_TOKENS = 5
    SYNC_MEMOPS = 6
    BUFFER_ID = 7
    IS_MANAGED = 8
    DEVICE_ORDINAL = 9
    IS_LEGACY_CUDA_IPC_CAPABLE = 10
    RANGE_START_ADDR = 11
    RANGE_SIZE = 12
    MAPPED = 13
    ALLOWED_HANDLE_TYPES = 14
    IS_GPU_DIRECT_RDMA_CAPABLE = 15
    ACCESS_FLAGS = 16
    MEMPOOL_HANDLE = 17
    MAPPING_SIZE = 18
    MAPPING_BASE_ADDR = 19
    MEMORY_BLOCK_ID = 20
    IS_HW_DECOMPRESS_CAPABLE = 21


class profiler_output_mode(Enumeration):
    """What a profile was written as; of no use any more."""

    KEY_VALUE_PAIR = 0
    CSV = 1


class func_cache(Enumeration):
    """Whether kernels prefer cache or shared memory."""

    PREFER_NONE = 0
    PREFER_SHARED = 1
    PREFER_L1 = 2
    PREFER_EQUAL = 3


class shared_config(Enumeration):
    """How wide the banks of shared memory are; of no use any more."""

    DEFAULT_BANK_SIZE = 0
    FOUR_BYTE_BANK_SIZE = 1
    EIGHT_BYTE_BANK_SIZE = 2


class function_attribute(Enumeration):
    """What can be asked of a kernel, and of some, what can be set."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    CACHE_MODE_CA = 7
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9
    CLUSTER_SIZE_MUST_BE_SET = 10
    REQUIRED_CLUSTER_WIDTH = 11
    REQUIRED_CLUSTER_HEIGHT = 12
    REQUIRED_CLUSTER_DEPTH = 13
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15
    MAX = 16


class memory_type(Enumeration):
    """Where memory is."""

    HOST = 1
    DEVICE = 2
    ARRAY = 3
    UNIFIED = 4


class compute_mode(Enumeration):
    """Who may use a device."""

    DEFAULT = 0
    PROHIBITED = 2
    EXCLUSIVE_PROCESS = 3


class jit_option(Enumeration):
    """What the driver's translator and linker can be told."""

    MAX_REGISTERS = 0
    THREADS_PER_BLOCK = 1
    WALL_TIME = 2
    INFO_LOG_BUFFER = 3
    INFO_LOG_BUFFER_SIZE_BYTES = 4
    ERROR_LOG_BUFFER = 5
    ERROR_LOG_BUFFER_SIZE_BYTES = 6
    OPTIMIZATION_LEVEL = 7
    TARGET_FROM_CUCONTEXT = 8
    TARGET = 9
    FALLBACK_STRATEGY = 10
    GENERATE_DEBUG_INFO = 11
    LOG_VERBOSE = 12
    GENERATE_LINE_INFO = 13
    CACHE_MODE = 14


class jit_target(Enumeration):
    """Which architecture to translate for."""

    COMPUTE_30 = 30
    COMPUTE_32 = 32
    COMPUTE_35 = 35
    COMPUTE_37 = 37
    COMPUTE_50 = 50
    COMPUTE_52 = 52
    COMPUTE_53 = 53
    COMPUTE_60 = 60
    COMPUTE_61 = 61
    COMPUTE_62 = 62
    COMPUTE_70 = 70
    COMPUTE_72 = 72
    COMPUTE_75 = 75
    COMPUTE_80 = 80
    COMPUTE_86 = 86
    COMPUTE_87 = 87
    COMPUTE_89 = 89
    COMPUTE_90 = 90
    COMPUTE_100 = 100
    COMPUTE_103 = 103
    COMPUTE_110 = 110
    COMPUTE_120 = 120
    COMPUTE_121 = 121
    COMPUTE_90A = 65626
    COMPUTE_100A = 65636
    COMPUTE_103A = 65639
    COMPUTE_110A = 65646
    COMPUTE_120A = 65656
    COMPUTE_121A = 65657


class jit_fallback(Enumeration):
    """What to take when there is no machine code for a device."""

    PREFER_PTX = 0
    PREFER_BINARY = 1


class jit_input_type(Enumeration):
    """What is given to a linker."""

    CUBIN = 0
    PTX = 1
    FATBINARY = 2
    OBJECT = 3
    LIBRARY = 4


class host_alloc_flags:
    """What page-locked memory can do."""

    PORTABLE = 1
    DEVICEMAP = 2
    WRITECOMBINED = 4


class mem_host_register_flags:
    """What registered memory can do."""

    PORTABLE = 1
    DEVICEMAP = 2
    IOMEMORY = 4
    READ_ONLY = 8


class limit(Enumeration):
    """Limits of kernels on a device."""

    STACK_SIZE = 0
    PRINTF_FIFO_SIZE = 1
    MALLOC_HEAP_SIZE = 2
    DEV_RUNTIME_SYNC_DEPTH = 3
    DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4
    MAX_L2_FETCH_GRANULARITY = 5
    PERSISTING_L2_CACHE_SIZE = 6


class mem_attach_flags(Enumeration):
    """Who may touch managed memory."""

    GLOBAL = 1
    HOST = 2
    SINGLE = 4


class ipc_mem_flags(Enumeration):
    """How memory of another process is opened."""

    LAZY_ENABLE_PEER_ACCESS = 1


class graphics_register_flags(Enumeration):
    """What is done with a resource of OpenGL."""

    NONE = 0
    READ_ONLY = 1
    WRITE_DISCARD = 2
    SURFACE_LDST = 4
    TEXTURE_GATHER = 8


class array_cubemap_face(Enumeration):
    """A face of a cubemap."""

    POSITIVE_X = 0
    NEGATIVE_X = 1
    POSITIVE_Y = 2
    NEGATIVE_Y = 3
    POSITIVE_Z = 4
    NEGATIVE_Z = 5


class direction_vector_set(Enumeration):
    """Which direction vectors a quasirandom generator takes."""

    VECTOR_32 = 101
    SCRAMBLED_VECTOR_32 = 102
    VECTOR_64 = 103
    SCRAMBLED_VECTOR_64 = 104
