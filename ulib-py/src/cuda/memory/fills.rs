//! `memset_d8` and its kin.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use pyo3::prelude::*;
use ulib_device::Access;
use ulib_device::copy::raw::{self, Element};

use super::on::On;
use super::pointer::Pointer;
use super::transfer::{self, named};
use crate::cuda::arguments::Whole;
use crate::cuda::errors::{IntoCudaResult, fitting, logic};

/// The elements of a fill: `width` in each of `height` rows, `pitch` bytes apart.
struct Rows {
    pitch: usize,
    width: usize,
    height: usize,
}

fn fill(
    op: &'static str,
    dest: &Bound<'_, PyAny>,
    element: Element,
    rows: &Rows,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let to = Pointer::to_write(op, "dest", dest)?;
    let too_large = || {
        logic(format!(
            "{op}: {} elements by {} rows are too large",
            rows.width, rows.height
        ))
    };
    let row = rows
        .width
        .checked_mul(element.size())
        .ok_or_else(too_large)?;
    if rows.height > 1 && rows.pitch < row {
        return Err(logic(format!(
            "{op}: pitch is {}, expected at least the {row} bytes of a row",
            rows.pitch
        )));
    }
    if rows.width == 0 || rows.height == 0 {
        return Ok(());
    }
    let before = rows
        .pitch
        .checked_mul(rows.height - 1)
        .ok_or_else(too_large)?;
    let size = element.size();
    if rows.height > 1 && !rows.pitch.is_multiple_of(size) {
        return Err(logic(format!(
            "{op}: pitch is {}, expected a multiple of the {size} bytes of an element",
            rows.pitch
        )));
    }
    if !to.address().is_multiple_of(size as u64) {
        return Err(logic(format!(
            "{op}: dest is {:#x}, expected an address at a multiple of {size} bytes",
            to.address()
        )));
    }
    to.check(op, "dest", before.checked_add(row).ok_or_else(too_large)?)?;
    let on = On::of(op, stream)?;
    dest.py()
        .detach(|| {
            let stream = on.stream(op, &to.device()?)?;
            transfer::queue(&to, Access::Write, &stream, || {
                let extent = (rows.width, rows.height);
                // SAFETY: the driver checks the address, and the memory of an allocation of ours, whose bounds were checked,
                // outlives the work that is queued on it.
                unsafe {
                    match rows.height {
                        1 => raw::fill(to.address(), element, rows.width, &stream),
                        _ => raw::fill_2d(to.address(), rows.pitch, element, extent, &stream),
                    }
                }
            })
            .map_err(|error| named(error, op, "dest", &to))
        })
        .cuda()
}

macro_rules! fills {
    ($($name:ident, $later:ident, $rows:ident, $rows_later:ident, $element:ident, $bits:literal;)*) => {
        $(
            #[doc = concat!("Sets ``count`` elements of ", $bits, " bits from ``dest`` on to ``data``, in the order of the default stream.")]
            #[pyfunction]
            fn $name(dest: &Bound<'_, PyAny>, data: Whole, count: Whole) -> PyResult<()> {
                const OP: &str = stringify!($name);
                one(OP, dest, Element::$element(fitting(OP, "data", data)?), count, None)
            }

            #[doc = concat!("Puts the setting of ``count`` elements of ", $bits, " bits from ``dest`` on to ``data`` into ``stream``.")]
            #[pyfunction]
            #[pyo3(signature = (dest, data, count, stream=None))]
            fn $later(
                dest: &Bound<'_, PyAny>, data: Whole, count: Whole, stream: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                const OP: &str = stringify!($later);
                one(OP, dest, Element::$element(fitting(OP, "data", data)?), count, stream)
            }

            #[doc = concat!("Sets ``width`` elements of ", $bits, " bits in each of ``height`` rows, ``pitch`` bytes apart, to ``data``, in the order of the default stream.")]
            #[pyfunction]
            fn $rows(
                dest: &Bound<'_, PyAny>, pitch: Whole, data: Whole, width: Whole, height: Whole,
            ) -> PyResult<()> {
                const OP: &str = stringify!($rows);
                many(OP, dest, Element::$element(fitting(OP, "data", data)?), [pitch, width, height], None)
            }

            #[doc = concat!("Puts the setting of ``width`` elements of ", $bits, " bits in each of ``height`` rows, ``pitch`` bytes apart, to ``data`` into ``stream``.")]
            #[pyfunction]
            #[pyo3(signature = (dest, pitch, data, width, height, stream=None))]
            fn $rows_later(
                dest: &Bound<'_, PyAny>, pitch: Whole, data: Whole, width: Whole, height: Whole,
                stream: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                const OP: &str = stringify!($rows_later);
                many(OP, dest, Element::$element(fitting(OP, "data", data)?), [pitch, width, height], stream)
            }
        )*

        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!($name, module)?)?;
                module.add_function(wrap_pyfunction!($later, module)?)?;
                module.add_function(wrap_pyfunction!($rows, module)?)?;
                module.add_function(wrap_pyfunction!($rows_later, module)?)?;
            )*
            Ok(())
        }
    };
}

fills! {
    memset_d8, memset_d8_async, memset_d2d8, memset_d2d8_async, D8, "8";
    memset_d16, memset_d16_async, memset_d2d16, memset_d2d16_async, D16, "16";
    memset_d32, memset_d32_async, memset_d2d32, memset_d2d32_async, D32, "32";
}

fn one(
    op: &'static str,
    dest: &Bound<'_, PyAny>,
    element: Element,
    width: Whole,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let rows = Rows {
        pitch: 0,
        width: fitting(op, "count", width)?,
        height: 1,
    };
    fill(op, dest, element, &rows, stream)
}

fn many(
    op: &'static str,
    dest: &Bound<'_, PyAny>,
    element: Element,
    [pitch, width, height]: [Whole; 3],
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let rows = Rows {
        pitch: fitting(op, "pitch", pitch)?,
        width: fitting(op, "width", width)?,
        height: fitting(op, "height", height)?,
    };
    fill(op, dest, element, &rows, stream)
}
