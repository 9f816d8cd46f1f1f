//! Page-locked host memory and its pool.
