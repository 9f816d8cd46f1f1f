//! In which CUDA version entry points came; those of 11.0 and before are not listed.

/// The version, as `cuDriverGetVersion` counts.
pub(crate) fn version(name: &str) -> i32 {
    match name {
        "cuMemAllocAsync"
        | "cuMemFreeAsync"
        | "cuMemAllocFromPoolAsync"
        | "cuDeviceGetDefaultMemPool"
        | "cuDeviceGetMemPool"
        | "cuDeviceSetMemPool"
        | "cuMemPoolCreate"
        | "cuMemPoolDestroy"
        | "cuMemPoolSetAttribute"
        | "cuMemPoolGetAttribute"
        | "cuMemPoolTrimTo"
        | "cuMemPoolSetAccess"
        | "cuMemPoolGetAccess" => 11_020,
        "cuGetProcAddress"
        | "cuFuncGetModule"
        | "cuStreamGetCaptureInfo_v2"
        | "cuEventRecordWithFlags" => 11_030,
        "cuDeviceGetUuid_v2" | "cuCtxCreate_v3" | "cuGraphInstantiateWithFlags" => 11_040,
        "cuModuleGetLoadingMode" => 11_070,
        "cuLaunchKernelEx" => 11_080,
        "cuGetProcAddress_v2" | "cuStreamGetId" | "cuCtxGetId" => 12_000,
        "cuMemPrefetchAsync_v2" | "cuMemAdvise_v2" => 12_020,
        "cuFuncGetName" => 12_030,
        "cuFuncGetParamInfo" => 12_040,
        "cuCtxCreate_v4" => 12_050,
        "cuEventElapsedTime_v2" | "cuStreamGetDevice" => 12_080,
        _ => 0,
    }
}
