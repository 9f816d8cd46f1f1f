//! The NVIDIA driver opened at run time, devices, streams, memory, and the coherent block.
//!
//! Nothing here needs CUDA to build, and nothing is opened before it is needed: on a machine without a driver every
//! question has an answer, usually [`Unavailable`] with a sentence.
//!
//! | on the host | here |
//! |---|---|
//! | the machine | [`Device`] |
//! | a thread's queue of work, and where it says which one it uses | [`Stream`], [`Stream::scope`] |
//! | a point in that queue | [`Event`] |
//! | a program file, a function in it | [`Module`], [`Function`]; embedded in the binary: [`Kernel`] |
//! | calling the function | [`launch()`] |
//! | the compiler | [`compiler`] |
//! | the allocator, an allocation | [`memory`] |
//! | work written down once and started many times | [`graph`] |
//! | what is not given back | [`report`] |
//! | page-locked memory, `memcpy` | [`pinned`], [`copy`] |
//! | a picture with interpolation in the hardware | [`texture`] |
//! | a buffer or picture of OpenGL | [`gl`] |
//! | a vector that may live on either side | [`block`] |
//! | `libcuda` itself | [`driver`], [`sys`] |
//!
//! Every call makes the device's primary context current for its thread and restores what was current before, so the
//! crate lives beside CuPy, PyTorch, `cust` and whatever else is in the process. Destructors do the same, may run on
//! any thread, never panic, and leave their errors in [`Device::errors`].

pub mod block;
pub mod compiler;
pub mod copy;
pub mod device;
pub mod driver;
pub mod event;
pub mod gl;
pub mod graph;
pub mod hooks;
pub mod launch;
pub mod memory;
pub mod module;
pub mod pinned;
pub mod report;
pub mod stream;
pub mod sys;
pub mod texture;

pub use block::{Block, transfers};
pub use device::{ContextGuard, Device, MemoryInfo};
pub use driver::{Driver, Unavailable};
pub use event::Event;
pub use graph::{Graph, GraphExec};
pub use launch::{LaunchConfig, launch};
pub use memory::{Access, DeviceBytes, DeviceMemory, DeviceMemoryResource, Held};
pub use module::{Function, Kernel, Linker, Module};
pub use pinned::{PinnedBytes, PinnedPool};
pub use stream::{Stream, StreamKind};
