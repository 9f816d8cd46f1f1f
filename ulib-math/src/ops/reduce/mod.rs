//! What every reduction shares: axes, placement, and the tree of fixed shape on the host and on a device.
//!
//! A reduction gives a [`Fold`] and its kernels, made from `ops/reduce.cuh`; [`reduce`], [`reduce_all`] and [`reduce_into`]
//! do the rest.

mod device;
pub(crate) mod fold;
mod host;
mod lanes;
mod level;
mod plan;

use ndarray::{ArrayD, IxDyn};
use ulib_core::{DeviceStorable, Error, Layout, Result};

use super::groups;
use super::place::{Operand, Place};
use crate::memory::zeros;
use crate::view::{View, ViewMut, elements, elements_mut};
use fold::Data;
pub(crate) use fold::{Fold, Form, Item, One, Placed, Second, Two, entries, entry, joins};
use plan::Plan;

/// What a reduction reads.
pub(crate) struct Views<'v, 'b, T> {
    pub(crate) first: &'v View<'b, T>,
    pub(crate) second: Option<&'v View<'b, T>>,
}

impl<'v, 'b, T: DeviceStorable> Views<'v, 'b, T> {
    pub(crate) fn one(first: &'v View<'b, T>) -> Self {
        Self {
            first,
            second: None,
        }
    }

    /// Two views of one shape.
    ///
    /// # Errors
    /// Kind `Shape` when the shapes differ.
    pub(crate) fn two(
        op: &'static str,
        first: &'v View<'b, T>,
        second: &'v View<'b, T>,
    ) -> Result<Self> {
        if first.shape() != second.shape() {
            return Err(Error::shape(op, first.shape(), second.shape()));
        }
        Ok(Self {
            first,
            second: Some(second),
        })
    }

    /// The blocks, named as the parameters are.
    fn operands(&self) -> Vec<Operand<'v>> {
        match self.second {
            Some(second) => vec![("a", self.first.block()), ("b", second.block())],
            None => vec![("view", self.first.block())],
        }
    }

    fn plan<F: Fold<Value = T>>(
        &self,
        axes: &[usize],
        kept: &[usize],
        out: &Layout,
    ) -> Result<Plan> {
        let first = self.first.layout();
        if F::Item::SECOND == Second::Place {
            let mut axes = axes.to_vec();
            axes.sort_unstable();
            return Plan::with_places(first, &axes, kept, out);
        }
        let second = self.second.map_or(first, View::layout);
        Plan::new([first, second], axes, kept, out)
    }
}

/// The results over `axes`, as an array of the shape of the other axes.
pub(crate) fn reduce<F: Fold>(
    op: &'static str,
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    axes: &[usize],
) -> Result<ArrayD<F::Out>> {
    let (kept, shape) = kept_axes(op, views.first.layout(), axes)?;
    let out = Layout::contiguous(&shape)?;
    let mut values = zeros(out.len())?;
    reduce_to(op, fold, views, axes, &kept, &out, &mut values)?;
    ArrayD::from_shape_vec(IxDyn(&shape), values)
        .map_err(|error| Error::layout(op, error.to_string()))
}

/// The result over all axes.
pub(crate) fn reduce_all<F: Fold>(
    op: &'static str,
    fold: &F,
    views: &Views<'_, '_, F::Value>,
) -> Result<F::Out> {
    let axes: Vec<usize> = (0..views.first.shape().len()).collect();
    let mut value = [F::Out::default()];
    let out = Layout::contiguous(&[])?;
    reduce_to(op, fold, views, &axes, &[], &out, &mut value)?;
    Ok(value[0])
}

/// The results over `axes` into an output of any strides.
pub(crate) fn reduce_into<F: Fold>(
    op: &'static str,
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    axes: &[usize],
    mut out: ViewMut<'_, F::Out>,
) -> Result<()> {
    let (kept, shape) = kept_axes(op, views.first.layout(), axes)?;
    if out.shape() != shape {
        return Err(Error::shape(op, &shape, out.shape()));
    }
    if out.is_empty() {
        return Ok(());
    }
    if views.first.is_empty() {
        return super::fill(out, nothing(op, fold)?);
    }
    let inputs = views.operands();
    if inputs.len() > 1 {
        // What is read is in one place; the results can go to another.
        let _same = Place::of(op, &inputs)?;
    }
    let plan = views.plan::<F>(axes, &kept, out.layout())?;
    let mut place = {
        let mut all = inputs.clone();
        all.push(("out", out.block()));
        Place::of_any(op, &all)
    };
    let done = match place.device() {
        Some(device) => device::reduce_into(fold, views, &plan, &mut out, device),
        None => Ok(false),
    };
    let done = match done {
        Ok(false) => {
            place.ran_on_host();
            into_host(op, fold, views, &plan, &mut out)
        }
        done => done.map(drop),
    };
    let mut all = inputs;
    all.push(("out", out.block()));
    place.finish(&all, done)
}

/// The results into the host copy of a block, which is opened when they are there: a reduction that fails changes nothing.
fn into_host<F: Fold>(
    op: &'static str,
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    plan: &Plan,
    out: &mut ViewMut<'_, F::Out>,
) -> Result<()> {
    let mut place = Place::of(op, &views.operands())?;
    let values = results(fold, views, plan, &mut place)?;
    let mut guard = if out.is_whole() {
        out.block_mut().overwrite()?
    } else {
        out.block_mut().write()?
    };
    plan.spread(&values, elements_mut(&mut guard)?);
    guard.commit()
}

/// The results into host memory.
fn reduce_to<F: Fold>(
    op: &'static str,
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    axes: &[usize],
    kept: &[usize],
    out: &Layout,
    to: &mut [F::Out],
) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    if views.first.is_empty() {
        to.fill(nothing(op, fold)?);
        return Ok(());
    }
    let plan = views.plan::<F>(axes, kept, out)?;
    let operands = views.operands();
    let mut place = Place::of(op, &operands)?;
    let values = results(fold, views, &plan, &mut place);
    plan.spread(&place.finish(&operands, values)?, to);
    Ok(())
}

/// The results, in the order of the plan's kept axes.
fn results<F: Fold>(
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    plan: &Plan,
    place: &mut Place,
) -> Result<Vec<F::Out>> {
    if let Some(device) = place.device() {
        if let Some(values) = device::reduce(fold, views, plan, device)? {
            place.fetched(values.len() * size_of::<F::Out>());
            return Ok(values);
        }
        place.ran_on_host();
    }
    let first = views.first.block().read()?;
    let second = views.second.map(|view| view.block().read()).transpose()?;
    let data = Data {
        first: elements::<F::Value>(&first)?,
        second: match &second {
            Some(second) => elements::<F::Value>(second)?,
            None => &[],
        },
    };
    host::reduce(fold, data, plan)
}

/// The result of no elements.
///
/// # Errors
/// Kind `InvalidArgument` where there is none.
fn nothing<F: Fold>(op: &'static str, fold: &F) -> Result<F::Out> {
    let refused = || {
        Error::invalid(
            op,
            "view",
            "no elements for a result",
            "at least one for each",
        )
    };
    fold.nothing().ok_or_else(refused)
}

/// The axes not named in `axes`, and the shape they have.
fn kept_axes(
    op: &'static str,
    layout: &Layout,
    axes: &[usize],
) -> Result<(Vec<usize>, Vec<usize>)> {
    let kept = groups::kept_axes(op, layout, axes)?;
    let shape = kept.iter().map(|&axis| layout.shape()[axis]).collect();
    Ok((kept, shape))
}
