//! Times of launching a kernel from Rust, many in a row, as the host sees it: the fastest of several rounds.
//!
//! `cargo bench --bench launches` runs on the machine's own driver, and times nothing without a GPU. `benches/launches.py` runs this
//! program with `--cpp LIBRARY`, its own launches from C++: those take turns with the ones from Rust here, and the median of the ratios
//! of all rounds is printed as well.
#![allow(unsafe_code, reason = "says what a kernel does with its arguments")]

use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::time::Instant;

use libloading::Library;
use ulib_core::{Error, ErrorKind, Result};
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
    let address = a.as_bytes().ptr() as *mut c_void;
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
    let stream = Stream::new(device)?;
    let beside = cpp()?;
    for (name, stream) in [
        ("launch from Rust", &legacy),
        ("the same in a stream", &stream),
    ] {
        let one = || launch(stream);
        match &beside {
            Some(cpp) => in_turns(name, device, cpp, address, one)?,
            None => time(name, device, 2000, one)?,
        }
    }
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

/// The library that `--cpp` names.
fn cpp() -> Result<Option<Library>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--cpp");
    let Some(path) = arguments.nth(1) else {
        return Ok(None);
    };
    // SAFETY: it is the one that the script has just compiled, which does nothing when it is loaded.
    let library = unsafe { Library::new(&path) };
    library
        .map(Some)
        .map_err(|error| Error::new(ErrorKind::Unavailable, format!("{path}: {error}")))
}

/// Prints how long one call takes at best, and how that compares with a launch from C++ onto the same address.
fn in_turns(
    name: &str,
    device: &Device,
    cpp: &Library,
    address: *mut c_void,
    mut call: impl FnMut() -> Result<()>,
) -> Result<()> {
    const ROUNDS: usize = 60;
    const LAUNCHES: c_int = 500;
    type Launches = unsafe extern "C" fn(*mut c_void, c_int) -> f64;
    // SAFETY: the function of that name has this type, in the source of `benches/launches.py`.
    let from_cpp = unsafe { cpp.get::<Launches>(b"launches") }
        .map_err(|error| Error::new(ErrorKind::Unavailable, error.to_string()))?;
    let (mut best, mut its_best, mut ratios) = (f64::INFINITY, f64::INFINITY, Vec::new());
    for _ in 0..ROUNDS {
        device.synchronize()?;
        // SAFETY: its kernel multiplies 32 numbers from the address on, where there are as many.
        let its = unsafe { from_cpp(address, LAUNCHES) };
        device.synchronize()?;
        let ours = seconds(LAUNCHES, &mut call)?;
        best = best.min(ours / f64::from(LAUNCHES));
        its_best = its_best.min(its / f64::from(LAUNCHES));
        ratios.push(ours / its);
    }
    ratios.sort_by(f64::total_cmp);
    let [low, middle, high] = [ROUNDS / 10, ROUNDS / 2, ROUNDS - ROUNDS / 10].map(|at| ratios[at]);
    println!(
        "{name:48} {:8.2} us   {middle:.2} of C++ (<<<>>>), {:.2} us ({low:.2} to {high:.2} in eight of ten rounds)",
        best * 1e6,
        its_best * 1e6
    );
    Ok(())
}

/// The seconds of so many calls.
fn seconds(times: c_int, call: &mut impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    for _ in 0..times {
        call()?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// Prints how long one call takes at best.
fn time(
    name: &str,
    device: &Device,
    times: c_int,
    mut call: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        device.synchronize()?;
        best = best.min(seconds(times, &mut call)? / f64::from(times));
    }
    device.synchronize()?;
    println!("{name:48} {:8.2} us", best * 1e6);
    Ok(())
}
