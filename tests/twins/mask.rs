use ulib_core::{Bool8, Layout};
use ulib_device::block::Block;
use ulib_math::ops::{self, Input, MaskOf};
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::elementwise::{LONG, MOST, Special, assert_same, bits, grid, spread, values};
use crate::support::{Case, cases, contents, for_grids, numbers, on_device, on_host};

/// Where the numbers come from.
#[derive(Clone, Copy, Debug)]
enum From {
    View,
    Output,
    Number,
}

/// Every `step`-th layout, with a mask of the same layout, or packed, or spread; what is not written is looked at, too.
fn masks<T: Special, M: MaskOf<T>>(step: usize, make: fn(u64) -> M, is_set: fn(M) -> bool) {
    let mode = common::driver();
    let given = values::<T>(0, MOST);
    let blank = values::<T>(1, MOST);
    let mask: Vec<M> = numbers(2 * MOST).map(make).collect();
    let mut turn = 0;
    for case in cases().iter().step_by(step) {
        let shape = case.layout.shape();
        let packed = Layout::contiguous(shape).expect("packed");
        let layouts = [
            (case.elements, case.layout.clone()),
            (packed.len(), packed),
            spread(shape),
        ];
        for (from, place) in [
            (From::View, &layouts[0]),
            (From::View, &layouts[1]),
            (From::Output, &layouts[2]),
            (From::Number, &layouts[0]),
        ] {
            let long = case.elements > LONG;
            if long && !(matches!(from, From::View) && *place == layouts[0]) {
                continue;
            }
            let case = Masked {
                case,
                from,
                place,
                given: &given[..case.elements],
                blank: &blank[..case.elements],
                mask: &mask[..place.0],
                is_set,
            };
            turn += 1;
            case.check(turn, mode.has_device());
        }
    }
}

struct Masked<'a, T, M> {
    case: &'a Case,
    from: From,
    place: &'a (usize, Layout),
    given: &'a [T],
    blank: &'a [T],
    mask: &'a [M],
    is_set: fn(M) -> bool,
}

impl<T: Special, M: MaskOf<T>> Masked<'_, T, M> {
    fn check(&self, turn: usize, has_device: bool) {
        let outside = T::SPECIAL[3];
        let layout = &self.place.1;
        let before = |i: usize| match self.from {
            From::View => self.given[i],
            From::Output => self.blank[i],
            From::Number => T::SPECIAL[4],
        };
        let mut wanted = self.blank.to_vec();
        for (to, by) in self.case.layout.offsets().zip(layout.offsets()) {
            wanted[to] = if (self.is_set)(self.mask[by]) {
                before(to)
            } else {
                outside
            };
        }
        let run = |block: fn(&[T]) -> Block, mask_block: fn(&[M]) -> Block, side: &str| {
            let (a, by, mut out) = (block(self.given), mask_block(self.mask), block(self.blank));
            let by = View::<M>::new(&by, layout.clone()).unwrap();
            let input = match self.from {
                From::View => Input::View(View::new(&a, self.case.layout.clone()).unwrap()),
                From::Output => Input::Output,
                From::Number => Input::Scalar(T::SPECIAL[4]),
            };
            let view = ViewMut::<T>::new(&mut out, self.case.layout.clone()).unwrap();
            ops::mask_into(input, &by, outside, view).unwrap();
            assert_same(&contents::<T>(&out), &wanted, |_| {
                format!(
                    "{side}, {}, {:?}, mask {layout:?}",
                    self.case.name, self.from
                )
            });
        };
        run(on_host, on_host, "host");
        if has_device {
            ops::set_grid_limit(grid(turn));
            run(on_device, on_device, "device");
            ops::set_grid_limit(None);
        }
    }
}

fn byte(bits: u64) -> u8 {
    if bits.is_multiple_of(3) {
        0
    } else {
        bits as u8
    }
}

fn by_bytes<T: Special>(step: usize) {
    masks::<T, u8>(step, byte, |mask| mask != 0);
    masks::<T, Bool8>(4, |bits| Bool8::from_bits(byte(bits)), Bool8::is_true);
}

fn by_numbers<T: Special>(step: usize, is_set: fn(T) -> bool) {
    let make = |bits: u64| T::SPECIAL[bits as usize % T::SPECIAL.len()];
    masks::<T, T>(step, make, is_set);
}

// All layouts for one number of each kernel, some for those that share it.

#[test]
fn bytes_over_four() {
    by_bytes::<f32>(1);
    by_bytes::<i32>(3);
    by_bytes::<u32>(3);
}

#[test]
fn bytes_over_eight() {
    by_bytes::<f64>(1);
    by_bytes::<i64>(3);
    by_bytes::<u64>(3);
}

#[test]
fn float_twins() {
    by_numbers::<f32>(1, |mask| mask != 0.0);
    by_numbers::<f64>(1, |mask| mask != 0.0);
}

#[test]
fn integer_twins() {
    by_numbers::<i32>(1, |mask| mask != 0);
    by_numbers::<u32>(3, |mask| mask != 0);
    by_numbers::<i64>(1, |mask| mask != 0);
    by_numbers::<u64>(3, |mask| mask != 0);
}

#[test]
fn new_and_in_place() {
    let mode = common::driver();
    let check = |numbers_block: fn(&[f32]) -> Block, bytes_block: fn(&[u8]) -> Block| {
        let layout = Layout::contiguous(&[30, 20]).unwrap();
        let turned = Layout::contiguous(&[20, 30])
            .unwrap()
            .permute(&[1, 0])
            .unwrap();
        let mask = bytes_block(&numbers(600).map(byte).collect::<Vec<u8>>());
        let mask = View::<u8>::new(&mask, turned).unwrap();
        let block = numbers_block(&values::<f32>(0, 600));
        let view = View::<f32>::new(&block, layout.clone()).unwrap();
        let (mut out, mut own) = (
            numbers_block(&[0.0; 600]),
            numbers_block(&values::<f32>(0, 600)),
        );
        let target = ViewMut::new(&mut out, layout.clone()).unwrap();
        ops::mask_into(&view, &mask, -1.0, target).unwrap();
        let made = ops::mask(&view, &mask, -1.0).unwrap();
        assert_eq!(made.shape(), [30, 20]);
        assert_eq!(made.block().preferred(), block.preferred());
        let target = ViewMut::<f32>::new(&mut own, layout).unwrap();
        ops::mask_in_place(target, &mask, -1.0).unwrap();
        for found in [made.block(), &own] {
            assert_same(&contents::<f32>(found), &contents(&out), |_| "forms".into());
        }
    };
    check(on_host, on_host);
    if mode.has_device() {
        check(on_device, on_device);
    }
}

#[test]
fn what_is_zero() {
    let mode = common::driver();
    let quiet = f32::from_bits(0xffc1_2345);
    let check = |make: fn(&[f32]) -> Block, bytes: fn(&[u8]) -> Block| {
        let mask = make(&[0.0, -0.0, f32::NAN, 1e-45, -1.0, f32::INFINITY]);
        let a = [1.0, 2.0, quiet, -0.0, 5.0, 6.0];
        let mut out = make(&a);
        let view = ViewMut::<f32>::flat(&mut out).unwrap();
        ops::mask_in_place(view, &View::<f32>::flat(&mask).unwrap(), quiet).unwrap();
        let expected = [quiet, quiet, quiet, -0.0, 5.0, 6.0];
        assert_eq!(bits(&contents::<f32>(&out)), bits(&expected));
        // A boolean of a foreign byte is true.
        let mask = bytes(&[0, 1, 2, 255, 128, 0]);
        let mask = View::<Bool8>::flat(&mask).unwrap();
        let masked = ops::mask(View::<f32>::flat(&make(&a)).unwrap(), &mask, 9.0).unwrap();
        let expected = [9.0, 2.0, quiet, -0.0, 5.0, 9.0];
        assert_eq!(bits(&contents::<f32>(masked.block())), bits(&expected));
    };
    check(on_host, on_host);
    for_grids(&mode, || check(on_device, on_device));
}
