//! Copies and fills between host and device memory.
