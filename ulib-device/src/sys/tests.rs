//! The table: what must be there, what may be missing.

use super::Table;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::collections::HashSet;

/// An address that stands for every entry point; nothing is called here.
extern "C" fn never_called() {}

fn some_address() -> Option<NonNull<c_void>> {
    NonNull::new(never_called as *mut c_void)
}

/// The table a library with all names but these gives.
fn without(missing: &[&str]) -> Result<Table, &'static str> {
    let resolve = |name: &str| {
        if missing.contains(&name) {
            None
        } else {
            some_address()
        }
    };
    // SAFETY: the functions of this table are never called.
    unsafe { Table::load(&resolve) }
}

#[test]
fn every_required_entry_is_named_when_it_is_missing() {
    assert!(Table::REQUIRED.len() > 50);
    for &name in Table::REQUIRED {
        assert_eq!(without(&[name]).err(), Some(name));
    }
}

#[test]
fn an_optional_entry_is_absent_or_there() {
    let full = without(&[])
        .ok()
        .map(|table| table.cuMemAllocAsync.is_some());
    assert_eq!(full, Some(true));
    let old = without(Table::OPTIONAL).ok();
    let old = old.map(|table| {
        (
            table.cuMemAllocAsync.is_none(),
            table.cuStreamGetId.is_none(),
        )
    });
    assert_eq!(old, Some((true, true)));
}

#[test]
fn no_name_stands_twice() {
    let all: Vec<_> = Table::REQUIRED.iter().chain(Table::OPTIONAL).collect();
    let different: HashSet<_> = all.iter().collect();
    assert_eq!(all.len(), different.len());
}

/// The unsuffixed exports of these have 32-bit sizes, whatever the header calls them.
#[test]
fn sizes_are_64_bit() {
    for old in [
        "cuMemAlloc",
        "cuMemFree",
        "cuMemGetInfo",
        "cuMemcpyHtoD",
        "cuMemcpyDtoH",
        "cuMemcpyDtoD",
        "cuMemcpy2D",
        "cuMemcpy3D",
        "cuMemsetD8",
        "cuDeviceTotalMem",
        "cuModuleGetGlobal",
        "cuStreamDestroy",
        "cuEventDestroy",
        "cuMemHostRegister",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuArrayCreate",
        "cuArray3DCreate",
    ] {
        assert!(
            !Table::REQUIRED.contains(&old) && !Table::OPTIONAL.contains(&old),
            "{old}"
        );
    }
}
