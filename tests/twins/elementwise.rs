//! Elementwise operations every way they can be called: views of several layouts, numbers, in place; on the host with one
//! and two threads, on a device with grids of several sizes; against what a test's own function says.

use ulib_core::{DeviceStorable, Layout, Result};
use ulib_device::block::Block;
use ulib_math::ops::{self, Input};
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
pub(crate) fn values<T: Special>(k: usize, count: usize) -> Vec<T> {
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
    /// One of the inputs is the output.
    Output(usize),
    /// The layout of the case, then others.
    Mixed,
    /// The first input is a number.
    NumberFirst,
    /// The last input is a number.
    NumberLast,
}

/// The calls worth telling apart for an operation of `inputs` inputs.
fn calls(inputs: usize) -> Vec<Call> {
    let mut calls = vec![Call::Alike, Call::Mixed, Call::NumberFirst];
    if inputs > 1 {
        calls.push(Call::NumberLast);
    }
    calls.extend((0..inputs).map(Call::Output));
    calls
}

/// Cases of more elements are tried with views alike only.
pub(crate) const LONG: usize = 2500;

/// Grids take turns, so that a call that comes every third, sixth or ninth time gets each of them, too: as large as the
/// operation likes, one block, three blocks.
pub(crate) fn grid(turn: usize) -> Option<u32> {
    [None, Some(1), Some(3)][(turn + turn / 3) % 3]
}

/// More than any case has.
pub(crate) const MOST: usize = 20_100;

/// The layout of the case's shape with the axes in reverse order in memory, every second element, from the third on.
pub(crate) fn spread(shape: &[usize]) -> (usize, Layout) {
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
        (Call::Alike | Call::Output(_), _) | (Call::Mixed, Some(0)) => of_case,
        (Call::Mixed, Some(1)) => spread(case.layout.shape()),
        _ => (contiguous.len(), contiguous),
    }
}

/// Tries an operation of `N` inputs; `expected` is the test's own idea of it.
pub(crate) fn twins<T: Special, const N: usize>(
    operation: impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync,
    expected: impl Fn([T; N]) -> T,
) {
    near(operation, expected, T::same);
}

/// [`twins`] for an operation whose bits are not fixed: `agree` says whether what is found is near enough to what is
/// expected.
pub(crate) fn near<T: Special, const N: usize>(
    operation: impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync,
    expected: impl Fn([T; N]) -> T,
    agree: fn(T, T) -> bool,
) {
    let mode = common::driver();
    let twins = Twins {
        operation: &operation,
        expected: &expected,
        agree,
        values: std::array::from_fn(|k| values::<T>(k, MOST)),
    };
    let mut turn = 0;
    for case in &cases() {
        for call in calls(N) {
            if call == Call::Alike || case.elements <= LONG {
                twins.check(case, call, mode.has_device().then_some(turn));
                turn += 1;
            }
        }
    }
    twins.in_parallel();
}

/// An operation of inputs that are given in any way, into an output.
type Operation<'o, T, const N: usize> =
    &'o (dyn Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync);

struct Twins<'o, T, const N: usize> {
    operation: Operation<'o, T, N>,
    expected: &'o dyn Fn([T; N]) -> T,
    agree: fn(T, T) -> bool,
    /// The beginning of each input's elements, whatever their number.
    values: [Vec<T>; N],
}

impl<T: Special, const N: usize> Twins<'_, T, N> {
    /// On the host, and with a `turn` on the device.
    fn check(&self, case: &Case, call: Call, turn: Option<usize>) {
        let number = T::SPECIAL[5];
        let is_number = |k: usize| {
            call == Call::NumberFirst && k == 0 || call == Call::NumberLast && k + 1 == N
        };
        let places: [(usize, Layout); N] = std::array::from_fn(|k| place(case, call, Some(k)));
        let (size, layout) = place(case, call, None);
        let blank: Vec<T> = if let Call::Output(k) = call {
            self.values[k][..size].to_vec()
        } else {
            numbers(size).map(|bits| T::sample(!bits)).collect()
        };
        let mut wanted = blank.clone();
        let offsets: [Vec<usize>; N] = std::array::from_fn(|k| places[k].1.offsets().collect());
        for (i, to) in layout.offsets().enumerate() {
            wanted[to] = (self.expected)(std::array::from_fn(|k| match k {
                k if is_number(k) => number,
                k => self.values[k][offsets[k][i]],
            }));
        }
        let run = |make: fn(&[T]) -> Block, side: &str| {
            let blocks: [Block; N] = std::array::from_fn(|k| make(&self.values[k][..places[k].0]));
            let mut out = make(&blank);
            let given = std::array::from_fn(|k| match k {
                k if is_number(k) => Input::Scalar(number),
                k if call == Call::Output(k) => Input::Output,
                k => Input::View(View::new(&blocks[k], places[k].1.clone()).unwrap()),
            });
            (self.operation)(given, ViewMut::new(&mut out, layout.clone()).unwrap()).unwrap();
            assert_agree(&contents::<T>(&out), &wanted, self.agree, |i| {
                let at = layout.offsets().position(|to| to == i);
                let read = |at: usize| -> [Option<&T>; N] {
                    std::array::from_fn(|k| self.values[k].get(offsets[k][at]))
                };
                let read = at.map(read);
                format!("{side}, {}, {call:?}, of {read:?}", case.name)
            });
        };
        run(on_host, "host");
        if let Some(turn) = turn {
            ops::set_grid_limit(grid(turn));
            run(on_device, "device");
            ops::set_grid_limit(None);
        }
    }

    /// Enough elements to be divided among threads, with one and with two of them.
    fn in_parallel(&self) {
        let repeat = |k: usize| self.values[k].iter().copied().cycle().take(200 * 210);
        let inputs: [Vec<T>; N] = std::array::from_fn(|k| repeat(k).collect());
        let wanted: Vec<T> = (0..200 * 210)
            .map(|i| (self.expected)(std::array::from_fn(|k| inputs[k][i])))
            .collect();
        let blocks: [Block; N] = std::array::from_fn(|k| on_host(&inputs[k]));
        let layout = Layout::contiguous(&[200, 210]).unwrap();
        let layout = layout.permute(&[1, 0]).and_then(|it| it.flip(1)).unwrap();
        let operation = self.operation;
        for found in on_pools(|| {
            let mut out = on_host(&[T::default(); 200 * 210]);
            let given = std::array::from_fn(|k| {
                Input::View(View::new(&blocks[k], layout.clone()).unwrap())
            });
            operation(given, ViewMut::new(&mut out, layout.clone()).unwrap()).unwrap();
            contents::<T>(&out)
        }) {
            assert_agree(&found, &wanted, self.agree, |i| {
                format!("in parallel, element {i}")
            });
        }
    }
}

/// Fails where two arrays differ, with `what` about the first such element.
pub(crate) fn assert_same<T: Special>(found: &[T], wanted: &[T], what: impl Fn(usize) -> String) {
    assert_agree(found, wanted, T::same, what);
}

fn assert_agree<T: Special>(
    found: &[T],
    wanted: &[T],
    agree: fn(T, T) -> bool,
    what: impl Fn(usize) -> String,
) {
    assert_eq!(found.len(), wanted.len());
    if let Some(i) = (0..found.len()).find(|&i| !agree(found[i], wanted[i])) {
        panic!(
            "element {i} is {}, expected {}: {}",
            found[i],
            wanted[i],
            what(i)
        );
    }
}

/// Tries an operation on given elements, on both sides, into an output and over its first input: `rows` of the inputs and
/// the output.
pub(crate) fn table<T: Special, const N: usize>(
    operation: impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()> + Sync,
    rows: &[([T; N], T)],
) {
    rows_agree(&operation, rows);
}

fn rows_agree<T: Special, const N: usize>(operation: Operation<'_, T, N>, rows: &[([T; N], T)]) {
    let mode = common::driver();
    let wanted: Vec<T> = rows.iter().map(|row| row.1).collect();
    let check = |make: fn(&[T]) -> Block, side: &str| {
        let blocks: [Block; N] =
            std::array::from_fn(|k| make(&rows.iter().map(|row| row.0[k]).collect::<Vec<T>>()));
        for in_place in [false, true] {
            let mut out = if in_place {
                make(&contents::<T>(&blocks[0]))
            } else {
                make(&vec![T::default(); rows.len()])
            };
            let given = std::array::from_fn(|k| match k {
                0 if in_place => Input::Output,
                k => Input::View(View::flat(&blocks[k]).unwrap()),
            });
            operation(given, ViewMut::flat(&mut out).unwrap()).unwrap();
            assert_same(&contents::<T>(&out), &wanted, |i| {
                format!("{side}, in place: {in_place}, of {:?}", rows[i].0)
            });
        }
    };
    check(on_host, "host");
    for_grids(&mode, || check(on_device, "device"));
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
