//! Operations of every kind on layouts and numbers that look random: the host against the device, both against the same
//! operation on plain arrays or a loop of the test's own where the order of the elements does not matter.
//!
//! `ULIB_TEST_FULL` makes the programs longer.
#![allow(
    clippy::eq_op,
    clippy::type_complexity,
    reason = "only NaN, of whichever type, is not equal to itself"
)]

#[path = "random/reductions.rs"]
mod reductions;

use ulib_core::{DeviceStorable, ErrorKind, Layout, Result};
use ulib_device::block::Block;
use ulib_math::ops::{self, Castable, Input, Predicate};
use ulib_math::view::{Real, View, ViewMut};

use crate::common;
use crate::elementwise::{Special, grid};
use crate::support::{Sample, contents, on_device, on_host};
use crate::wide::{Format, close};

/// Deterministic, and different for every seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 33) as usize) % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// The numbers below `n` in any order.
    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in 1..n {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    fn shape(&mut self) -> Vec<usize> {
        match self.below(12) {
            // One long axis, so that there are several chunks.
            0 => {
                let short = self.below(3) + 1;
                let long = 3500 + self.below(1500);
                if self.one_in(2) {
                    vec![short, long]
                } else {
                    vec![long, short]
                }
            }
            // More axes than a kernel takes.
            1 => (0..9 + self.below(3)).map(|_| 1 + self.below(2)).collect(),
            2 => (0..3).map(|_| self.below(3)).collect(),
            _ => (0..self.below(6)).map(|_| 1 + self.below(7)).collect(),
        }
    }

    /// How many elements a memory has, and where those of a view of it are; some several times if it may `repeat`.
    fn place(&mut self, shape: &[usize], repeat: bool) -> (usize, Layout) {
        let ndim = shape.len();
        let plain = self.one_in(3);
        let order = if plain || self.one_in(2) {
            (0..ndim).rev().collect()
        } else {
            self.order(ndim)
        };
        let mut next = if plain {
            1
        } else {
            [1, 1, 1, 2, 3][self.below(5)]
        };
        let mut offset = self.below(4) * usize::from(!plain);
        let mut strides = vec![0; ndim];
        for axis in order {
            let len = shape[axis];
            if repeat && self.one_in(8) {
                continue;
            }
            let edge = |dice: &mut Self| {
                usize::from(!plain && ndim < 7 && dice.one_in(4)) * (1 + dice.below(4))
            };
            let (before, after) = (edge(self), edge(self));
            let step = if plain || !self.one_in(6) { 1 } else { 2 };
            let reach = len.saturating_sub(1) * step;
            offset += before * next;
            strides[axis] = (step * next) as isize;
            if !plain && self.one_in(5) {
                offset += reach * next;
                strides[axis] = -strides[axis];
            }
            next *= (before + reach + 1 + after).max(1);
        }
        let layout = Layout::new(shape.to_vec(), strides, offset).unwrap();
        let reach = layout.span().map_or(0, |(_, last)| last + 1);
        (reach + self.below(3), layout)
    }

    /// Numbers of which many are special, many are equal, or neither.
    fn values<T: Special>(&mut self, count: usize) -> Vec<T> {
        let kind = self.below(4);
        let special = T::SPECIAL;
        (0..count)
            .map(|_| {
                let bits = self.bits();
                let one = special[(bits >> 20) as usize % special.len()];
                match kind {
                    0 => one,
                    1 if bits.is_multiple_of(9) => one,
                    2 => special[(bits >> 20) as usize % 5],
                    _ => T::sample(bits),
                }
            })
            .collect()
    }

    fn number<T: Special>(&mut self) -> T {
        self.values(1)[0]
    }

    fn predicate<T: Special>(&mut self) -> Predicate<T> {
        let (a, b) = (self.number(), self.number());
        match self.below(9) {
            0 => Predicate::Less(a),
            1 => Predicate::LessEqual(a),
            2 => Predicate::Greater(a),
            3 => Predicate::GreaterEqual(a),
            4 => Predicate::Equal(a),
            5 => Predicate::NotEqual(a),
            6 => Predicate::Between(a, b),
            7 => Predicate::IsNan,
            _ => Predicate::IsFinite,
        }
    }
}

/// Runs `program` with many seeds, each on a device with a grid of another size.
fn with_seeds(rounds: u64, program: impl Fn(&mut Dice, &str)) {
    let mode = common::driver();
    let rounds = if std::env::var_os("ULIB_TEST_FULL").is_some() {
        20 * rounds
    } else {
        rounds
    };
    for seed in 0..rounds {
        if mode.has_device() {
            ops::set_grid_limit(grid(seed as usize));
        }
        program(&mut Dice::new(seed), &format!("seed {seed}"));
    }
    ops::set_grid_limit(None);
    if let Some(session) = mode.session() {
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

type Make<T> = fn(&[T]) -> Block;

/// The host, and the device if there is one.
fn sides<T: DeviceStorable>() -> Vec<(&'static str, Make<T>)> {
    let mut sides: Vec<(&'static str, Make<T>)> = vec![("host", on_host)];
    if !common::wants_real() || ulib_device::Device::count().is_ok_and(|count| count > 0) {
        sides.push(("device", on_device));
    }
    sides
}

/// The elements of a layout one after the other.
fn gathered<T: Copy>(values: &[T], layout: &Layout) -> Vec<T> {
    layout.offsets().map(|at| values[at]).collect()
}

type Into<'o, T> = &'o dyn Fn([Input<'_, T>; 3], ViewMut<'_, T>) -> Result<()>;

/// How an input is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Number,
    Output,
    /// The view of one of two memories.
    View(usize),
}

/// One call of an elementwise operation of `inputs` inputs.
fn elementwise<T: Special>(
    dice: &mut Dice,
    what: &str,
    inputs: usize,
    operation: Into<'_, T>,
    agree: fn(T, T) -> bool,
) {
    let shape = dice.shape();
    let (size, layout) = dice.place(&shape, false);
    let blank: Vec<T> = dice.values(size);
    let number: T = dice.number();
    let places: Vec<(usize, Layout)> = (0..3).map(|_| dice.place(&shape, true)).collect();
    let mut given: Vec<Given> = (0..3)
        .map(|_| match dice.below(6) {
            0 => Given::Number,
            1 => Given::Output,
            n => Given::View(n % 2),
        })
        .collect();
    if what.ends_with("mask") {
        given[1] = Given::View(dice.below(2));
    }
    let most = places.iter().map(|place| place.0).max().unwrap();
    let sources: [Vec<T>; 2] = [dice.values(most), dice.values(most)];
    // The same numbers in plain arrays on the host, without aliases.
    let count: usize = shape.iter().product();
    let plain: Vec<Block> = (0..3)
        .map(|k| {
            on_host(&match given[k] {
                Given::Number => vec![number; count],
                Given::Output => gathered(&blank, &layout),
                Given::View(of) => gathered(&sources[of], &places[k].1),
            })
        })
        .collect();
    let mut out = on_host(&vec![number; count]);
    let views = std::array::from_fn(|k| Input::View(View::flat(&plain[k]).unwrap()));
    operation(views, ViewMut::flat(&mut out).unwrap()).unwrap();
    let mut wanted = blank.clone();
    for (at, value) in layout.offsets().zip(contents::<T>(&out)) {
        wanted[at] = value;
    }
    let what = format!("{what}: {layout:?} of {:?} in {places:?}", &given[..inputs]);
    for (side, make) in sides::<T>() {
        let blocks = [make(&sources[0]), make(&sources[1])];
        let mut out = make(&blank);
        let inputs = std::array::from_fn(|k| match given[k] {
            Given::Number => Input::Scalar(number),
            Given::Output => Input::Output,
            Given::View(of) => Input::View(View::new(&blocks[of], places[k].1.clone()).unwrap()),
        });
        let done = operation(inputs, ViewMut::new(&mut out, layout.clone()).unwrap());
        // Limits that are NaN are refused where they are numbers.
        let wanted = if done.is_ok() { &wanted } else { &blank };
        if let Err(error) = done {
            assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{what}: {error}");
            assert!(
                number != number && given[1..] == [Given::Number; 2],
                "{what}: {error}"
            );
        }
        let found = contents::<T>(&out);
        let far = (0..found.len()).find(|&i| !agree(found[i], wanted[i]));
        if let Some(i) = far {
            panic!(
                "{side}, {what}: element {i} is {:?}, not {:?}",
                found[i], wanted[i]
            );
        }
    }
}

fn any_elementwise<T: Special>(dice: &mut Dice, what: &str) {
    let (inside, outside): (T, T) = (dice.number(), dice.number());
    let condition = dice.predicate::<T>();
    let mut one = |name: &str, inputs: usize, operation: Into<'_, T>| {
        elementwise(dice, &format!("{what}, {name}"), inputs, operation, T::same);
    };
    one("add", 2, &|[a, b, _], out| ops::add_into(a, b, out));
    one("subtract", 2, &|[a, b, _], out| {
        ops::subtract_into(a, b, out)
    });
    one("multiply", 2, &|[a, b, _], out| {
        ops::multiply_into(a, b, out)
    });
    one("divide", 2, &|[a, b, _], out| ops::divide_into(a, b, out));
    one("fma", 3, &|[a, b, c], out| ops::fma_into(a, b, c, out));
    one("abs", 1, &|[a, ..], out| ops::abs_into(a, out));
    one("negate", 1, &|[a, ..], out| ops::negate_into(a, out));
    one("minimum", 2, &|[a, b, _], out| ops::minimum_into(a, b, out));
    one("maximum", 2, &|[a, b, _], out| ops::maximum_into(a, b, out));
    one("clamp", 3, &|[a, b, c], out| ops::clamp_into(a, b, c, out));
    one(&format!("threshold {condition:?}"), 1, &|[a, ..], out| {
        ops::threshold_into(a, condition, inside, outside, out)
    });
    one("mask", 2, &|[a, b, _], out| match b {
        Input::View(mask) => ops::mask_into(a, &mask, outside, out),
        other => panic!("{other:?} is no mask"),
    });
}

fn any_real<T: Special + Real + Format>(dice: &mut Dice, what: &str) {
    let what = |name| format!("{what}, {name}");
    elementwise::<T>(
        dice,
        &what("sqrt"),
        1,
        &|[a, ..], out| ops::sqrt_into(a, out),
        T::same,
    );
    elementwise::<T>(
        dice,
        &what("exp"),
        1,
        &|[a, ..], out| ops::exp_into(a, out),
        close,
    );
    elementwise::<T>(
        dice,
        &what("log"),
        1,
        &|[a, ..], out| ops::log_into(a, out),
        close,
    );
    let power: Into<'_, T> = &|[a, b, _], out| ops::power_into(a, b, out);
    elementwise::<T>(dice, &what("power"), 2, power, close);
}

#[test]
fn elementwise_operations() {
    with_seeds(16, |dice, what| match dice.below(8) {
        0 => any_elementwise::<i32>(dice, &format!("{what}, i32")),
        1 => any_elementwise::<u32>(dice, &format!("{what}, u32")),
        2 => any_elementwise::<i64>(dice, &format!("{what}, i64")),
        3 => any_elementwise::<u64>(dice, &format!("{what}, u64")),
        4 => any_elementwise::<f32>(dice, &format!("{what}, f32")),
        5 => any_elementwise::<f64>(dice, &format!("{what}, f64")),
        6 => any_real::<f32>(dice, &format!("{what}, f32")),
        _ => any_real::<f64>(dice, &format!("{what}, f64")),
    });
}

/// An operation from one view to another, which moves every element by itself: the host against `expected`, and all ways
/// from side to side against each other.
fn moves<A: Sample, B: Sample>(
    dice: &mut Dice,
    what: &str,
    expected: fn(A) -> B,
    apart: bool,
    operation: fn(&View<'_, A>, ViewMut<'_, B>) -> Result<()>,
) {
    let shape = dice.shape();
    let (from, to) = (dice.place(&shape, true), dice.place(&shape, false));
    let elements: Vec<A> = (0..from.0).map(|_| A::sample(dice.bits())).collect();
    let blank: Vec<B> = (0..to.0).map(|_| B::sample(dice.bits())).collect();
    let mut wanted = blank.clone();
    for (at, read) in to.1.offsets().zip(from.1.offsets()) {
        wanted[at] = expected(elements[read]);
    }
    let bytes = |values: &[B]| ulib_core::bytemuck::cast_slice::<B, u8>(values).to_vec();
    for (near, make) in sides::<A>() {
        for (far, make_out) in sides::<B>() {
            if near != far && !apart {
                continue;
            }
            let (source, mut out) = (make(&elements), make_out(&blank));
            let view = View::new(&source, from.1.clone()).unwrap();
            operation(&view, ViewMut::new(&mut out, to.1.clone()).unwrap()).unwrap();
            let what = format!("{near} to {far}, {what}: {from:?} to {to:?}");
            assert_eq!(bytes(&contents::<B>(&out)), bytes(&wanted), "{what}");
        }
    }
}

fn casts<A: Sample + Castable, B: Sample + Castable>(dice: &mut Dice, what: &str) {
    let name = std::any::type_name::<(A, B)>();
    moves::<A, B>(
        dice,
        &format!("{what}, {name}"),
        A::convert,
        false,
        ops::cast_into,
    );
}

fn copies<A: Sample>(dice: &mut Dice, what: &str) {
    let name = std::any::type_name::<A>();
    moves::<A, A>(dice, &format!("{what}, {name}"), |x| x, true, ops::copy);
}

#[test]
fn casts_and_copies() {
    use half::{bf16, f16};
    with_seeds(40, |dice, what| {
        match dice.below(10) {
            0 => casts::<f32, i32>(dice, what),
            1 => casts::<f64, f16>(dice, what),
            2 => casts::<i64, f32>(dice, what),
            3 => casts::<u8, f64>(dice, what),
            4 => casts::<f64, u8>(dice, what),
            5 => casts::<f16, bf16>(dice, what),
            6 => casts::<i8, u64>(dice, what),
            7 => casts::<u64, i64>(dice, what),
            8 => casts::<bf16, i16>(dice, what),
            _ => casts::<i16, u32>(dice, what),
        }
        match dice.below(6) {
            0 => copies::<u8>(dice, what),
            1 => copies::<[u8; 3]>(dice, what),
            2 => copies::<u16>(dice, what),
            3 => copies::<f32>(dice, what),
            4 => copies::<f64>(dice, what),
            _ => copies::<[u8; 144]>(dice, what),
        }
    });
}
