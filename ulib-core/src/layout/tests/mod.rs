//! Layouts against slow models that share no code with them.

mod check;
mod memory_order;
mod views;

use std::ops::Range;

use proptest::prelude::*;

use super::Layout;

/// Every index of `shape` in C order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |prefixes, &len| {
        prefixes
            .iter()
            .flat_map(|prefix| {
                (0..len).map(move |i| {
                    let mut index = prefix.clone();
                    index.push(i);
                    index
                })
            })
            .collect()
    })
}

/// The element number of `index` in exact arithmetic.
fn number(strides: &[isize], offset: usize, index: &[usize]) -> i128 {
    offset as i128
        + index
            .iter()
            .zip(strides)
            .map(|(&i, &stride)| i as i128 * stride as i128)
            .sum::<i128>()
}

/// All element numbers of a layout, in C order, by the formula.
fn numbers(layout: &Layout) -> Vec<i128> {
    indices(layout.shape())
        .iter()
        .map(|index| number(layout.strides(), layout.offset(), index))
        .collect()
}

/// The same through the iterator.
fn offsets(layout: &Layout) -> Vec<i128> {
    layout.offsets().map(|offset| offset as i128).collect()
}

/// Small shapes of up to four axes, empty ones and axes of length 1 among them.
fn shapes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0_usize..5, 0..5)
}

/// Shapes with strides of any sign that collide often, and an offset.
fn parts(ndim: Range<usize>) -> impl Strategy<Value = (Vec<usize>, Vec<isize>, usize)> {
    proptest::collection::vec((0_usize..5, -13_isize..14), ndim).prop_flat_map(|axes| {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        (Just(shape), Just(strides), 0_usize..120)
    })
}

/// Valid layouts from parts: the offset is raised until no element number is negative.
fn valid(ndim: Range<usize>) -> impl Strategy<Value = Layout> {
    parts(ndim).prop_map(|(shape, strides, offset)| {
        let lowest: i128 = shape
            .iter()
            .zip(&strides)
            .map(|(&len, &stride)| (len.max(1) as i128 - 1) * (stride as i128).min(0))
            .sum();
        let offset = offset + usize::try_from(-lowest).unwrap();
        Layout::new(shape, strides, offset).unwrap()
    })
}

/// Valid layouts of up to four axes, most of them no sensible array.
fn tangled() -> impl Strategy<Value = Layout> {
    valid(0..5)
}

/// The same with the number of one of the axes.
fn with_axis() -> impl Strategy<Value = (Layout, usize)> {
    valid(1..5).prop_flat_map(|layout| {
        let axes = 0..layout.ndim();
        (Just(layout), axes)
    })
}

/// One step of what users do to arrays.
#[derive(Clone, Debug)]
enum View {
    Flip(usize),
    Swap(usize, usize),
    Slice(usize, usize, usize, isize),
    Insert(usize),
}

fn views() -> impl Strategy<Value = View> {
    prop_oneof![
        (0_usize..4).prop_map(View::Flip),
        (0_usize..4, 0_usize..4).prop_map(|(a, b)| View::Swap(a, b)),
        (0_usize..4, 0_usize..5, 0_usize..5, -3_isize..4)
            .prop_map(|(axis, a, b, step)| View::Slice(axis, a, b, step)),
        (0_usize..5).prop_map(View::Insert),
    ]
}

/// Layouts that arise from a contiguous array by slicing, permuting and flipping.
fn sliced() -> impl Strategy<Value = Layout> {
    (shapes(), proptest::collection::vec(views(), 0..6)).prop_map(|(shape, steps)| {
        let mut layout = Layout::contiguous(&shape).unwrap();
        for step in steps {
            layout = apply(&layout, &step).unwrap_or(layout);
        }
        layout
    })
}

fn apply(layout: &Layout, view: &View) -> crate::Result<Layout> {
    match *view {
        View::Flip(axis) => layout.flip(axis),
        View::Swap(a, b) => {
            let mut axes: Vec<usize> = (0..layout.ndim()).collect();
            if a < axes.len() && b < axes.len() {
                axes.swap(a, b);
            }
            layout.permute(&axes)
        }
        View::Slice(axis, a, b, step) => {
            let len = *layout.shape().get(axis).unwrap_or(&0);
            layout.slice_axis(axis, a.min(b).min(len), a.max(b).min(len), step)
        }
        View::Insert(axis) => layout.insert_axis(axis),
    }
}
