//! Device memory: where it comes from and who owns it.

mod resource;

pub use resource::DeviceMemoryResource;
