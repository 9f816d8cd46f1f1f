use ulib_core::Layout;
use ulib_math::ops;
use ulib_math::view::ViewMut;

use crate::common;
use crate::elementwise::{Special, bits, forms, twins};
use crate::support::{contents, for_grids, on_device, on_host, on_pools, samples};

/// `product` is the test's own idea of a product.
fn products<T: Special>(product: impl Fn(T, T) -> T) {
    twins::<T, 2>(
        |[a, b], out| ops::multiply_into(a, b, out),
        |[a, b]| product(a, b),
    );
}

#[test]
fn f32_twins() {
    products::<f32>(|a, b| a * b);
}

#[test]
fn f64_twins() {
    products::<f64>(|a, b| a * b);
}

#[test]
fn i32_twins() {
    products::<i32>(|a, b| (i64::from(a) * i64::from(b)) as i32);
}

#[test]
fn u32_twins() {
    products::<u32>(|a, b| (u64::from(a) * u64::from(b)) as u32);
}

#[test]
fn i64_twins() {
    products::<i64>(|a, b| (i128::from(a) * i128::from(b)) as i64);
}

#[test]
fn u64_twins() {
    products::<u64>(|a, b| (u128::from(a) * u128::from(b)) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::multiply_into(a, 3.0, out),
        |a| ops::multiply(a, 3.0),
        |view| ops::multiply_in_place(view, 3.0),
    );
}

#[test]
fn large_scales_run_in_parallel() {
    let values = samples::<f32>(200_000);
    for scaled in on_pools(|| {
        let mut block = on_host(&values);
        let layout = Layout::contiguous(&[400, 500])
            .unwrap()
            .permute(&[1, 0])
            .unwrap();
        ops::scale(ViewMut::<f32>::new(&mut block, layout).unwrap(), 4.0).unwrap();
        ops::scale(ViewMut::<f32>::flat(&mut block).unwrap(), 0.25).unwrap();
        contents::<f32>(&block)
    }) {
        assert_eq!(bits(&scaled), bits(&values), "by 4 and by 1/4 is nothing");
    }
}

#[test]
fn special_values() {
    let mode = common::driver();
    let inputs = [
        0.0_f32,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        f32::NAN,
    ];
    // By hand, from IEEE 754: signs multiply, overflow is infinite, halves of the smallest go to even.
    let tables: [(f32, [f32; 7]); 4] = [
        (
            -2.0,
            [
                -0.0,
                0.0,
                f32::NEG_INFINITY,
                f32::INFINITY,
                f32::NEG_INFINITY,
                -2.350_988_7e-38,
                -2.8e-45,
            ],
        ),
        (
            0.5,
            [
                0.0,
                -0.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                1.701_411_7e38,
                5.877_472e-39,
                0.0,
            ],
        ),
        (
            1.0,
            [
                0.0,
                -0.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::MAX,
                f32::MIN_POSITIVE,
                1e-45,
            ],
        ),
        (
            f32::INFINITY,
            [
                f32::NAN,
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::INFINITY,
                f32::INFINITY,
                f32::INFINITY,
            ],
        ),
    ];
    for (factor, expected) in tables {
        let check = |found: Vec<f32>, side: &str| {
            for ((found, expected), input) in found.iter().zip(expected).zip(inputs) {
                let same =
                    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(
                    same,
                    "{side}: {input} * {factor} is {found}, expected {expected}"
                );
            }
            assert!(found[7].is_nan(), "{side}: NaN stays NaN");
        };
        let mut host = on_host(&inputs);
        ops::scale(ViewMut::<f32>::flat(&mut host).unwrap(), factor).unwrap();
        check(contents(&host), "host");
        for_grids(&mode, || {
            let mut device = on_device(&inputs);
            ops::scale(ViewMut::<f32>::flat(&mut device).unwrap(), factor).unwrap();
            check(contents(&device), "device");
        });
    }
}

#[test]
fn ten_scales_on_a_device_upload_once_and_download_once() {
    let mode = common::driver();
    if !mode.has_device() {
        return;
    }
    let mut block = on_device(&[1.0_f32; 4096]);
    for _ in 0..10 {
        ops::scale(ViewMut::<f32>::flat(&mut block).unwrap(), 2.0).unwrap();
    }
    assert_eq!(contents::<f32>(&block), [1024.0; 4096]);
    let moved = block.transfers();
    assert_eq!((moved.uploads, moved.downloads), (1, 1));
}
