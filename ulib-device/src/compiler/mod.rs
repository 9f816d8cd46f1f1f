//! Compiling CUDA source at run time, in this process: NVRTC, found where it is installed, and a cache on disk.
//!
//! ```no_run
//! use ulib_device::compiler::{Compiler, Target};
//! use ulib_device::{Device, Module};
//!
//! # fn main() -> ulib_core::Result<()> {
//! let device = Device::new(0)?;
//! let source = "template <typename T> __global__ void twice(T *a) { a[threadIdx.x] *= 2; }";
//! let image = Compiler::for_device(&device)?
//!     .program("twice.cu", source)
//!     .name("twice<float>")
//!     .compile(Target::of(&device))?;
//! let module = Module::from_image(&device, &image)?;
//! let twice = module.function(image.lowered("twice<float>").unwrap_or("twice"))?;
//! # Ok(())
//! # }
//! ```
//!
//! | question | file |
//! |---|---|
//! | where the library and its headers are | `search.rs`, `toolkit.rs` |
//! | where other libraries of the toolkit are | `parts.rs` |
//! | its entry points, one program in its hands | `library.rs`, `held.rs` |
//! | why there is none | `absence.rs` |
//! | what to compile, for what | `program.rs`, `target.rs` |
//! | how it is compiled | `translate.rs`, `extern_c.rs` |
//! | nvcc's spelling of options | `options.rs` |
//! | which headers a program uses | `includes.rs` |
//! | headers that NVRTC lacks | `headers.rs` |
//! | what was compiled | `image.rs` |
//! | what the compiler says | `failure.rs` |
//! | images kept on disk | `cache.rs`, `entries.rs` |
//! | the fastest of many ways | `tune.rs` |

mod absence;
mod cache;
mod entries;
mod extern_c;
mod failure;
mod headers;
mod held;
mod image;
mod includes;
mod library;
mod options;
mod parts;
mod program;
mod search;
mod target;
mod toolkit;
mod translate;
mod tune;

pub use absence::NoCompiler;
pub use cache::{CACHE_VARIABLE, Cache};
pub use failure::CompileFailure;
pub use image::{Image, ImageKind};
pub use library::{COMPILER_VARIABLE, Compiler};
pub use options::NvccOptions;
pub use parts::{curand_library, toolkit_library};
pub use program::Program;
pub use search::add_packages;
pub use target::Target;
pub use tune::{Configuration, Outcome, Tuned, Tuner};
