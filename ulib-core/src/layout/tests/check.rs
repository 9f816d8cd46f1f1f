//! The numbered conditions.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{indices, number, numbers, offsets, parts, shapes, sliced, tangled};
use crate::error::ErrorKind;
use crate::layout::Layout;

const HUGE: usize = isize::MAX as usize;

fn kind(shape: &[usize], strides: &[isize], offset: usize) -> ErrorKind {
    Layout::new(shape.to_vec(), strides.to_vec(), offset)
        .unwrap_err()
        .kind()
        .clone()
}

#[test]
fn condition_1_one_stride_for_each_axis() {
    assert_eq!(kind(&[2], &[], 0), ErrorKind::Layout);
    assert_eq!(kind(&[], &[1], 0), ErrorKind::Layout);
}

#[test]
fn condition_2_counts_without_the_empty_axes() {
    assert_eq!(kind(&[HUGE, 2], &[0, 0], 0), ErrorKind::Overflow);
    assert_eq!(kind(&[0, HUGE, 2], &[0, 0, 0], 0), ErrorKind::Overflow);
    assert_eq!(kind(&[usize::MAX], &[0], 0), ErrorKind::Overflow);
    let largest = Layout::new(vec![HUGE], vec![1], 0).unwrap();
    assert_eq!(largest.len(), HUGE);
    assert_eq!(Layout::contiguous(&[0, HUGE]).unwrap().len(), 0);
    assert!(Layout::contiguous(&[1 << 40, 1 << 40]).is_err());
}

#[test]
fn condition_3_bounds_the_span_on_both_sides() {
    assert_eq!(kind(&[3], &[-1], 1), ErrorKind::Layout);
    assert_eq!(kind(&[2], &[isize::MIN], 0), ErrorKind::Layout);
    assert_eq!(kind(&[3], &[isize::MIN], HUGE), ErrorKind::Overflow);
    assert_eq!(kind(&[3], &[isize::MAX], 0), ErrorKind::Overflow);
    assert_eq!(kind(&[2], &[1], HUGE), ErrorKind::Overflow);
    assert_eq!(kind(&[1], &[1], HUGE + 1), ErrorKind::Overflow);
    assert_eq!(
        kind(&[2, 2], &[isize::MAX, 1], 0),
        ErrorKind::Overflow,
        "the sum overflows, no term does"
    );
    let widest = Layout::new(vec![2], vec![isize::MAX], 0).unwrap();
    assert_eq!(widest.span(), Some((0, HUGE)));
    let backwards = Layout::new(vec![2], vec![-isize::MAX], HUGE).unwrap();
    assert_eq!(backwards.span(), Some((0, HUGE)));
    assert_eq!(offsets(&backwards), [HUGE as i128, 0]);
}

#[test]
fn an_empty_layout_reaches_nothing() {
    let empty = Layout::new(vec![3, 0], vec![isize::MIN, isize::MAX], 7).unwrap();
    assert_eq!(empty.span(), None);
    assert!(empty.is_contiguous());
    empty.check_within(0).unwrap();
    empty.check_unaliased().unwrap();
    assert_eq!(empty.offsets().count(), 0);
}

#[test]
fn one_element_has_no_axes() {
    let one = Layout::contiguous(&[]).unwrap();
    assert_eq!((one.len(), one.ndim(), one.span()), (1, 0, Some((0, 0))));
    assert_eq!(offsets(&one), [0]);
    assert_eq!(one.element_offset(&[]).unwrap(), 0);
    one.check_within(1).unwrap();
    assert!(one.check_within(0).is_err());
}

#[test]
fn condition_4_names_both_sides() {
    let layout = Layout::new(vec![4], vec![2], 1).unwrap();
    layout.check_within(8).unwrap();
    let error = layout.check_within(7).unwrap_err();
    assert_eq!(
        error.to_string(),
        "layout: reaches element 7 of a memory of 7 elements"
    );
}

#[test]
fn condition_5_is_exact_where_the_fast_way_is_not() {
    // 0 3, 2 5, 4 7: no two meet, though 3 does not step over the 4 that the other axis reaches.
    Layout::new(vec![3, 2], vec![2, 3], 0)
        .unwrap()
        .check_unaliased()
        .unwrap();
    // One more row, and 6 = 3 * 2 = 2 * 3 meets.
    let error = Layout::new(vec![4, 3], vec![2, 3], 0)
        .unwrap()
        .check_unaliased()
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Layout);
}

#[test]
fn condition_5_on_large_layouts_is_quick_for_ordinary_arrays() {
    let volume = Layout::contiguous(&[2048, 2048, 2048]).unwrap();
    let view = volume.permute(&[1, 2, 0]).unwrap().flip(0).unwrap();
    view.slice_axis(2, 5, 2000, 3)
        .unwrap()
        .check_unaliased()
        .unwrap();
    assert!(
        Layout::new(vec![1 << 20, 1 << 20], vec![1 << 10, 1], 0)
            .unwrap()
            .check_unaliased()
            .is_err(),
        "overlapping rows"
    );
    // Two axes are decided exactly at any size: strides without a common factor meet late.
    let p = (1 << 20) + 7;
    Layout::new(vec![1 << 19, 1 << 19], vec![p, p + 1], 0)
        .unwrap()
        .check_unaliased()
        .unwrap();
}

#[test]
fn an_index_is_checked_axis_by_axis() {
    let layout = Layout::contiguous(&[2, 3]).unwrap();
    let error = layout.element_offset(&[1, 3]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert_eq!(
        layout.element_offset(&[1]).unwrap_err().kind(),
        &ErrorKind::Shape
    );
}

#[test]
fn strides_in_bytes_are_checked() {
    let layout = Layout::new(vec![2, 2], vec![-3, 1], 3).unwrap();
    assert_eq!(layout.strides_bytes(8).unwrap(), [-24, 8]);
    let wide = Layout::new(vec![2], vec![isize::MAX / 4], 0).unwrap();
    assert_eq!(
        wide.strides_bytes(8).unwrap_err().kind(),
        &ErrorKind::Overflow
    );
}

proptest! {
    #[test]
    fn two_axes_of_any_size_are_decided_as_arithmetic_says(
        shape in proptest::array::uniform2(2_usize..1 << 30),
        strides in proptest::array::uniform2(1_isize..1 << 30),
    ) {
        // i * a == j * b first happens at i = b / gcd, j = a / gcd.
        let [a, b] = strides.map(isize::unsigned_abs);
        let (mut divisor, mut rest) = (a, b);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let meets = b / divisor < shape[0] && a / divisor < shape[1];
        let layout = Layout::new(shape.to_vec(), strides.to_vec(), 0).unwrap();
        prop_assert_eq!(layout.check_unaliased().is_err(), meets);
    }

    #[test]
    fn condition_5_is_answered_for_any_valid_layout(
        axes in proptest::collection::vec(
            (prop_oneof![0_usize..9, any::<usize>()], prop_oneof![-9_isize..9, any::<isize>()]),
            0..5,
        ),
        shift in 0_u32..60,
    ) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter()
            .map(|(len, stride)| (len >> shift, (stride >> (60 - shift)).abs()))
            .unzip();
        if let Ok(layout) = Layout::new(shape, strides, 0) {
            // The answer only has to come: no overflow, no endless search.
            let _ = layout.check_unaliased();
            let _ = layout.memory_order();
        }
    }

    #[test]
    fn a_layout_is_valid_exactly_when_the_model_says_so((shape, strides, offset) in parts(0..5)) {
        let valid = indices(&shape).iter().all(|index| number(&strides, offset, index) >= 0);
        let made = Layout::new(shape, strides, offset);
        prop_assert_eq!(made.is_ok(), valid);
        if let Err(error) = made {
            prop_assert_eq!(error.kind(), &ErrorKind::Layout);
        }
    }

    #[test]
    fn extreme_parts_are_answered_and_the_span_is_exact(
        axes in proptest::collection::vec(
            (
                prop_oneof![0_usize..4, any::<usize>()],
                prop_oneof![-3_isize..4, any::<isize>()],
            ),
            0..4,
        ),
        offset in prop_oneof![0_usize..4, any::<usize>()],
    ) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        if let Ok(layout) = Layout::new(shape.clone(), strides.clone(), offset)
            && let Some((first, last)) = layout.span()
        {
            let reach = |sign: i128| -> i128 {
                shape.iter().zip(&strides)
                    .map(|(&len, &stride)| (len as i128 - 1) * stride as i128)
                    .filter(|reach| reach.signum() == sign)
                    .sum()
            };
            prop_assert_eq!(first as i128, offset as i128 + reach(-1));
            prop_assert_eq!(last as i128, offset as i128 + reach(1));
        }
    }

    #[test]
    fn the_span_is_the_smallest_and_the_largest(layout in tangled()) {
        let all = numbers(&layout);
        let model = all.iter().min().zip(all.iter().max());
        let span = layout.span().map(|(first, last)| (first as i128, last as i128));
        prop_assert_eq!(span, model.map(|(&first, &last)| (first, last)));
        prop_assert_eq!(layout.len(), all.len());
    }

    #[test]
    fn within_is_every_element_within(layout in tangled(), len in 0_usize..300) {
        let model = numbers(&layout).iter().all(|&number| number < len as i128);
        prop_assert_eq!(layout.check_within(len).is_ok(), model);
    }

    #[test]
    fn unaliased_is_no_element_twice(layout in tangled()) {
        let all = numbers(&layout);
        let distinct: HashSet<i128> = all.iter().copied().collect();
        prop_assert_eq!(layout.check_unaliased().is_ok(), distinct.len() == all.len());
    }

    #[test]
    fn what_users_make_from_arrays_never_aliases(layout in sliced()) {
        prop_assert!(layout.check_unaliased().is_ok());
    }

    #[test]
    fn iterator_and_index_agree_with_the_formula(layout in tangled()) {
        prop_assert_eq!(offsets(&layout), numbers(&layout));
        prop_assert_eq!(layout.offsets().len(), layout.len());
        for index in indices(layout.shape()) {
            let model = number(layout.strides(), layout.offset(), &index);
            prop_assert_eq!(layout.element_offset(&index).unwrap() as i128, model);
        }
    }

    #[test]
    fn contiguous_counts_up(shape in shapes()) {
        let layout = Layout::contiguous(&shape).unwrap();
        prop_assert!(layout.is_contiguous());
        prop_assert_eq!(offsets(&layout), (0..layout.len() as i128).collect::<Vec<_>>());
    }

    #[test]
    fn contiguous_is_what_counts_up_from_somewhere(layout in tangled()) {
        let all = numbers(&layout);
        let counts_up = all.windows(2).all(|pair| pair[1] == pair[0] + 1);
        prop_assert_eq!(layout.is_contiguous(), counts_up);
    }
}
