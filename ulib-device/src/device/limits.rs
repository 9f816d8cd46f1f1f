//! What a launch may ask of a device.

use super::query::attribute_of;
use crate::sys::{CUdevice, CUdevice_attribute as Attribute, Table};
use ulib_core::Result;

/// Bounds of a launch on one device, asked for once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Threads of one block, all axes together.
    pub threads_per_block: u32,
    /// Threads of one block along x, y and z.
    pub block: [u32; 3],
    /// Blocks of one grid along x, y and z.
    pub grid: [u32; 3],
    /// Bytes of shared memory a block gets without asking for more than the default.
    pub shared_bytes_per_block: u32,
    /// Bytes of shared memory a block gets when the kernel asks for more than that, as launches do by themselves.
    pub shared_bytes_per_block_optin: u32,
    /// Whether the blocks of a grid can wait for each other (cooperative launches).
    pub cooperative: bool,
    /// Whether blocks can be launched in clusters.
    pub clusters: bool,
    /// Threads of one warp.
    pub warp: u32,
    /// Whether the device has stream-ordered memory pools.
    pub memory_pools: bool,
    /// Whether kernels can reach page-locked host memory.
    pub maps_host_memory: bool,
    /// Whether they reach it at its host address.
    pub reaches_host_addresses: bool,
}

impl Limits {
    pub(super) fn of(table: &Table, device: CUdevice) -> Result<Self> {
        let ask = |attribute| -> Result<u32> {
            Ok(u32::try_from(attribute_of(table, device, attribute)?).unwrap_or(0))
        };
        // Drivers older than the attribute answer with an error, which means no.
        let can = |attribute| matches!(attribute_of(table, device, attribute), Ok(1..));
        let shared = ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
        Ok(Self {
            multiprocessors: ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_block: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared_bytes_per_block: shared,
            shared_bytes_per_block_optin: ask(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )
            .unwrap_or(0)
            .max(shared),
            cooperative: can(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH),
            clusters: can(Attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH),
            warp: ask(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            memory_pools: can(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
            maps_host_memory: can(Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY),
            reaches_host_addresses: can(
                Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
            ),
        })
    }

    /// Made-up limits.
    #[cfg(test)]
    pub(crate) fn for_tests(
        grid: [u32; 3],
        block: [u32; 3],
        threads_per_block: u32,
        shared_bytes: u32,
    ) -> Self {
        Self {
            multiprocessors: 2,
            threads_per_block,
            block,
            grid,
            shared_bytes_per_block: shared_bytes,
            shared_bytes_per_block_optin: shared_bytes,
            cooperative: true,
            clusters: false,
            warp: 32,
            memory_pools: true,
            maps_host_memory: true,
            reaches_host_addresses: true,
        }
    }
}
