//! Times of launching a kernel from Rust, as `benches/launches.py` times them from Python: many in a row, as the host sees it, the
//! fastest of several rounds. That script runs this program beside the same launch from C++ (`--rust PROGRAM`).
//!
//! `cargo bench --bench launches` runs on the machine's own driver, and times nothing without a GPU.
#![allow(unsafe_code, reason = "says what a kernel does with its arguments")]

use std::process::ExitCode;
use std::time::Instant;

use ulib_core::Result;
use ulib_device::{Device, DeviceMemory, Module, Stream};

/// Multiplies the first 32 of `n` numbers.
const PTX: &str = "
.version 7.0
.target sm_50
.address_size 64
.visible .entry scale(.param .u64 a, .param .f32 by, .param .u32 n)
{
    .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [a];
    ld.param.f32 %f1, [by];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.f32 %f2, [%d3];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%d3], %f2;
    ret;
}
";

fn main() -> ExitCode {
    let Ok(device) = Device::new(0) else {
        println!("no GPU: nothing to time");
        return ExitCode::SUCCESS;
    };
    match times(&device) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("launches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn times(device: &Device) -> Result<()> {
    let scale = Module::load(device, PTX)?.function("scale")?;
    let legacy = Stream::legacy(device);
    let mut a = DeviceMemory::from_slice(&[1.0_f32; 1024], &legacy)?;
    let mut launch = |stream: &Stream| {
        let launch = scale
            .launch(stream)
            .block(32)
            .arg_mut(&mut a)
            .arg(&1.0_f32)
            .arg(&32_u32);
        // SAFETY: the kernel multiplies the first 32 numbers of `a`, which has 1024.
        unsafe { launch.run() }
    };
    time("launch from Rust, none current", device, 2000, || {
        launch(&legacy)
    })?;
    // From here on no call has to make the device's context current and to restore what was before.
    let _current = device.bind()?;
    time("launch from Rust", device, 2000, || launch(&legacy))?;
    let stream = Stream::new(device)?;
    time("the same in a stream", device, 2000, || launch(&stream))?;
    time("20 launches from Rust", device, 100, || {
        (0..20).try_for_each(|_| launch(&stream))
    })?;
    let capture = stream.capture()?;
    (0..20).try_for_each(|_| launch(&stream))?;
    let mut replay = capture.finish()?.instantiate()?;
    time("20 launches, a graph, from Rust", device, 100, || {
        replay.launch(&stream)
    })
}

/// Prints how long one call takes at best.
fn time(
    name: &str,
    device: &Device,
    times: u32,
    mut call: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        device.synchronize()?;
        let begin = Instant::now();
        for _ in 0..times {
            call()?;
        }
        best = best.min(begin.elapsed().as_secs_f64() / f64::from(times));
    }
    device.synchronize()?;
    println!("{name:32} {:8.2} us", best * 1e6);
    Ok(())
}
