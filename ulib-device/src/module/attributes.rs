//! What a kernel needs and takes: attributes, parameters, occupancy.

use super::{Declared, Function, ParameterKind};
use crate::driver::{Driver, check, missing_entry};
use crate::sys::{CUfunc_cache, CUfunction_attribute, CUresult};
use core::ffi::c_int;
use std::sync::atomic::Ordering;
use ulib_core::{Context, Error, Result};

/// One parameter of a kernel; places and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameter {
    /// Where it begins among all parameters.
    pub offset: usize,
    /// Its size.
    pub size: usize,
    /// What it is, where the program was PTX or compiled in this process.
    pub kind: ParameterKind,
}

/// The parameters as PTX declares them, laid out as C does it.
fn laid_out(declared: &[Declared]) -> Box<[Parameter]> {
    let mut end = 0_usize;
    let place = |declared: &Declared| {
        let offset = end.next_multiple_of(declared.align as usize);
        let size = declared.size as usize;
        end = offset + size;
        Parameter {
            offset,
            size,
            kind: declared.kind,
        }
    };
    declared.iter().map(place).collect()
}

/// More parameters than any kernel can have.
const MOST: usize = 1 << 15;

impl Function {
    /// Whether [`parameters`](Self::parameters) answers without asking the driver.
    #[must_use]
    #[inline]
    pub fn knows_parameters(&self) -> bool {
        self.0.parameters.get().is_some()
    }

    /// The kernel's parameters, in order. Asked for once.
    ///
    /// Places and sizes are the driver's; where it does not tell them (before CUDA 12.4), those of the PTX, and `None` for
    /// machine code. Kinds are those of the PTX that the program was, or was compiled by way of.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    #[inline]
    pub fn parameters(&self) -> Result<Option<&[Parameter]>> {
        match self.0.parameters.get() {
            Some(known) => Ok(known.as_deref()),
            None => self.ask_for_parameters(),
        }
    }

    fn ask_for_parameters(&self) -> Result<Option<&[Parameter]>> {
        Driver::ready()?;
        let table = self.device().table();
        let declared = self.module().0.signatures.get(self.name());
        let Some(ask) = table.cuFuncGetParamInfo else {
            let known = declared.map(laid_out);
            return Ok(self.0.parameters.get_or_init(|| known).as_deref());
        };
        let _context = self.device().bind()?;
        let mut found = Vec::new();
        for index in 0..MOST {
            let (mut offset, mut size) = (0_usize, 0_usize);
            // SAFETY: the context is current by the guard, the function's module is loaded; the call writes two integers.
            let status = unsafe { ask(self.handle(), index, &raw mut offset, &raw mut size) };
            // The documented answer to an index that is not below their number; 0 is one for a kernel without parameters. A function
            // that the driver does not know has another status. What PTX says otherwise is believed rather.
            if status == CUresult::CUDA_ERROR_INVALID_VALUE
                && (index > 0 || declared.is_none_or(|declared| declared.is_empty()))
            {
                break;
            }
            check(table, "cuFuncGetParamInfo", status)?;
            found.push(Parameter {
                offset,
                size,
                kind: ParameterKind::Unknown,
            });
        }
        // They are believed where they agree with what the driver says.
        if let Some(declared) = declared
            && declared.len() == found.len()
            && declared
                .iter()
                .zip(&found)
                .all(|(a, b)| a.size as usize == b.size)
        {
            for (parameter, declared) in found.iter_mut().zip(declared) {
                parameter.kind = declared.kind;
            }
        }
        let found = Some(found.into_boxed_slice());
        Ok(self.0.parameters.get_or_init(|| found).as_deref())
    }

    /// Changes an attribute, such as the preferred share of shared memory.
    ///
    /// # Errors
    /// Kind `Driver` when the driver does not know the attribute or refuses the value; kind `Unavailable` where it has no such
    /// call; kind `Forked` in a forked child.
    pub fn set_attribute(&self, attribute: CUfunction_attribute, value: i32) -> Result<()> {
        Driver::ready()?;
        let table = self.device().table();
        let set = table
            .cuFuncSetAttribute
            .ok_or_else(|| missing_entry("cuFuncSetAttribute", "9.0"))?;
        let _context = self.device().bind()?;
        // SAFETY: the context is current by the guard, the function's module is loaded.
        let status = unsafe { set(self.handle(), attribute, value) };
        check(table, "cuFuncSetAttribute", status).with_context(|| {
            format!(
                "kernel {}: attribute {} = {value}",
                self.name(),
                attribute.0
            )
        })?;
        if attribute == CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
            let bytes = u32::try_from(value).unwrap_or(0);
            self.0.dynamic_shared.store(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Which of cache and shared memory the kernel would rather have more of.
    ///
    /// # Errors
    /// As [`set_attribute`](Self::set_attribute).
    pub fn set_cache_config(&self, config: CUfunc_cache) -> Result<()> {
        Driver::ready()?;
        let table = self.device().table();
        let set = table
            .cuFuncSetCacheConfig
            .ok_or_else(|| missing_entry("cuFuncSetCacheConfig", "3.0"))?;
        let _context = self.device().bind()?;
        // SAFETY: as above.
        check(table, "cuFuncSetCacheConfig", unsafe {
            set(self.handle(), config)
        })
    }

    /// Lets a launch use this much dynamic shared memory: beyond the default, the kernel has to be told.
    pub(crate) fn allow_shared(&self, bytes: u32) -> Result<()> {
        if bytes <= self.0.dynamic_shared.load(Ordering::Relaxed) {
            return Ok(());
        }
        let most = self.device().limits().shared_bytes_per_block_optin;
        let most = most.saturating_sub(self.static_shared_bytes()).max(bytes);
        let value = i32::try_from(most).map_err(|_| Error::overflow("launch", "shared_bytes"))?;
        self.set_attribute(
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            value,
        )
    }

    /// How many blocks of `threads` threads and `shared_bytes` of dynamic shared memory each run on one multiprocessor at a
    /// time.
    ///
    /// # Errors
    /// Kind `Unavailable` where the driver has no such call; whatever the driver says; kind `Forked` in a forked child.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared_bytes: usize) -> Result<u32> {
        Driver::ready()?;
        let table = self.device().table();
        let ask = table
            .cuOccupancyMaxActiveBlocksPerMultiprocessor
            .ok_or_else(|| missing_entry("cuOccupancyMaxActiveBlocksPerMultiprocessor", "6.5"))?;
        let threads =
            c_int::try_from(threads).map_err(|_| Error::overflow("occupancy", threads))?;
        let _context = self.device().bind()?;
        let mut blocks: c_int = 0;
        // SAFETY: as above; the call writes one integer.
        let status = unsafe { ask(&raw mut blocks, self.handle(), threads, shared_bytes) };
        check(table, "cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// The size of block that keeps the device busiest, at most `most` threads if that is not 0, and the smallest grid that
    /// does so: grid, block.
    ///
    /// # Errors
    /// As [`blocks_per_multiprocessor`](Self::blocks_per_multiprocessor).
    pub fn best_block(&self, shared_bytes: usize, most: u32) -> Result<(u32, u32)> {
        Driver::ready()?;
        let table = self.device().table();
        let ask = table
            .cuOccupancyMaxPotentialBlockSize
            .ok_or_else(|| missing_entry("cuOccupancyMaxPotentialBlockSize", "6.5"))?;
        let most = c_int::try_from(most).map_err(|_| Error::overflow("occupancy", most))?;
        let _context = self.device().bind()?;
        let (mut grid, mut block): (c_int, c_int) = (0, 0);
        // SAFETY: as above; the call writes two integers; no function tells the shared memory, so the size counts.
        let status = unsafe {
            ask(
                &raw mut grid,
                &raw mut block,
                self.handle(),
                None,
                shared_bytes,
                most,
            )
        };
        check(table, "cuOccupancyMaxPotentialBlockSize", status)?;
        Ok((
            u32::try_from(grid).unwrap_or(0),
            u32::try_from(block).unwrap_or(0),
        ))
    }
}
