//! Lesson 5 in Rust: a picture read through a texture, with the hardware's interpolation.
//!
//! A small picture becomes an array, a texture object over it is an argument of a kernel, and the kernel samples it between its texels.
//! On a machine with no GPU, or without NVRTC, it says so.
//!
//! ```sh
//! cargo run --example 05_texture
//! ```
#![allow(
    unsafe_code,
    reason = "what a kernel does with its arguments cannot be checked"
)]

use ulib::core::{ErrorKind, Result};
use ulib::device::compiler::{Cache, Compiler, Target};
use ulib::device::texture::{
    Array, ArrayDescriptor, FilterMode, Format, Sampling, TextureObject, TextureSource,
};
use ulib::device::{Device, DeviceMemory, Module, Stream};

const SOURCE: &str = r#"
extern "C" __global__ void enlarge(float *out, cudaTextureObject_t picture, float step)
{
    unsigned x = threadIdx.x, y = threadIdx.y;
    out[y * blockDim.x + x] = tex2D<float>(picture, x * step + 0.5f, y * step + 0.5f);
}
"#;

fn main() -> Result<()> {
    match Device::new(0).and_then(|device| on(&device)) {
        Err(error) if *error.kind() == ErrorKind::Unavailable => {
            println!("no GPU or no compiler: {error}");
            Ok(())
        }
        outcome => outcome,
    }
}

fn on(device: &Device) -> Result<()> {
    println!("{device}");
    let stream = Stream::new(device)?;
    let picture = Array::new(device, ArrayDescriptor::plane(3, 3, Format::F32, 1))?;
    picture.upload(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &stream)?;
    let sampling = Sampling {
        filter: FilterMode::Linear,
        ..Sampling::default()
    };
    let texture = TextureObject::new(TextureSource::Array(picture), &sampling)?;

    let image = Compiler::for_device(device)?
        .program("enlarge.cu", SOURCE)
        .cache(Cache::usual())
        .compile(Target::of(device))?;
    let enlarge = Module::from_image(device, &image)?.function("enlarge")?;
    let mut out = DeviceMemory::<f32>::zeroed(&stream, 25)?;
    texture.queue_on(&stream, || {
        let launch = enlarge.launch(&stream).grid(1).block((5, 5));
        // SAFETY: the kernel writes 25 numbers, and the texture lives until its work is done.
        unsafe {
            launch
                .arg_mut(&mut out)
                .arg(&texture.handle())
                .arg(&0.5_f32)
                .run()
        }
    })?;
    for row in out.to_vec(&stream)?.chunks(5) {
        println!("{row:?}");
    }
    Ok(())
}
