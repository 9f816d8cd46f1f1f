//! tests/fakecuda
