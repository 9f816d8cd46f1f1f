//! [`Input`]: what an elementwise operation reads.

use ulib_core::{DeviceStorable, Layout, Result};
use ulib_device::block::HostRef;

use crate::ops::element::Element;
use crate::view::{Array, View, ViewMut};

/// What an elementwise operation reads: a view, one number for every index, or what the output holds before.
///
/// # Examples
/// ```
/// use ulib_math::ops::{self, Input};
/// use ulib_math::view::{Array, View};
/// use ulib_device::block::Block;
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 4.0])?;
/// let view = View::<f32>::flat(&block)?;
/// let mut out = ops::subtract(10.0, &view)?; // 10 - view
/// ops::divide_into(Input::Output, &view, out.view_mut())?; // out / view
/// assert_eq!(out.to_array()?.as_slice(), Some(&[9.0, 4.0, 1.5][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Input<'a, T> {
    /// The same number for every index.
    Scalar(T),
    /// One element for each index.
    View(View<'a, T>),
    /// What the output holds before the operation.
    Output,
}

impl<T: Element> From<T> for Input<'_, T> {
    fn from(number: T) -> Self {
        Self::Scalar(number)
    }
}

impl<'a, T> From<View<'a, T>> for Input<'a, T> {
    fn from(view: View<'a, T>) -> Self {
        Self::View(view)
    }
}

impl<'a, T> From<&View<'a, T>> for Input<'a, T> {
    fn from(view: &View<'a, T>) -> Self {
        Self::View(view.clone())
    }
}

impl<'a, T: DeviceStorable> From<&'a ViewMut<'_, T>> for Input<'a, T> {
    fn from(view: &'a ViewMut<'_, T>) -> Self {
        Self::View(view.view())
    }
}

impl<'a, T: DeviceStorable> From<&'a Array<T>> for Input<'a, T> {
    fn from(array: &'a Array<T>) -> Self {
        Self::View(array.view())
    }
}

impl<'a, T: DeviceStorable> Input<'a, T> {
    pub(super) fn view(&self) -> Option<&View<'a, T>> {
        match self {
            Self::View(view) => Some(view),
            Self::Scalar(_) | Self::Output => None,
        }
    }

    /// The layout of the elements on the host, for an output with layout `out`; a number is one element in all places.
    pub(super) fn layout(&self, out: &Layout) -> Result<Layout> {
        match self {
            Self::View(view) => Ok(view.layout().clone()),
            Self::Output => Ok(out.clone()),
            Self::Scalar(_) => Layout::new(out.shape().to_vec(), vec![0; out.ndim()], 0),
        }
    }

    /// The host copy of the view's block, if it is one.
    pub(super) fn read(&self) -> Result<Option<HostRef<'_>>> {
        self.view().map(|view| view.block().read()).transpose()
    }
}
