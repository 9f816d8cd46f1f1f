use ulib_math::ops;

use crate::elementwise::{Special, assert_same, forms, twins};
use ulib_device::block::Block;
use ulib_math::ops::Predicate;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::elementwise::bits;
use crate::support::{contents, for_grids, on_device, on_host};

/// All layouts, with a range.
fn ranges<T: Special>(low: T, high: T) {
    let (inside, outside) = (T::SPECIAL[2], T::SPECIAL[3]);
    twins::<T, 1>(
        |[a], out| ops::threshold_into(a, Predicate::Between(low, high), inside, outside, out),
        |[a]| {
            if low <= a && a <= high {
                inside
            } else {
                outside
            }
        },
    );
}

#[test]
fn float_twins() {
    ranges::<f32>(-0.3, 0.25);
    ranges::<f64>(-0.3, 0.25);
}

#[test]
fn integer_twins() {
    ranges::<i32>(-1_000_000_000, 3);
    ranges::<u32>(1_000_000_000, 3_000_000_000);
    ranges::<i64>(-1 << 60, 7);
    ranges::<u64>(3, 1 << 63);
}

#[test]
fn new_and_in_place() {
    let condition = Predicate::GreaterEqual(0.1);
    forms::<f64>(
        |a, out| ops::threshold_into(a, condition, 1.0, -1.0, out),
        |a| ops::threshold(a, condition, 1.0, -1.0),
        |view| ops::threshold_in_place(view, condition, 1.0, -1.0),
    );
}

/// Every condition with every special value as its bound, on every special value.
fn conditions<T: Special>(is_nan: fn(T) -> bool, is_finite: fn(T) -> bool) {
    let mode = common::driver();
    let (inside, outside) = (T::SPECIAL[2], T::SPECIAL[3]);
    let check = |condition: Predicate<T>, holds: &dyn Fn(T) -> bool| {
        let expected: Vec<T> = T::SPECIAL
            .iter()
            .map(|&a| if holds(a) { inside } else { outside })
            .collect();
        let run = |make: fn(&[T]) -> Block| {
            let a = make(T::SPECIAL);
            let out = ops::threshold(View::<T>::flat(&a).unwrap(), condition, inside, outside);
            assert_same(&contents::<T>(out.unwrap().block()), &expected, |i| {
                format!("{condition:?} of {}", T::SPECIAL[i])
            });
        };
        run(on_host);
        if mode.has_device() {
            run(on_device);
        }
    };
    for &x in T::SPECIAL {
        check(Predicate::Less(x), &|a| a < x);
        check(Predicate::LessEqual(x), &|a| a <= x);
        check(Predicate::Greater(x), &|a| a > x);
        check(Predicate::GreaterEqual(x), &|a| a >= x);
        check(Predicate::Equal(x), &|a| a == x);
        check(Predicate::NotEqual(x), &|a| a != x);
        for &y in &T::SPECIAL[1..6] {
            check(Predicate::Between(x, y), &|a| a >= x && a <= y);
        }
    }
    check(Predicate::IsNan, &is_nan);
    check(Predicate::IsFinite, &is_finite);
}

#[test]
fn every_condition() {
    conditions::<f32>(f32::is_nan, f32::is_finite);
    conditions::<f64>(f64::is_nan, f64::is_finite);
    conditions::<i32>(|_| false, |_| true);
    conditions::<u32>(|_| false, |_| true);
    conditions::<i64>(|_| false, |_| true);
    conditions::<u64>(|_| false, |_| true);
}

#[test]
fn the_two_numbers_keep_their_bits() {
    let mode = common::driver();
    let (quiet, zero) = (f32::from_bits(0xffc1_2345), -0.0_f32);
    let check = |make: fn(&[f32]) -> Block| {
        let mut block = make(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let view = ViewMut::<f32>::flat(&mut block).unwrap();
        ops::threshold_in_place(view, Predicate::Less(3.0), quiet, zero).unwrap();
        let expected = [quiet, quiet, zero, zero, zero];
        assert_eq!(bits(&contents::<f32>(&block)), bits(&expected));
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}
