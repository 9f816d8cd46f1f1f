//! The reader of a table in a Parquet file.
#![no_main]

#[path = "../../tests/fuzz/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ulib-fuzz-{}.parquet", std::process::id()));
    let _ = readers::read_rows(&path, bytes);
});
