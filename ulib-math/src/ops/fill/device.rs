//! fill on a device.
#![allow(unsafe_code, reason = "launches fill.cu")]

use ulib_core::{DeviceStorable, Result, bytemuck};
use ulib_device::{Device, Stream};

use crate::ops::axes::{Axes, DeviceAxes, MAX_AXES};
use crate::ops::form::{Form, Path, WIDE};
use crate::ops::launch::{self, Library, THREADS};
use crate::view::ViewMut;

static KERNELS: Library = Library::new(include_str!("fill.ptx"));

/// `FillParams` of `fill.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    dst: u64,
    units: u64,
    stride: i64,
    value: [u64; 2],
    size: u64,
    head: u64,
    tail: u64,
    axes: DeviceAxes<1>,
}

const _: () = assert!(
    size_of::<Params>() == 64 + size_of::<DeviceAxes<1>>(),
    "mirrors fill.cu"
);

pub(super) fn fill<T: DeviceStorable + Copy>(
    view: &mut ViewMut<'_, T>,
    axes: Axes<1>,
    value: T,
    device: &Device,
) -> Result<()> {
    let stream = Stream::current(device);
    let whole = view.is_whole();
    let block = view.block_mut();
    let target = if whole {
        block.device_overwrite(&stream)?
    } else {
        block.device_write(&stream)?
    };
    // An element of another size than a kernel writes is a row of pieces, each piece a strided array of its own.
    let bytes = bytemuck::bytes_of(&value);
    let piece = 1 << bytes.len().trailing_zeros().min(WIDE.trailing_zeros());
    let axes = axes.scaled([bytes.len()]);
    // One kernel for all pieces: once the first is launched there is none left to be loaded.
    let wide_rows = axes.len.len() <= MAX_AXES;
    for axes in axes.pieces() {
        for (i, piece_bytes) in bytes.chunks_exact(piece).enumerate() {
            let address = target.ptr() + (i * piece) as u64;
            let form = Form::new(axes.clone(), [address], [piece], wide_rows);
            fill_form(form, piece_bytes, device, &stream)?;
        }
    }
    target.finish()
}

fn fill_form(form: Form<1>, bytes: &[u8], device: &Device, stream: &Stream) -> Result<()> {
    let mut repeated = [0_u8; WIDE];
    for (to, from) in repeated.iter_mut().zip(bytes.iter().cycle()) {
        *to = *from;
    }
    let mut params = Params {
        dst: form.base[0],
        units: form.units as u64,
        stride: 0,
        value: bytemuck::cast(repeated),
        size: bytes.len() as u64,
        head: 0,
        tail: 0,
        axes: DeviceAxes::NONE,
    };
    let unit = if form.packed { WIDE } else { bytes.len() };
    let (entry, blocks) = match form.path {
        Path::Line { stride, head, tail } => {
            (params.stride, params.head, params.tail) =
                (stride[0] as i64, head as u64, tail as u64);
            let entry = match unit {
                1 => "ulib_fill_1_line",
                2 => "ulib_fill_2_line",
                4 => "ulib_fill_4_line",
                8 => "ulib_fill_8_line",
                _ => "ulib_fill_16_line",
            };
            // Stores need no company in flight: one unit for each thread.
            (entry, launch::blocks_for_wide(form.units))
        }
        Path::Walk(axes) => {
            let blocks = launch::blocks_for_axes(device, form.units);
            params.axes = axes.for_device("fill", u64::from(blocks) * u64::from(THREADS))?;
            let entry = match unit {
                1 => "ulib_fill_1_axes",
                2 => "ulib_fill_2_axes",
                4 => "ulib_fill_4_axes",
                8 => "ulib_fill_8_axes",
                _ => "ulib_fill_16_axes",
            };
            (entry, blocks)
        }
    };
    let kernel = KERNELS.kernel(entry)?;
    // SAFETY: `Params` mirrors the struct of every entry of fill.cu (asserted above); the units lie in the block by the
    // check of `ViewMut::new`, and its guard, which has made the stream wait, lives in the caller.
    unsafe { launch::run(kernel, stream, blocks, THREADS, params) }
}
