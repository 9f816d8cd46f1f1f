//! The reader of `Format::Nifti`.
#![no_main]

#[path = "../../tests/fuzz/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = readers::read(ulib::math::io::Format::Nifti, bytes);
});
