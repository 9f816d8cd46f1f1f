//! What elementwise operations share: `out[i] = f(a[i], b[i], c[i])`, where each input is a view, a number, or what the
//! output holds before.
//!
//! An operation has a descriptor, made by [`operation!`] from its name and its kernels, and gives `f` for the host. Its public
//! functions call [`into()`] or [`new()`].

mod device;
mod host;
mod input;

use ulib_core::{DeviceStorable, Error, Result};
use ulib_device::block::Block;

pub use input::Input;

use super::axes::Axes;
use super::element::{Element, Number};
use super::launch::Library;
use super::place::{self, Place};
use crate::view::{Array, ViewMut, elements, elements_mut};
use host::Source;
pub(crate) use host::with_first;

/// What the device side of an operation needs to know.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) kernels: Library,
    /// The kernel for a number and a form.
    pub(crate) entry: fn(Number, Form) -> &'static str,
    /// Whether one kernel serves integers of both signs.
    pub(crate) signless: bool,
}

/// The forms of a kernel, see `elementwise.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Pack,
    Line,
    Axes,
}

/// The descriptor of the operation `$name`, whose kernels stand in `$ptx` under `ulib_<name>_<number>_<form>`. `signless`: an
/// integer and its unsigned twin share their kernels, which are named after the twin.
macro_rules! operation {
    ($name:literal, $ptx:literal) => {
        operation!(@ $name, $ptx, false)
    };
    ($name:literal, $ptx:literal, signless) => {
        operation!(@ $name, $ptx, true)
    };
    (@ $name:literal, $ptx:literal, $signless:literal) => {
        $crate::ops::elementwise::Operation {
            name: $name,
            kernels: $crate::ops::launch::Library::new(include_str!($ptx)),
            entry: $crate::ops::elementwise::entries!($name),
            signless: $signless,
        }
    };
}

/// The names of an operation's kernels by number and form.
macro_rules! entries {
    ($name:literal) => {
        |number, form| {
            use $crate::ops::element::Number;
            use $crate::ops::elementwise::{entries, Form};
            match number {
                Number::F32 => entries!(@ $name, "f32", form),
                Number::F64 => entries!(@ $name, "f64", form),
                Number::I32 => entries!(@ $name, "i32", form),
                Number::U32 => entries!(@ $name, "u32", form),
                Number::I64 => entries!(@ $name, "i64", form),
                Number::U64 => entries!(@ $name, "u64", form),
            }
        }
    };
    (@ $name:literal, $number:literal, $form:expr) => {
        match $form {
            Form::Pack => concat!("ulib_", $name, "_", $number, "_pack"),
            Form::Line => concat!("ulib_", $name, "_", $number, "_line"),
            Form::Axes => concat!("ulib_", $name, "_", $number, "_axes"),
        }
    };
}

pub(crate) use {entries, operation};

/// Numbers of an operation's own, as bits, for its kernel.
pub(crate) type Extra = [u64; 6];

/// The inputs of an operation of up to three; those it has not are scalars that `f` does not look at.
#[derive(Debug)]
pub(crate) struct Inputs<'a, T, B = T> {
    pub(crate) count: usize,
    pub(crate) a: Input<'a, T>,
    pub(crate) b: Input<'a, B>,
    pub(crate) c: Input<'a, T>,
}

impl<'a, T: Element> Inputs<'a, T> {
    pub(crate) fn one(a: impl Into<Input<'a, T>>) -> Self {
        Self {
            count: 1,
            ..Self::two(a, T::default())
        }
    }

    pub(crate) fn three(
        a: impl Into<Input<'a, T>>,
        b: impl Into<Input<'a, T>>,
        c: impl Into<Input<'a, T>>,
    ) -> Self {
        Self {
            count: 3,
            c: c.into(),
            ..Self::two(a, b)
        }
    }
}

impl<'a, T: Element, B: DeviceStorable + Copy + Default> Inputs<'a, T, B> {
    pub(crate) fn two(a: impl Into<Input<'a, T>>, b: impl Into<Input<'a, B>>) -> Self {
        Self {
            count: 2,
            a: a.into(),
            b: b.into(),
            c: Input::Scalar(T::default()),
        }
    }

    /// Names, shapes and blocks of the inputs that are views.
    fn views(&self) -> impl Iterator<Item = (&'static str, &[usize], &Block)> {
        let a = self.a.view().map(|view| ("a", view.shape(), view.block()));
        let b = self.b.view().map(|view| ("b", view.shape(), view.block()));
        let c = self.c.view().map(|view| ("c", view.shape(), view.block()));
        [a, b, c].into_iter().flatten()
    }

    fn reads_output(&self) -> bool {
        matches!(self.a, Input::Output)
            || matches!(self.b, Input::Output)
            || matches!(self.c, Input::Output)
    }
}

/// `f` of the inputs into `out`. On a device `f` is the operation's kernel for `number`, which gets `extra`.
pub(crate) fn into<T: Element, B: DeviceStorable + Copy + Default>(
    operation: &'static Operation,
    inputs: &Inputs<'_, T, B>,
    extra: Extra,
    mut out: ViewMut<'_, T>,
    number: Number,
    f: impl Fn(T, B, T) -> T + Sync,
) -> Result<()> {
    let name = operation.name;
    same_shapes(name, inputs, out.shape())?;
    if out.is_empty() {
        return Ok(());
    }
    let mut place = {
        let (operands, count) = operands(inputs, out.block());
        Place::of(name, &operands[..count])?
    };
    let done = match place.device() {
        Some(device) => device::run(operation, inputs, extra, &mut out, number, device),
        None => Ok(false),
    };
    let done = done.and_then(|done| {
        if !done {
            place.ran_on_host();
            on_the_host(inputs, &mut out, &f)?;
        }
        Ok(())
    });
    let (operands, count) = operands(inputs, out.block());
    place.finish(&operands[..count], done)
}

/// The output and the inputs that are views, and how many they are.
fn operands<'a, T: Element, B: DeviceStorable + Copy + Default>(
    inputs: &'a Inputs<'_, T, B>,
    out: &'a Block,
) -> ([place::Operand<'a>; 4], usize) {
    let mut operands = [("out", out); 4];
    let mut count = 1;
    for (operand, (name, _, block)) in operands[1..].iter_mut().zip(inputs.views()) {
        *operand = (name, block);
        count += 1;
    }
    (operands, count)
}

/// [`into()`] a new array, with the shape of the first view among the inputs, where that is to be used.
pub(crate) fn new<T: Element, B: DeviceStorable + Copy + Default>(
    operation: &'static Operation,
    inputs: &Inputs<'_, T, B>,
    extra: Extra,
    number: Number,
    f: impl Fn(T, B, T) -> T + Sync,
) -> Result<Array<T>> {
    let name = operation.name;
    let Some((_, shape, block)) = inputs.views().next() else {
        return Err(Error::invalid(
            name,
            "inputs",
            "numbers alone",
            "at least one view",
        ));
    };
    if inputs.reads_output() {
        return Err(Error::invalid(
            name,
            "an input",
            "the output",
            "a view or a number, since the output is new",
        ));
    }
    // Before there is an array, for which there may be no room.
    same_shapes(name, inputs, shape)?;
    let one_block = inputs
        .views()
        .all(|(_, _, other)| std::ptr::eq(other, block));
    let work = |out: ViewMut<'_, T>| into(operation, inputs, extra, out, number, &f);
    if one_block {
        place::new_array(block, shape, work)
    } else {
        place::array_beside(block, shape, work)
    }
}

fn same_shapes<T: Element, B: DeviceStorable + Copy + Default>(
    name: &'static str,
    inputs: &Inputs<'_, T, B>,
    wanted: &[usize],
) -> Result<()> {
    inputs.views().try_for_each(|(_, shape, _)| {
        if shape == wanted {
            Ok(())
        } else {
            Err(Error::shape(name, shape, wanted))
        }
    })
}

fn on_the_host<T: Element, B: DeviceStorable + Copy + Default>(
    inputs: &Inputs<'_, T, B>,
    out: &mut ViewMut<'_, T>,
    f: &(impl Fn(T, B, T) -> T + Sync),
) -> Result<()> {
    let layouts = [
        inputs.a.layout(out.layout())?,
        inputs.b.layout(out.layout())?,
        inputs.c.layout(out.layout())?,
    ];
    let axes = Axes::new([&layouts[0], &layouts[1], &layouts[2], out.layout()], 3);
    let (a, b, c) = (inputs.a.read()?, inputs.b.read()?, inputs.c.read()?);
    let whole = out.is_whole() && !inputs.reads_output();
    let block = out.block_mut();
    let mut guard = if whole {
        block.overwrite()?
    } else {
        block.write()?
    };
    host::map(
        elements_mut(&mut guard)?,
        &axes,
        Source::of(&inputs.a, a.as_deref().map(elements).transpose()?),
        Source::of(&inputs.b, b.as_deref().map(elements).transpose()?),
        Source::of(&inputs.c, c.as_deref().map(elements).transpose()?),
        f,
    );
    guard.commit()
}
