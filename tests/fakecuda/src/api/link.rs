//! Linking. PTX texts are put behind each other; a library of the toolkit's is taken and ignored.
#![allow(unsafe_code, reason = "entry points")]

use super::{module, number, pointer};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::{Link, Tag};
use core::ffi::{c_char, c_uint, c_void};
use ulib_device::sys::{CUjit_option, CUjitInputType as Input, CUlinkState};

/// Adds text or a library, or says in the log why not.
fn add(call: &mut Call<'_>, state: CUlinkState, kind: Input, data: &[u8], name: &str) -> Outcome {
    let link = call
        .links
        .get_mut(&number(state))
        .ok_or(code::INVALID_HANDLE)?;
    let text = core::str::from_utf8(data)
        .ok()
        .map(|text| text.trim_end_matches('\0'));
    let outcome = match kind {
        Input::CU_JIT_INPUT_LIBRARY | Input::CU_JIT_INPUT_OBJECT
            if data.starts_with(b"!<arch>\n") =>
        {
            Ok(())
        }
        Input::CU_JIT_INPUT_PTX => match text.filter(|text| text.contains(".version")) {
            Some(text) => {
                link.text.push_str(text);
                link.text.push('\n');
                Ok(())
            }
            None => Err(code::INVALID_PTX),
        },
        Input::CU_JIT_INPUT_CUBIN | Input::CU_JIT_INPUT_FATBINARY => Err(code::NO_BINARY_FOR_GPU),
        _ => Err(code::INVALID_IMAGE),
    };
    if outcome.is_err() {
        let (count, options, values) = link.options;
        let said = format!("nvlink fatal   : the software driver could not read {name}");
        // SAFETY: whoever made the linker keeps the arrays and buffers until it is destroyed.
        unsafe {
            module::log(
                &said,
                count,
                options as usize as *mut CUjit_option,
                values as usize as *mut *mut c_void,
            )
        };
    }
    outcome
}

entries! {
    fn cuLinkCreate_v2[state](
        count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState,
    ) Context |call| {
        let handle = call.new_handle(Tag::Link);
        let session = call.session;
        let options = (count, options as u64, values as u64);
        call.links.insert(handle, Link { session, options, text: String::new(), image: Box::default() });
        state.put(pointer(handle))
    }

    fn cuLinkAddData_v2[](
        state: CUlinkState, kind: Input, data: *mut c_void, size: usize, name: *const c_char, _count: c_uint,
        _options: *mut CUjit_option, _values: *mut *mut c_void,
    ) Context |call| {
        if data.is_null() || size == 0 {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: the caller passes so many bytes, and a string that ends with a zero byte or null.
        let (data, name) = unsafe { (core::slice::from_raw_parts(data.cast::<u8>(), size), module::text(name)) };
        add(call, state, kind, data, name.unwrap_or("unknown"))
    }

    fn cuLinkAddFile_v2[](
        state: CUlinkState, kind: Input, path: *const c_char, _count: c_uint, _options: *mut CUjit_option,
        _values: *mut *mut c_void,
    ) Context |call| {
        // SAFETY: the caller passes a string that ends with a zero byte.
        let path = unsafe { module::text(path) }?;
        let data = std::fs::read(path).map_err(|_| code::FILE_NOT_FOUND)?;
        add(call, state, kind, &data, path)
    }

    fn cuLinkComplete[image, bytes](
        state: CUlinkState, image: *mut *mut c_void, bytes: *mut usize,
    ) Context |call| {
        let link = call.links.get_mut(&number(state)).ok_or(code::INVALID_HANDLE)?;
        if link.text.is_empty() {
            return Err(code::INVALID_IMAGE);
        }
        link.image = link.text.clone().into_bytes().into_boxed_slice();
        let (at, length) = (link.image.as_ptr(), link.image.len());
        image.put(at.cast_mut().cast())?;
        bytes.put_if_wanted(length)
    }

    fn cuLinkDestroy[](state: CUlinkState) Context |call| {
        call.links.remove(&number(state)).map(drop).ok_or(code::INVALID_HANDLE)
    }
}
