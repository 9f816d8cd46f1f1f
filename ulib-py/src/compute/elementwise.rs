//! The elementwise operations: one function for each, which takes its arguments as Python gives them.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::{DType, DeviceStorable, Error, ErrorKind, Result};
use ulib_math::ops::{self, Input, Predicate};
use ulib_math::view::{View, ViewMut};

use super::condition::condition;
use super::operand::{Alias, AnyArray, Argument, Operand, Place, Value, output};
use super::{Numeric, changed, numbers, of_castable, of_elements, reals};
use crate::args::number;
use crate::errors::IntoPyResult;
use crate::source::{Source, Which, block};
use crate::together::{self, Objects};

/// Where an operation puts its result.
pub(crate) struct Target {
    name: &'static str,
    source: Source,
}

impl Target {
    /// `out`, or the object itself.
    pub(crate) fn of(op: &str, own: &Source, out: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(match out {
            Some(out) => Target {
                name: "out",
                source: output(op, out)?,
            },
            None => Target::own(own),
        })
    }

    /// The object itself.
    pub(crate) fn own(own: &Source) -> Self {
        Target {
            name: "self",
            source: own.clone(),
        }
    }
}

/// Operations of one input, `name "Method" numbers|reals operation;`.
macro_rules! of_one {
    ($($name:ident $method:literal $kind:ident $operation:path;)*) => {$(
        pub(crate) fn $name(py: Python<'_>, own: &Source, target: &Target) -> PyResult<()> {
            $kind!($method, own.dtype(py).py()?, T => {
                let arguments = [Argument::<T>::of($method, Value::This(own))?];
                run(py, $method, target, &arguments, |[a], out| $operation(a, out))
            })
        }
    )*};
}

/// Operations of two inputs; `own` says which numbers they are.
macro_rules! of_two {
    ($($name:ident $method:literal $kind:ident $operation:path;)*) => {$(
        pub(crate) fn $name(
            py: Python<'_>,
            own: &Source,
            values: [Value<'_, '_>; 2],
            target: &Target,
        ) -> PyResult<()> {
            $kind!($method, own.dtype(py).py()?, T => {
                let [a, b] = values;
                let arguments = [Argument::<T>::of($method, a)?, Argument::of($method, b)?];
                run(py, $method, target, &arguments, |[a, b], out| $operation(a, b, out))
            })
        }
    )*};
}

/// Operations of three inputs.
macro_rules! of_three {
    ($($name:ident $method:literal $kind:ident $operation:path;)*) => {$(
        pub(crate) fn $name(
            py: Python<'_>,
            own: &Source,
            values: [Value<'_, '_>; 3],
            target: &Target,
        ) -> PyResult<()> {
            $kind!($method, own.dtype(py).py()?, T => {
                let [a, b, c] = values;
                let arguments = [
                    Argument::<T>::of($method, a)?,
                    Argument::of($method, b)?,
                    Argument::of($method, c)?,
                ];
                run(py, $method, target, &arguments, |[a, b, c], out| $operation(a, b, c, out))
            })
        }
    )*};
}

of_one! {
    abs "Abs" numbers ops::abs_into;
    negate "Negate" numbers ops::negate_into;
    sqrt "Sqrt" reals ops::sqrt_into;
    exp "Exp" reals ops::exp_into;
    log "Log" reals ops::log_into;
}

of_two! {
    add "Add" numbers ops::add_into;
    subtract "Subtract" numbers ops::subtract_into;
    multiply "Multiply" numbers ops::multiply_into;
    divide "Divide" numbers ops::divide_into;
    minimum "Minimum" numbers ops::minimum_into;
    maximum "Maximum" numbers ops::maximum_into;
    power "Power" reals ops::power_into;
}

of_three! {
    clamp "Clamp" numbers ops::clamp_into;
    fma "Fma" numbers ops::fma_into;
}

/// Adds `factor * x`, where the array is.
pub(crate) fn axpy(
    py: Python<'_>,
    own: &Source,
    factor: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
) -> PyResult<()> {
    const OP: &str = "Axpy";
    numbers!(OP, own.dtype(py).py()?, T => {
        let factor: T = number(OP, "factor", factor)?;
        let arguments = [Argument::<T>::of(OP, Value::Given("x", x))?];
        run(py, OP, &Target::own(own), &arguments, |[x], out| ops::axpy(factor, x, out))
    })
}

/// One of two numbers for every element, by a condition on it.
pub(crate) fn threshold(
    py: Python<'_>,
    own: &Source,
    word: &str,
    limits: &Bound<'_, PyTuple>,
    [inside, outside]: [Option<&Bound<'_, PyAny>>; 2],
    target: &Target,
) -> PyResult<()> {
    const OP: &str = "Threshold";
    numbers!(OP, own.dtype(py).py()?, T => {
        let condition = condition::<T>(OP, word, limits)?;
        let inside = number_or(OP, "inside", inside, T::from(1_u8))?;
        let outside = number_or(OP, "outside", outside, T::default())?;
        let arguments = [Argument::<T>::of(OP, Value::This(own))?];
        run(py, OP, target, &arguments, |[a], out| {
            ops::threshold_into(a, condition, inside, outside, out)
        })
    })
}

/// A number where a mask is zero.
pub(crate) fn mask(
    py: Python<'_>,
    own: &Source,
    mask: &Bound<'_, PyAny>,
    outside: Option<&Bound<'_, PyAny>>,
    target: &Target,
) -> PyResult<()> {
    const OP: &str = "Mask";
    let dtype = own.dtype(py).py()?;
    let (found, mask) = AnyArray::of(OP, "mask", mask)?;
    numbers!(OP, dtype, T => {
        let outside = number_or(OP, "outside", outside, T::default())?;
        let own = Argument::<T>::of(OP, Value::This(own))?;
        if found == DType::U8 {
            let mask = mask.argument::<u8>("mask");
            return of_other(py, OP, target, &own, &mask, |a, mask, out| {
                ops::mask_into(a, mask, outside, out)
            });
        }
        if found == dtype {
            let mask = mask.argument::<T>("mask");
            return of_other(py, OP, target, &own, &mask, |a, mask, out| {
                ops::mask_into(a, mask, outside, out)
            });
        }
        // Numbers of another type, as bytes that say which are not zero.
        of_elements!(OP, found, M => {
            let mask = mask.argument::<M>("mask");
            of_other(py, OP, target, &own, &mask, |a, mask, out| {
                let (zero, one) = (M::default(), 1_u8.into());
                let set = ops::threshold(mask, Predicate::NotEqual(zero), one, zero)?;
                let set = ops::cast::<M, u8>(&set.view())?;
                ops::mask_into(a, &set.view(), outside, out)
            })
        })
    })
}

/// Takes the numbers of `other`, converted.
pub(crate) fn copy_from(py: Python<'_>, own: &Source, other: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "CopyFrom";
    let dtype = own.dtype(py).py()?;
    let (found, other) = AnyArray::of(OP, "other", other)?;
    let target = Target::own(own);
    numbers!(OP, dtype, T => of_castable!(OP, found, A => {
        let other = other.argument::<A>("other");
        let none = Argument::<T> { name: "", operand: Operand::Number(T::default()) };
        of_other(py, OP, &target, &none, &other, |_, other, out| ops::cast_into(other, out))
    }))
}

fn number_or<T: Numeric>(
    op: &str,
    what: &str,
    object: Option<&Bound<'_, PyAny>>,
    default: T,
) -> PyResult<T> {
    object.map_or(Ok(default), |object| number(op, what, object))
}

/// The objects among `arguments`.
fn sources<T>(arguments: &[Argument<T>]) -> impl Iterator<Item = &Source> {
    arguments
        .iter()
        .filter_map(|argument| match &argument.operand {
            Operand::Own(source) => Some(source),
            _ => None,
        })
}

/// Runs `work` with the inputs that `arguments` are, into `target`.
fn run<T: Numeric, const N: usize>(
    py: Python<'_>,
    op: &'static str,
    target: &Target,
    arguments: &[Argument<T>; N],
    work: impl for<'a, 'b> FnOnce([Input<'a, T>; N], ViewMut<'b, T>) -> Result<()> + Send,
) -> PyResult<()> {
    together::hold(py, Some(&target.source), sources(arguments), |objects| {
        let (place, which) = placed(op, target, &objects, arguments)?;
        if place.desc.dtype != T::dtype() {
            return Err(place.other_type(place.name, place.desc.dtype, T::dtype()));
        }
        let mut ready = Vec::with_capacity(N);
        for argument in arguments {
            ready.push(place.ready(&objects, argument, Alias::Output)?);
        }
        let (object, others) = objects.split()?;
        let mut inputs = [const { Input::Output }; N];
        for ((input, ready), argument) in inputs.iter_mut().zip(&ready).zip(arguments) {
            *input = ready.input(argument, &others)?;
        }
        let out = T::view_mut(object.view_mut(&which)?).ok_or_else(|| changed(op))?;
        work(inputs, out)
    })
    .py()
}

/// [`run`] for an operation with an array whose elements may have another type.
fn of_other<T: Numeric, M: DeviceStorable + Copy>(
    py: Python<'_>,
    op: &'static str,
    target: &Target,
    own: &Argument<T>,
    other: &Argument<M>,
    work: impl for<'a, 'b> FnOnce(Input<'a, T>, &View<'a, M>, ViewMut<'b, T>) -> Result<()> + Send,
) -> PyResult<()> {
    let both = sources(std::slice::from_ref(own)).chain(sources(std::slice::from_ref(other)));
    together::hold(py, Some(&target.source), both, |objects| {
        let shapes = [own.shape(&objects)?, other.shape(&objects)?];
        let (place, which) = at(op, target, &objects, &shapes)?;
        if place.desc.dtype != T::dtype() {
            return Err(place.other_type(place.name, place.desc.dtype, T::dtype()));
        }
        let own_ready = place.ready(&objects, own, Alias::Output)?;
        let other_ready = place.ready(&objects, other, Alias::Copy)?;
        let (object, others) = objects.split()?;
        let a = own_ready.input(own, &others)?;
        let other = other_ready
            .view(other, &others)?
            .ok_or_else(|| changed(op))?;
        let out = T::view_mut(object.view_mut(&which)?).ok_or_else(|| changed(op))?;
        work(a, &other, out)
    })
    .py()
}

/// Runs `work` with the array of `own` and that of `other`, both to be read.
pub(super) fn with_other<T: Numeric, R: Send>(
    py: Python<'_>,
    op: &'static str,
    own: &Source,
    other: &Bound<'_, PyAny>,
    work: impl FnOnce(&View<'_, T>, &View<'_, T>) -> Result<R> + Send,
) -> PyResult<R> {
    let other = Argument::<T>::array(op, Value::Given("other", other))?;
    let target = Target::own(own);
    let all = sources(std::slice::from_ref(&other)).chain([own]);
    together::hold(py, None, all, |objects| {
        let (place, _) = at(op, &target, &objects, &[other.shape(&objects)?])?;
        if place.desc.dtype != T::dtype() {
            return Err(changed(op));
        }
        let ready = place.ready(&objects, &other, Alias::Share)?;
        let others = objects.others();
        let own = View::new(block(others.get(own)?)?, place.desc.layout)?;
        let other = ready.view(&other, &others)?.ok_or_else(|| changed(op))?;
        work(&own, &other)
    })
    .py()
}

fn placed<'a, T: DeviceStorable>(
    op: &'static str,
    target: &'a Target,
    objects: &Objects<'_>,
    arguments: &[Argument<T>],
) -> Result<(Place<'a>, Which)> {
    let mut shapes = Vec::with_capacity(arguments.len());
    for argument in arguments {
        shapes.push(argument.shape(objects)?);
    }
    at(op, target, objects, &shapes)
}

/// The array that `target` is, in the shape that fits arguments of these shapes, and which one of the object it is.
fn at<'a>(
    op: &'static str,
    target: &'a Target,
    objects: &Objects<'_>,
    shapes: &[Shape],
) -> Result<(Place<'a>, Which)> {
    let object = objects.get(&target.source)?;
    let own = Shape::of(&target.source, object)?;
    let grid = in_grids(op, shapes.iter().chain([&own]))?;
    let which = match grid {
        true => target.source.which.grid_or_own(object),
        false => target.source.which.clone(),
    };
    let place = Place {
        op,
        name: target.name,
        source: &target.source,
        desc: which.of(object)?,
        grid,
    };
    Ok((place, which))
}

/// The shape of an argument, as far as it decides whether images stand in with their grids.
pub(super) enum Shape {
    /// A number.
    None,
    /// An image that shows its flat array: the object, and its grid.
    Image(usize, ulib_math::Grid),
    /// An array with this many axes.
    Axes(usize),
}

impl Shape {
    fn of(source: &Source, object: &dyn crate::source::Object) -> Result<Self> {
        Ok(match object.image() {
            Some(image) if source.which == Which::Own => {
                Shape::Image(source.address(), *image.grid())
            }
            _ => Shape::Axes(source.which.of(object)?.layout.ndim()),
        })
    }
}

impl<T: DeviceStorable> Argument<T> {
    fn shape(&self, objects: &Objects<'_>) -> Result<Shape> {
        Ok(match &self.operand {
            Operand::Number(_) => Shape::None,
            Operand::Own(source) => Shape::of(source, objects.get(source)?)?,
            Operand::Host(array) => Shape::Axes(array.shape.len()),
            Operand::Device(array) => Shape::Axes(array.layout.ndim()),
        })
    }
}

/// Whether images are taken by their grids: when two of them meet, whose data orders may differ, or when they meet an
/// array of several axes.
fn in_grids<'s>(op: &str, shapes: impl Iterator<Item = &'s Shape> + Clone) -> Result<bool> {
    let mut images = shapes.clone().filter_map(|shape| match shape {
        Shape::Image(address, grid) => Some((*address, grid)),
        _ => None,
    });
    let Some((first, grid)) = images.next() else {
        return Ok(false);
    };
    let mut several = false;
    let mut alike = true;
    for (_, other) in images.filter(|(address, _)| *address != first) {
        several = true;
        alike &= other.dims() == grid.dims() && other.order() == grid.order();
    }
    let axes = || {
        shapes.clone().filter_map(|shape| match shape {
            Shape::Axes(axes) => Some(*axes),
            _ => None,
        })
    };
    if axes().any(|axes| axes > 1) {
        return Ok(true);
    }
    let flat = axes().next().is_some();
    if flat && !alike {
        return Err(Error::new(
            ErrorKind::Shape,
            format!(
                "{op}: a flat array fits images of the same dimensions and data order only; use Grid()"
            ),
        ));
    }
    Ok(several && !flat)
}
