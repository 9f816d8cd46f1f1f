//! Modules and functions. PTX text only: a cubin cannot run here and is refused with 209.
#![allow(unsafe_code, reason = "entry points")]

use super::{device::ARCHITECTURE, number, pointer};
use crate::control;
use crate::gate::{Call, Outcome, code, entries};
use crate::ptx::{self, Program};
use crate::state::{Function, Module, Tag};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::collections::BTreeMap;
use std::sync::Arc;
use ulib_device::sys::{
    CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute as Attribute, CUjit_option,
    CUmodule, CUmoduleLoadingMode, CUoccupancyB2DSize,
};

/// Dynamic shared memory a launch may be allowed.
const SHARED: u32 = 99 << 10;

/// How many blocks of so many threads a multiprocessor runs at once.
pub(super) fn blocks_at_once(threads: c_int) -> c_int {
    (1536 / threads).min(16)
}

/// Reads an image.
///
/// # Safety
/// `image` is null, or text that ends with a zero byte, or a binary image of at least four bytes.
pub(super) unsafe fn read(image: *const c_void) -> Outcome<Program> {
    if image.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so text or binary by the caller's promise; a text shorter than four bytes ends within the loop.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_bytes();
    if text.starts_with(b"\x7fELF") || text.starts_with(&[0x50, 0xED, 0x55, 0xBA]) {
        return Err(code::NO_BINARY_FOR_GPU);
    }
    let text = core::str::from_utf8(text).map_err(|_| code::INVALID_IMAGE)?;
    if text.trim().is_empty() {
        return Err(code::INVALID_IMAGE);
    }
    Program::read(text, ptx::newest(control::version()), ARCHITECTURE)
}

fn load(call: &mut Call<'_>, program: Program) -> Outcome<CUmodule> {
    let (context, session, device) = (call.context, call.session, call.device);
    let handle = call.new_handle(Tag::Module);
    let mut globals = BTreeMap::new();
    for (name, bytes) in &program.globals {
        let address = call.allocate(device, (*bytes).max(1))?;
        if let Some(made) = call.devices[device].arena.get_mut(address) {
            made.internal = true;
        }
        call.zero(address, *bytes)?;
        globals.insert(name.clone(), (address, *bytes));
    }
    call.modules.insert(
        handle,
        Module {
            context,
            session,
            program,
            globals,
        },
    );
    Ok(pointer(handle))
}

/// Writes the error log that a caller of `cuModuleLoadDataEx` asked for.
///
/// # Safety
/// The two arrays hold `count` entries, and a log buffer given there has the size given there.
pub(super) unsafe fn log(
    text: &str,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) {
    if options.is_null() || values.is_null() {
        return;
    }
    let (mut buffer, mut size) = (core::ptr::null_mut::<u8>(), None);
    for index in 0..count as usize {
        // SAFETY: both arrays hold `count` entries.
        let (option, value) = unsafe { (options.add(index).read(), values.add(index)) };
        if option == CUjit_option::CU_JIT_ERROR_LOG_BUFFER {
            // SAFETY: as above.
            buffer = unsafe { value.read() }.cast();
        } else if option == CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES {
            size = Some(value);
        }
    }
    let Some(size) = size.filter(|_| !buffer.is_null()) else {
        return;
    };
    // SAFETY: the size stands in the value itself, in its low 32 bits, and is what the buffer has.
    let room = unsafe { size.read() }.addr() as u32 as usize;
    let kept = text.len().min(room.saturating_sub(1));
    if room > 0 {
        // SAFETY: at most `room` bytes of the caller's buffer are written.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), buffer, kept);
            buffer.add(kept).write(0);
            size.write(core::ptr::without_provenance_mut(kept + 1));
        }
    }
}

/// A name as text.
///
/// # Safety
/// `name` is null or text that ends with a zero byte.
pub(super) unsafe fn text<'a>(name: *const c_char) -> Outcome<&'a str> {
    if name.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, hence text that ends with a zero byte.
    unsafe { CStr::from_ptr(name) }
        .to_str()
        .map_err(|_| code::NOT_FOUND)
}

fn known<'a>(call: &'a Call<'_>, function: CUfunction) -> Outcome<&'a Function> {
    call.functions
        .get(&number(function))
        .ok_or(code::INVALID_HANDLE)
}

entries! {
    fn cuModuleLoadData[module](module: *mut CUmodule, image: *const c_void) Context |call| {
        // SAFETY: the caller passes an image.
        let program = unsafe { read(image) }?;
        let made = load(call, program)?;
        module.put(made)
    }

    fn cuModuleLoadDataEx[module](
        module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option,
        values: *mut *mut c_void,
    ) Context |call| {
        // SAFETY: the caller passes an image.
        let program = match unsafe { read(image) } {
            Ok(program) => program,
            Err(refused) => {
                let text = "ptxas fatal   : the software driver runs uLib's own kernels only, and could not read this image as PTX";
                // SAFETY: the caller passes arrays of `count` entries, and buffers of the sizes given.
                unsafe { log(text, count, options, values) };
                return Err(refused);
            }
        };
        let made = load(call, program)?;
        module.put(made)
    }

    fn cuModuleUnload[](module: CUmodule) Context |call| {
        let handle = number(module);
        let context = call.modules.get(&handle).ok_or(code::INVALID_HANDLE)?.context;
        call.drain_context(context);
        call.unload(handle);
        Ok(())
    }

    fn cuModuleGetLoadingMode[mode](mode: *mut CUmoduleLoadingMode) Init |_call| {
        mode.put(CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING)
    }

    fn cuModuleGetFunction[function](
        function: *mut CUfunction, module: CUmodule, name: *const c_char,
    ) Context |call| {
        // SAFETY: the caller passes a string that ends with a zero byte.
        let name = unsafe { text(name) }?;
        let module = number(module);
        let loaded = call.modules.get(&module).ok_or(code::INVALID_HANDLE)?;
        if !loaded.program.entries.iter().any(|entry| entry == name) {
            return Err(code::NOT_FOUND);
        }
        let known = call.functions.iter().find(|(_, known)| known.module == module && &*known.name == name);
        let handle = match known {
            Some((handle, _)) => *handle,
            None => {
                let handle = call.new_handle(Tag::Function);
                let name = Arc::from(name);
                call.functions.insert(handle, Function { module, name, dynamic_shared: 48 << 10 });
                handle
            }
        };
        function.put(pointer(handle))
    }

    fn cuModuleGetGlobal_v2[address, bytes](
        address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char,
    ) Context |call| {
        // SAFETY: the caller passes a string that ends with a zero byte.
        let name = unsafe { text(name) }?;
        let module = call.modules.get(&number(module)).ok_or(code::INVALID_HANDLE)?;
        let (start, size) = *module.globals.get(name).ok_or(code::NOT_FOUND)?;
        address.put_if_wanted(start)?;
        bytes.put_if_wanted(size as usize)
    }

    fn cuFuncGetAttribute[value](value: *mut c_int, which: Attribute, function: CUfunction) Context |call| {
        let known = known(call, function)?;
        let (module, dynamic) = (known.module, known.dynamic_shared as c_int);
        let version = call.modules[&module].program.version as c_int;
        value.put(match which {
            Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
            Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => 32,
            Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION => version,
            Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION => ARCHITECTURE as c_int,
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => dynamic,
            which if which.0 < Attribute::CU_FUNC_ATTRIBUTE_MAX.0 => 0,
            _ => return Err(code::INVALID_VALUE),
        })
    }

    fn cuFuncSetAttribute[](function: CUfunction, which: Attribute, value: c_int) Context |call| {
        known(call, function)?;
        match which {
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let bytes = u32::try_from(value).ok().filter(|bytes| *bytes <= SHARED);
                let bytes = bytes.ok_or(code::INVALID_VALUE)?;
                if let Some(known) = call.functions.get_mut(&number(function)) {
                    known.dynamic_shared = bytes;
                }
                Ok(())
            }
            // What a program is can only be asked for.
            which if which.0 <= Attribute::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA.0 => Err(code::INVALID_VALUE),
            which if which.0 < Attribute::CU_FUNC_ATTRIBUTE_MAX.0 => Ok(()),
            _ => Err(code::INVALID_VALUE),
        }
    }

    fn cuFuncGetParamInfo[offset, size](
        function: CUfunction, index: usize, offset: *mut usize, size: *mut usize,
    ) Context |call| {
        let known = known(call, function)?;
        let program = &call.modules.get(&known.module).ok_or(code::INVALID_HANDLE)?.program;
        let &(at, bytes) = program.parameters_of(&known.name).get(index).ok_or(code::INVALID_VALUE)?;
        offset.put(at)?;
        size.put_if_wanted(bytes)
    }

    fn cuFuncSetCacheConfig[](function: CUfunction, _config: CUfunc_cache) Context |call| {
        known(call, function).map(drop)
    }

    fn cuFuncGetModule[module](module: *mut CUmodule, function: CUfunction) Context |call| {
        module.put(pointer(known(call, function)?.module))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor[blocks](
        blocks: *mut c_int, function: CUfunction, threads: c_int, _shared: usize,
    ) Context |call| {
        known(call, function)?;
        if threads <= 0 {
            return Err(code::INVALID_VALUE);
        }
        blocks.put(blocks_at_once(threads))
    }

    fn cuOccupancyMaxPotentialBlockSize[grid, block](
        grid: *mut c_int, block: *mut c_int, function: CUfunction, _shared_of: CUoccupancyB2DSize,
        _shared: usize, limit: c_int,
    ) Context |call| {
        known(call, function)?;
        let threads = if limit > 0 { limit.min(256) } else { 256 };
        grid.put(super::device::MULTIPROCESSORS * blocks_at_once(threads))?;
        block.put(threads)
    }
}
