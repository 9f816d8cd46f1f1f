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
use ulib_device::Device;

use crate::memory::zeros;
use crate::view::{View, ViewMut, elements, elements_mut};
pub(crate) use fold::{Fold, Form, Item, One, Placed, Second, Two, entries};
use fold::Data;
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

    /// The device that all views are to be on; `None` for the host.
    ///
    /// # Errors
    /// Kind `Residency` when they are to be in different places.
    fn place(&self) -> Result<Option<Device>> {
        let device = self.first.block().target_device();
        let Some(second) = self.second else {
            return Ok(device);
        };
        let other = second.block().target_device();
        let ordinal = |device: &Option<Device>| device.as_ref().map(Device::ordinal);
        if ordinal(&device) == ordinal(&other) {
            return Ok(device);
        }
        let named = |device: Option<Device>| {
            device.map_or("the host".to_string(), |device| device.to_string())
        };
        Err(Error::residency("reduce", named(device), named(other)))
    }

    fn plan<F: Fold<Value = T>>(&self, axes: &[usize], kept: &[usize], out: &Layout) -> Result<Plan> {
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
    reduce_to(fold, views, axes, &kept, &out, &mut values).map_err(|error| error.context(op))?;
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
    reduce_to(fold, views, &axes, &[], &out, &mut value).map_err(|error| error.context(op))?;
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
        return super::fill(out, fold.nothing());
    }
    let there = out.block().target_device();
    let done = match (views.place().map_err(|error| error.context(op))?, there) {
        (Some(here), Some(there)) if here.ordinal() == there.ordinal() => views
            .plan::<F>(axes, &kept, out.layout())
            .and_then(|plan| device::reduce_into(fold, views, &plan, &mut out, &here)),
        _ => Ok(false),
    };
    match done {
        Ok(true) => Ok(()),
        Ok(false) => into_host(fold, views, axes, &kept, &mut out),
        Err(error) => Err(error),
    }
    .map_err(|error| error.context(op))
}

/// The results into the host copy of a block, which is opened when they are there: a reduction that fails changes nothing.
fn into_host<F: Fold>(
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    axes: &[usize],
    kept: &[usize],
    out: &mut ViewMut<'_, F::Out>,
) -> Result<()> {
    let plan = views.plan::<F>(axes, kept, out.layout())?;
    let values = results(fold, views, &plan)?;
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
        to.fill(fold.nothing());
        return Ok(());
    }
    let plan = views.plan::<F>(axes, kept, out)?;
    plan.spread(&results(fold, views, &plan)?, to);
    Ok(())
}

/// The results, in the order of the plan's kept axes.
fn results<F: Fold>(
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    plan: &Plan,
) -> Result<Vec<F::Out>> {
    if let Some(device) = views.place()?
        && let Some(values) = device::reduce(fold, views, plan, &device)?
    {
        return Ok(values);
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

/// The axes not named in `axes`, and the shape they have.
fn kept_axes(op: &'static str, layout: &Layout, axes: &[usize]) -> Result<(Vec<usize>, Vec<usize>)> {
    let ndim = layout.ndim();
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= ndim || axes[..i].contains(&axis) {
            return Err(Error::invalid(
                op,
                "axes",
                format_args!("{axes:?}"),
                format!("different axes below {ndim}"),
            ));
        }
    }
    let kept: Vec<usize> = (0..ndim).filter(|axis| !axes.contains(axis)).collect();
    let shape = kept.iter().map(|&axis| layout.shape()[axis]).collect();
    Ok((kept, shape))
}
