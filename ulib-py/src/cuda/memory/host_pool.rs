//! A pool of page-locked host memory.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_device::memory::bin_number;
use ulib_device::pinned::{HostFlags, HostPool};

use super::device::{after_collecting, size_of};
use super::host::{HostPointer, Owner};
use super::pools::{size_in, statistics};
use crate::args::{Int, whole};
use crate::cuda::arguments::{Whole, instance};
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting, logic};
use crate::detached::drop_detached;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PooledHostAllocation>()?;
    module.add_class::<PageLockedAllocator>()?;
    module.add_class::<PageLockedMemoryPool>()
}

/// A block of a pool of page-locked memory.
#[pyclass(frozen, extends = HostPointer, module = "uLib.cuda.driver")]
pub(crate) struct PooledHostAllocation;

#[pymethods]
impl PooledHostAllocation {
    /// Gives the block back: now, or when no array can use it any more.
    fn free(slf: PyRef<'_, Self>) -> PyResult<()> {
        slf.as_super().free()
    }

    /// The flags that the pool's memory is made with.
    fn get_flags(slf: PyRef<'_, Self>) -> PyResult<u32> {
        slf.as_super().flags()
    }

    fn __len__(slf: PyRef<'_, Self>) -> usize {
        slf.as_super().len()
    }

    // An object with a length of zero would be false.
    fn __bool__(&self) -> bool {
        true
    }
}

/// How a ``PageLockedMemoryPool`` gets its memory: with the flags of ``host_alloc_flags``.
#[pyclass(frozen, module = "uLib.cuda.driver")]
pub(crate) struct PageLockedAllocator {
    #[pyo3(get)]
    flags: u32,
}

#[pymethods]
impl PageLockedAllocator {
    #[new]
    #[pyo3(signature = (flags=0))]
    fn new(#[pyo3(from_py_with = whole)] flags: i128) -> PyResult<Self> {
        const OP: &str = "PageLockedAllocator";
        let flags = fitting(OP, "flags", Int(flags))?;
        HostFlags(flags).check(OP, "flags").cuda()?;
        Ok(Self { flags })
    }
}

/// Keeps page-locked memory that is freed, in bins of similar sizes, and hands it out again.
#[pyclass(frozen, subclass, weakref, module = "uLib.cuda._native")]
pub(crate) struct PageLockedMemoryPool {
    pool: OnceLock<Arc<HostPool>>,
}

impl PageLockedMemoryPool {
    fn pool(&self) -> PyResult<&Arc<HostPool>> {
        self.pool
            .get()
            .ok_or_else(|| logic("PageLockedMemoryPool: it is gone"))
    }
}

impl Drop for PageLockedMemoryPool {
    fn drop(&mut self) {
        drop_detached(self.pool.take());
    }
}

#[pymethods]
impl PageLockedMemoryPool {
    #[new]
    #[pyo3(signature = (allocator=None))]
    fn new(allocator: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let flags = match allocator {
            None => 0,
            Some(given) => {
                const OP: &str = "PageLockedMemoryPool";
                instance::<PageLockedAllocator>(OP, "allocator", given)?
                    .get()
                    .flags
            }
        };
        Ok(Self {
            pool: OnceLock::from(HostPool::new(HostFlags(flags))),
        })
    }

    /// A block for ``size`` bytes, which has a buffer.
    fn _allocate<'py>(
        &self,
        py: Python<'py>,
        size: Whole,
    ) -> PyResult<Bound<'py, PooledHostAllocation>> {
        let (size, pool) = (size_of("allocate", "size", size)?, self.pool()?);
        let made = after_collecting(py, || pool.allocate(&current::device()?, size))?;
        let (start, flags) = (made.as_ptr(), made.flags().0);
        let pointer = HostPointer::new(start, size, flags, Owner::Pooled(made));
        let made = PyClassInitializer::from(pointer).add_subclass(PooledHostAllocation);
        Bound::new(py, made)
    }

    /// Blocks that are kept.
    #[getter]
    fn held_blocks(&self) -> PyResult<u64> {
        Ok(self.pool()?.statistics().held_blocks)
    }

    /// Blocks that are handed out.
    #[getter]
    fn active_blocks(&self) -> PyResult<u64> {
        Ok(self.pool()?.statistics().active_blocks)
    }

    /// Bytes of all blocks, kept and handed out, as allocated.
    #[getter]
    fn managed_bytes(&self) -> PyResult<u64> {
        Ok(self.pool()?.statistics().managed_bytes)
    }

    /// Bytes of the blocks that are handed out, as asked for.
    #[getter]
    fn active_bytes(&self) -> PyResult<u64> {
        Ok(self.pool()?.statistics().active_bytes)
    }

    /// All counts as a dictionary, as those of ``DeviceMemoryPool``.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        statistics(py, &self.pool()?.statistics())
    }

    /// Frees all blocks that are kept.
    fn free_held(&self, py: Python<'_>) -> PyResult<()> {
        let pool = self.pool()?;
        py.detach(|| pool.free_held());
        Ok(())
    }

    /// Frees all blocks that are kept, and from now on every block as soon as it comes back. There is no way back.
    fn stop_holding(&self, py: Python<'_>) -> PyResult<()> {
        let pool = self.pool()?;
        py.detach(|| pool.stop_holding());
        Ok(())
    }

    /// The bin of blocks for ``size`` bytes.
    #[staticmethod]
    fn bin_number(size: Whole) -> PyResult<u32> {
        Ok(bin_number(fitting("bin_number", "size", size)?))
    }

    /// The bytes of a block in a bin.
    #[staticmethod]
    fn alloc_size(bin: Whole) -> PyResult<u64> {
        size_in(bin)
    }
}
