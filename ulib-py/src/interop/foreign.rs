//! What is checked of a foreign device array before anything touches it.
//!
//! A protocol's numbers are somebody's claim. The driver knows which memory there is, so it is asked: the array lies in one
//! allocation, from its first byte to its last, on the device that is said to have it.

use ulib_core::{Context as _, DType, Error, ErrorKind, Layout, Result, byte_count};
use ulib_device::Stream;
use ulib_device::memory::{PointerInfo, PointerKind};

/// The memory that somebody says an array is in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Promised {
    /// That of a device, whose number a protocol may give wrong.
    Device(i32),
    /// Managed memory, which belongs to all devices.
    Managed,
    /// Any that kernels reach.
    Any,
}

/// [`check`] of an array that is said to be in certain memory.
///
/// # Errors
/// Those of [`check`], and kind `InvalidArgument` when the driver says otherwise.
pub(crate) fn check_promised(
    start: u64,
    layout: &Layout,
    dtype: DType,
    promised: Promised,
) -> Result<u32> {
    let memory = memory_of(start, layout, dtype)?;
    let (found, ordinal) = (memory.kind, memory.ordinal);
    let said = match promised {
        Promised::Any => return Ok(ordinal),
        // What is managed by the driver is often given out as a device's own.
        Promised::Device(id) => match found {
            PointerKind::Managed if id >= 0 => return Ok(ordinal),
            PointerKind::Device if u32::try_from(id) == Ok(ordinal) => return Ok(ordinal),
            _ => format!("memory of device {id}"),
        },
        Promised::Managed => match found {
            PointerKind::Managed => return Ok(ordinal),
            _ => String::from("managed memory"),
        },
    };
    let expected = match found {
        PointerKind::Host => String::from("memory of the host"),
        PointerKind::Managed => String::from("managed memory"),
        _ => format!("memory of device {ordinal}"),
    };
    Err(Error::invalid(
        "import",
        "the place of the array",
        format_args!("{said}, as its owner says"),
        format!("{expected}, as the driver says"),
    ))
}

/// The ordinal of the device in whose memory the array lies.
///
/// `start` is the address of element 0 of `layout`. The array must not be empty.
///
/// # Errors
/// Kinds `Layout` and `InvalidArgument` when the elements are misaligned or are not all in one allocation; kind `Driver` when the
/// driver cannot say.
pub(crate) fn check(start: u64, layout: &Layout, dtype: DType) -> Result<u32> {
    memory_of(start, layout, dtype).map(|memory| memory.ordinal)
}

/// What the driver knows about the memory that all of the array is in.
fn memory_of(start: u64, layout: &Layout, dtype: DType) -> Result<PointerInfo> {
    let (first, last) = layout
        .span()
        .ok_or_else(|| Error::layout("import", "an empty array has no place"))?;
    let size = dtype.size() as u64;
    let at = |element: usize| (element as u64).checked_mul(size)?.checked_add(start);
    let (Some(lowest), Some(end)) = (at(first), last.checked_add(1).and_then(at)) else {
        return Err(Error::layout(
            "import",
            format!("an array from {start:#x} on reaches beyond every address"),
        ));
    };
    if lowest % dtype.alignment() as u64 != 0 {
        return Err(Error::layout(
            "import",
            format!("address {lowest:#x} is not aligned for {dtype}"),
        ));
    }
    let memory = PointerInfo::of(lowest)?.ok_or_else(|| unknown(lowest))?;
    let memory_end = memory.start.saturating_add(memory.len);
    if lowest < memory.start || end > memory_end {
        return Err(Error::layout(
            "import",
            format!(
                "an array from {lowest:#x} to {end:#x} is not inside its memory, {:#x} to {memory_end:#x}",
                memory.start
            ),
        ));
    }
    Ok(memory)
}

fn unknown(address: u64) -> Error {
    Error::invalid(
        "import",
        "pointer",
        format_args!("{address:#x}"),
        "device memory, and the driver knows none there",
    )
}

/// Makes `stream` wait for the one that a description names, on which the owner may still work.
///
/// # Safety
/// `handle` is a stream of the context of `stream`, or one of the default ones, for as long as the call takes: the protocol promises that
/// of a stream in a description.
///
/// # Errors
/// Those of the driver, also where it knows no such stream.
#[allow(unsafe_code, reason = "a stream of somebody else")]
pub(crate) unsafe fn wait_for_owner(stream: &Stream, handle: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    let owner = unsafe { Stream::from_raw(stream.device(), handle) };
    stream.wait_for(&owner).with_context(|| {
        format!("waiting for stream {handle:#x}, which the __cuda_array_interface__ of an argument names")
    })
}

/// Strides in bytes as strides in elements.
pub(crate) fn in_elements(bytes: &[isize], dtype: DType) -> Result<Vec<isize>> {
    let size = dtype.size().max(1) as isize;
    bytes
        .iter()
        .map(|&stride| {
            if stride % size != 0 {
                return Err(Error::layout(
                    "import",
                    format!(
                        "a stride of {stride} bytes is no whole number of {size}-byte elements"
                    ),
                ));
            }
            Ok(stride / size)
        })
        .collect()
}

/// The lowest address an array reaches, and its layout from there.
///
/// # Errors
/// Kinds `Shape` and `Layout`, also where numbers that somebody claims are more than this machine counts.
pub(crate) fn place(
    address: u64,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    dtype: DType,
) -> Result<(u64, Layout)> {
    let found = lowest(address, shape, strides, dtype).and_then(|(start, layout)| {
        byte_count(layout.len(), dtype.size())?;
        Ok((start, layout))
    });
    found.map_err(|error| match error.kind() {
        ErrorKind::Overflow => Error::layout("import", error.to_string()),
        _ => error,
    })
}

/// [`place`], which may overflow.
fn lowest(
    address: u64,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    dtype: DType,
) -> Result<(u64, Layout)> {
    let Some(strides) = strides else {
        return Ok((address, Layout::contiguous(&shape)?));
    };
    if strides.len() != shape.len() {
        return Err(Error::shape("import", &[shape.len()], &[strides.len()]));
    }
    let before = shape
        .iter()
        .zip(&strides)
        .filter(|&(&n, &stride)| n > 1 && stride < 0)
        .try_fold(0_usize, |sum, (&n, &stride)| {
            (n - 1)
                .checked_mul(stride.unsigned_abs())
                .and_then(|reach| sum.checked_add(reach))
        })
        .ok_or_else(|| Error::overflow("import", "the reach of the strides"))?;
    let bytes = before
        .checked_mul(dtype.size())
        .and_then(|bytes| address.checked_sub(bytes as u64))
        .ok_or_else(|| Error::layout("import", "the strides reach below address 0"))?;
    Ok((bytes, Layout::new(shape, strides, before)?))
}
