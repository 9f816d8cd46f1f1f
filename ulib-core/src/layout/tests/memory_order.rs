//! Memory order: the same elements, sorted by address, whatever the axes are called.

use proptest::prelude::*;

use super::{numbers, offsets, shapes, sliced, tangled};
use crate::error::ErrorKind;
use crate::layout::Layout;

fn sorted(mut numbers: Vec<i128>) -> Vec<i128> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn the_values_of_voxels_are_one_axis() {
    // Value of an 8-byte voxel, z slowest: stride 2 everywhere.
    let values = Layout::new(vec![4, 3, 2], vec![12, 4, 2], 0).unwrap();
    let merged = values.memory_order();
    assert_eq!((merged.shape(), merged.strides()), (&[24][..], &[2][..]));
    assert!(!merged.is_contiguous());
}

#[test]
fn broadcast_axes_come_last() {
    let layout = Layout::contiguous(&[3])
        .unwrap()
        .broadcast_to(&[2, 5, 3])
        .unwrap();
    let merged = layout.memory_order();
    assert_eq!(
        (merged.shape(), merged.strides()),
        (&[3, 10][..], &[1, 0][..])
    );
}

#[test]
fn nothing_and_one_thing() {
    let empty = Layout::contiguous(&[3, 0, 2]).unwrap().memory_order();
    assert!(empty.is_empty());
    assert_eq!((empty.len(), empty.shape()), (0, &[0][..]));
    assert_eq!(empty.to_layout().len(), 0);
    let one = Layout::contiguous(&[1, 1]).unwrap().memory_order();
    assert_eq!((one.len(), one.ndim()), (1, 0));
    assert!(one.is_contiguous());
    assert_eq!(one.element(0).unwrap(), 0);
    assert_eq!(one.element(1).unwrap_err().kind(), &ErrorKind::Index);
}

#[test]
fn extreme_strides_do_not_overflow() {
    let layout = Layout::new(vec![2], vec![isize::MAX], 0).unwrap();
    assert_eq!(
        layout.memory_order().strides(),
        [isize::MAX.cast_unsigned()]
    );
    let half = isize::MAX / 2;
    let layout = Layout::new(vec![2, 2], vec![half, half], 0).unwrap();
    assert_eq!(layout.memory_order().shape(), [2, 2]);
}

proptest! {
    #[test]
    fn it_visits_the_same_elements_as_often(layout in tangled()) {
        let merged = layout.memory_order();
        prop_assert_eq!(merged.len(), layout.len());
        prop_assert_eq!(merged.is_empty(), layout.is_empty());
        prop_assert_eq!(sorted(offsets(&merged.to_layout())), sorted(numbers(&layout)));
    }

    #[test]
    fn it_is_normal_form(layout in tangled()) {
        let merged = layout.memory_order();
        prop_assert!(merged.ndim() <= layout.ndim().max(1));
        prop_assert!(merged.strides().is_sorted_by(|a, b| a >= b));
        if !layout.is_empty() {
            prop_assert!(merged.shape().iter().all(|&len| len > 1));
            for at in 1..merged.ndim() {
                prop_assert_ne!(merged.strides()[at - 1], merged.strides()[at] * merged.shape()[at]);
            }
            prop_assert_eq!(merged.offset(), layout.span().unwrap().0);
        }
        prop_assert_eq!(&merged.to_layout().memory_order(), &merged);
    }

    #[test]
    fn it_ascends_for_what_users_make_from_arrays(layout in sliced()) {
        let visited = offsets(&layout.memory_order().to_layout());
        prop_assert_eq!(&visited, &sorted(numbers(&layout)));
    }

    #[test]
    fn names_and_directions_of_axes_do_not_matter(
        layout in sliced(),
        flips in proptest::collection::vec(any::<bool>(), 8),
        rotate in 0_usize..4,
    ) {
        let mut other = layout.clone();
        for (axis, _) in flips.iter().enumerate().filter(|&(axis, &flip)| flip && axis < layout.ndim()) {
            other = other.flip(axis).unwrap();
        }
        let mut axes: Vec<usize> = (0..layout.ndim()).collect();
        axes.rotate_left(rotate.min(layout.ndim()));
        other = other.permute(&axes).unwrap();
        if !layout.is_empty() {
            prop_assert_eq!(other.memory_order(), layout.memory_order());
        }
    }

    #[test]
    fn a_whole_array_is_one_run(shape in shapes()) {
        let merged = Layout::contiguous(&shape).unwrap().memory_order();
        prop_assert!(merged.is_contiguous());
        prop_assert!(merged.ndim() <= 1);
    }

    #[test]
    fn positions_agree_with_the_order(layout in tangled()) {
        let merged = layout.memory_order();
        let by_position: Vec<i128> =
            (0..merged.len()).map(|at| merged.element(at).unwrap() as i128).collect();
        prop_assert_eq!(by_position, offsets(&merged.to_layout()));
    }
}
