//! All attributes of a device, by the names that the field uses for them.

use super::Device;
use crate::sys::{CUdevice_attribute, CUresult};
use std::fmt;
use ulib_core::{Error, ErrorKind, Result};

/// One question about a device that has a number for an answer, such as `warp_size`.
///
/// Names are the driver's in lower case, without what they all begin with.
///
/// # Examples
/// ```
/// use ulib_device::device::Attribute;
///
/// let attribute = Attribute::named("cluster_launch").unwrap();
/// assert_eq!(attribute.number(), 120);
/// assert_eq!(Attribute::named("shared_memory_per_block"), Attribute::named("max_shared_memory_per_block"));
/// assert!(Attribute::all().any(|attribute| attribute.name() == "memory_pools_supported"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute(i32);

macro_rules! attributes {
    ($($number:literal $name:ident)*) => {
        /// Every name, older ones for the same number included, in the order of the driver's header.
        const NAMES: &[(&str, i32)] = &[$((stringify!($name), $number)),*];
    };
}

attributes! {
    1 max_threads_per_block 2 max_block_dim_x 3 max_block_dim_y 4 max_block_dim_z 5 max_grid_dim_x
    6 max_grid_dim_y 7 max_grid_dim_z 8 max_shared_memory_per_block 8 shared_memory_per_block
    9 total_constant_memory 10 warp_size 11 max_pitch 12 max_registers_per_block 12 registers_per_block
    13 clock_rate 14 texture_alignment 15 gpu_overlap 16 multiprocessor_count 17 kernel_exec_timeout
    18 integrated 19 can_map_host_memory 20 compute_mode 21 maximum_texture1d_width
    22 maximum_texture2d_width 23 maximum_texture2d_height 24 maximum_texture3d_width
    25 maximum_texture3d_height 26 maximum_texture3d_depth 27 maximum_texture2d_layered_width
    28 maximum_texture2d_layered_height 29 maximum_texture2d_layered_layers
    27 maximum_texture2d_array_width 28 maximum_texture2d_array_height
    29 maximum_texture2d_array_numslices 30 surface_alignment 31 concurrent_kernels 32 ecc_enabled
    33 pci_bus_id 34 pci_device_id 35 tcc_driver 36 memory_clock_rate 37 global_memory_bus_width
    38 l2_cache_size 39 max_threads_per_multiprocessor 40 async_engine_count 41 unified_addressing
    42 maximum_texture1d_layered_width 43 maximum_texture1d_layered_layers 44 can_tex2d_gather
    45 maximum_texture2d_gather_width 46 maximum_texture2d_gather_height
    47 maximum_texture3d_width_alternate 48 maximum_texture3d_height_alternate
    49 maximum_texture3d_depth_alternate 50 pci_domain_id 51 texture_pitch_alignment
    52 maximum_texturecubemap_width 53 maximum_texturecubemap_layered_width
    54 maximum_texturecubemap_layered_layers 55 maximum_surface1d_width 56 maximum_surface2d_width
    57 maximum_surface2d_height 58 maximum_surface3d_width 59 maximum_surface3d_height
    60 maximum_surface3d_depth 61 maximum_surface1d_layered_width 62 maximum_surface1d_layered_layers
    63 maximum_surface2d_layered_width 64 maximum_surface2d_layered_height
    65 maximum_surface2d_layered_layers 66 maximum_surfacecubemap_width
    67 maximum_surfacecubemap_layered_width 68 maximum_surfacecubemap_layered_layers
    69 maximum_texture1d_linear_width 70 maximum_texture2d_linear_width
    71 maximum_texture2d_linear_height 72 maximum_texture2d_linear_pitch
    73 maximum_texture2d_mipmapped_width 74 maximum_texture2d_mipmapped_height
    75 compute_capability_major 76 compute_capability_minor 77 maximum_texture1d_mipmapped_width
    78 stream_priorities_supported 79 global_l1_cache_supported 80 local_l1_cache_supported
    81 max_shared_memory_per_multiprocessor 82 max_registers_per_multiprocessor 83 managed_memory
    84 multi_gpu_board 85 multi_gpu_board_group_id 86 host_native_atomic_supported
    87 single_to_double_precision_perf_ratio 88 pageable_memory_access 89 concurrent_managed_access
    90 compute_preemption_supported 91 can_use_host_pointer_for_registered_mem
    92 can_use_stream_mem_ops_v1 93 can_use_64_bit_stream_mem_ops_v1 94 can_use_stream_wait_value_nor_v1
    95 cooperative_launch 96 cooperative_multi_device_launch 97 max_shared_memory_per_block_optin
    98 can_flush_remote_writes 99 host_register_supported
    100 pageable_memory_access_uses_host_page_tables 101 direct_managed_mem_access_from_host
    102 virtual_address_management_supported 102 virtual_memory_management_supported
    103 handle_type_posix_file_descriptor_supported 104 handle_type_win32_handle_supported
    105 handle_type_win32_kmt_handle_supported 106 max_blocks_per_multiprocessor
    107 generic_compression_supported 108 max_persisting_l2_cache_size 109 max_access_policy_window_size
    110 gpu_direct_rdma_with_cuda_vmm_supported 111 reserved_shared_memory_per_block
    112 sparse_cuda_array_supported 113 read_only_host_register_supported
    114 timeline_semaphore_interop_supported 115 memory_pools_supported 116 gpu_direct_rdma_supported
    117 gpu_direct_rdma_flush_writes_options 118 gpu_direct_rdma_writes_ordering
    119 mempool_supported_handle_types 120 cluster_launch 121 deferred_mapping_cuda_array_supported
    122 can_use_64_bit_stream_mem_ops 123 can_use_stream_wait_value_nor 124 dma_buf_supported
    125 ipc_event_supported 126 mem_sync_domain_count 127 tensor_map_access_supported
    128 handle_type_fabric_supported 129 unified_function_pointers 130 numa_config 131 numa_id
    132 multicast_supported 133 mps_enabled 134 host_numa_id 135 d3d12_cig_supported
    136 mem_decompress_algorithm_mask 137 mem_decompress_maximum_length 138 vulkan_cig_supported
    139 gpu_pci_device_id 140 gpu_pci_subsystem_id 141 host_numa_virtual_memory_management_supported
    142 host_numa_memory_pools_supported 143 host_numa_multinode_ipc_supported
    144 host_memory_pools_supported 145 host_virtual_memory_management_supported
    146 host_alloc_dma_buf_supported 147 only_partial_host_native_atomic_supported
}

impl Attribute {
    /// The attribute of that name, also of an older name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(Self(found.1))
    }

    /// All attributes, each once, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut numbers: Vec<i32> = NAMES.iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(Self)
    }

    /// Every name with its attribute; some attributes have an older name besides, which comes after.
    pub fn names() -> impl Iterator<Item = (&'static str, Self)> {
        NAMES.iter().map(|(name, number)| (*name, Self(*number)))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, number)| *number == self.0);
        found.map_or("", |(name, _)| name)
    }

    /// The driver's number for it.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attribute({} {})", self.0, self.name())
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Attribute> for CUdevice_attribute {
    fn from(attribute: Attribute) -> Self {
        Self(attribute.0.cast_unsigned())
    }
}

impl Device {
    /// An attribute by its name, such as `cluster_launch`; see [`Attribute`].
    ///
    /// # Errors
    /// Kind `InvalidArgument` when no attribute has that name; else as [`attribute`](Self::attribute).
    pub fn attribute_named(&self, name: &str) -> Result<i32> {
        let attribute = Attribute::named(name).ok_or_else(|| {
            let expected = "the name of an attribute of devices";
            Error::invalid(
                "Device::attribute_named",
                "name",
                format!("{name:?}"),
                expected,
            )
        })?;
        self.attribute(attribute.into())
    }

    /// The value of an attribute, or nothing where this driver does not know it.
    ///
    /// # Errors
    /// Whatever else the driver says; kind `Forked` in a forked child.
    pub fn attribute_if_known(&self, attribute: Attribute) -> Result<Option<i32>> {
        const UNKNOWN: i32 = CUresult::CUDA_ERROR_INVALID_VALUE.0.cast_signed();
        const UNSUPPORTED: i32 = CUresult::CUDA_ERROR_NOT_SUPPORTED.0.cast_signed();
        match self.attribute(attribute.into()) {
            Ok(value) => Ok(Some(value)),
            Err(error) => match error.kind() {
                ErrorKind::Driver {
                    code: UNKNOWN | UNSUPPORTED,
                    ..
                } => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// All attributes that this driver knows, with their values, in the order of their numbers.
    ///
    /// # Errors
    /// As [`attribute_if_known`](Self::attribute_if_known).
    pub fn attributes(&self) -> Result<Vec<(Attribute, i32)>> {
        let mut known = Vec::new();
        for attribute in Attribute::all() {
            let value = self.attribute_if_known(attribute)?;
            known.extend(value.map(|value| (attribute, value)));
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Names and numbers as they stand in the generated header.
    fn declared() -> BTreeSet<(String, i32)> {
        let header = include_str!("../sys/types.rs");
        let mut found = BTreeSet::new();
        let mut constants = header.split("pub const CU_DEVICE_ATTRIBUTE_").skip(1);
        for constant in constants.by_ref() {
            let name = constant.split(':').next().unwrap_or_default();
            let number = constant.split(['(', ')']).nth(1).unwrap_or_default();
            found.insert((name.to_lowercase(), number.parse().unwrap_or(-1)));
        }
        found
    }

    #[test]
    fn none_of_the_driver_s_attributes_is_missing() {
        let mut declared = declared();
        let end = declared.iter().find(|(name, _)| name == "max").cloned();
        assert_eq!(end.as_ref().map(|(_, number)| *number), Some(148));
        declared.retain(|(name, _)| name != "max");
        let ours: BTreeSet<_> = NAMES
            .iter()
            .map(|(name, number)| ((*name).to_owned(), *number))
            .collect();
        assert!(ours.len() > 150);
        assert_eq!(ours, declared);
    }

    #[test]
    fn each_has_one_name_and_may_be_found_by_another() {
        let all: Vec<_> = Attribute::all().collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        for attribute in all {
            assert_eq!(Attribute::named(attribute.name()), Some(attribute));
        }
        let old = Attribute::named("maximum_texture2d_array_width");
        assert_eq!(
            old.map(Attribute::name),
            Some("maximum_texture2d_layered_width")
        );
        assert_eq!(Attribute::named("WARP_SIZE"), None);
        assert_eq!(Attribute::named(""), None);
    }
}
