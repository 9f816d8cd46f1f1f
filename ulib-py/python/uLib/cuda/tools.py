"""Tools: the default context, memory for each device, pools, occupancy."""

from __future__ import annotations

from ._contexts import (
    clear_context_caches,
    context_dependent_memoize,
    context_dependent_memoized_functions,
    get_default_device,
    init_cuda_context_fixture,
    make_default_context,
    mark_cuda_test,
)
from ._memory import DebugMemoryPool, PageLockedMemoryPool
from ._native import DeviceMemoryPool, PageLockedAllocator, PooledDeviceAllocation, PooledHostAllocation, StreamMemoryPool, bitlog2
from ._dtypes import (
    Argument,
    ScalarArg,
    VectorArg,
    dtype_to_ctype,
    get_arg_type,
    get_or_register_dtype,
    match_dtype_to_c_struct,
    parse_c_arg,
    register_dtype,
)
from ._occupancy import DeviceData, OccupancyRecord

__all__ = [
    "DebugMemoryPool",
    "DeviceData",
    "DeviceMemoryPool",
    "OccupancyRecord",
    "PageLockedAllocator",
    "PageLockedMemoryPool",
    "PooledDeviceAllocation",
    "PooledHostAllocation",
    "StreamMemoryPool",
    "bitlog2",
    "clear_context_caches",
    "context_dependent_memoize",
    "context_dependent_memoized_functions",
    "get_default_device",
    "init_cuda_context_fixture",
    "make_default_context",
    "mark_cuda_test",
]
__all__ += [
    "Argument",
    "ScalarArg",
    "VectorArg",
    "dtype_to_ctype",
    "get_arg_type",
    "get_or_register_dtype",
    "match_dtype_to_c_struct",
    "parse_c_arg",
    "register_dtype",
]
