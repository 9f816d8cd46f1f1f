//! The protocols through which other libraries see our arrays and we see theirs.

pub(crate) mod array_interface;
pub(crate) mod buffer;
pub(crate) mod cuda_array_interface;
pub(crate) mod described;
pub(crate) mod dlpack;
pub(crate) mod foreign;
pub(crate) mod host_array;
pub(crate) mod import;
