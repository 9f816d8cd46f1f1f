//! Every reader of files against damaged ones: no panic, no hang, no more memory than the file accounts for.
//!
//! A bounded run of what `fuzz/` does without end: small files of every format, changed by a generator with a fixed
//! seed. `ULIB_TEST_FULL=1` tries thirty times as many.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

#[path = "fuzz/corpus.rs"]
mod corpus;
#[path = "fuzz/memory.rs"]
mod memory;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/readers.rs"]
mod readers;

use std::time::{Duration, Instant};

use ulib::math::io::Format;

use mutate::Random;
use readers::read;

/// Changed files of each format.
const CASES: u64 = 20_000;

/// What readers need whatever the file is: buffers, and the states of decoders.
const FIXED: usize = 4 << 20;

/// Bytes of memory that a byte of a file can account for: a deflate stream holds up to 1032 bytes in one, each of
/// which can be a number of a voxel of 4 bytes.
const FACTOR: usize = 1032 * 4 + 16;

/// None of these files is worth more.
const SLOWEST: Duration = Duration::from_secs(5);

fn cases() -> u64 {
    if std::env::var_os("ULIB_TEST_FULL").is_some() {
        30 * CASES
    } else {
        CASES
    }
}

#[test]
fn damaged_files_of_every_format() {
    for format in Format::ALL {
        let corpus = corpus::of(format);
        assert!(
            corpus.iter().all(|file| read(format, file).is_ok()),
            "{format}"
        );
        let mut random = Random::new(format as u64 + 1);
        let mut refused = 0;
        for case in 0..cases() {
            let mut file = corpus[random.below(corpus.len())].clone();
            mutate::change(&mut file, &corpus, &mut random);
            let start = Instant::now();
            let (result, peak) = memory::peak(|| read(format, &file));
            let took = start.elapsed();
            refused += u64::from(result.is_err());
            let most = FIXED + FACTOR * file.len();
            assert!(
                peak <= most,
                "{format} case {case}: {peak} bytes for {}",
                file.len()
            );
            assert!(took < SLOWEST, "{format} case {case}: {took:?}");
        }
        // Most changes matter, and not all of them.
        assert!(
            (cases() / 10..cases()).contains(&refused),
            "{format}: {refused}"
        );
    }
}

#[test]
fn the_allocations_of_a_reading_are_counted() {
    let (_, peak) = memory::peak(|| vec![1_u8; 10 << 20].len());
    assert!((10 << 20..11 << 20).contains(&peak), "{peak}");
}
