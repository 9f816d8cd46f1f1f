//! Lesson 3 in Rust: memory from a pool, two streams, a graph, and what is left at the end.
//!
//! One stream fills memory while another copies what is ready. Then the same work is written down once as a graph and started
//! many times. On a machine with no GPU it says so.
//!
//! ```sh
//! cargo run --example 03_memory_and_streams
//! ```

use ulib::core::{ErrorKind, Result};
use ulib::device::memory::BinnedPool;
use ulib::device::{Device, DeviceMemory, Event, Stream, copy, report};

fn main() -> Result<()> {
    match Device::new(0) {
        Ok(device) => on(&device),
        Err(error) if *error.kind() == ErrorKind::Unavailable => {
            println!("no GPU: {error}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn on(device: &Device) -> Result<()> {
    println!("{device}");

    // A pool keeps the blocks that are given back for allocations of similar sizes.
    let pool = BinnedPool::new(device);
    let (filling, copying) = (Stream::non_blocking(device)?, Stream::non_blocking(device)?);
    let memory = pool.allocate_bytes(1_000_000, &filling)?;
    let address = memory.ptr();
    copy::fill(&memory, 0, memory.len(), &[7], &filling)?;

    // Memory knows which streams use it: this copy waits for the fill, and the host for the copy.
    let mut first = [0_u8; 4];
    copy::download(&memory, 0, &mut first, &copying)?;
    println!("filled on one stream, read on another: {first:?}");

    // Given back, the block is the next one of its size. It would be handed to another stream only after the work on it.
    drop(memory);
    let memory = pool.allocate_bytes(1_010_000, &copying)?;
    println!(
        "the pool gives the same block again: {}",
        memory.ptr() == address
    );
    println!("{:?}", pool.statistics());
    drop(memory);
    pool.free_held();

    // A graph: what a stream would do, written down once and started many times.
    let mut numbers = DeviceMemory::<u32>::zeroed(&filling, 1000)?;
    filling.synchronize()?;
    let mut capture = filling.capture()?;
    // The graph borrows what it works on.
    let written = capture.writes(&mut numbers);
    for value in 1..=20_u32 {
        copy::fill(written.as_bytes(), 0, 4000, &value.to_ne_bytes(), &filling)?;
    }
    let graph = capture.finish()?;
    let mut work = graph.instantiate()?;
    let (before, after) = (Event::timed(device)?, Event::timed(device)?);
    before.record(&copying)?;
    for _ in 0..10 {
        work.launch(&copying)?;
    }
    after.record(&copying)?;
    after.synchronize()?;
    println!(
        "a graph of {} fills ran 10 times in {:.3} ms",
        graph.node_count()?,
        after.elapsed_ms(&before)?
    );
    work.synchronize()?;
    drop((work, graph));
    println!(
        "the last fill counts: {:?}",
        &numbers.to_vec(&copying)?[..3]
    );

    drop((numbers, pool));
    for left in report::live().iter().filter(|left| left.count > 0) {
        println!("alive at the end: {left:?}");
    }
    Ok(())
}
