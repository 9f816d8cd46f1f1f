//! What takes a process of its own: a host dereference, and drivers that do not come up, seen through `ulib_device`.

use crate::common::{child, in_child, wants_real};
use crate::raw::*;
use std::os::unix::process::ExitStatusExt;

const SIGSEGV: i32 = 11;

#[test]
fn in_a_child_a_host_dereference() {
    if !in_child() || wants_real() {
        return;
    }
    let raw = Raw::begin().unwrap();
    let address = raw.allocate(64);
    println!("allocated");
    // SAFETY: none; that this faults is what the parent checks.
    let byte = unsafe { (address as *const u8).read_volatile() };
    println!("read {byte}");
}

#[test]
fn a_host_dereference_of_device_memory_faults() {
    if wants_real() {
        return;
    }
    let output = child("processes::in_a_child_a_host_dereference", &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("allocated") && !text.contains("read "),
        "{text}"
    );
    assert_eq!(output.status.signal(), Some(SIGSEGV));
}

#[test]
fn in_a_child_the_library_comes_up_or_says_why() {
    if !in_child() || wants_real() {
        return;
    }
    match fakecuda::install() {
        Ok(driver) => println!(
            "answer: driver {} pools {}",
            driver.version(),
            driver.table().cuMemAllocAsync.is_some()
        ),
        Err(reason) => println!("answer: reason: {reason}"),
    }
}

/// What the library says in a child with these settings.
fn said(variables: &[(&str, &str)]) -> String {
    let output = child(
        "processes::in_a_child_the_library_comes_up_or_says_why",
        variables,
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let line = text
        .lines()
        .find_map(|line| line.split_once("answer: ").map(|(_, rest)| rest.to_owned()));
    line.unwrap_or_else(|| panic!("no answer in {text}"))
}

#[test]
fn a_good_driver_comes_up() {
    if wants_real() {
        return;
    }
    assert_eq!(said(&[]), "driver 13000 pools true");
}

#[test]
fn an_old_driver_comes_up_without_what_came_later() {
    if wants_real() {
        return;
    }
    assert_eq!(
        said(&[("FAKECUDA_VERSION", "11010")]),
        "driver 11010 pools false"
    );
    assert_eq!(
        said(&[("FAKECUDA_HIDE", "cuMemAllocAsync")]),
        "driver 13000 pools false"
    );
}

#[test]
fn every_way_not_to_come_up_has_its_sentence() {
    if wants_real() {
        return;
    }
    for (variables, expected) in [
        ([("FAKECUDA_DEVICES", "0")], "no NVIDIA GPU"),
        ([("FAKECUDA_INIT", "34")], "stub"),
        ([("FAKECUDA_INIT", "803")], "803"),
        ([("FAKECUDA_INIT", "1234")], "1234"),
        ([("FAKECUDA_VERSION", "10000")], "10.0"),
        ([("FAKECUDA_HIDE", "cuMemAlloc_v2")], "cuMemAlloc_v2"),
        ([("FAKECUDA_FAIL", "cuDeviceGetCount:1:999")], "999"),
    ] {
        let said = said(&variables);
        assert!(
            said.starts_with("reason: ") && said.contains(expected),
            "{variables:?}: {said}"
        );
    }
}
