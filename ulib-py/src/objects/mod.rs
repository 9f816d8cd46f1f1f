//! The classes of objects, one file each.

pub(crate) mod collection;
pub(crate) mod event_table;
pub(crate) mod float_collection;
pub(crate) mod geant_event_collection;
pub(crate) mod image;
pub(crate) mod line_collection;
pub(crate) mod multi_vox_image;
pub(crate) mod muon_scatter_collection;
pub(crate) mod recipe;
pub(crate) mod vox_image;
