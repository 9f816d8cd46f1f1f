//! The numbers that can be counted into bins.

use ulib_core::DeviceStorable;

mod sealed {
    pub trait Sealed {}
}

/// A number that a histogram counts: `f32`, `f64`, and integers of 8 to 64 bits.
///
/// Sealed: every one has kernels compiled for it.
pub trait Countable: DeviceStorable + Copy + sealed::Sealed {
    /// The number that is compared with the edges: the nearest `f64`, ties to even.
    #[doc(hidden)]
    fn value(self) -> f64;

    /// What the kernels know about the type.
    #[doc(hidden)]
    const KERNEL: Counted;
}

/// The kernels of a type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Elements side by side, evenly spaced, and along axes.
    pub(super) pack_line: Option<&'static str>,
    pub(super) one_line: &'static str,
    pub(super) one_axes: &'static str,
    /// Whether elements are compared as `f32`, which holds each of them.
    pub(super) single: bool,
}

macro_rules! countable {
    ($($type:ty, $name:literal, $single:literal, $pack:literal;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Countable for $type {
            #[inline(always)]
            #[allow(
                clippy::cast_lossless,
                reason = "not for all types, and what is lost is documented"
            )]
            fn value(self) -> f64 {
                self as f64
            }

            const KERNEL: Counted = Counted {
                pack_line: if $pack {
                    Some(concat!("ulib_histogram_", $name, "_pack_line"))
                } else {
                    None
                },
                one_line: concat!("ulib_histogram_", $name, "_one_line"),
                one_axes: concat!("ulib_histogram_", $name, "_one_axes"),
                single: $single,
            };
        }
    )*};
}

countable! {
    f32, "f32", true, true;
    f64, "f64", false, true;
    i8, "i8", true, false;
    u8, "u8", true, false;
    i16, "i16", true, false;
    u16, "u16", true, false;
    i32, "i32", false, true;
    u32, "u32", false, true;
    i64, "i64", false, false;
    u64, "u64", false, false;
}
