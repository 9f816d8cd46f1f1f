use half::{bf16, f16};
use ulib_core::{Bool8, Layout};
use ulib_math::ops;
use ulib_math::view::ViewMut;

use crate::common;
use crate::support::{
    Case, Sample, cases, contents, for_grids, on_device, on_host, on_pools, samples,
};

/// What fill means, element by element.
fn expected<T: Sample>(case: &Case, value: T) -> Vec<T> {
    let mut elements = samples::<T>(case.elements);
    for offset in case.layout.offsets() {
        elements[offset] = value;
    }
    elements
}

fn twins<T: Sample>() {
    let mode = common::driver();
    let value = T::sample(0x0123_4567_89ab_cdef);
    for case in cases() {
        let expected = expected(&case, value);
        for filled in on_pools(|| {
            let mut block = on_host(&samples::<T>(case.elements));
            ops::fill(
                ViewMut::new(&mut block, case.layout.clone()).unwrap(),
                value,
            )
            .unwrap();
            contents::<T>(&block)
        }) {
            assert_eq!(filled, expected, "host, {}", case.name);
        }
        for_grids(&mode, || {
            let mut block = on_device(&samples::<T>(case.elements));
            ops::fill(
                ViewMut::new(&mut block, case.layout.clone()).unwrap(),
                value,
            )
            .unwrap();
            assert!(block.is_device_resident(), "{}", case.name);
            assert_eq!(contents::<T>(&block), expected, "device, {}", case.name);
        });
    }
}

#[test]
fn u8_twins() {
    twins::<u8>();
}

#[test]
fn u16_twins() {
    twins::<u16>();
}

#[test]
fn f32_twins() {
    twins::<f32>();
}

#[test]
fn f64_twins() {
    twins::<f64>();
}

#[test]
fn twins_of_the_other_numbers() {
    twins::<i8>();
    twins::<i16>();
    twins::<i32>();
    twins::<u32>();
    twins::<i64>();
    twins::<u64>();
    twins::<f16>();
    twins::<bf16>();
    twins::<Bool8>();
}

#[test]
fn sixteen_byte_twins() {
    twins::<[u8; 16]>();
}

#[test]
fn twins_of_sizes_no_kernel_writes_whole() {
    twins::<[u8; 3]>();
    twins::<[u8; 144]>();
}

#[test]
fn large_fills_run_in_parallel() {
    let layout = Layout::contiguous(&[300, 301, 2])
        .unwrap()
        .slice_axis(2, 0, 1, 1)
        .unwrap();
    for filled in on_pools(|| {
        let mut block = on_host(&vec![1_u32; 300 * 301 * 2]);
        ops::fill(ViewMut::new(&mut block, layout.clone()).unwrap(), 9_u32).unwrap();
        contents::<u32>(&block)
    }) {
        assert!(filled.chunks(2).all(|voxel| voxel == [9, 1]));
    }
}

#[test]
fn the_bits_of_a_nan_are_kept() {
    let mode = common::driver();
    let nan = f32::from_bits(0xffc1_2345);
    let mut host = on_host(&[0.0_f32; 5]);
    ops::fill(ViewMut::<f32>::flat(&mut host).unwrap(), nan).unwrap();
    assert_eq!(contents::<u32>(&host), [0xffc1_2345; 5]);
    for_grids(&mode, || {
        let mut device = on_device(&[0.0_f32; 5]);
        ops::fill(ViewMut::<f32>::flat(&mut device).unwrap(), nan).unwrap();
        assert_eq!(contents::<u32>(&device), [0xffc1_2345; 5]);
    });
}

#[test]
fn a_fill_of_everything_moves_nothing() {
    let mode = common::driver();
    if !mode.has_device() {
        return;
    }
    let mut block = on_host(&[1.0_f32; 1000]);
    // Preferred, used, and changed on the host since: an upload would be due.
    block
        .set_preferred(ulib_core::PreferredDevice::Device(0))
        .unwrap();
    block.write_at(0, &2.0_f32.to_ne_bytes()).unwrap();
    let before = block.transfers();
    ops::fill(ViewMut::<f32>::flat(&mut block).unwrap(), 3.0).unwrap();
    let after = block.transfers();
    assert_eq!(
        (after.uploads, after.downloads),
        (before.uploads, before.downloads)
    );
    assert_eq!(contents::<f32>(&block), [3.0; 1000]);
}
