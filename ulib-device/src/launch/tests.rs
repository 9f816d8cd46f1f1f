//! Checked launch sizes.
#![allow(clippy::expect_used, reason = "a test that expects fails by panicking")]

use super::*;
use ulib_core::ErrorKind;

fn limits() -> Limits {
    Limits::for_tests(
        [2_147_483_647, 65_535, 65_535],
        [1024, 1024, 64],
        1024,
        49_152,
    )
}

fn config(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> LaunchConfig {
    LaunchConfig {
        grid,
        block,
        shared_bytes,
    }
}

fn refusal(config: LaunchConfig) -> String {
    let error = config
        .check(&limits(), 512, 1024)
        .expect_err("beyond a bound");
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    error.to_string()
}

#[test]
fn what_fits_is_accepted() {
    for good in [
        config([1, 1, 1], [1, 1, 1], 0),
        config([2_147_483_647, 65_535, 65_535], [512, 1, 1], 48_128),
        config([1, 1, 1], [8, 8, 8], 0),
    ] {
        assert!(good.check(&limits(), 512, 1024).is_ok(), "{good:?}");
    }
    assert!(
        config([1, 1, 1], [1024, 1, 1], 0)
            .check(&limits(), 0, 0)
            .is_ok()
    );
}

#[test]
fn refusals_name_the_value_and_the_bound() {
    assert_eq!(
        refusal(config([0, 1, 1], [1, 1, 1], 0)),
        "launch: grid.x is 0, expected 1 to 2147483647"
    );
    assert_eq!(
        refusal(config([1, 65_536, 1], [1, 1, 1], 0)),
        "launch: grid.y is 65536, expected 1 to 65535"
    );
    assert_eq!(
        refusal(config([1, 1, 1], [1, 1, 65], 0)),
        "launch: block.z is 65, expected 1 to 64"
    );
    assert_eq!(
        refusal(config([1, 1, 1], [32, 32, 1], 0)),
        "launch: block is 1024, expected at most 512 threads in all"
    );
    assert_eq!(
        refusal(config([1, 1, 1], [1, 1, 1], 48_129)),
        "launch: shared_bytes is 48129, expected at most 48128 bytes, since the kernel declares 1024 itself"
    );
}

#[test]
fn a_strided_launch_covers_small_counts_and_is_bounded_for_large_ones() {
    assert_eq!(LaunchConfig::strided_over(2, 0, 256).grid, [1, 1, 1]);
    assert_eq!(LaunchConfig::strided_over(2, 1, 256).grid, [1, 1, 1]);
    assert_eq!(LaunchConfig::strided_over(2, 257, 256).grid, [2, 1, 1]);
    assert_eq!(
        LaunchConfig::strided_over(2, u64::MAX, 256).grid,
        [64, 1, 1]
    );
    assert_eq!(
        LaunchConfig::strided_over(132, 1 << 40, 256).grid,
        [4224, 1, 1]
    );
    assert_eq!(LaunchConfig::strided_over(2, 10, 0).grid, [10, 1, 1]);
}

#[test]
fn threads_of_any_numbers_are_counted_without_overflow() {
    let most = u32::MAX;
    assert_eq!(config([most; 3], [most; 3], 0).threads(), u128::MAX);
    assert_eq!(config([most; 3], [0, most, most], 0).threads(), 0);
    let exact = u128::from(most).pow(4);
    assert_eq!(config([most; 3], [most, 1, 1], 0).threads(), exact);
    assert!(
        config([most; 3], [most; 3], most)
            .check(&limits(), most, most)
            .is_err()
    );
}
