//! The same driver as a shared library, opened by path.

use crate::common::{test_name, wants_real};
use std::path::PathBuf;
use std::process::Command;

/// Builds the shared library; `None` (said aloud) where there is no cargo.
fn shared_library() -> Option<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| env!("CARGO").to_owned());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = [
        "build",
        "-q",
        "--locked",
        "-p",
        "ulib-fakecuda",
        "--manifest-path",
        manifest,
    ];
    match Command::new(cargo).args(arguments).status() {
        Ok(status) => assert!(status.success(), "building the shared library"),
        Err(reason) => {
            println!("SKIP: {}: no cargo here: {reason}", test_name());
            return None;
        }
    }
    // This test lies in target/PROFILE/deps, the library of the default profile in target/debug.
    let test = std::env::current_exe().expect("path of this test");
    let target = test.ancestors().nth(3).expect("a target folder");
    Some(target.join("debug/libfakecuda.so"))
}

/// What a fresh process says about a driver file.
fn said(library: &std::path::Path, variables: &[(&str, &str)]) -> String {
    let mut all = vec![(
        "ULIB_CUDA_DRIVER",
        library.to_str().expect("a readable path"),
    )];
    all.extend_from_slice(variables);
    let output = crate::common::child("library::in_a_child_the_file_is_opened", &all);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text
        .lines()
        .find_map(|line| line.split_once("answer: ").map(|(_, rest)| rest.to_owned()));
    line.unwrap_or_else(|| panic!("no answer in {text}"))
}

#[test]
fn in_a_child_the_file_is_opened() {
    if !crate::common::in_child() || wants_real() {
        return;
    }
    match ulib_device::driver::Driver::get() {
        Ok(driver) => println!(
            "answer: {} pools {}",
            driver.version(),
            driver.table().cuMemAllocAsync.is_some()
        ),
        Err(reason) => println!("answer: {reason}"),
    }
}

#[test]
fn the_shared_library_is_a_driver() {
    if wants_real() {
        return;
    }
    let Some(library) = shared_library() else {
        return;
    };
    assert_eq!(said(&library, &[]), "13000 pools true");
    assert!(said(&library, &[("FAKECUDA_INIT", "34")]).contains("stub"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let old = folder.join("libfakecuda-old.so");
    fakecuda::control::command::without_symbols(&library, &old, &["cuMemAllocAsync"])
        .expect("a copy");
    assert_eq!(said(&old, &[]), "13000 pools false");
    fakecuda::control::command::without_symbols(&library, &old, &["cuCtxSynchronize"])
        .expect("a copy");
    assert!(said(&old, &[]).contains("cuCtxSynchronize"));
    assert!(
        fakecuda::control::command::without_symbols(&library, &old, &["cuNothingAtAll"]).is_err()
    );
}
