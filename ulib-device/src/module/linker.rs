//! Linking programs at run time.

use super::jit::{JitLog, JitOptions, Log};
use super::{Module, Signatures, binary, c_name};
use crate::compiler::{Image, ImageKind};
use crate::device::Device;
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::sys::{CUjitInputType, CUlinkState};
use core::ffi::c_void;
use std::ffi::CString;
use std::fmt;
use std::path::Path;
use ulib_core::{Context, Error, Result};

/// Puts programs and libraries together into one [`Module`], by the driver's own linker.
///
/// # Examples
/// ```no_run
/// use ulib_device::module::{JitOptions, Linker};
/// use ulib_device::Device;
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// # let (first, second) = ("", "");
/// let mut linker = Linker::new(&device, &JitOptions::new())?;
/// linker.add_ptx("first.ptx", first)?;
/// linker.add_ptx("second.ptx", second)?;
/// let (module, log) = linker.link();
/// println!("{}", log.info);
/// let kernel = module?.function("kernel")?;
/// # Ok(())
/// # }
/// ```
pub struct Linker {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    /// What the kernels of the texts take that were added.
    signatures: Signatures,
    log: Log,
}

// SAFETY: the log has pointers into buffers of its own, which go where it goes; nothing else refers to them but the driver, in
// calls that take `&mut self`.
unsafe impl Send for Linker {}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linker")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Linker {
    /// A linker for programs of `device`.
    ///
    /// # Errors
    /// Kind `Unavailable` where the driver has no linker; whatever the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device, options: &JitOptions) -> Result<Self> {
        let table = device.table();
        let create = table
            .cuLinkCreate_v2
            .ok_or_else(|| missing_entry("cuLinkCreate_v2", "6.5"))?;
        let _context = device.bind()?;
        let mut log = Log::new(options);
        let mut raw: CUlinkState = core::ptr::null_mut();
        let status = log.with_options(|count, options, values| {
            // SAFETY: the context is current by the guard; the arrays have `count` entries, and they and the buffers that
            // they name live as long as the linker, which owns them; the call writes one pointer.
            unsafe { create(count, options, values, &raw mut raw) }
        });
        check(table, "cuLinkCreate_v2", status).map_err(|error| log.explain(error))?;
        Ok(Self {
            device: device.clone(),
            raw: raw as usize,
            signatures: Signatures::default(),
            log,
        })
    }

    /// Adds PTX text; `name` stands in messages.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for what is no text; else as [`new`](Self::new), with the linker's words.
    pub fn add_ptx(&mut self, name: &str, ptx: &str) -> Result<()> {
        // SAFETY: text is checked for being text, and has no sizes to be believed.
        unsafe { self.add(name, CUjitInputType::CU_JIT_INPUT_PTX, ptx.as_bytes()) }
    }

    /// Adds a program that was compiled in this process.
    ///
    /// # Errors
    /// As [`add_ptx`](Self::add_ptx).
    pub fn add_image(&mut self, name: &str, image: &Image) -> Result<()> {
        let kind = match image.kind() {
            ImageKind::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
            ImageKind::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
        };
        // SAFETY: the image is what the compiler made, whole.
        unsafe { self.add_bytes(name, kind, image.as_bytes()) }?;
        self.signatures.extend(&image.signatures());
        Ok(())
    }

    /// Adds a program or library of this kind.
    ///
    /// # Errors
    /// As [`add_ptx`](Self::add_ptx).
    ///
    /// # Safety
    /// A binary is well formed, as the tools that make it write it: the driver trusts the sizes in it. Those of its headers are
    /// checked.
    pub unsafe fn add(&mut self, name: &str, kind: CUjitInputType, data: &[u8]) -> Result<()> {
        // SAFETY: the caller's promise, handed on.
        unsafe { self.add_bytes(name, kind, data) }?;
        if kind == CUjitInputType::CU_JIT_INPUT_PTX {
            self.signatures.extend(&Signatures::of_image(data));
        }
        Ok(())
    }

    /// # Safety
    /// As [`add`](Self::add).
    unsafe fn add_bytes(&self, name: &str, kind: CUjitInputType, data: &[u8]) -> Result<()> {
        const LIBRARY: &[u8] = b"!<arch>\n";
        if !data.starts_with(LIBRARY) {
            binary::check("Linker::add", data)?;
        }
        let table = self.device.table();
        let add = table
            .cuLinkAddData_v2
            .ok_or_else(|| missing_entry("cuLinkAddData_v2", "6.5"))?;
        let text = c_name("Linker::add", name)?;
        let mut terminated = data.to_vec();
        if kind == CUjitInputType::CU_JIT_INPUT_PTX && !data.ends_with(b"\0") {
            terminated.push(0);
        }
        let _context = self.device.bind()?;
        // SAFETY: the context is current by the guard and the linker alive; the data is as long as it says, by the check and
        // the caller's promise, and is not kept; no options.
        let status = relaxed_capture(|| unsafe {
            add(
                self.raw as CUlinkState,
                kind,
                terminated.as_mut_ptr().cast::<c_void>(),
                terminated.len(),
                text.as_ptr(),
                0,
                core::ptr::null_mut(),
                core::ptr::null_mut(),
            )
        });
        check(table, "cuLinkAddData_v2", status)
            .map_err(|error| self.log.explain(error))
            .with_context(|| format!("linking {name}"))
    }

    /// Adds the program or library in a file.
    ///
    /// # Errors
    /// Kind `Io` when there is no such file; else as [`add_ptx`](Self::add_ptx).
    ///
    /// # Safety
    /// As [`add`](Self::add), for the content of the file.
    pub unsafe fn add_file(&mut self, path: &Path, kind: CUjitInputType) -> Result<()> {
        std::fs::metadata(path)
            .map_err(|error| Error::io("Linker::add_file", error))
            .with_context(|| path.display().to_string())?;
        let table = self.device.table();
        let add = table
            .cuLinkAddFile_v2
            .ok_or_else(|| missing_entry("cuLinkAddFile_v2", "6.5"))?;
        let text = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| {
            Error::invalid(
                "Linker::add_file",
                "path",
                path.display(),
                "one without NUL",
            )
        })?;
        let _context = self.device.bind()?;
        // SAFETY: as in `add`; the path ends with NUL.
        let status = relaxed_capture(|| unsafe {
            add(
                self.raw as CUlinkState,
                kind,
                text.as_ptr(),
                0,
                core::ptr::null_mut(),
                core::ptr::null_mut(),
            )
        });
        check(table, "cuLinkAddFile_v2", status)
            .map_err(|error| self.log.explain(error))
            .with_context(|| format!("linking {}", path.display()))?;
        if kind == CUjitInputType::CU_JIT_INPUT_PTX
            && let Ok(text) = std::fs::read(path)
        {
            self.signatures.extend(&Signatures::of_image(&text));
        }
        Ok(())
    }

    /// Links what was added, and loads the result; what the linker said, also where it failed.
    ///
    /// # Errors
    /// In the first part, as [`add_ptx`](Self::add_ptx).
    pub fn link(self) -> (Result<Module>, JitLog) {
        let linked = self.complete();
        (linked, self.log.read())
    }

    fn complete(&self) -> Result<Module> {
        let table = self.device.table();
        let complete = table
            .cuLinkComplete
            .ok_or_else(|| missing_entry("cuLinkComplete", "5.5"))?;
        let _context = self.device.bind()?;
        let (mut image, mut bytes) = (core::ptr::null_mut::<c_void>(), 0_usize);
        // SAFETY: the context is current by the guard and the linker alive; the call writes a pointer and a size.
        let status = relaxed_capture(|| unsafe {
            complete(self.raw as CUlinkState, &raw mut image, &raw mut bytes)
        });
        check(table, "cuLinkComplete", status).map_err(|error| self.log.explain(error))?;
        if image.is_null() {
            return Err(Error::invalid(
                "Linker::link",
                "what was added",
                "nothing",
                "at least one program",
            ));
        }
        // SAFETY: the linker owns that many bytes at this address until it is destroyed.
        let image = unsafe { core::slice::from_raw_parts(image.cast::<u8>(), bytes) };
        // SAFETY: the image is what the driver made.
        unsafe {
            let mut log = Log::new(&JitOptions::new());
            Module::load_logged(&self.device, image, self.signatures.clone(), &mut log)
        }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        let raw = self.raw as CUlinkState;
        self.device
            .in_drop("cuLinkDestroy", |table| match table.cuLinkDestroy {
                // SAFETY: made by `new` and destroyed once, here; the buffers that it knows go later.
                Some(destroy) => unsafe { destroy(raw) },
                None => crate::sys::CUresult::CUDA_SUCCESS,
            });
    }
}
