//! ulib-math
