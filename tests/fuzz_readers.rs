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

use std::path::Path;
use std::time::{Duration, Instant};

use ulib::math::EventTable;
use ulib::math::io::{Format, write_table};

use mutate::Random;
use readers::read;

/// Changed files of each format.
const CASES: u64 = 20_000;

/// What readers need whatever the file is: buffers, and the states of decoders.
const FIXED: usize = 4 << 20;

/// Bytes of memory that a byte of a file can account for: a deflate stream holds up to 1032 bytes in one, each of
/// which can be a number of a voxel of 4 bytes.
const FACTOR: usize = 1032 * 4 + 16;

/// What pages of Parquet may say that they take when they are decoded, which is asked for and not used, and the numbers that are
/// believed to be in a small file.
const PAGES: usize = (4 << 30) + (256 << 20);

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

/// Runs `read` on changed files of a corpus, which it reads by way of a file that ends in `end`.
///
/// Memory of up to `fixed` bytes and what a file accounts for is not too much.
fn by_way_of_a_file(
    end: &str,
    fixed: usize,
    corpus: &[Vec<u8>],
    read: impl Fn(&Path, &[u8]) -> bool,
) {
    let path = std::env::temp_dir().join(format!("ulib-fuzz-{}.{end}", std::process::id()));
    assert!(corpus.iter().all(|file| read(&path, file)), "{end}");
    let mut random = Random::new(corpus.len() as u64);
    let mut refused = 0;
    // Files take longer than bytes in memory.
    let cases = cases() / 10;
    for case in 0..cases {
        let mut file = corpus[random.below(corpus.len())].clone();
        mutate::change(&mut file, corpus, &mut random);
        let start = Instant::now();
        let (good, peak) = memory::peak(|| read(&path, &file));
        refused += u64::from(!good);
        let most = fixed + FACTOR * file.len();
        assert!(
            peak <= most,
            "{end} case {case}: {peak} bytes for {}",
            file.len()
        );
        assert!(start.elapsed() < SLOWEST, "{end} case {case}");
    }
    assert!((cases / 10..cases).contains(&refused), "{end}: {refused}");
    let _ = std::fs::remove_file(path);
}

#[test]
fn damaged_documents() {
    let corpus = [
        include_bytes!("data/by_hand.gcx").to_vec(),
        include_bytes!("data/class_version_1.gcx").to_vec(),
    ];
    by_way_of_a_file("gcx", FIXED, &corpus, |path, bytes| {
        readers::read_document(path, bytes).is_ok()
    });
}

#[test]
fn damaged_tables() {
    let text = b"x,y\n1,-2.5e3\n\"3\",+4\nNaN,inf\n,-Infinity\n".to_vec();
    by_way_of_a_file("csv", FIXED, &[text], |path, bytes| {
        readers::read_rows(path, bytes).is_ok()
    });
    let path =
        std::env::temp_dir().join(format!("ulib-fuzz-corpus-{}.parquet", std::process::id()));
    let mut table = EventTable::new("a,b").unwrap();
    for i in 0..50 {
        table.add_row(&[f64::from(i % 7), 0.5]).unwrap();
    }
    write_table(&table, &path).unwrap();
    let parquet = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    by_way_of_a_file("parquet", PAGES, &[parquet], |path, bytes| {
        readers::read_rows(path, bytes).is_ok()
    });
}

#[test]
fn the_allocations_of_a_reading_are_counted() {
    let (_, peak) = memory::peak(|| vec![1_u8; 10 << 20].len());
    // Other tests allocate and free small files of theirs between their turns.
    assert!((9 << 20..11 << 20).contains(&peak), "{peak}");
}
