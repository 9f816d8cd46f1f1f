//! DLPack: the exchange of arrays with an owner and an end, in both directions.
//!
//! [`abi`] is the frozen C layout, [`export`] makes capsules of our arrays, [`import`] takes
//! capsules of others.

pub(crate) mod abi;
pub(crate) mod export;
pub(crate) mod import;
