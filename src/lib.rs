#![doc = include_str!("../docs/tour.md")]

pub use ulib_core as core;
pub use ulib_device as device;
pub use ulib_math as math;
