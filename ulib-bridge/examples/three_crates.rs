//! One allocation passes through uLib, cudarc and cust, and nobody copies it.
//!
//!     CUDA_LIBRARY_PATH=... cargo run -p ulib-bridge --features cudarc,cust,cudarc/cuda-11080 --example three_crates
#![allow(unsafe_code, reason = "cust's slices have no lifetime")]

use cust::memory::CopyDestination;
use ulib_core::Result;
use ulib_device::memory::DeviceMemory;
use ulib_device::{Device, Stream};

fn main() -> Result<()> {
    let device = Device::new(0)?;
    let stream = Stream::legacy(&device);
    let mut values = DeviceMemory::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &stream)?;
    println!(
        "uLib   made   {:?} at {:#x}",
        values.to_vec(&stream)?,
        values.ptr()
    );

    // cudarc sees the memory as its own kinds of arguments, in a stream of its own.
    let context = ulib_bridge::cudarc::context(&device)?;
    let theirs = context.default_stream();
    let mut lent = ulib_bridge::cudarc::lend_mut(&mut values, &theirs)?;
    theirs
        .memcpy_htod(&[10.0_f32, 20.0, 30.0, 40.0], &mut lent)
        .map_err(said("cudarc"))?;
    drop(lent);
    println!("cudarc wrote  {:?}", values.to_vec(&stream)?);

    // cust sees a slice of its own. It works in the current context.
    let guard = device.bind()?;
    // SAFETY: the slice is used in this block only.
    let mut slice = unsafe { ulib_bridge::cust::lend_mut(&mut values, &stream) }?;
    slice
        .copy_from(&[5.0_f32, 6.0, 7.0, 8.0])
        .map_err(said("cust"))?;
    drop(guard);
    println!("cust   wrote  {:?}", values.to_vec(&stream)?);
    Ok(())
}

fn said<E: std::fmt::Display>(who: &'static str) -> impl Fn(E) -> ulib_core::Error {
    move |error| ulib_core::Error::residency(who, error.to_string())
}
