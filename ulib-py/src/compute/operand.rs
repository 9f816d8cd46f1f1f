//! What an operation reads: a number, an object of ours, or an array of somebody else where the operation runs.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyInt, PyString};
use ulib_core::words::with_article;
use ulib_core::{DType, DeviceStorable, Error, ErrorKind, Layout, Result};
use ulib_device::{Block, Device};
use ulib_math::ops::{self, Input};
use ulib_math::view::{View, ViewMut};

use super::Numeric;
use crate::args::number;
use crate::errors::{IntoPyResult, shortened};
use crate::incoming;
use crate::interop::host_array::HostArray;
use crate::interop::import::{DeviceArray, Incoming};
use crate::numeric::Numeric as NumericClass;
use crate::scene::proxy::own;
use crate::source::{Desc, Object, Source, Which, block};
use crate::together::{Objects, Others};

/// Something that an operation is given, under the name that its errors use.
pub(crate) struct Argument<T> {
    pub(super) name: &'static str,
    pub(super) operand: Operand<T>,
}

pub(super) enum Operand<T> {
    Number(T),
    Own(Source),
    Host(HostArray),
    Device(DeviceArray),
}

/// What a caller gave, before the type of its numbers matters.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a, 'py> {
    /// The object that the method is called on.
    This(&'a Source),
    /// An argument of this name.
    Given(&'static str, &'a Bound<'py, PyAny>),
}

/// Whether `object` is one number: what converts to one and has no axes.
pub(crate) fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return Ok(true);
    }
    let py = object.py();
    if !object.hasattr(intern!(py, "__float__"))? && !object.hasattr(intern!(py, "__index__"))? {
        return Ok(false);
    }
    match object.getattr_opt(intern!(py, "shape"))? {
        Some(shape) => Ok(shape.len().is_ok_and(|axes| axes == 0)),
        None => Ok(true),
    }
}

impl<T: Numeric> Argument<T> {
    /// What `value` is for an operation on elements of type `T`.
    pub(super) fn of(op: &'static str, value: Value<'_, '_>) -> PyResult<Self> {
        match value {
            Value::Given(name, object) if is_number(object)? => Ok(Argument {
                name,
                operand: Operand::Number(number(op, name, object)?),
            }),
            value => Self::array(op, value),
        }
    }
}

impl<T: DeviceStorable> Argument<T> {
    /// The array that `value` is.
    pub(super) fn array(op: &'static str, value: Value<'_, '_>) -> PyResult<Self> {
        let (name, object) = match value {
            Value::This(source) => {
                return Ok(Argument {
                    name: "self",
                    operand: Operand::Own(source.clone()),
                });
            }
            Value::Given(name, object) => (name, object),
        };
        if let Some(own) = own::<NumericClass>(object)? {
            return Ok(Argument {
                name,
                operand: Operand::Own(own.get().source.clone()),
            });
        }
        refuse_single(op, name, object)?;
        Ok(Self::foreign(name, Incoming::of(object, T::dtype(), op)?))
    }

    fn foreign(name: &'static str, array: Incoming) -> Self {
        let operand = match array {
            Incoming::Host(array) => Operand::Host(array),
            Incoming::Device(array) => Operand::Device(array),
        };
        Argument { name, operand }
    }
}

/// An array of whichever element type.
pub(super) enum AnyArray {
    Own(Source),
    Foreign(Incoming),
}

impl AnyArray {
    /// The array that `object` is, and its element type; truth values count as bytes.
    pub(super) fn of(
        op: &'static str,
        name: &'static str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<(DType, Self)> {
        if let Some(own) = own::<NumericClass>(object)? {
            let source = own.get().source.clone();
            let dtype = source.dtype(object.py()).py()?;
            return Ok((dtype, AnyArray::Own(source)));
        }
        refuse_single(op, name, object)?;
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(format!("{op}: text is no array")));
        }
        Ok(match Incoming::of_any(object, op)? {
            (DType::Bool, Incoming::Device(mut array)) => {
                array.dtype = DType::U8;
                (DType::U8, AnyArray::Foreign(Incoming::Device(array)))
            }
            (DType::Bool, Incoming::Host(_)) => {
                let array = Incoming::of(object, DType::U8, op)?;
                (DType::U8, AnyArray::Foreign(array))
            }
            (dtype, array) => (dtype, AnyArray::Foreign(array)),
        })
    }

    /// The array as an argument whose elements are of type `T`, which is that of the array.
    pub(super) fn argument<T: DeviceStorable>(self, name: &'static str) -> Argument<T> {
        match self {
            AnyArray::Own(source) => Argument {
                name,
                operand: Operand::Own(source),
            },
            AnyArray::Foreign(array) => Argument::foreign(name, array),
        }
    }
}

/// Refuses one number where an array has to be.
fn refuse_single(op: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if object.is_instance_of::<PyComplex>() {
        return Err(PyTypeError::new_err(format!(
            "{op}: {name} is {}, and complex numbers are not taken",
            shortened(&object.repr()?.to_string())
        )));
    }
    if is_number(object)? {
        return Err(PyTypeError::new_err(format!(
            "{op}: {name} is {}, a single number, not an array",
            shortened(&object.repr()?.to_string())
        )));
    }
    Ok(())
}

/// The object that `out` is.
pub(crate) fn output(op: &str, out: &Bound<'_, PyAny>) -> PyResult<Source> {
    match own::<NumericClass>(out)? {
        Some(own) => Ok(own.get().source.clone()),
        None => Err(PyTypeError::new_err(format!(
            "{op}: out is {}, not an object of uLib",
            with_article(&out.get_type().fully_qualified_name()?.to_string())
        ))),
    }
}

/// An array of an operation, described while its object is held.
pub(super) struct Place<'a> {
    pub(super) op: &'static str,
    pub(super) name: &'static str,
    pub(super) source: &'a Source,
    pub(super) desc: Desc,
    /// Whether images that show their flat array stand in with their grid.
    pub(super) grid: bool,
}

/// What an array of the object that is changed, other than what is changed, is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alias {
    /// As what the output holds, or as a copy where the layouts differ.
    Output,
    /// As a copy.
    Copy,
    /// As it is: nothing is changed.
    Share,
}

/// An argument that is ready to be read.
pub(super) enum Ready<T> {
    Number(T),
    /// What the output holds.
    Output,
    Own(Layout),
    Copy(Block, Layout),
}

impl Place<'_> {
    /// The array `which` of `object` in the shape that the operation works in.
    pub(super) fn shaped(&self, which: &Which, object: &dyn Object) -> Which {
        match self.grid {
            true => which.grid_or_own(object),
            false => which.clone(),
        }
    }

    /// Makes `argument` ready, which has to have this array's shape and place.
    pub(super) fn ready<T: DeviceStorable + Copy>(
        &self,
        objects: &Objects<'_>,
        argument: &Argument<T>,
        alias: Alias,
    ) -> Result<Ready<T>> {
        let name = argument.name;
        match &argument.operand {
            Operand::Number(number) => Ok(Ready::Number(*number)),
            Operand::Own(source) => {
                let object = objects.get(source)?;
                let desc = self.shaped(&source.which, object).of(object)?;
                if desc.dtype != T::dtype() {
                    return Err(self.other_type(name, desc.dtype, T::dtype()));
                }
                self.check_shape(name, desc.layout.shape())?;
                if source.address() != self.source.address() || alias == Alias::Share {
                    return Ok(Ready::Own(desc.layout));
                }
                if alias == Alias::Output
                    && desc.dtype == self.desc.dtype
                    && desc.layout == self.desc.layout
                {
                    return Ok(Ready::Output);
                }
                let view = View::<T>::new(block(object)?, desc.layout)?;
                self.copy(objects, |to| ops::copy(&view, to))
            }
            Operand::Host(array) => {
                self.check_shape(name, &array.shape)?;
                if let Some(device) = self.device(objects)? {
                    return Err(self.apart(&device, name, "an array on the host"));
                }
                let layout = Layout::contiguous(self.desc.layout.shape())?;
                let mut copy = Block::zeroed(bytes::<T>(&layout)?)?;
                let mut guard = copy.overwrite()?;
                let desc = Desc {
                    dtype: T::dtype(),
                    layout: layout.clone(),
                };
                array.scatter(&mut guard, &desc)?;
                guard.commit()?;
                Ok(Ready::Copy(copy, layout))
            }
            Operand::Device(array) => {
                self.check_shape(name, array.layout.shape())?;
                if self.desc.layout.is_empty() {
                    return self.copy(objects, |_| Ok(()));
                }
                let located = array.located()?;
                let there = format!("an array on {}", located.device);
                match self.device(objects)? {
                    Some(device) if device == located.device => {
                        self.copy(objects, |to| incoming::copy_from(&located, to))
                    }
                    Some(device) => Err(self.apart(&device, name, &there)),
                    None => {
                        let here = block(objects.get(self.source)?)?.location();
                        Err(self.apart(&here, name, &there))
                    }
                }
            }
        }
    }

    /// A new array in this one's shape and place, which `fill` fills.
    fn copy<T: DeviceStorable>(
        &self,
        objects: &Objects<'_>,
        fill: impl FnOnce(ViewMut<'_, T>) -> Result<()>,
    ) -> Result<Ready<T>> {
        let layout = Layout::contiguous(self.desc.layout.shape())?;
        let mut copy = block(objects.get(self.source)?)?.zeroed_like(bytes::<T>(&layout)?)?;
        fill(ViewMut::new(&mut copy, layout.clone())?)?;
        Ok(Ready::Copy(copy, layout))
    }

    /// Where the operation runs, if not on the host.
    fn device(&self, objects: &Objects<'_>) -> Result<Option<Device>> {
        Ok(block(objects.get(self.source)?)?.target_device())
    }

    /// Refuses an array of another shape.
    pub(super) fn check_shape(&self, name: &str, shape: &[usize]) -> Result<()> {
        let own = self.desc.layout.shape();
        if shape == own {
            return Ok(());
        }
        let (op, here) = (self.op, self.name);
        let message = format!(
            "{op}: {name} has the shape {}, {here} {}",
            tuple(shape),
            tuple(own)
        );
        Err(Error::new(ErrorKind::Shape, message))
    }

    /// The error for an array of another element type than it has to have.
    pub(super) fn other_type(&self, name: &str, found: DType, wanted: DType) -> Error {
        let op = self.op;
        let message = format!("{op}: {name} has elements of type {found}, not {wanted}");
        Error::new(ErrorKind::DType, message)
    }

    fn apart(&self, here: &dyn std::fmt::Display, name: &str, there: &str) -> Error {
        let own = self.name;
        Error::residency(
            self.op,
            format!("{own} is to be used on {here}, {name} is {there}: bring one to the other"),
        )
    }
}

impl<T: DeviceStorable> Ready<T> {
    /// The array to read, if it is one.
    pub(super) fn view<'a>(
        &'a self,
        argument: &'a Argument<T>,
        others: &'a Others<'_>,
    ) -> Result<Option<View<'a, T>>> {
        Ok(match (self, &argument.operand) {
            (Ready::Own(layout), Operand::Own(source)) => {
                Some(View::new(block(others.get(source)?)?, layout.clone())?)
            }
            (Ready::Copy(copy, layout), _) => Some(View::new(copy, layout.clone())?),
            _ => None,
        })
    }
}

impl<T: Numeric> Ready<T> {
    /// What the operation reads.
    pub(super) fn input<'a>(
        &'a self,
        argument: &'a Argument<T>,
        others: &'a Others<'_>,
    ) -> Result<Input<'a, T>> {
        Ok(match (self.view(argument, others)?, self) {
            (Some(view), _) => Input::View(view),
            (None, Ready::Number(number)) => Input::Scalar(*number),
            (None, _) => Input::Output,
        })
    }
}

fn bytes<T>(layout: &Layout) -> Result<usize> {
    layout
        .len()
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::overflow("array", "the size in bytes"))
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        several => {
            let lengths: Vec<String> = several.iter().map(usize::to_string).collect();
            format!("({})", lengths.join(", "))
        }
    }
}
