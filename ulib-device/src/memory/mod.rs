//! Device memory: resources that allocate it, and the types that own it.
