//! The table of driver entry points, filled from a resolver.

use super::proto;
use core::ffi::c_void;
use core::ptr::NonNull;

/// Where entry points come from: a name gives an address, or `None` when the library has no such symbol.
pub type Resolver<'a> = dyn Fn(&str) -> Option<NonNull<c_void>> + 'a;

macro_rules! driver_table {
    (required { $($req:ident)* } optional { $($opt:ident)* }) => {
        /// The entry points of the driver, as function pointers.
        ///
        /// Required ones exist in every driver since CUDA 11.0. Optional ones came later, were removed at some
        /// point, or belong to parts (graphs, arrays, OpenGL) that a driver may lack; they are `None` then.
        ///
        /// Whoever calls one takes over the contract of the driver's own documentation; see
        /// [`crate::driver::Driver`] for what has been checked before a table can be reached.
        #[derive(Clone, Copy)]
        pub struct Table {
            $(pub $req: proto::$req,)*
            $(pub $opt: Option<proto::$opt>,)*
        }

        impl Table {
            /// Names of the entry points without which no table is made.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($req)),*];
            /// Names of the entry points a driver may lack.
            pub const OPTIONAL: &'static [&'static str] = &[$(stringify!($opt)),*];

            /// Fills the table.
            ///
            /// # Errors
            /// The name of the first required entry point that `resolve` does not know.
            ///
            /// # Safety
            /// Every address that `resolve` returns is a function of that name's prototype in [`proto`], callable
            /// for as long as any copy of the table is in use.
            pub unsafe fn load(resolve: &Resolver<'_>) -> Result<Self, &'static str> {
                Ok(Self {
                    $($req: {
                        let address = resolve(stringify!($req)).ok_or(stringify!($req))?;
                        // SAFETY: the caller promises that the address is a function of exactly this prototype;
                        // both sides are one non-null pointer wide.
                        unsafe { core::mem::transmute::<NonNull<c_void>, proto::$req>(address) }
                    },)*
                    $($opt: resolve(stringify!($opt)).map(|address| {
                        // SAFETY: as above.
                        unsafe { core::mem::transmute::<NonNull<c_void>, proto::$opt>(address) }
                    }),)*
                })
            }
        }
    };
}

driver_table! {
    required {
        // Start, errors, devices.
        cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString
        cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2
        cuDeviceGetPCIBusId cuDeviceCanAccessPeer
        // Contexts.
        cuDevicePrimaryCtxRetain cuCtxSetCurrent cuCtxGetCurrent cuCtxPushCurrent_v2 cuCtxPopCurrent_v2
        cuCtxGetDevice cuCtxSynchronize cuCtxGetStreamPriorityRange cuCtxEnablePeerAccess
        // Device memory.
        cuMemAlloc_v2 cuMemFree_v2 cuMemGetInfo_v2 cuMemGetAddressRange_v2 cuPointerGetAttribute
        // Page-locked host memory.
        cuMemHostAlloc cuMemFreeHost cuMemHostRegister_v2 cuMemHostUnregister
        // Copies.
        cuMemcpy cuMemcpyAsync cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2
        cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemcpyPeer cuMemcpyPeerAsync
        cuMemcpy2D_v2 cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2
        // Fills.
        cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2 cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async
        // Streams and events.
        cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery
        cuStreamWaitEvent cuStreamIsCapturing
        cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventQuery cuEventSynchronize
        // Modules and launches.
        cuModuleLoadDataEx cuModuleUnload cuModuleGetFunction cuModuleGetGlobal_v2 cuFuncGetAttribute
        cuLaunchKernel
    }
    optional {
        cuGetProcAddress_v2 cuDeviceGetUuid cuDeviceGetUuid_v2 cuDeviceGetByPCIBusId
        cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags_v2
        cuDevicePrimaryCtxReset_v2
        cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetFlags cuCtxGetId cuCtxGetApiVersion cuCtxGetLimit cuCtxSetLimit
        cuCtxGetCacheConfig cuCtxSetCacheConfig cuCtxDisablePeerAccess
        cuMemAllocPitch_v2 cuPointerGetAttributes
        cuMemAllocAsync cuMemFreeAsync cuMemAllocFromPoolAsync cuDeviceGetDefaultMemPool cuDeviceGetMemPool
        cuDeviceSetMemPool cuMemPoolCreate cuMemPoolDestroy cuMemPoolSetAttribute cuMemPoolGetAttribute
        cuMemPoolTrimTo cuMemPoolSetAccess cuMemPoolGetAccess
        cuMemHostGetDevicePointer_v2 cuMemHostGetFlags
        cuMemAllocManaged cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuMemAdvise cuMemAdvise_v2
        cuMemRangeGetAttribute cuStreamAttachMemAsync
        cuMemcpy2DUnaligned_v2 cuMemcpy3DPeer cuMemcpy3DPeerAsync
        cuMemsetD2D8_v2 cuMemsetD2D16_v2 cuMemsetD2D32_v2 cuMemsetD2D8Async cuMemsetD2D16Async cuMemsetD2D32Async
        cuStreamGetCtx cuStreamGetFlags cuStreamGetPriority cuStreamGetId cuLaunchHostFunc
        cuThreadExchangeStreamCaptureMode cuStreamGetCaptureInfo_v2
        cuEventElapsedTime cuEventElapsedTime_v2 cuEventRecordWithFlags
        cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcOpenEventHandle
        cuModuleLoadData cuFuncSetAttribute cuFuncSetCacheConfig cuLaunchKernelEx cuLaunchCooperativeKernel
        cuFuncGetParamInfo cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy
        cuModuleGetTexRef cuModuleGetSurfRef
        cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize
        cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2 cuArray3DGetDescriptor_v2
        cuMipmappedArrayCreate cuMipmappedArrayGetLevel cuMipmappedArrayDestroy
        cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
        cuSurfObjectCreate cuSurfObjectDestroy
        cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphLaunch cuGraphExecDestroy
        cuGraphDestroy cuGraphGetNodes cuGraphNodeGetType cuGraphNodeGetDependencies cuGraphExecUpdate_v2 cuGraphExecKernelNodeSetParams_v2
        cuGLGetDevices_v2 cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage cuGraphicsMapResources
        cuGraphicsUnmapResources cuGraphicsResourceGetMappedPointer_v2 cuGraphicsSubResourceGetMappedArray
        cuGraphicsUnregisterResource
    }
}
