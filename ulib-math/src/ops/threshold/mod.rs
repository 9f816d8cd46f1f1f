//! [`threshold()`], [`threshold_into`], [`threshold_in_place`]: one of two numbers, by a condition.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Extra, Input, Inputs, Operation, operation};
use super::predicate::Predicate;
use crate::view::{Array, ViewMut};

static THRESHOLD: Operation = operation!("threshold", "threshold.ptx");

/// One of two numbers for each element of an input, by a condition on it, as a new array.
///
/// # Definition
/// `out[i] = inside` where `a[i]` meets `condition`, else `outside`.
///
/// # Precision
/// Exact: the bits of `inside` and `outside`.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops::{self, Predicate}, view::View};
///
/// let block = Block::from_slice(&[0.1_f32, 0.5, 0.9, f32::NAN])?;
/// let tissue = ops::threshold(&View::<f32>::flat(&block)?, Predicate::Between(0.4, 0.9), 1.0, 0.0)?;
/// assert_eq!(tissue.to_array()?.as_slice(), Some(&[0.0, 1.0, 1.0, 0.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "binary_threshold")]
pub fn threshold<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    condition: Predicate<T>,
    inside: T,
    outside: T,
) -> Result<Array<T>> {
    let choice = Choice::new(condition, inside, outside);
    elementwise::new(
        &THRESHOLD,
        &Inputs::one(a),
        choice.extra(),
        T::KERNEL,
        choice.definition(),
    )
}

/// [`threshold()`] into an output, which may be the input, too: [`Input::Output`].
///
/// # Errors
/// As [`threshold()`]. The output stays as it was.
pub fn threshold_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    condition: Predicate<T>,
    inside: T,
    outside: T,
    out: ViewMut<'_, T>,
) -> Result<()> {
    let choice = Choice::new(condition, inside, outside);
    let inputs = Inputs::one(a);
    elementwise::into(
        &THRESHOLD,
        &inputs,
        choice.extra(),
        out,
        T::KERNEL,
        choice.definition(),
    )
}

/// Replaces every element of `view` by one of two numbers: [`threshold()`] in place.
///
/// # Errors
/// As [`threshold()`]. The view stays as it was.
pub fn threshold_in_place<T: Element>(
    view: ViewMut<'_, T>,
    condition: Predicate<T>,
    inside: T,
    outside: T,
) -> Result<()> {
    threshold_into(Input::Output, condition, inside, outside, view)
}

/// The condition and the two numbers.
struct Choice<T> {
    condition: super::predicate::Range<T>,
    inside: T,
    outside: T,
}

impl<T: Element> Choice<T> {
    fn new(condition: Predicate<T>, inside: T, outside: T) -> Self {
        Self {
            condition: condition.range(),
            inside,
            outside,
        }
    }

    fn definition(&self) -> impl Fn(T, T, T) -> T + Sync {
        |a, _, _| {
            if self.condition.holds(a) {
                self.inside
            } else {
                self.outside
            }
        }
    }

    fn extra(&self) -> Extra {
        let range = self.condition.for_device();
        [
            range.low,
            range.high,
            range.inside,
            self.inside.bits(),
            self.outside.bits(),
            0,
        ]
    }
}
