//! ulib-device
pub mod sys;
