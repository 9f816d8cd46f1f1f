//! The reader of a document.
#![no_main]

#[path = "../../tests/fuzz/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ulib-fuzz-{}.gcx", std::process::id()));
    let _ = readers::read_document(&path, bytes);
});
