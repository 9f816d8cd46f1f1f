use half::{bf16, f16};
use ulib_core::{DeviceStorable, ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops::{self, Castable};
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::copy::partners;
use crate::exact::{Class, Format, convert, is_nan};
use crate::support::{
    Sample, cases, contents, for_grids, numbers, on_device, on_host, on_pools, samples,
};

/// Bits of numbers where something may go wrong: all of a 16-bit type; else ends, powers of 2, ties of every format that is
/// rounded to, their neighbours, and random ones.
fn edges<A: Format>() -> Vec<u64> {
    let width = 8 * size_of::<A>() as u32;
    if width <= 16 {
        return (0..1 << width).collect();
    }
    let mut values: Vec<u64> = numbers(3000).collect();
    let near = |value: u64| [value.wrapping_sub(1), value, value.wrapping_add(1)];
    match A::CLASS {
        Class::Unsigned | Class::Signed => {
            for power in 0..width {
                values.extend(near(1 << power));
                // One bit more than a float with this many keeps, and the last it keeps even or odd.
                for kept in [8, 11, 24, 53] {
                    if kept <= power {
                        let tie = 1_u64 << power | 1 << (power - kept);
                        values.extend(near(tie));
                        values.extend(near(tie | 2 << (power - kept)));
                    }
                }
            }
            for known in [65504, 65519, 65520, 65521, 65536] {
                values.push(known);
            }
            let negative: Vec<u64> = values.iter().map(|value| value.wrapping_neg()).collect();
            values.extend(negative);
        }
        Class::Float(mantissa, exponent) => {
            let bias = (1_u64 << (exponent - 1)) - 1;
            let least = bias.saturating_sub(152);
            let most = (bias + 130).min(2 * bias + 1);
            for field in [0, 1]
                .into_iter()
                .chain(least..=most)
                .chain([2 * bias, 2 * bias + 1])
            {
                let power = field << mantissa;
                values.extend(near(power));
                for kept in (0..12).chain([22, 23, 24, 51]) {
                    if kept < mantissa {
                        let tie = power | 1 << (mantissa - kept - 1);
                        values.extend(near(tie));
                        values.extend(near(tie ^ 1 << (mantissa - kept)));
                    }
                }
            }
            let negative: Vec<u64> = values
                .iter()
                .map(|value| value | 1 << (width - 1))
                .collect();
            values.extend(negative);
        }
    }
    let mask = u64::MAX >> (64 - width);
    values.iter_mut().for_each(|value| *value &= mask);
    values
}

fn check<A: Format, B: Format>(values: &[u64], expected: &[u64], found: &[B], side: &str) {
    assert_eq!(found.len(), values.len());
    for ((&value, &expected), &found) in values.iter().zip(expected).zip(found) {
        let found = found.bits();
        assert!(
            found == expected || is_nan::<B>(found) && is_nan::<B>(expected),
            "{side}: {} {:?} ({value:#x}) as {} is {:?} ({found:#x}), expected {:?} ({expected:#x})",
            A::NAME,
            A::of_bits(value),
            B::NAME,
            B::of_bits(found),
            B::of_bits(expected),
        );
    }
}

fn cast<A: Castable, B: Castable>(src: &Block, layout: &Layout, dst: &mut Block) {
    let view = View::<A>::new(src, layout.clone()).unwrap();
    ops::cast_into(&view, ViewMut::<B>::flat(dst).unwrap()).unwrap();
}

/// Every edge of `A` as `B`: on the host and on the device, from packed numbers and from every second one.
fn values<A: Format, B: Format>() {
    let mode = common::driver();
    let values = edges::<A>();
    let expected: Vec<u64> = values.iter().map(|&bits| convert::<A, B>(bits)).collect();
    let packed: Vec<A> = values.iter().map(|&bits| A::of_bits(bits)).collect();
    let spread: Vec<A> = packed
        .iter()
        .flat_map(|&value| [value, A::of_bits(1)])
        .collect();
    let line = |stride: isize| Layout::new(vec![values.len()], vec![stride], 0).unwrap();
    let blank = vec![B::of_bits(0x55); values.len()];
    for (elements, layout, name) in [(&packed, line(1), "packed"), (&spread, line(2), "spread")] {
        let mut dst = on_host(&blank);
        cast::<A, B>(&on_host(elements), &layout, &mut dst);
        check::<A, B>(
            &values,
            &expected,
            &contents(&dst),
            &format!("host, {name}"),
        );
        if mode.has_device() {
            let mut dst = on_device(&blank);
            cast::<A, B>(&on_device(elements), &layout, &mut dst);
            assert!(dst.is_device_resident());
            check::<A, B>(
                &values,
                &expected,
                &contents(&dst),
                &format!("device, {name}"),
            );
        }
    }
}

macro_rules! every_value {
    ($($name:ident: $type:ty;)*) => {$(
        #[test]
        fn $name() {
            values::<$type, i8>();
            values::<$type, u8>();
            values::<$type, i16>();
            values::<$type, u16>();
            values::<$type, i32>();
            values::<$type, u32>();
            values::<$type, i64>();
            values::<$type, u64>();
            values::<$type, f16>();
            values::<$type, bf16>();
            values::<$type, f32>();
            values::<$type, f64>();
        }
    )*};
}

every_value! {
    i8_to_every_type: i8;
    u8_to_every_type: u8;
    i16_to_every_type: i16;
    u16_to_every_type: u16;
    i32_to_every_type: i32;
    u32_to_every_type: u32;
    i64_to_every_type: i64;
    u64_to_every_type: u64;
    f16_to_every_type: f16;
    bf16_to_every_type: bf16;
    f32_to_every_type: f32;
    f64_to_every_type: f64;
}

fn bytes<T: DeviceStorable>(elements: &[T]) -> Vec<u8> {
    ulib_core::bytemuck::cast_slice(elements).to_vec()
}

/// Every layout to itself, to a plain array and to a permuted one. Samples are finite, so bits can be compared.
fn layouts<A: Format + Sample, B: Format + Sample>() {
    let mode = common::driver();
    for case in cases() {
        let source = samples::<A>(case.elements);
        for (size, layout) in partners(&case) {
            let blank: Vec<B> = numbers(size).map(|bits| B::sample(!bits)).collect();
            let mut expected = blank.clone();
            for (from, to) in case.layout.offsets().zip(layout.offsets()) {
                expected[to] = B::of_bits(convert::<A, B>(source[from].bits()));
            }
            let run = |src: &Block, dst: &mut Block, side: &str| {
                let view = View::<A>::new(src, case.layout.clone()).unwrap();
                ops::cast_into(&view, ViewMut::<B>::new(dst, layout.clone()).unwrap()).unwrap();
                assert_eq!(
                    bytes(&contents::<B>(dst)),
                    bytes(&expected),
                    "{side}: {} to {}, {} to {layout:?}",
                    A::NAME,
                    B::NAME,
                    case.name
                );
            };
            on_pools(|| run(&on_host(&source), &mut on_host(&blank), "host"));
            for_grids(&mode, || {
                run(&on_device(&source), &mut on_device(&blank), "device");
            });
        }
    }
}

#[test]
fn layouts_of_the_usual_pairs() {
    layouts::<u8, f32>();
    layouts::<f32, f64>();
    layouts::<f32, i32>();
    layouts::<f32, f16>();
}

#[test]
fn layouts_of_unusual_pairs() {
    layouts::<f64, u8>();
    layouts::<i16, bf16>();
    layouts::<f16, u64>();
    layouts::<u32, i8>();
}

#[test]
fn layouts_of_casts_that_copy() {
    layouts::<bf16, bf16>();
    layouts::<u16, i16>();
}

#[test]
fn large_casts_run_in_parallel() {
    let values: Vec<u16> = (0..300 * 301).map(|i| (i % 65_521) as u16).collect();
    let turned = Layout::contiguous(&[301, 300])
        .unwrap()
        .permute(&[1, 0])
        .unwrap();
    for found in on_pools(|| {
        let (src, mut dst) = (on_host(&values), on_host(&vec![0.0_f64; values.len()]));
        let view = View::<u16>::new(&src, turned.clone()).unwrap();
        let out = ViewMut::<f64>::new(&mut dst, Layout::contiguous(&[300, 301]).unwrap()).unwrap();
        ops::cast_into(&view, out).unwrap();
        contents::<f64>(&dst)
    }) {
        for (i, &found) in found.iter().enumerate() {
            assert_eq!(found, f64::from(values[i % 301 * 300 + i / 301]), "{i}");
        }
    }
}

#[test]
fn a_cast_on_a_device_makes_no_host_trip() {
    let mode = common::driver();
    if !mode.has_device() {
        return;
    }
    let src = on_device(&[7_u8; 600]);
    let mut dst = on_device(&[2.0_f32; 600]);
    let before = (src.transfers(), dst.transfers());
    cast::<u8, f32>(&src, &Layout::contiguous(&[600]).unwrap(), &mut dst);
    assert_eq!((src.transfers(), dst.transfers()), before);
    assert_eq!(contents::<f32>(&dst), [7.0; 600]);
}

#[test]
fn a_new_array_is_where_its_source_is() {
    let mode = common::driver();
    let values = samples::<i16>(60);
    let turned = Layout::contiguous(&[10, 6])
        .unwrap()
        .permute(&[1, 0])
        .unwrap();
    let expected: Vec<f64> = turned.offsets().map(|at| values[at].into()).collect();
    let check = |block: &Block| {
        let view = View::<i16>::new(block, turned.clone()).unwrap();
        let made = ops::cast::<i16, f64>(&view).unwrap();
        assert_eq!(made.shape(), [6, 10]);
        assert_eq!(
            made.block().is_device_resident(),
            block.is_device_resident()
        );
        assert_eq!(contents::<f64>(made.block()), expected);
    };
    check(&on_host(&values));
    for_grids(&mode, || check(&on_device(&values)));
}

#[test]
fn errors_name_both_sides_and_change_nothing() {
    let mode = common::driver();
    let src = on_host(&[1_u8; 6]);
    let mut dst = on_host(&[9.0_f32; 6]);
    let view = View::<u8>::new(&src, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
    let out = ViewMut::<f32>::new(&mut dst, Layout::contiguous(&[3, 2]).unwrap()).unwrap();
    let error = ops::cast_into(&view, out).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    assert!(error.to_string().contains("[2, 3]"), "{error}");
    assert!(error.to_string().contains("[3, 2]"), "{error}");
    assert_eq!(contents::<f32>(&dst), [9.0; 6]);
    if !mode.has_device() {
        return;
    }
    let mut dst = on_device(&[9.0_f32; 6]);
    let view = View::<u8>::flat(&src).unwrap();
    let error = ops::cast_into(&view, ViewMut::<f32>::flat(&mut dst).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Residency), "{error}");
    let message = error.to_string();
    assert!(message.contains("view is to be used on Host"), "{message}");
    assert!(message.contains("out is to be used on Device"), "{message}");
    assert_eq!(contents::<f32>(&dst), [9.0; 6]);
}
