//! [`min()`], [`max()`], [`argmin()`], [`argmax()`] and their `_all` and `_into`: extreme values and their places, over any set of
//! axes.

mod fold;
mod key;
mod places;
mod values;

pub use key::Ranked;
pub use places::{argmax, argmax_all, argmax_into, argmin, argmin_all, argmin_into};
pub use values::{max, max_all, max_into, min, min_all, min_into};
