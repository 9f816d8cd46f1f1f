//! ulib-core
