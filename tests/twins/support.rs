//! Layouts, values, and blocks on both sides.

use half::{bf16, f16};
use ulib_core::{Bool8, DeviceStorable, Layout, PreferredDevice, bytemuck};
use ulib_device::block::Block;
use ulib_math::ops;

use crate::common::Mode;

/// A layout in a block of `elements` elements.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) elements: usize,
    pub(crate) layout: Layout,
}

fn case(name: &'static str, elements: usize, layout: ulib_core::Result<Layout>) -> Case {
    Case {
        name,
        elements,
        layout: layout.expect(name),
    }
}

/// A box of `shape` of which `inner` is used, in the middle: no two axes merge.
fn padded(shape: &[usize], inner: &[usize]) -> Layout {
    let mut layout = Layout::contiguous(shape).expect("padded");
    for (axis, (&outer, &len)) in shape.iter().zip(inner).enumerate() {
        let start = (outer - len) / 2;
        layout = layout
            .slice_axis(axis, start, start + len, 1)
            .expect("padded");
    }
    layout
}

/// The layouts every operation is tried on.
pub(crate) fn cases() -> Vec<Case> {
    let box_ = || Layout::contiguous(&[7, 11, 13]).expect("box");
    let volume = || Layout::contiguous(&[9, 21, 25]).expect("volume");
    // (Value, Count) voxels: every second word.
    let voxels = |shape: &[usize]| {
        let full = Layout::contiguous(shape).expect("voxels");
        Layout::new(
            shape.to_vec(),
            full.strides().iter().map(|s| s * 2).collect(),
            0,
        )
    };
    vec![
        case("empty", 4, Layout::contiguous(&[0])),
        case("empty in the middle", 12, Layout::contiguous(&[3, 0, 2])),
        case("no axes", 3, Layout::new(vec![], vec![], 1)),
        case("one element", 1, Layout::contiguous(&[1, 1])),
        case("three", 3, Layout::contiguous(&[3])),
        case("odd line", 257, Layout::contiguous(&[257])),
        case("line off by one", 300, Layout::new(vec![257], vec![1], 1)),
        case("line off by three", 300, Layout::new(vec![256], vec![1], 3)),
        case("backwards", 100, Layout::new(vec![99], vec![-1], 98)),
        case("just a chunk", 4096, Layout::contiguous(&[4096])),
        case("a chunk and one", 4097, Layout::contiguous(&[4097])),
        case("several chunks", 10_001, Layout::contiguous(&[10_001])),
        case("voxels", 2 * 5001, voxels(&[5001])),
        case("counts", 2 * 1001, Layout::new(vec![1001], vec![2], 1)),
        case("every third", 3 * 700, Layout::new(vec![700], vec![3], 2)),
        case("box", 1001, Ok(box_())),
        case("box permuted", 1001, box_().permute(&[2, 0, 1])),
        case("box flipped", 1001, box_().flip(0).and_then(|l| l.flip(2))),
        case(
            "box permuted and flipped",
            1001,
            box_().permute(&[1, 2, 0]).and_then(|l| l.flip(1)),
        ),
        case(
            "box, every second row",
            1001,
            box_().slice_axis(1, 0, 11, 2),
        ),
        case(
            "padded by whole units",
            6 * 10 * 16,
            Ok(padded(&[6, 10, 16], &[4, 8, 8])),
        ),
        case(
            "padded by odd amounts",
            6 * 10 * 17,
            Ok(padded(&[6, 10, 17], &[3, 7, 12])),
        ),
        case(
            "padded, wide rows",
            3 * 3 * 600,
            Ok(padded(&[3, 3, 600], &[2, 2, 592])),
        ),
        case("voxel volume", 2 * 9 * 21 * 25, voxels(&[9, 21, 25])),
        case("volume", 9 * 21 * 25, Ok(volume())),
        case("long last axis", 3 * 5000, Layout::contiguous(&[3, 5000])),
        case("long first axis", 5000 * 3, Layout::contiguous(&[5000, 3])),
        case("even columns", 900 * 8, Layout::contiguous(&[900, 8])),
        case("wide columns", 20 * 300, Layout::contiguous(&[20, 300])),
        case(
            "five axes",
            4 * 5 * 3 * 6 * 4,
            Ok(padded(&[4, 5, 3, 6, 4], &[3, 4, 2, 5, 3])),
        ),
        case("eight axes", 6561, Ok(padded(&[3; 8], &[2; 8]))),
        // More than a kernel takes: several launches.
        case("nine axes", 19683, Ok(padded(&[3; 9], &[2; 9]))),
    ]
}

/// Numbers that look random and are the same in every run.
pub(crate) fn numbers(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}

/// A type's values for tests: finite, of both signs where there are two, of many magnitudes.
pub(crate) trait Sample: DeviceStorable + Copy + PartialEq + std::fmt::Debug {
    fn sample(bits: u64) -> Self;
}

macro_rules! sample {
    ($($type:ty: |$bits:ident| $value:expr;)*) => {
        $(impl Sample for $type {
            fn sample($bits: u64) -> Self {
                $value
            }
        })*
    };
}

sample! {
    i8: |bits| bits as i8;
    u8: |bits| bits as u8;
    i16: |bits| bits as i16;
    u16: |bits| bits as u16;
    i32: |bits| bits as i32;
    u32: |bits| bits as u32;
    i64: |bits| bits as i64;
    u64: |bits| bits;
    f32: |bits| ((bits >> 40) as f32 / 16_777_216.0 - 0.5) * 10_f32.powi((bits % 9) as i32 - 4);
    f64: |bits| ((bits >> 11) as f64 / 9_007_199_254_740_992.0 - 0.5) * 10_f64.powi((bits % 17) as i32 - 8);
    f16: |bits| f16::from_bits(bits as u16 & 0xbbff);
    bf16: |bits| bf16::from_bits(bits as u16 & 0xbfff);
    Bool8: |bits| Bool8::from_bits(bits as u8);
    [u8; 3]: |bits| [bits as u8, (bits >> 8) as u8, (bits >> 16) as u8];
    [u8; 16]: |bits| std::array::from_fn(|i| (bits >> (i % 8 * 8)) as u8 ^ i as u8);
    [u8; 144]: |bits| std::array::from_fn(|i| (bits >> (i % 8 * 8)) as u8 ^ i as u8);
}

/// `count` sample values.
pub(crate) fn samples<T: Sample>(count: usize) -> Vec<T> {
    numbers(count).map(T::sample).collect()
}

/// A block with these elements that lives on the host.
pub(crate) fn on_host<T: DeviceStorable>(elements: &[T]) -> Block {
    Block::from_slice(elements).expect("a block")
}

/// A block with these elements that lives on device 0.
pub(crate) fn on_device<T: DeviceStorable>(elements: &[T]) -> Block {
    let block = on_host(elements);
    let there = block
        .set_preferred(PreferredDevice::Device(0))
        .expect("a device");
    assert!(
        there,
        "the block should be on the device: {}",
        block.location()
    );
    block
}

/// The elements of a block, wherever it is.
pub(crate) fn contents<T: DeviceStorable>(block: &Block) -> Vec<T> {
    bytemuck::cast_slice(&block.read().expect("readable")).to_vec()
}

/// Runs `check` with grids of every size worth telling apart: as large as the operation likes, one block, three blocks.
pub(crate) fn for_grids(mode: &Mode, mut check: impl FnMut()) {
    if !mode.has_device() {
        return;
    }
    for limit in [None, Some(1), Some(3)] {
        ops::set_grid_limit(limit);
        check();
    }
    ops::set_grid_limit(None);
}

/// Runs `work` on pools of 1 and of 2 threads and gives both answers.
pub(crate) fn on_pools<A: Send>(work: impl Fn() -> A + Sync) -> [A; 2] {
    [1, 2].map(|threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool")
            .install(&work)
    })
}
