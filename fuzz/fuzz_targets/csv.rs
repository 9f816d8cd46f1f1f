//! The reader of a table as text.
#![no_main]

#[path = "../../tests/fuzz/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ulib-fuzz-{}.csv", std::process::id()));
    let _ = readers::read_rows(&path, bytes);
});
