//! [`mask()`], [`mask_into`], [`mask_in_place`]: what a mask leaves.

use ulib_core::{Bool8, DeviceStorable, Result};

use super::element::{Element, Number};
use super::elementwise::{self, Extra, Input, Inputs, Operation, operation};
use crate::view::{Array, View, ViewMut};

static BY_NUMBERS: Operation = operation!("mask", "mask.ptx");
static BY_BYTES: Operation = operation!("mask_by_bytes", "mask.ptx");

/// What a mask over elements of type `T` can be made of: bytes (`u8`, [`Bool8`]), or elements of the same type.
pub trait MaskOf<T>: DeviceStorable + Copy + Default + sealed::Sealed<T> {}

mod sealed {
    use super::{Bool8, Element};

    pub trait Sealed<T> {
        /// Whether it is made of bytes.
        const BYTES: bool;

        /// Whether the mask leaves what is there.
        fn leaves(self) -> bool;
    }

    impl<T: Element> Sealed<T> for T {
        const BYTES: bool = false;

        #[inline(always)]
        fn leaves(self) -> bool {
            self != T::default()
        }
    }

    impl<T: Element> Sealed<T> for u8 {
        const BYTES: bool = true;

        #[inline(always)]
        fn leaves(self) -> bool {
            self != 0
        }
    }

    impl<T: Element> Sealed<T> for Bool8 {
        const BYTES: bool = true;

        #[inline(always)]
        fn leaves(self) -> bool {
            self != Bool8::default()
        }
    }
}

impl<T: Element> MaskOf<T> for T {}
impl<T: Element> MaskOf<T> for u8 {}
impl<T: Element> MaskOf<T> for Bool8 {}

/// An input where a mask is not zero, and a number elsewhere, as a new array.
///
/// # Definition
/// `out[i] = a[i]` where `mask[i]` is not zero (-0.0 is zero, NaN is not), else `outside`.
///
/// # Precision
/// Exact: the bits of `a` and `outside`.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let (image, inside) = (Block::from_slice(&[1.0_f32, 2.0, 3.0])?, Block::from_slice(&[1_u8, 0, 255])?);
/// let masked = ops::mask(&View::<f32>::flat(&image)?, &View::<u8>::flat(&inside)?, -1.0)?;
/// assert_eq!(masked.to_array()?.as_slice(), Some(&[1.0, -1.0, 3.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "where")]
pub fn mask<'a, T: Element, M: MaskOf<T>>(
    a: impl Into<Input<'a, T>>,
    mask: &View<'a, M>,
    outside: T,
) -> Result<Array<T>> {
    let (operation, number) = kernels::<T, M>();
    elementwise::new(
        operation,
        &Inputs::two(a, mask),
        extra(outside),
        number,
        definition(outside),
    )
}

/// [`mask()`] into an output, which may be the input, too: [`Input::Output`].
///
/// # Errors
/// As [`mask()`]. The output stays as it was.
pub fn mask_into<'a, T: Element, M: MaskOf<T>>(
    a: impl Into<Input<'a, T>>,
    mask: &View<'a, M>,
    outside: T,
    out: ViewMut<'_, T>,
) -> Result<()> {
    let (operation, number) = kernels::<T, M>();
    let inputs = Inputs::two(a, mask);
    elementwise::into(
        operation,
        &inputs,
        extra(outside),
        out,
        number,
        definition(outside),
    )
}

/// Replaces every element of `view` where a mask is zero: [`mask()`] in place.
///
/// # Errors
/// As [`mask()`]. The view stays as it was.
pub fn mask_in_place<T: Element, M: MaskOf<T>>(
    view: ViewMut<'_, T>,
    mask: &View<'_, M>,
    outside: T,
) -> Result<()> {
    mask_into(Input::Output, mask, outside, view)
}

/// The operation, and the number that names its kernels: what is only moved is as good as an integer of its size.
fn kernels<T: Element, M: MaskOf<T>>() -> (&'static Operation, Number) {
    match (M::BYTES, size_of::<T>()) {
        (false, _) => (&BY_NUMBERS, T::KERNEL.unsigned()),
        (true, 4) => (&BY_BYTES, Number::U32),
        (true, _) => (&BY_BYTES, Number::U64),
    }
}

fn definition<T: Element, M: MaskOf<T>>(outside: T) -> impl Fn(T, M, T) -> T + Sync {
    move |a, mask, _| if mask.leaves() { a } else { outside }
}

fn extra<T: Element>(outside: T) -> Extra {
    [outside.bits(), 0, 0, 0, 0, 0]
}
