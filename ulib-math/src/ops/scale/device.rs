//! scale on a device.
#![allow(unsafe_code, reason = "launches scale.cu")]

use ulib_core::Result;
use ulib_device::{Device, Stream};

use crate::ops::axes::{Axes, DeviceAxes};
use crate::ops::element::{Element, Number};
use crate::ops::form::{Form, Path};
use crate::ops::launch::{self, Library, THREADS};
use crate::view::ViewMut;

static KERNELS: Library = Library::new(include_str!("scale.ptx"));

/// `ScaleParams` of `scale.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    data: u64,
    units: u64,
    stride: i64,
    factor: u64,
    head: u64,
    tail: u64,
    axes: DeviceAxes<1>,
}

const _: () = assert!(
    size_of::<Params>() == 48 + size_of::<DeviceAxes<1>>(),
    "mirrors scale.cu"
);

/// The kernel for a number, a unit and a path.
fn entry(number: Number, packed: bool, line: bool) -> &'static str {
    macro_rules! entries {
        ($name:literal) => {
            match (packed, line) {
                (false, true) => concat!("ulib_scale_", $name, "_one_line"),
                (true, true) => concat!("ulib_scale_", $name, "_pack_line"),
                (false, false) => concat!("ulib_scale_", $name, "_one_axes"),
                (true, false) => concat!("ulib_scale_", $name, "_pack_axes"),
            }
        };
    }
    match number.unsigned() {
        Number::F32 => entries!("f32"),
        Number::F64 => entries!("f64"),
        Number::I32 | Number::U32 => entries!("u32"),
        Number::I64 | Number::U64 => entries!("u64"),
    }
}

pub(super) fn scale<T: Element>(
    view: &mut ViewMut<'_, T>,
    axes: Axes<1>,
    factor: T,
    device: &Device,
) -> Result<()> {
    let stream = Stream::current(device);
    let target = view.block_mut().device_write(&stream)?;
    for axes in axes.scaled([size_of::<T>()]).pieces() {
        let form = Form::new(axes, target.ptr(), size_of::<T>());
        scale_form(form, T::KERNEL, factor.bits(), device, &stream)?;
    }
    target.finish()
}

fn scale_form(
    form: Form,
    number: Number,
    factor: u64,
    device: &Device,
    stream: &Stream,
) -> Result<()> {
    let mut params = Params {
        data: form.base,
        units: form.units as u64,
        stride: 0,
        factor,
        head: 0,
        tail: 0,
        axes: DeviceAxes::NONE,
    };
    let line = matches!(form.path, Path::Line { .. });
    let blocks = match form.path {
        Path::Line { stride, head, tail } => {
            (params.stride, params.head, params.tail) = (stride as i64, head as u64, tail as u64);
            launch::blocks_for_line(form.units)
        }
        Path::Walk(axes) => {
            let blocks = launch::blocks_for_axes(device, form.units);
            params.axes = axes.for_device("scale", u64::from(blocks) * u64::from(THREADS))?;
            blocks
        }
    };
    let kernel = KERNELS.kernel(entry(number, form.packed, line))?;
    // SAFETY: `Params` mirrors the struct of every entry of scale.cu (asserted above); the units lie in the block by the
    // check of `ViewMut::new`, and its guard, which has made the stream wait, lives in the caller.
    unsafe { launch::run(kernel, stream, blocks, THREADS, params) }
}
