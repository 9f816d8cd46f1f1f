use ulib_core::{Layout, Result};

use super::{Axes, Divisor};

/// What `divide` of `common.cuh` computes.
fn divide(n: u64, by: Divisor) -> u64 {
    if by.by == 1 {
        n
    } else {
        ((u128::from(n) * u128::from(by.magic)) >> 64) as u64 >> by.shift
    }
}

#[test]
fn division_by_multiplication_is_exact() {
    let mut dividends: Vec<u64> = vec![
        0,
        1,
        2,
        3,
        4095,
        4096,
        u64::from(u32::MAX),
        1 << 40,
        (1 << 63) - 1,
    ];
    let mut seed = 1_u64;
    for _ in 0..2000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        dividends.push(seed >> 1 >> (seed % 60));
    }
    for by in [
        1,
        2,
        3,
        5,
        7,
        10,
        33,
        64,
        641,
        4095,
        4096,
        4097,
        1 << 31,
        (1 << 31) + 1,
        6_700_417,
        (1 << 62) + 1,
        (1 << 63) - 1,
    ] {
        let divisor = Divisor::new(by);
        for &n in &dividends {
            for n in [n, (n / by * by).saturating_sub(1), n / by * by] {
                assert_eq!(divide(n, divisor), n / by, "{n} / {by}");
            }
        }
    }
}

#[test]
fn one_operand_is_memory_order() -> Result<()> {
    let full = Layout::contiguous(&[3, 4, 5])?;
    for layout in [
        full.clone(),
        full.permute(&[2, 0, 1])?.flip(1)?,
        full.slice_axis(1, 1, 3, 1)?,
        full.slice_axis(2, 0, 5, 2)?.flip(2)?,
        full.index_axis(1, 2)?,
        full.index_axis(0, 1)?.index_axis(0, 3)?.index_axis(0, 4)?,
    ] {
        let merged = layout.memory_order();
        let axes = Axes::new([&layout], 0);
        assert_eq!(axes.len, merged.shape());
        assert_eq!(axes.start, [merged.offset().cast_signed()]);
        let strides: Vec<usize> = axes
            .stride
            .iter()
            .map(|stride| stride[0].cast_unsigned())
            .collect();
        assert_eq!(strides, merged.strides());
    }
    Ok(())
}

#[test]
fn operands_turn_and_merge_together() -> Result<()> {
    let src = Layout::contiguous(&[4, 6])?.flip(0)?.flip(1)?;
    let dst = Layout::contiguous(&[4, 6])?;
    let axes = Axes::new([&src, &dst], 1);
    assert_eq!(
        (axes.len.as_slice(), axes.stride.as_slice(), axes.start),
        (&[24][..], &[[-1, 1]][..], [23, 0])
    );

    let transposed = Layout::contiguous(&[6, 4])?.permute(&[1, 0])?;
    let axes = Axes::new([&transposed, &dst], 1);
    assert_eq!(
        (axes.len.as_slice(), axes.stride.as_slice()),
        (&[4, 6][..], &[[1, 6], [4, 1]][..])
    );
    assert_eq!(axes.offsets(7), [5, 7]);
    Ok(())
}

#[test]
fn pieces_make_up_the_whole() -> Result<()> {
    let mut layout = Layout::contiguous(&[3; 10])?;
    for axis in 0..10 {
        layout = layout.slice_axis(axis, axis % 2, 2 + axis % 2, 1)?;
    }
    let axes = Axes::new([&layout], 0);
    let pieces = axes.clone().pieces().collect::<Vec<_>>();
    assert_eq!(pieces.len(), 4);
    let offsets = |axes: &Axes<1>| {
        (0..axes.count())
            .map(|i| axes.offsets(i)[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(
        pieces.iter().flat_map(offsets).collect::<Vec<_>>(),
        offsets(&axes)
    );
    Ok(())
}

#[test]
fn units_need_whole_aligned_runs() -> Result<()> {
    let axes = |cols: usize, used: usize| -> Result<Axes<1>> {
        Ok(Axes::new(
            [&Layout::contiguous(&[3, cols])?.slice_axis(1, 0, used, 1)?],
            0,
        )
        .scaled([4]))
    };
    assert!(axes(8, 4)?.holds_units(0, 0x100, 4, 16));
    assert!(!axes(8, 4)?.holds_units(0, 0x104, 4, 16), "start");
    assert!(!axes(9, 4)?.holds_units(0, 0x100, 4, 16), "pitch");
    assert!(!axes(8, 5)?.holds_units(0, 0x100, 4, 16), "length");
    assert_eq!(axes(12, 8)?.in_units(4).stride, [[48], [16]]);
    assert_eq!(axes(8, 4)?.in_units(4).stride, [[32]], "rows of one unit");
    Ok(())
}
