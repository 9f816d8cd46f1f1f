use ulib_core::{Layout, Result};

use super::super::axes::Axes;
use super::for_each_run;

/// Counts visits of every element, and checks what the runs say about the other operand.
fn visits(own: &Layout, other: &Layout, len: usize) -> Vec<u32> {
    let mut data = vec![0_u32; len];
    let axes = Axes::new([other, own], 1);
    for_each_run(&mut data, &axes, &|elements: &mut [u32], run| {
        for i in 0..run.len {
            elements[i * run.stride[1].unsigned_abs()] += 1;
        }
        assert_eq!(
            elements.len(),
            (run.len - 1) * run.stride[1].unsigned_abs() + 1
        );
        assert!(run.start[0] >= 0, "other operand starts inside");
    });
    data
}

#[test]
fn every_element_once() -> Result<()> {
    let big = Layout::contiguous(&[70, 60, 50])?;
    let cases = [
        Layout::contiguous(&[5])?,
        Layout::contiguous(&[])?,
        Layout::contiguous(&[0, 3])?,
        big.clone(),
        big.permute(&[1, 2, 0])?.flip(0)?,
        big.slice_axis(1, 3, 50, 2)?,
        big.slice_axis(2, 1, 50, 3)?.flip(2)?,
        // Interleaved: axes whose spans overlap, though no element is reached twice.
        Layout::new(vec![40000, 3], vec![3, 40001 * 3], 0)?,
        Layout::new(vec![2, 3], vec![3, 2], 0)?,
    ];
    for layout in cases {
        let len = layout.span().map_or(1, |(_, last)| last + 1);
        let mut expected = vec![0; len];
        for offset in layout.offsets() {
            expected[offset] = 1;
        }
        let other = Layout::contiguous(layout.shape())?;
        assert_eq!(visits(&layout, &other, len), expected, "{layout:?}");
    }
    Ok(())
}
