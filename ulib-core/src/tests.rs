//! What holds for the whole crate.

use crate::{
    BestByTransferCost, Bool8, DType, Decision, DeviceIfFits, Error, HonourPreference, HostOnly,
    Layout, Location, MergedAxes, PlacementPolicy, PreferredDevice, Reason, RecordType, Residency,
    byte_count,
};

#[test]
fn everything_crosses_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Error>();
    crosses::<Layout>();
    crosses::<MergedAxes>();
    crosses::<DType>();
    crosses::<RecordType>();
    crosses::<Bool8>();
    crosses::<Reason>();
    crosses::<Location>();
    crosses::<Decision>();
    crosses::<PreferredDevice>();
    crosses::<Residency>();
    crosses::<HonourPreference>();
    crosses::<HostOnly>();
    crosses::<DeviceIfFits>();
    crosses::<BestByTransferCost>();
    crosses::<Box<dyn PlacementPolicy>>();
}

#[test]
fn errors_are_one_word() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<crate::Result<()>>(), size_of::<usize>());
}

#[test]
fn byte_counts_stop_at_the_largest_allocation() {
    let largest = isize::MAX as usize;
    assert_eq!(byte_count(largest, 1).unwrap(), largest);
    assert!(byte_count(largest + 1, 1).is_err());
    assert!(byte_count(largest / 8 + 1, 8).is_err());
    assert_eq!(byte_count(usize::MAX, 0).unwrap(), 0);
}
