//! [`Compute`]: the operations of [`ops`] as methods of the objects.

use ndarray::ArrayD;
use ulib_core::Result;

use crate::collections::Collection;
use crate::event_table::EventTable;
use crate::multi_vox_image::MultiVoxImage;
use crate::ops::{self, Bins, Countable, Element, Input, MaskOf, Predicate, Real};
use crate::view::{View, ViewMut};
use crate::vox_image::VoxImage;
use crate::voxel::Voxel;

/// Computing on the numbers of an object, where they are: each method is the operation of the same name in [`ops`], where its
/// definition, precision and errors stand. What changes the object changes it in place; what lies between its numbers, such
/// as the counts of voxels, stays.
///
/// | object | its numbers |
/// |---|---|
/// | [`VoxImage`] | the values, indexed `[z, y, x]` under every data order |
/// | [`MultiVoxImage`] | the active values, indexed `[z, y, x]` |
/// | [`EventTable`] | the cells, indexed `[row, column]` |
/// | [`Collection`] of numbers | its elements |
///
/// Operations into an output of the caller's, into new arrays, and over other axes take [`numbers`](Self::numbers).
///
/// # Examples
/// ```
/// use ulib_math::ops::Predicate;
/// use ulib_math::{Compute, VoxImage};
///
/// let (mut image, mut other): (VoxImage, VoxImage) = (VoxImage::new([3, 2, 2])?, VoxImage::new([3, 2, 2])?);
/// image.fill(1.0)?;
/// other.fill(0.5)?;
/// image.add(&other.numbers()?)?;
/// image.scale(2.0)?;
/// assert_eq!(image.sum()?, 36.0);
/// assert_eq!(image.sum_axes(&[0, 1])?.as_slice(), Some(&[12.0; 3][..]));
/// image.threshold(Predicate::Greater(2.5), 1.0, 0.0)?;
/// assert_eq!((image.sum()?, image.mean()?, image.max()?), (12.0, 1.0, 1.0));
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub trait Compute {
    /// The type of the numbers.
    type Number: Element;

    /// The numbers, to read.
    ///
    /// # Errors
    /// Kind `Overflow` when they reach past the address range.
    fn numbers(&self) -> Result<View<'_, Self::Number>>;

    /// The numbers, to read and write.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    fn numbers_mut(&mut self) -> Result<ViewMut<'_, Self::Number>>;

    /// Sets every number to `value`.
    fn fill(&mut self, value: Self::Number) -> Result<()> {
        ops::fill(self.numbers_mut()?, value)
    }

    /// Multiplies every number by `factor`.
    fn scale(&mut self, factor: Self::Number) -> Result<()> {
        ops::scale(self.numbers_mut()?, factor)
    }

    /// Adds `b`.
    fn add<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::add_in_place(self.numbers_mut()?, b)
    }

    /// Subtracts `b`.
    fn subtract<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::subtract_in_place(self.numbers_mut()?, b)
    }

    /// Multiplies by `b`.
    fn multiply<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::multiply_in_place(self.numbers_mut()?, b)
    }

    /// Divides by `b`.
    fn divide<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::divide_in_place(self.numbers_mut()?, b)
    }

    /// Adds `factor * x`.
    fn axpy<'a>(
        &mut self,
        factor: Self::Number,
        x: impl Into<Input<'a, Self::Number>>,
    ) -> Result<()> {
        ops::axpy(factor, x, self.numbers_mut()?)
    }

    /// Multiplies by `b` and adds `c`, with one rounding.
    fn fma<'a>(
        &mut self,
        b: impl Into<Input<'a, Self::Number>>,
        c: impl Into<Input<'a, Self::Number>>,
    ) -> Result<()> {
        ops::fma_in_place(self.numbers_mut()?, b, c)
    }

    /// Replaces every number by its magnitude.
    fn abs(&mut self) -> Result<()> {
        ops::abs_in_place(self.numbers_mut()?)
    }

    /// Gives every number the other sign.
    fn negate(&mut self) -> Result<()> {
        ops::negate_in_place(self.numbers_mut()?)
    }

    /// Keeps the smaller of each number and `b`.
    fn minimum<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::minimum_in_place(self.numbers_mut()?, b)
    }

    /// Keeps the larger of each number and `b`.
    fn maximum<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()> {
        ops::maximum_in_place(self.numbers_mut()?, b)
    }

    /// Limits every number to the range from `low` to `high`.
    fn clamp<'a>(
        &mut self,
        low: impl Into<Input<'a, Self::Number>>,
        high: impl Into<Input<'a, Self::Number>>,
    ) -> Result<()> {
        ops::clamp_in_place(self.numbers_mut()?, low, high)
    }

    /// Replaces every number by `inside` where it meets `condition`, by `outside` elsewhere.
    fn threshold(
        &mut self,
        condition: Predicate<Self::Number>,
        inside: Self::Number,
        outside: Self::Number,
    ) -> Result<()> {
        ops::threshold_in_place(self.numbers_mut()?, condition, inside, outside)
    }

    /// Replaces every number where `mask` is zero by `outside`.
    fn mask<M: MaskOf<Self::Number>>(
        &mut self,
        mask: &View<'_, M>,
        outside: Self::Number,
    ) -> Result<()> {
        ops::mask_in_place(self.numbers_mut()?, mask, outside)
    }

    /// Replaces every number by its square root.
    fn sqrt(&mut self) -> Result<()>
    where
        Self::Number: Real,
    {
        ops::sqrt_in_place(self.numbers_mut()?)
    }

    /// Replaces every number by e to its power.
    fn exp(&mut self) -> Result<()>
    where
        Self::Number: Real,
    {
        ops::exp_in_place(self.numbers_mut()?)
    }

    /// Replaces every number by its natural logarithm.
    fn log(&mut self) -> Result<()>
    where
        Self::Number: Real,
    {
        ops::log_in_place(self.numbers_mut()?)
    }

    /// Raises every number to the power `b`.
    fn power<'a>(&mut self, b: impl Into<Input<'a, Self::Number>>) -> Result<()>
    where
        Self::Number: Real,
    {
        ops::power_in_place(self.numbers_mut()?, b)
    }

    /// The sum of all numbers: the same bits on every device.
    fn sum(&self) -> Result<<Self::Number as Element>::Sum> {
        ops::sum_all(&self.numbers()?)
    }

    /// The sums over some axes. The axes that are not summed stay, in their order: of an image, `sum_axes(&[0, 1])` is the profile
    /// along x, with one total for every slice of constant x.
    fn sum_axes(&self, axes: &[usize]) -> Result<ArrayD<<Self::Number as Element>::Sum>> {
        ops::sum(&self.numbers()?, axes)
    }

    /// The mean of all numbers; NaN of none.
    fn mean(&self) -> Result<f64> {
        ops::mean_all(&self.numbers()?)
    }

    /// The variance of all numbers, divided by their number less `ddof`.
    fn variance(&self, ddof: usize) -> Result<f64> {
        ops::variance_all(&self.numbers()?, ddof)
    }

    /// The Euclidean norm of all numbers.
    fn norm(&self) -> Result<f64> {
        ops::norm_all(&self.numbers()?)
    }

    /// The sum of the products with other numbers of the same shape.
    fn dot(&self, other: &View<'_, Self::Number>) -> Result<<Self::Number as Element>::Sum> {
        ops::dot_all(&self.numbers()?, other)
    }

    /// The smallest number.
    fn min(&self) -> Result<Self::Number> {
        ops::min_all(&self.numbers()?)
    }

    /// The largest number.
    fn max(&self) -> Result<Self::Number> {
        ops::max_all(&self.numbers()?)
    }

    /// Where the first of the smallest numbers is, counted in C order of the axes.
    fn argmin(&self) -> Result<u64> {
        ops::argmin_all(&self.numbers()?)
    }

    /// Where the first of the largest numbers is, counted in C order of the axes.
    fn argmax(&self) -> Result<u64> {
        ops::argmax_all(&self.numbers()?)
    }

    /// How many numbers meet a condition.
    fn count_where(&self, condition: Predicate<Self::Number>) -> Result<u64> {
        ops::count_all(&self.numbers()?, condition)
    }

    /// The quantiles `qs` of all numbers.
    fn quantiles(&self, qs: &[f64]) -> Result<Vec<f64>> {
        ops::quantile_all(&self.numbers()?, qs)
    }

    /// How many numbers are in each of `bins`.
    fn histogram(&self, bins: &Bins) -> Result<Vec<u64>>
    where
        Self::Number: Countable,
    {
        ops::histogram(&self.numbers()?, bins)
    }
}

impl<V: Voxel> Compute for VoxImage<V> {
    type Number = f32;

    fn numbers(&self) -> Result<View<'_, f32>> {
        self.grid_view()
    }

    fn numbers_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        self.grid_view_mut()
    }
}

impl Compute for MultiVoxImage {
    type Number = f32;

    fn numbers(&self) -> Result<View<'_, f32>> {
        self.grid_view()
    }

    fn numbers_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        self.grid_view_mut()
    }
}

impl Compute for EventTable {
    type Number = f64;

    fn numbers(&self) -> Result<View<'_, f64>> {
        self.table_view()
    }

    fn numbers_mut(&mut self) -> Result<ViewMut<'_, f64>> {
        self.table_view_mut()
    }
}

impl<T: Element> Compute for Collection<T> {
    type Number = T;

    fn numbers(&self) -> Result<View<'_, T>> {
        self.view()
    }

    fn numbers_mut(&mut self) -> Result<ViewMut<'_, T>> {
        self.view_mut()
    }
}
