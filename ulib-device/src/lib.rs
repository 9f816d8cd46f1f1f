//! The NVIDIA driver opened at run time, devices, streams, memory, and the coherent block.
pub mod block;
pub mod copy;
pub mod memory;
pub mod pinned;
pub mod sys;
