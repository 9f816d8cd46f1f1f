//! Fills.

use ulib_core::ErrorKind;
use ulib_device::copy;
use ulib_device::memory::DeviceBytes;

use crate::setup::{card, pattern};

#[test]
fn patterns_of_one_two_and_four_bytes_repeat() {
    let Some(card) = card() else { return };
    let device = DeviceBytes::allocate(&card.stream, 1000).unwrap();
    let mut expected = pattern(1000, 1);
    copy::upload(&device, 0, &expected, &card.stream).unwrap();
    let fills: [(usize, usize, &[u8]); 6] = [
        (0, 1000, &[7]),
        (3, 5, &[1]),
        (10, 20, &[1, 2]),
        (40, 400, &[9, 8, 7, 6]),
        (999, 1, &[3]),
        (4, 0, &[5]),
    ];
    for (offset, len, repeated) in fills {
        copy::fill(&device, offset, len, repeated, &card.stream).unwrap();
        for (index, byte) in expected[offset..offset + len].iter_mut().enumerate() {
            *byte = repeated[index % repeated.len()];
        }
        let mut back = vec![0; 1000];
        copy::download(&device, 0, &mut back, &card.stream).unwrap();
        assert!(
            back == expected,
            "{repeated:?} over {len} bytes at {offset}"
        );
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let Some(card) = card() else { return };
    let device = DeviceBytes::allocate(&card.stream, 64).unwrap();
    let refused = |offset, len, repeated: &[u8]| {
        copy::fill(&device, offset, len, repeated, &card.stream).expect_err("refused")
    };
    assert_eq!(
        refused(60, 5, &[0]).to_string(),
        "fill: 5 bytes at offset 60 exceed the 64 bytes of the device memory"
    );
    assert_eq!(
        refused(0, 9, &[0; 3]).to_string(),
        "fill: pattern is 3 bytes long, expected 1, 2 or 4 bytes"
    );
    assert_eq!(refused(0, 0, &[]).kind(), &ErrorKind::InvalidArgument);
    assert_eq!(
        refused(0, 6, &[0; 4]).to_string(),
        "fill: len is 6, expected a multiple of the pattern's 4 bytes"
    );
    assert_eq!(
        refused(2, 8, &[0; 4]).to_string(),
        "fill: offset is 2, expected aligned to the pattern's 4 bytes"
    );
}
