//! Buffers and pictures of OpenGL, as device memory and arrays.
//!
//! A program registers an object of OpenGL once ([`Registered::buffer`], [`Registered::image`]). While it is mapped
//! ([`Registered::map`]) kernels use it and OpenGL does not; outside it is the other way round. Nothing here needs OpenGL to
//! build, and no library of it is opened: the one that made the program's context is in the process already.
//!
//! Every call wants the program's OpenGL context to be current on its thread. That is asked first, since drivers do not bear
//! calls without; where there is none, or OpenGL does not know the object any more, the call is an error.

mod context;
mod mapping;
mod registered;

pub use mapping::Mapping;
pub use registered::{Registered, Usage, devices};
