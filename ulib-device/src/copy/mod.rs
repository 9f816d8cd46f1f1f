//! Copies between host and device memory.
