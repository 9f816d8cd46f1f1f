//! Lesson 4 in Rust: a kernel compiled at run time, launched with checked arguments, and tuned for this device.
//!
//! Smooths a million numbers. The sizes of block and of piece of work are macros of the source: the tuner compiles it
//! for each pair, times them, checks what they give against the host, and remembers the best for this device.
//!
//! ```sh
//! cargo run --release --example 04_compiled_kernel
//! ```
//!
//! Needs a GPU and NVRTC: of a CUDA toolkit, or of a virtual environment that is active (`source .venv/bin/activate`, then
//! `pip install nvidia-cuda-nvrtc-cu12`). Without one of them it says which is missing.
#![allow(unsafe_code, reason = "says what a kernel does with its arguments")]

use ulib::core::{ErrorKind, Result};
use ulib::device::compiler::{Cache, Compiler, Configuration, Outcome, Tuner};
use ulib::device::{Device, DeviceMemory, Function, Stream};

const SOURCE: &str = r#"
extern "C" __global__ void smooth(const float *in, float *out, unsigned n) {
    unsigned first = (blockIdx.x * BLOCK + threadIdx.x) * WORK;
    for (unsigned i = first; i < first + WORK && i < n; ++i) {
        float before = i ? in[i - 1] : in[i], after = i + 1 < n ? in[i + 1] : in[i];
        out[i] = 0.25f * before + 0.5f * in[i] + 0.25f * after;
    }
}
"#;
const N: u32 = 1 << 20;

fn main() -> Result<()> {
    match run() {
        Err(error) if *error.kind() == ErrorKind::Unavailable => {
            println!("no GPU or no compiler: {error}");
            Ok(())
        }
        outcome => outcome,
    }
}

fn run() -> Result<()> {
    let device = Device::new(0)?;
    let compiler = Compiler::for_device(&device)?;
    println!("{device}, compiler {}", compiler.path().display());
    let stream = Stream::new(&device)?;
    let values: Vec<f32> = (0..N).map(|i| (i % 97) as f32).collect();
    let expected = smoothed(&values);
    let from = DeviceMemory::from_slice(&values, &stream)?;
    let to = std::cell::RefCell::new(DeviceMemory::<f32>::zeroed(&stream, values.len())?);
    let launch = |smooth: &Function, c: &Configuration| {
        let threads = N.div_ceil(c.count("WORK"));
        let mut to = to.borrow_mut();
        let launch = smooth
            .launch(&stream)
            .grid(threads.div_ceil(c.count("BLOCK")))
            .block(c.count("BLOCK"))
            .arg(&from)
            .arg_mut(&mut *to)
            .arg(&N);
        // SAFETY: the kernel reads `N` numbers of `from` and writes as many of `to`, which is how many there are.
        unsafe { launch.run() }
    };
    let tuned = Tuner::new(&compiler, "smooth.cu", SOURCE, "smooth")
        .parameter("BLOCK", [64, 128, 256, 512])
        .parameter("WORK", [1, 2, 4, 8])
        .constraint(|c| c.count("BLOCK") * c.count("WORK") <= 2048)
        .cache(Cache::usual())
        .tune(&stream, launch, |_| {
            Ok(to.borrow().to_vec(&stream)? == expected)
        })?;
    for (configuration, outcome) in &tuned.trials {
        match outcome {
            Outcome::Ran(time) | Outcome::Pruned(time) => println!("{configuration}: {time:.4} ms"),
            other => println!("{configuration}: {other:?}"),
        }
    }
    let how = if tuned.trials.is_empty() {
        "remembered"
    } else {
        "found"
    };
    println!("best ({how}): {}, {:.4} ms", tuned.best, tuned.milliseconds);
    launch(&tuned.function, &tuned.best)?;
    println!(
        "as on the host: {}",
        to.borrow().to_vec(&stream)? == expected
    );
    Ok(())
}

/// The same on the host, with the same roundings: all products are exact.
fn smoothed(values: &[f32]) -> Vec<f32> {
    let at = |i: usize| values[i.min(values.len() - 1)];
    (0..values.len())
        .map(|i| 0.25 * at(i.saturating_sub(1)) + 0.5 * at(i) + 0.25 * at(i + 1))
        .collect()
}
