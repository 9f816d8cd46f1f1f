//! Page-locked host memory.
