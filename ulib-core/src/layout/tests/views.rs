//! Views against the element numbers that they must have.

use proptest::prelude::*;

use super::{indices, number, numbers, offsets, shapes, sliced, tangled, with_axis};
use crate::dtype::DType;
use crate::error::ErrorKind;
use crate::layout::Layout;
use crate::storable::Field;

/// The element numbers of `layout` at the given indices.
fn at(layout: &Layout, indices: impl IntoIterator<Item = Vec<usize>>) -> Vec<i128> {
    indices
        .into_iter()
        .map(|index| number(layout.strides(), layout.offset(), &index))
        .collect()
}

#[test]
fn mistakes_are_named() {
    let layout = Layout::contiguous(&[2, 3]).unwrap();
    let kind = |result: crate::Result<Layout>| result.unwrap_err().kind().clone();
    assert_eq!(kind(layout.permute(&[0])), ErrorKind::InvalidArgument);
    assert_eq!(kind(layout.permute(&[0, 0])), ErrorKind::InvalidArgument);
    assert_eq!(kind(layout.permute(&[0, 2])), ErrorKind::Index);
    assert_eq!(
        kind(layout.select_axes(&[1, 1])),
        ErrorKind::InvalidArgument
    );
    assert_eq!(kind(layout.slice_axis(2, 0, 1, 1)), ErrorKind::Index);
    assert_eq!(kind(layout.slice_axis(0, 0, 3, 1)), ErrorKind::Index);
    assert_eq!(kind(layout.slice_axis(0, 2, 1, 1)), ErrorKind::Index);
    assert_eq!(
        kind(layout.slice_axis(0, 0, 1, 0)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(kind(layout.index_axis(0, 2)), ErrorKind::Index);
    assert_eq!(kind(layout.index_axis(2, 0)), ErrorKind::Index);
    assert_eq!(kind(layout.flip(2)), ErrorKind::Index);
    assert_eq!(kind(layout.insert_axis(3)), ErrorKind::Index);
    assert_eq!(kind(layout.reshape(&[5])), ErrorKind::Shape);
    assert_eq!(kind(layout.reshape(&[usize::MAX, 2])), ErrorKind::Overflow);
    assert_eq!(kind(layout.broadcast_to(&[3])), ErrorKind::Shape);
    assert_eq!(kind(layout.broadcast_to(&[2, 4])), ErrorKind::Shape);
    assert_eq!(
        kind(layout.broadcast_to(&[usize::MAX, 2, 3])),
        ErrorKind::Overflow
    );
}

#[test]
fn a_field_must_lie_on_a_multiple_of_its_size_inside_the_record() {
    let layout = Layout::contiguous(&[4]).unwrap();
    let field = |dtype, offset| Field {
        name: "x",
        dtype,
        offset,
    };
    let kind = |size, field| layout.field_view(size, field).unwrap_err().kind().clone();
    assert_eq!(kind(12, field(DType::F64, 0)), ErrorKind::DType);
    assert_eq!(kind(8, field(DType::F32, 2)), ErrorKind::DType);
    assert_eq!(kind(8, field(DType::F32, 8)), ErrorKind::DType);
    assert_eq!(kind(8, field(DType::Bytes(0), 0)), ErrorKind::DType);
    assert_eq!(kind(8, field(DType::F32, usize::MAX - 3)), ErrorKind::DType);
    let wide = Layout::new(vec![2], vec![isize::MAX / 2], 0).unwrap();
    let error = wide.field_view(16, field(DType::F32, 0)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Overflow);
}

#[test]
fn a_broadcast_of_a_broadcast_is_one() {
    let one = Layout::contiguous(&[]).unwrap();
    let twice = one
        .broadcast_to(&[3])
        .unwrap()
        .broadcast_to(&[2, 3])
        .unwrap();
    assert_eq!(twice, one.broadcast_to(&[2, 3]).unwrap());
    // Length 1 stretches to nothing, too.
    let none = Layout::contiguous(&[1])
        .unwrap()
        .broadcast_to(&[0])
        .unwrap();
    assert!(none.is_empty());
}

#[test]
fn slices_that_take_nothing_stay_inside() {
    let layout = Layout::contiguous(&[4]).unwrap();
    for at in 0..=4 {
        for step in [-2, 1] {
            let none = layout.slice_axis(0, at, at, step).unwrap();
            assert!(none.is_empty());
            none.check_within(4).unwrap();
        }
    }
    let one = layout.slice_axis(0, 1, 4, isize::MIN).unwrap();
    assert_eq!(offsets(&one), [3]);
    let one = layout.slice_axis(0, 1, 4, isize::MAX).unwrap();
    assert_eq!(offsets(&one), [1]);
}

proptest! {
    #[test]
    fn permuting_renames_indices(layout in tangled(), seed in 0_usize..24) {
        let mut axes: Vec<usize> = (0..layout.ndim()).collect();
        for (place, choice) in [(0, seed % 4), (1, seed / 4 % 3)] {
            if layout.ndim() > 0 {
                axes.swap(place % layout.ndim(), choice % layout.ndim());
            }
        }
        let view = layout.permute(&axes).unwrap();
        let model = at(&layout, indices(view.shape()).into_iter().map(|index| {
            let mut original = vec![0; index.len()];
            for (&axis, i) in axes.iter().zip(index) {
                original[axis] = i;
            }
            original
        }));
        prop_assert_eq!(offsets(&view), model);
    }

    #[test]
    fn slicing_is_what_a_loop_takes(
        (layout, axis) in with_axis(),
        (a, b) in (0_usize..6, 0_usize..6),
        step in prop_oneof![-6_isize..0, 1_isize..7],
    ) {
        let len = layout.shape()[axis];
        let (start, stop) = (a.min(b).min(len), a.max(b).min(len));
        let view = layout.slice_axis(axis, start, stop, step).unwrap();
        let mut taken: Vec<usize> = if step > 0 {
            (start..stop).collect()
        } else {
            (start..stop).rev().collect()
        };
        taken = taken.into_iter().step_by(step.unsigned_abs()).collect();
        prop_assert_eq!(view.shape()[axis], taken.len());
        let model = at(&layout, indices(view.shape()).into_iter().map(|mut index| {
            index[axis] = taken[index[axis]];
            index
        }));
        prop_assert_eq!(offsets(&view), model);
        if let Some((first, last)) = view.span() {
            let (whole_first, whole_last) = layout.span().unwrap();
            prop_assert!(whole_first <= first && last <= whole_last);
        }
    }

    #[test]
    fn an_axis_is_the_stack_of_its_indices((layout, axis) in with_axis()) {
        let mut axes: Vec<usize> = (0..layout.ndim()).collect();
        axes.remove(axis);
        axes.insert(0, axis);
        let stacked: Vec<i128> = (0..layout.shape()[axis])
            .flat_map(|i| offsets(&layout.index_axis(axis, i).unwrap()))
            .collect();
        prop_assert_eq!(stacked, offsets(&layout.permute(&axes).unwrap()));
    }

    #[test]
    fn flipping_twice_is_nothing((layout, axis) in with_axis()) {
        let once = layout.flip(axis).unwrap();
        prop_assert_eq!(offsets(&once.flip(axis).unwrap()), offsets(&layout));
        if !layout.is_empty() {
            prop_assert_eq!(once.flip(axis).unwrap(), layout);
        }
    }

    #[test]
    fn a_new_axis_changes_nothing(layout in tangled(), place in 0_usize..5) {
        let axis = place.min(layout.ndim());
        let view = layout.insert_axis(axis).unwrap();
        prop_assert_eq!(offsets(&view), offsets(&layout));
        prop_assert_eq!(view.is_contiguous(), layout.is_contiguous());
    }

    #[test]
    fn broadcasting_repeats(
        layout in tangled(),
        added in proptest::collection::vec(1_usize..3, 0..2),
        stretched in 0_usize..4,
    ) {
        let shape: Vec<usize> = added.iter().copied()
            .chain(layout.shape().iter().map(|&len| if len == 1 { stretched } else { len }))
            .collect();
        let view = layout.broadcast_to(&shape).unwrap();
        let model = at(&layout, indices(&shape).into_iter().map(|index| {
            index[added.len()..].iter().zip(layout.shape())
                .map(|(&i, &len)| if len == 1 { 0 } else { i })
                .collect()
        }));
        prop_assert_eq!(offsets(&view), model);
    }

    #[test]
    fn reshaping_keeps_the_order(layout in prop_oneof![tangled(), sliced()], shape in shapes()) {
        match layout.reshape(&shape) {
            Ok(view) => {
                prop_assert_eq!(view.shape(), &shape[..]);
                prop_assert_eq!(numbers(&view), numbers(&layout));
            }
            Err(error) => {
                let fits = shape.iter().product::<usize>() == layout.len();
                let expected = if fits { ErrorKind::Layout } else { ErrorKind::Shape };
                prop_assert_eq!(error.kind(), &expected);
            }
        }
    }

    #[test]
    fn reshaping_succeeds_whenever_strides_exist(layout in tangled(), cut in 1_usize..5) {
        // The flat shape and a two-axis shape: strides exist exactly if the numbers step evenly.
        let all = numbers(&layout);
        let even = all.windows(3).all(|three| three[2] - three[1] == three[1] - three[0]);
        prop_assert_eq!(layout.reshape(&[layout.len()]).is_ok(), even);
        if !all.is_empty() && all.len().is_multiple_of(cut) {
            let inner = all.len() / cut;
            let steps = |numbers: Vec<i128>| {
                numbers.windows(3).all(|three| three[2] - three[1] == three[1] - three[0])
            };
            let rows: Vec<&[i128]> = all.chunks(inner).collect();
            let same = rows.iter().all(|row| {
                row.iter().zip(rows[0]).all(|(a, b)| a - b == row[0] - rows[0][0])
            });
            let exist = same
                && steps(rows[0].to_vec())
                && steps(rows.iter().map(|row| row[0]).collect());
            prop_assert_eq!(layout.reshape(&[cut, inner]).is_ok(), exist);
        }
    }

    #[test]
    fn a_contiguous_array_takes_any_shape_of_its_length(shape in shapes(), cut in 1_usize..7) {
        let layout = Layout::contiguous(&shape).unwrap();
        let len = layout.len();
        if len.is_multiple_of(cut) {
            let view = layout.reshape(&[len / cut, cut]).unwrap();
            prop_assert_eq!(&view, &Layout::contiguous(&[len / cut, cut]).unwrap());
        }
        prop_assert_eq!(layout.reshape(&[len]).unwrap().reshape(&shape).unwrap(), layout);
    }

    #[test]
    fn a_field_is_where_the_record_has_it(
        layout in tangled(),
        (scale, place) in (1_usize..6).prop_flat_map(|scale| (Just(scale), 0..scale)),
    ) {
        let field = Field { name: "x", dtype: DType::F32, offset: 4 * place };
        let view = layout.field_view(4 * scale, field).unwrap();
        let model: Vec<i128> = numbers(&layout).iter()
            .map(|number| number * scale as i128 + place as i128)
            .collect();
        prop_assert_eq!(offsets(&view), model);
    }

    #[test]
    fn selected_axes_are_the_rest_at_zero(layout in tangled(), kept in 0_usize..16) {
        let axes: Vec<usize> = (0..layout.ndim()).filter(|axis| kept >> axis & 1 == 1).collect();
        // An empty axis left out may have hidden strides that reach below 0.
        let Ok(view) = layout.select_axes(&axes) else {
            prop_assert!(layout.is_empty());
            return Ok(());
        };
        let model = at(&layout, indices(view.shape()).into_iter().map(|index| {
            let mut whole = vec![0; layout.ndim()];
            for (&axis, i) in axes.iter().zip(index) {
                whole[axis] = i;
            }
            whole
        }));
        prop_assert_eq!(offsets(&view), model);
    }
}
