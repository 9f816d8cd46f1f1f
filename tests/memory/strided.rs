//! Strided copies against a model on the host.

use proptest::prelude::*;
use ulib_core::ErrorKind;
use ulib_device::copy::{self, Extent, Pitch, Source, Target};
use ulib_device::memory::DeviceBytes;

use crate::setup::{Card, card, pattern};

/// What the copy should do, byte by byte.
fn model(dst: &mut [u8], to: Pitch, src: &[u8], from: Pitch, extent: Extent) {
    for z in 0..extent.depth {
        for y in 0..extent.height {
            for x in 0..extent.width {
                dst[to.offset + z * to.plane + y * to.row + x] =
                    src[from.offset + z * from.plane + y * from.row + x];
            }
        }
    }
}

/// The bytes a side needs.
fn needs(pitch: Pitch, extent: Extent) -> usize {
    pitch.offset + (extent.depth - 1) * pitch.plane + (extent.height - 1) * pitch.row + extent.width
}

fn filled(card: &Card, bytes: &[u8]) -> DeviceBytes {
    let memory = DeviceBytes::allocate(&card.stream, bytes.len()).unwrap();
    copy::upload(&memory, 0, bytes, &card.stream).unwrap();
    memory
}

fn content(card: &Card, memory: &DeviceBytes) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    copy::download(memory, 0, &mut bytes, &card.stream).unwrap();
    bytes
}

/// All four directions give what the model gives.
fn check(card: &Card, to: Pitch, from: Pitch, extent: Extent) {
    let source = pattern(needs(from, extent) + 3, 1);
    let before = pattern(needs(to, extent) + 5, 2);
    let mut expected = before.clone();
    model(&mut expected, to, &source, from, extent);
    let on_device = filled(card, &source);
    for source_on_device in [false, true] {
        let source = if source_on_device {
            Source::Device(&on_device)
        } else {
            Source::Host(&source)
        };
        let mut host = before.clone();
        copy::copy_3d(
            Target::Host(&mut host),
            to,
            source,
            from,
            extent,
            &card.stream,
        )
        .unwrap();
        assert!(host == expected, "to the host: {to:?} {from:?} {extent:?}");
        let device = filled(card, &before);
        copy::copy_3d(
            Target::Device(&device),
            to,
            source,
            from,
            extent,
            &card.stream,
        )
        .unwrap();
        assert!(
            content(card, &device) == expected,
            "to the device: {to:?} {from:?} {extent:?}"
        );
    }
}

/// A pitch for an extent: rows and planes with gaps, sometimes none, and planes that are not whole rows.
fn pitch(extent: Extent) -> impl Strategy<Value = Pitch> {
    (
        0..40_usize,
        prop_oneof![Just(0_usize), 1..20_usize],
        prop_oneof![Just(0_usize), 1..50_usize],
        any::<bool>(),
    )
        .prop_map(move |(offset, gap, plane_gap, whole)| {
            let row = extent.width + gap;
            let plane = if whole {
                row * (extent.height + plane_gap % 3)
            } else {
                row * extent.height + plane_gap
            };
            Pitch { offset, row, plane }
        })
}

fn case() -> impl Strategy<Value = (Extent, Pitch, Pitch)> {
    (1..70_usize, 1..7_usize, 1..5_usize).prop_flat_map(|(width, height, depth)| {
        let extent = Extent {
            width,
            height,
            depth,
        };
        (Just(extent), pitch(extent), pitch(extent))
    })
}

#[test]
fn any_pitches_in_any_direction() {
    let Some(card) = card() else { return };
    let config = ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    runner
        .run(&case(), |(extent, to, from)| {
            check(&card, to, from, extent);
            Ok(())
        })
        .unwrap();
}

#[test]
fn rows_without_gaps_are_one_copy() {
    let Some(card) = card() else { return };
    let extent = Extent {
        width: 1 << 20,
        height: 3,
        depth: 2,
    };
    let packed = Pitch {
        offset: 0,
        row: 1 << 20,
        plane: 3 << 20,
    };
    check(&card, packed, packed, extent);
    check(
        &card,
        packed,
        Pitch {
            plane: (3 << 20) + 1,
            ..packed
        },
        extent,
    );
}

#[test]
fn two_dimensions_ignore_the_third() {
    let Some(card) = card() else { return };
    let source = filled(&card, &pattern(100, 1));
    let mut host = vec![0; 12];
    let extent = Extent {
        width: 3,
        height: 4,
        depth: 99,
    };
    let (to, from) = (
        Pitch {
            offset: 0,
            row: 3,
            plane: 0,
        },
        Pitch {
            offset: 10,
            row: 20,
            plane: 1,
        },
    );
    copy::copy_2d(
        Target::Host(&mut host),
        to,
        Source::Device(&source),
        from,
        extent,
        &card.stream,
    )
    .unwrap();
    let bytes = pattern(100, 1);
    let expected: Vec<u8> = (0..4)
        .flat_map(|y| bytes[10 + 20 * y..13 + 20 * y].to_vec())
        .collect();
    assert_eq!(host, expected);
}

#[test]
fn nothing_is_copied_for_an_empty_extent() {
    let Some(card) = card() else { return };
    let memory = filled(&card, &[1; 4]);
    for extent in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        let extent = Extent {
            width: extent.0,
            height: extent.1,
            depth: extent.2,
        };
        let far = Pitch {
            offset: 1000,
            ..Pitch::default()
        };
        copy::copy_3d(
            Target::Device(&memory),
            far,
            Source::Host(&[]),
            far,
            extent,
            &card.stream,
        )
        .unwrap();
    }
}

#[test]
fn what_does_not_fit_is_an_error_before_anything_moves() {
    let Some(card) = card() else { return };
    let memory = filled(&card, &[1; 100]);
    let host = [0; 100];
    let refused = |to: Pitch, from: Pitch, extent: Extent| {
        copy::copy_3d(
            Target::Device(&memory),
            to,
            Source::Host(&host),
            from,
            extent,
            &card.stream,
        )
        .expect_err("refused")
    };
    let packed = Pitch {
        offset: 0,
        row: 10,
        plane: 50,
    };
    let extent = Extent {
        width: 10,
        height: 5,
        depth: 2,
    };
    let error = refused(
        Pitch {
            offset: 1,
            ..packed
        },
        packed,
        extent,
    );
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert_eq!(
        error.to_string(),
        "copy_3d: 100 bytes at offset 1 exceed the 100 bytes of the destination"
    );
    let error = refused(packed, Pitch { row: 9, ..packed }, extent);
    assert_eq!(
        error.to_string(),
        "copy_3d: row pitch is 9, expected at least the 10 bytes of a row of the source"
    );
    let error = refused(
        packed,
        Pitch {
            plane: 49,
            ..packed
        },
        extent,
    );
    assert_eq!(
        error.to_string(),
        "copy_3d: plane pitch is 49, expected at least the 50 bytes that a plane of the source spans"
    );
    let error = refused(
        packed,
        Pitch {
            row: usize::MAX / 2,
            ..packed
        },
        extent,
    );
    assert_eq!(error.kind(), &ErrorKind::Overflow);
    assert_eq!(content(&card, &memory), [1; 100]);
}
