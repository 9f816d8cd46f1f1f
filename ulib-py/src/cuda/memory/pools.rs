//! Pools of device memory.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use ulib_device::DeviceBytes;
use ulib_device::memory::{
    BinnedPool, DeviceMemoryResource, PoolResource, PoolStatistics, bin_bytes, bin_number,
};

use super::device::{after_collecting, size_of};
use super::on::On;
use super::slot::Slot;
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting, logic};
use crate::detached::drop_detached;

const CLASS: &str = "PooledDeviceAllocation";

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PooledDeviceAllocation>()?;
    module.add_class::<DeviceMemoryPool>()?;
    module.add_class::<StreamMemoryPool>()?;
    module.add_function(wrap_pyfunction!(bitlog2, module)?)
}

/// A block of a pool, which goes back to it with the object, by ``free()``, or at the end of ``with block:``. It is an integer
/// wherever one is taken: its address. ``len(block)`` is the number of bytes asked for.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct PooledDeviceAllocation {
    pub(super) slot: Slot,
}

#[pymethods]
impl PooledDeviceAllocation {
    /// Gives the block back now. A second time is a ``LogicError``.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.free(py)
    }

    /// Gives the block back unless that has happened already.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.close(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.slot.close(py)
    }

    fn __int__(&self) -> PyResult<u64> {
        self.slot.ptr_in("__int__")
    }

    fn __index__(&self) -> PyResult<u64> {
        self.slot.ptr_in("__index__")
    }

    fn __len__(&self) -> usize {
        self.slot.len()
    }

    // An object with a length of zero would be false.
    fn __bool__(&self) -> bool {
        true
    }

    /// The bytes that were asked for.
    #[getter]
    fn size(&self) -> usize {
        self.slot.len()
    }

    fn __repr__(&self) -> String {
        match self.slot.ptr() {
            Some(ptr) => format!(
                "<uLib.cuda.driver.{CLASS} of {} bytes at {ptr:#x}>",
                self.slot.len()
            ),
            None => format!(
                "<uLib.cuda.driver.{CLASS} of {} bytes, freed>",
                self.slot.len()
            ),
        }
    }
}

fn pooled(bytes: DeviceBytes, len: usize) -> PooledDeviceAllocation {
    PooledDeviceAllocation {
        slot: Slot::new(CLASS, bytes, len),
    }
}

/// Keeps device memory that is freed, in bins of similar sizes, and hands it out again.
///
/// A block is handed out again only when the work that used it cannot come later: on the stream it was allocated for
/// (``allocate(size, stream)``; the default stream if none is given) by its order, on another one by an event. Any thread may use a
/// pool, and it may end with blocks in it.
///
/// The pool is one of the device that its first allocation is about. ``limit`` is the largest number of bytes it may have
/// from the driver, or ``None``.
#[pyclass(frozen, subclass, weakref, module = "uLib.cuda.driver")]
pub(crate) struct DeviceMemoryPool {
    pool: OnceLock<Arc<BinnedPool>>,
    limit: std::sync::Mutex<Option<u64>>,
}

impl DeviceMemoryPool {
    fn pool(&self) -> ulib_core::Result<&Arc<BinnedPool>> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let made = BinnedPool::new(&current::device()?);
        made.set_limit(
            *self
                .limit
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        Ok(self.pool.get_or_init(|| made))
    }

    fn counts(&self) -> PoolStatistics {
        self.pool
            .get()
            .map_or_else(PoolStatistics::default, |pool| pool.statistics())
    }
}

impl Drop for DeviceMemoryPool {
    fn drop(&mut self) {
        drop_detached(self.pool.take());
    }
}

#[pymethods]
impl DeviceMemoryPool {
    #[new]
    #[pyo3(signature = (limit=None))]
    fn new(limit: Option<Whole>) -> PyResult<Self> {
        Ok(Self {
            pool: OnceLock::new(),
            limit: std::sync::Mutex::new(limit_of(limit)?),
        })
    }

    /// A block for ``size`` bytes, to be used first on ``stream``. When there is no room, garbage is collected and all pools of
    /// the device give back what they hold, before it is a ``MemoryError``.
    #[pyo3(signature = (size, stream=None))]
    fn allocate(
        &self,
        py: Python<'_>,
        size: Whole,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PooledDeviceAllocation> {
        const OP: &str = "DeviceMemoryPool.allocate";
        let size = size_of(OP, "size", size)?;
        let on = On::of(OP, stream)?;
        let pool = match self.pool.get() {
            Some(pool) => pool,
            None => py.detach(|| self.pool()).cuda()?,
        };
        let stream = on.stream_attached(py, OP, pool.device()).cuda()?;
        // Without a call of the driver there is nothing to wait for.
        if let Some(bytes) = pool.reuse_bytes(size, &stream) {
            return Ok(pooled(bytes, size));
        }
        let made = after_collecting(py, || pool.allocate_bytes(size, &stream))?;
        Ok(pooled(made, size))
    }

    /// Blocks that are kept.
    #[getter]
    fn held_blocks(&self) -> u64 {
        self.counts().held_blocks
    }

    /// Blocks that are handed out.
    #[getter]
    fn active_blocks(&self) -> u64 {
        self.counts().active_blocks
    }

    /// Bytes of all blocks, kept and handed out, as allocated.
    #[getter]
    fn managed_bytes(&self) -> u64 {
        self.counts().managed_bytes
    }

    /// Bytes of the blocks that are handed out, as asked for.
    #[getter]
    fn active_bytes(&self) -> u64 {
        self.counts().active_bytes
    }

    /// The largest number of bytes that the pool may have from the driver.
    #[getter]
    fn limit(&self) -> Option<u64> {
        *self
            .limit
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[setter]
    fn set_limit(&self, py: Python<'_>, limit: Option<Whole>) -> PyResult<()> {
        let limit = limit_of(limit)?;
        *self
            .limit
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = limit;
        if let Some(pool) = self.pool.get() {
            py.detach(|| pool.set_limit(limit));
        }
        Ok(())
    }

    /// All counts as a dictionary: those of the attributes, ``peak_managed_bytes``, ``peak_active_bytes``, and how many requests
    /// were served with blocks that were kept (``reused``) and with new memory (``allocated``).
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        statistics(py, &self.counts())
    }

    /// Gives all blocks that are kept back to the driver.
    fn free_held(&self, py: Python<'_>) {
        if let Some(pool) = self.pool.get() {
            py.detach(|| pool.free_held());
        }
    }

    /// Gives all blocks that are kept back to the driver, and from now on every block as soon as it is freed. There is no way
    /// back.
    fn stop_holding(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.pool().map(|pool| pool.stop_holding()))
            .cuda()
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

/// The limit of a pool as a program gives it.
fn limit_of(limit: Option<Whole>) -> PyResult<Option<u64>> {
    limit
        .map(|bytes| fitting("DeviceMemoryPool", "limit", bytes))
        .transpose()
}

/// The counts of a pool as a dictionary.
pub(super) fn statistics<'py>(
    py: Python<'py>,
    counts: &PoolStatistics,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("held_blocks", counts.held_blocks)?;
    dict.set_item("active_blocks", counts.active_blocks)?;
    dict.set_item("managed_bytes", counts.managed_bytes)?;
    dict.set_item("active_bytes", counts.active_bytes)?;
    dict.set_item("peak_managed_bytes", counts.peak_managed_bytes)?;
    dict.set_item("peak_active_bytes", counts.peak_active_bytes)?;
    dict.set_item("reused", counts.reused)?;
    dict.set_item("allocated", counts.allocated)?;
    Ok(dict)
}

/// The bytes of a block in a bin that there is.
pub(super) fn size_in(bin: Whole) -> PyResult<u64> {
    let bin = bin.of("alloc_size", "bin")?;
    match bin.0 {
        0..1024 => Ok(bin_bytes(bin.0 as u32)),
        _ => Err(logic(format!(
            "alloc_size: there is no bin {bin}, the last one is 1023"
        ))),
    }
}

/// A pool of the driver's, which allocates and frees in the order of streams: memory that is freed on a stream serves the next
/// allocation there before the work is done. What it keeps unused beyond ``release_threshold`` bytes goes back to the driver at
/// the next synchronisation.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct StreamMemoryPool {
    pool: OnceLock<Arc<PoolResource>>,
}

impl StreamMemoryPool {
    fn pool(&self) -> PyResult<&Arc<PoolResource>> {
        self.pool
            .get()
            .ok_or_else(|| logic(format!("{}: it is gone", "StreamMemoryPool")))
    }
}

impl Drop for StreamMemoryPool {
    fn drop(&mut self) {
        drop_detached(self.pool.take());
    }
}

#[pymethods]
impl StreamMemoryPool {
    #[new]
    #[pyo3(signature = (release_threshold=None))]
    fn new(py: Python<'_>, release_threshold: Option<Whole>) -> PyResult<Self> {
        let threshold = release_threshold
            .map(|bytes| fitting("StreamMemoryPool", "release_threshold", bytes))
            .transpose()?;
        let made = py.detach(|| {
            let device = current::device()?;
            match threshold {
                None => PoolResource::new(&device),
                Some(bytes) => PoolResource::with_release_threshold(&device, bytes),
            }
        });
        Ok(Self {
            pool: OnceLock::from(PoolResource::shared(made.cuda()?)),
        })
    }

    /// ``size`` bytes, to be used first on ``stream``, and other streams after it.
    #[pyo3(signature = (size, stream=None))]
    fn allocate(
        &self,
        py: Python<'_>,
        size: Whole,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PooledDeviceAllocation> {
        const OP: &str = "StreamMemoryPool.allocate";
        let size = size_of(OP, "size", size)?;
        let pool = self.pool()?;
        let on = On::of(OP, stream)?;
        let stream = on.stream_attached(py, OP, pool.device()).cuda()?;
        let made = after_collecting(py, || {
            DeviceBytes::allocate_from(Arc::clone(pool) as _, &stream, size.max(1))
        })?;
        Ok(pooled(made, size))
    }

    /// Bytes that the pool has from the driver, used or not.
    #[getter]
    fn reserved_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let pool = self.pool()?;
        py.detach(|| pool.reserved_bytes()).cuda()
    }

    /// Bytes of the pool that are allocated now.
    #[getter]
    fn used_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let pool = self.pool()?;
        py.detach(|| pool.used_bytes()).cuda()
    }

    /// How many unused bytes the pool keeps across synchronisations.
    #[getter]
    fn release_threshold(&self) -> PyResult<u64> {
        Ok(self.pool()?.release_threshold_bytes())
    }

    /// Gives everything unused back to the driver, after a wait for the device.
    fn free_held(&self, py: Python<'_>) -> PyResult<()> {
        let pool = self.pool()?;
        py.detach(|| pool.trim()).cuda()
    }
}

/// The largest power of two that is not larger than ``n``, as its exponent; 0 for 0.
#[pyfunction]
fn bitlog2(n: Whole) -> PyResult<u32> {
    let n: u64 = fitting("bitlog2", "n", n)?;
    Ok(n.checked_ilog2().unwrap_or(0))
}
