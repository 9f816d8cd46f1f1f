//! Elementwise operations every way they can be called: views of several layouts, numbers, in place; on the host with one
//! and two threads, on a device with grids of several sizes; against what a test's own function says.

use ulib_core::{DeviceStorable, Layout, Result};
use ulib_device::block::Block;
use ulib_math::ops::Input;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::support::{
    Case, Sample, cases, contents, for_grids, numbers, on_device, on_host, on_pools, samples,
};

/// A number whose special values matter: zeros, infinities, NaN, the largest and the smallest.
pub(crate) trait Special: Sample + Element {
    const SPECIAL: &'static [Self];

    /// Equal bits, or both NaN.
    fn same(self, other: Self) -> bool;
}

macro_rules! special {
    (float: $($type:ty)*) => {$(
        impl Special for $type {
            const SPECIAL: &'static [Self] = &[
                0.0, -0.0, 1.0, -1.0, 0.5, 3.0, <$type>::INFINITY, <$type>::NEG_INFINITY, <$type>::NAN,
                <$type>::MAX, <$type>::MIN, <$type>::MIN_POSITIVE, <$type>::EPSILON, <$type>::MIN_POSITIVE / 4.0,
            ];
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
    (integer: $($type:ty)*) => {$(
        impl Special for $type {
            const SPECIAL: &'static [Self] = &[
                0, 1, 2, 3, 7, <$type>::MAX, <$type>::MIN, <$type>::MAX - 1, <$type>::MIN + 1, <$type>::MAX / 2,
                (0 as $type).wrapping_sub(1), (0 as $type).wrapping_sub(3),
            ];
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

special!(float: f32 f64);
special!(integer: i32 u32 i64 u64);

/// The `k`-th array of `count` values: samples, every fifth of them special, in another order in each array, so that every
/// pair of special values meets in a long one.
fn values<T: Special>(k: usize, count: usize) -> Vec<T> {
    let special = T::SPECIAL;
    let mut values = samples::<T>(count + 7 * k);
    values.drain(..7 * k);
    for (i, value) in values.iter_mut().enumerate().step_by(5) {
        let i = i / 5;
        *value =
            special[[i, i / special.len(), i / special.len() / special.len()][k] % special.len()];
    }
    values
}

/// How the inputs of a call are given. The output has the layout of the case in the first two, else C order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// Views with the layout of the case.
    Alike,
    /// The first input is the output.
    InPlace,
    /// The layout of the case, then others.
    Mixed,
    /// The first input is a number.
    NumberFirst,
    /// The last input is a number.
    NumberLast,
}

const CALLS: [Call; 5] = [
    Call::Alike,
    Call::InPlace,
    Call::Mixed,
    Call::NumberFirst,
    Call::NumberLast,
];

/// The layout of the case's shape with the axes in reverse order in memory, every second element, from the third on.
fn spread(shape: &[usize]) -> (usize, Layout) {
    let mut strides = vec![0; shape.len()];
    let mut next = 2;
    for (stride, &len) in strides.iter_mut().zip(shape) {
        *stride = next;
        next *= len.max(1) as isize;
    }
    let layout = Layout::new(shape.to_vec(), strides, 3).expect("spread");
    (next as usize + 3, layout)
}

/// Elements and layout of input `k` (or of the output) in a call.
fn place(case: &Case, call: Call, k: Option<usize>) -> (usize, Layout) {
    let contiguous = Layout::contiguous(case.layout.shape()).expect("contiguous");
    let of_case = (case.elements, case.layout.clone());
    match (call, k) {
        (Call::Alike | Call::InPlace, _) | (Call::Mixed, Some(0)) => of_case,
        (Call::Mixed, Some(1)) => spread(case.layout.shape()),
        _ => (contiguous.len(), contiguous),
    }
}

/// Tries an operation of `N` inputs; `expected` is the test's own idea of it.
pub(crate) fn twins<T: Special, const N: usize>(
    operation: impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync,
    expected: impl Fn([T; N]) -> T,
) {
    let mode = common::driver();
    for case in cases() {
        for call in CALLS {
            check(&mode, &case, call, &operation, &expected);
        }
    }
}

fn check<T: Special, const N: usize>(
    mode: &common::Mode,
    case: &Case,
    call: Call,
    operation: &(impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync),
    expected: &impl Fn([T; N]) -> T,
) {
    let number = T::SPECIAL[5];
    let is_number =
        |k: usize| call == Call::NumberFirst && k == 0 || call == Call::NumberLast && k + 1 == N;
    let is_output = |k: usize| call == Call::InPlace && k == 0;
    let places: [(usize, Layout); N] = std::array::from_fn(|k| place(case, call, Some(k)));
    let inputs: [Vec<T>; N] = std::array::from_fn(|k| values::<T>(k, places[k].0));
    let (size, layout) = place(case, call, None);
    let blank: Vec<T> = if call == Call::InPlace {
        inputs[0].clone()
    } else {
        numbers(size).map(|bits| T::sample(!bits)).collect()
    };
    let mut wanted = blank.clone();
    let offsets: [Vec<usize>; N] = std::array::from_fn(|k| places[k].1.offsets().collect());
    for (i, to) in layout.offsets().enumerate() {
        wanted[to] = expected(std::array::from_fn(|k| match k {
            k if is_number(k) => number,
            k => inputs[k][offsets[k][i]],
        }));
    }
    let run = |make: &dyn Fn(&[T]) -> Block, side: &str| {
        let blocks: [Block; N] = std::array::from_fn(|k| make(&inputs[k]));
        let mut out = make(&blank);
        let given = std::array::from_fn(|k| match k {
            k if is_number(k) => Input::Scalar(number),
            k if is_output(k) => Input::Output,
            k => Input::View(View::new(&blocks[k], places[k].1.clone()).unwrap()),
        });
        operation(given, ViewMut::new(&mut out, layout.clone()).unwrap()).unwrap();
        let found = contents::<T>(&out);
        if let Some(i) = (0..size).find(|&i| !found[i].same(wanted[i])) {
            let given: Vec<&Vec<T>> = inputs.iter().collect();
            panic!(
                "{side}, {}, {call:?}: element {i} of {size} is {}, expected {}; inputs begin {:?}",
                case.name,
                found[i],
                wanted[i],
                given.iter().map(|all| all.get(i)).collect::<Vec<_>>()
            );
        }
    };
    if call == Call::Alike {
        on_pools(|| run(&on_host, "host"));
        for_grids(mode, || run(&on_device, "device"));
    } else {
        run(&on_host, "host");
        if mode.has_device() {
            run(&on_device, "device");
        }
    }
}

/// Whether an operation into a new array and one in place give what it gives into an output, with the new array where its
/// input is.
pub(crate) fn forms<T: Special>(
    into: impl Fn(&View<'_, T>, ViewMut<'_, T>) -> Result<()>,
    new: impl Fn(&View<'_, T>) -> Result<ulib_math::view::Array<T>>,
    in_place: impl Fn(ViewMut<'_, T>) -> Result<()>,
) {
    let mode = common::driver();
    let check = |make: &dyn Fn(&[T]) -> Block| {
        let block = make(&values::<T>(0, 600));
        let layout = Layout::contiguous(&[20, 30])
            .unwrap()
            .permute(&[1, 0])
            .unwrap();
        let view = View::<T>::new(&block, layout).unwrap();
        let mut out = make(&values::<T>(1, 600));
        into(
            &view,
            ViewMut::new(&mut out, Layout::contiguous(&[30, 20]).unwrap()).unwrap(),
        )
        .unwrap();
        let expected = contents::<T>(&out);
        let made = new(&view).unwrap();
        assert_eq!(made.shape(), [30, 20]);
        assert_eq!(made.block().preferred(), block.preferred());
        assert_eq!(
            made.block().is_device_resident(),
            block.is_device_resident()
        );
        assert!(same(&contents::<T>(made.block()), &expected));
        let mut own = make(&view.to_array().unwrap().into_iter().collect::<Vec<T>>());
        in_place(ViewMut::new(&mut own, Layout::contiguous(&[30, 20]).unwrap()).unwrap()).unwrap();
        assert!(same(&contents::<T>(&own), &expected));
    };
    check(&on_host);
    if mode.has_device() {
        check(&on_device);
    }
}

fn same<T: Special>(left: &[T], right: &[T]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(&a, &b)| a.same(b))
}

/// The bytes of elements, so that zeros of both signs are told apart.
pub(crate) fn bits<T: DeviceStorable>(elements: &[T]) -> Vec<u8> {
    ulib_core::bytemuck::cast_slice(elements).to_vec()
}
