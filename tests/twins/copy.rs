use half::{bf16, f16};
use ulib_core::{
    Bool8, DType, DeviceStorable, ErrorKind, IDeviceArray, Layout, Placement, PreferredDevice,
};
use ulib_device::Device;
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{
    Case, Sample, cases, contents, for_grids, numbers, on_device, on_host, on_pools, samples,
};

/// Pairs of layouts of one shape: every case against itself permuted in memory, and against a plain array.
pub(crate) fn partners(case: &Case) -> Vec<(usize, Layout)> {
    let shape = case.layout.shape();
    let plain = Layout::contiguous(shape).unwrap();
    // The axes in reverse order in memory, every second element, from the third on.
    let mut strides = vec![0; shape.len()];
    let mut next = 2;
    for (stride, &len) in strides.iter_mut().zip(shape) {
        *stride = next;
        next *= len.max(1) as isize;
    }
    let spread = Layout::new(shape.to_vec(), strides, 3).unwrap();
    vec![
        (plain.len(), plain),
        (next as usize + 3, spread),
        (case.elements, case.layout.clone()),
    ]
}

fn expected<T: Sample>(case: &Case, size: usize, layout: &Layout) -> Vec<T> {
    let source = samples::<T>(case.elements);
    let mut target: Vec<T> = numbers(size).map(|bits| T::sample(!bits)).collect();
    for (from, to) in case.layout.offsets().zip(layout.offsets()) {
        target[to] = source[from];
    }
    target
}

fn twins<T: Sample>() {
    let mode = common::driver();
    for case in cases() {
        let source = samples::<T>(case.elements);
        for (size, layout) in partners(&case) {
            let expected = expected::<T>(&case, size, &layout);
            let blank: Vec<T> = numbers(size).map(|bits| T::sample(!bits)).collect();
            let run = |src: &Block, dst: &mut Block, sides: &str| {
                let view = View::<T>::new(src, case.layout.clone()).unwrap();
                ops::copy(&view, ViewMut::new(dst, layout.clone()).unwrap()).unwrap();
                assert_eq!(
                    contents::<T>(dst),
                    expected,
                    "{sides}: {} to {layout:?}",
                    case.name
                );
            };
            on_pools(|| run(&on_host(&source), &mut on_host(&blank), "host to host"));
            for_grids(&mode, || {
                run(
                    &on_device(&source),
                    &mut on_device(&blank),
                    "device to device",
                );
            });
            if mode.has_device() {
                run(&on_device(&source), &mut on_host(&blank), "device to host");
                run(&on_host(&source), &mut on_device(&blank), "host to device");
            }
        }
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
fn u64_twins() {
    twins::<u64>();
}

#[test]
fn twins_of_the_other_numbers() {
    twins::<i8>();
    twins::<i16>();
    twins::<i32>();
    twins::<u32>();
    twins::<i64>();
    twins::<f64>();
    twins::<f16>();
    twins::<bf16>();
    twins::<Bool8>();
}

#[test]
fn twins_of_records() {
    twins::<[u8; 3]>();
    twins::<[u8; 144]>();
}

#[test]
fn device_to_device_makes_no_host_trip() {
    let mode = common::driver();
    if !mode.has_device() {
        return;
    }
    let src = on_device(&[1_u32; 600]);
    let mut dst = on_device(&[2_u32; 600]);
    let view = View::<u32>::new(&src, Layout::contiguous(&[20, 30]).unwrap())
        .unwrap()
        .permute(&[1, 0])
        .unwrap();
    let before = (src.transfers(), dst.transfers());
    ops::copy(
        &view,
        ViewMut::new(&mut dst, Layout::contiguous(&[30, 20]).unwrap()).unwrap(),
    )
    .unwrap();
    assert_eq!((src.transfers(), dst.transfers()), before);
}

#[test]
fn slices_on_the_host_to_and_from_a_device() {
    let mode = common::driver();
    let values: Vec<u32> = (0..1000).collect();
    let layout = Layout::new(vec![10, 20], vec![1, 25], 7).unwrap();
    let check = |mut block: Block| {
        // Something newer on the device than on the host, where there is one.
        ops::fill(ViewMut::<u32>::flat(&mut block).unwrap(), 5).unwrap();
        let inside = Layout::new(vec![10, 20], vec![40, 2], 0).unwrap();
        ops::copy_from_host(
            &values,
            &layout,
            ViewMut::new(&mut block, inside.clone()).unwrap(),
        )
        .unwrap();
        let mut back = vec![0_u32; 1000];
        ops::copy_to_host(&View::new(&block, inside).unwrap(), &mut back, &layout).unwrap();
        let reached: Vec<usize> = layout.offsets().collect();
        for (i, (&found, &sent)) in back.iter().zip(&values).enumerate() {
            assert_eq!(found, if reached.contains(&i) { sent } else { 0 }, "{i}");
        }
        let all = contents::<u32>(&block);
        assert!(
            all.chunks(2).all(|pair| pair[1] == 5),
            "between the elements"
        );
        assert!(
            all[400..].iter().all(|&rest| rest == 5),
            "beyond the elements"
        );
    };
    check(on_host(&[0_u32; 1000]));
    for_grids(&mode, || check(on_device(&[0_u32; 1000])));
}

#[test]
fn to_another_device() {
    let mode = common::driver();
    if !mode.has_device() || Device::count().unwrap() < 2 {
        return;
    }
    let values = samples::<f32>(300);
    let src = on_device(&values);
    let mut dst = on_host(&[0.0_f32; 600]);
    assert!(dst.set_preferred(PreferredDevice::Device(1)).unwrap());
    let layout = Layout::new(vec![300], vec![2], 1).unwrap();
    ops::copy(
        &View::<f32>::flat(&src).unwrap(),
        ViewMut::new(&mut dst, layout).unwrap(),
    )
    .unwrap();
    let found = contents::<f32>(&dst);
    assert!(
        found
            .chunks(2)
            .zip(&values)
            .all(|(pair, &value)| pair == [0.0, value])
    );
}

/// What another library might hand over.
struct Foreign {
    pointer: u64,
    layout: Layout,
    ordinal: u32,
}

impl IDeviceArray for Foreign {
    fn dtype(&self) -> DType {
        f32::DTYPE
    }
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn read_only(&self) -> bool {
        true
    }
    fn placement(&self) -> Placement {
        Placement::Device(self.ordinal)
    }
    fn pointer(&self) -> u64 {
        self.pointer
    }
}

#[test]
#[allow(
    unsafe_code,
    reason = "hands over a device pointer as another library would"
)]
fn from_a_foreign_array() {
    let mode = common::driver();
    if !mode.has_device() {
        return;
    }
    let values = samples::<f32>(60);
    let owner = on_device(&values);
    let lease = owner.lease().unwrap();
    let layout = Layout::contiguous(&[6, 10])
        .unwrap()
        .permute(&[1, 0])
        .unwrap()
        .flip(1)
        .unwrap();
    let foreign = Foreign {
        pointer: lease.ptr(),
        layout: layout.clone(),
        ordinal: 0,
    };
    let expected: Vec<f32> = layout.offsets().map(|offset| values[offset]).collect();
    let mut targets = vec![on_host(&[0.0_f32; 60]), on_device(&[0.0_f32; 60])];
    if Device::count().unwrap() > 1 {
        let other = on_host(&[0.0_f32; 60]);
        assert!(other.set_preferred(PreferredDevice::Device(1)).unwrap());
        targets.push(other);
    }
    for target in &mut targets {
        let view = ViewMut::<f32>::new(target, Layout::contiguous(&[10, 6]).unwrap()).unwrap();
        // SAFETY: the lease keeps the memory alive and nothing writes it; it was written before, on the legacy stream.
        unsafe { ops::copy_from_device(&foreign, view) }.unwrap();
        assert_eq!(contents::<f32>(target), expected);
    }
    let mut wrong = on_host(&[0_u32; 60]);
    let view = ViewMut::<u32>::new(&mut wrong, Layout::contiguous(&[10, 6]).unwrap()).unwrap();
    // SAFETY: as above.
    let error = unsafe { ops::copy_from_device(&foreign, view) }.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DType), "{error}");
}

#[test]
fn wrong_shapes_are_errors_that_name_both() {
    let src = on_host(&[0_u8; 6]);
    let mut dst = on_host(&[0_u8; 6]);
    let view = View::<u8>::new(&src, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
    let error = ops::copy(
        &view,
        ViewMut::new(&mut dst, Layout::contiguous(&[3, 2]).unwrap()).unwrap(),
    )
    .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    let message = error.to_string();
    assert!(message.contains('2') && message.contains('3'), "{message}");
}
