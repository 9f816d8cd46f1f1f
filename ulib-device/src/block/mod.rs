//! The coherent block: one allocation that knows where its truth is.
