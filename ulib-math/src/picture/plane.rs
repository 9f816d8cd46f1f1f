//! The numbers of a slice or a projection, at home.

use std::fmt;
use std::str::FromStr;

use ulib_core::{Error, Layout, Result};

use super::{Axis, Volume};
use crate::memory::{room, zeros};
use crate::ops;
use crate::view::View;

/// What a projection makes of the voxels behind a pixel. NaN among them gives NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Projection {
    /// The largest value.
    Maximum,
    /// The mean, summed in `f64`.
    Mean,
    /// The smallest value.
    Minimum,
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Projection::Maximum => "maximum",
            Projection::Mean => "mean",
            Projection::Minimum => "minimum",
        })
    }
}

impl FromStr for Projection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Projection::Maximum, Projection::Mean, Projection::Minimum]
            .into_iter()
            .find(|projection| projection.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                Error::invalid(
                    "projection",
                    "name",
                    format_args!("'{}'", text.escape_debug()),
                    "maximum, mean or minimum",
                )
            })
    }
}

/// Which numbers of a volume are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Middle,
    Slice(usize),
    Projection(Projection),
}

/// Numbers of a slice: `right` of them in a row, rows from the bottom up, and how long one is in the world.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) values: Vec<f64>,
    pub(super) sides: (usize, usize),
    pub(super) spacing: (f64, f64),
}

impl Plane {
    /// # Errors
    /// `InvalidArgument` for a volume without voxels, `Index` when there is no such slice; those of reaching the numbers.
    pub(super) fn of<T: Volume + ?Sized>(volume: &T, axis: Axis, shown: Shown) -> Result<Self> {
        let grid = volume.grid();
        check_not_empty("render", volume)?;
        let view = volume.grid_view()?;
        let behind = axis.of_array();
        let side = view.shape()[behind];
        let values = match shown {
            Shown::Middle => slice(view, behind, side / 2)?,
            Shown::Slice(index) if index >= side => {
                return Err(Error::index(format!("slice along {axis}"), index, side));
            }
            Shown::Slice(index) => slice(view, behind, index)?,
            Shown::Projection(Projection::Maximum) => {
                widened(&ops::max(&view, &[behind])?.into_raw_vec_and_offset().0)?
            }
            Shown::Projection(Projection::Minimum) => {
                widened(&ops::min(&view, &[behind])?.into_raw_vec_and_offset().0)?
            }
            Shown::Projection(Projection::Mean) => {
                ops::mean(&view, &[behind])?.into_raw_vec_and_offset().0
            }
        };
        // Indexed `[z, y, x]`: what points up is always the slower one of the two that are left.
        let (right, up) = axis.across();
        let (dims, spacing) = (grid.dims(), grid.spacing());
        Ok(Plane {
            values,
            sides: (dims[right.index()], dims[up.index()]),
            spacing: (spacing[right.index()], spacing[up.index()]),
        })
    }

    /// The smallest and the largest finite number, if there is any.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        finite_range(self.values.iter().copied())
    }
}

/// The smallest and the largest finite number, if there is any.
pub(crate) fn finite_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |range, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((value.min(low), value.max(high)))
        })
}

pub(crate) fn check_not_empty<T: Volume + ?Sized>(op: &'static str, volume: &T) -> Result<()> {
    if volume.grid().is_empty() {
        return Err(Error::invalid(
            op,
            "image",
            "without voxels",
            "at least one voxel",
        ));
    }
    Ok(())
}

fn slice(view: View<'_, f32>, axis: usize, index: usize) -> Result<Vec<f64>> {
    widened(&numbers(&view.index_axis(axis, index)?)?)
}

/// The numbers of a view in C order. Of a block that only a device has, no more than they are fetched where they are less
/// than half of it.
pub(crate) fn numbers<T: ulib_core::DeviceStorable + Copy>(view: &View<'_, T>) -> Result<Vec<T>> {
    let layout = Layout::contiguous(view.shape())?;
    let mut values = zeros(view.len())?;
    ops::copy_to_host(view, &mut values, &layout)?;
    Ok(values)
}

fn widened(values: &[f32]) -> Result<Vec<f64>> {
    let mut wide = room(values.len())?;
    wide.extend(values.iter().copied().map(f64::from));
    Ok(wide)
}
