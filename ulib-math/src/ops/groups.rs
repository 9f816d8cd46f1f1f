//! The elements of a view in groups, one for each index of the axes that an operation keeps.

use std::ops::Range;

use ulib_core::{Error, Layout, Result};

use super::axes::Axes;

/// The groups in the C order of the kept axes, and in each the members in memory order.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Operand 0 is the source; operand 1 is the number of the group.
    kept: Axes<2>,
    /// A group's elements, relative to its first.
    pub(crate) members: Axes<1>,
    pub(crate) count: usize,
    pub(crate) size: usize,
}

impl Groups {
    /// For the `kept` axes of a layout, and `axes`, the others.
    pub(crate) fn new(layout: &Layout, axes: &[usize], kept: &[usize]) -> Result<Self> {
        // Strides that reach nothing may be any numbers, too large ones for the axes that are not empty among them.
        let empty = layout
            .is_empty()
            .then(|| Layout::contiguous(layout.shape()));
        let empty = empty.transpose()?;
        let layout = empty.as_ref().unwrap_or(layout);
        let mut members = Axes::new([&layout.select_axes(axes)?], 0);
        let outer = layout.select_axes(kept)?;
        let order = Layout::contiguous(outer.shape())?;
        let mut kept = Axes::new([&outer, &order], 1);
        // Turning an axis of the members around moves their start, which is the same for every group.
        kept.start[0] += members.start[0] - layout.offset().cast_signed();
        members.start = [0];
        Ok(Self {
            count: order.len(),
            size: members.count(),
            kept,
            members,
        })
    }

    /// The first element of a group.
    pub(crate) fn first(&self, group: usize) -> isize {
        self.kept.offsets(group)[0]
    }

    /// The first elements of all groups: index `i` of the axes is group `i`.
    pub(crate) fn firsts(&self) -> Axes<1> {
        Axes {
            len: self.kept.len.clone(),
            stride: self.kept.stride.iter().map(|stride| [stride[0]]).collect(),
            start: [self.kept.start[0]],
        }
    }

    /// Calls `visit` with the members `range` of the group whose first element is `first`.
    pub(crate) fn for_each<T: Copy>(
        &self,
        data: &[T],
        first: isize,
        range: Range<usize>,
        mut visit: impl FnMut(T),
    ) {
        let (Some(&inner), Some(&[stride])) = (self.members.len.last(), self.members.stride.last())
        else {
            return range.for_each(|_| visit(data[first.unsigned_abs()]));
        };
        let stride = stride.unsigned_abs();
        let mut at = range.start;
        while at < range.end {
            let count = (inner - at % inner).min(range.end - at);
            let start = (first + self.members.offsets(at)[0]).unsigned_abs();
            match stride {
                0 => (0..count).for_each(|_| visit(data[start])),
                1 => data[start..start + count].iter().for_each(|&x| visit(x)),
                _ => data[start..=start + (count - 1) * stride]
                    .iter()
                    .step_by(stride)
                    .for_each(|&x| visit(x)),
            }
            at += count;
        }
    }
}

/// The axes not named in `axes`.
///
/// # Errors
/// Kind `InvalidArgument` for an axis that does not exist or is named twice.
pub(crate) fn kept_axes(op: &'static str, layout: &Layout, axes: &[usize]) -> Result<Vec<usize>> {
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
    Ok((0..ndim).filter(|axis| !axes.contains(axis)).collect())
}
