//! Operations on data whose place changes meanwhile, or whose device cannot be reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ulib_core::{ErrorKind, Layout, PreferredDevice, Residency};
use ulib_device::Device;
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Array, View, ViewMut};

use crate::common;
use crate::support::{contents, on_device, on_host, samples};

const DEVICE: PreferredDevice = PreferredDevice::Device(0);

fn view(block: &Block) -> View<'_, f32> {
    View::new(block, Layout::contiguous(&[20, 30]).unwrap()).unwrap()
}

/// A tenth of the block: fetched packed when only the device has it.
fn part(block: &Block) -> View<'_, f32> {
    view(block).slice_axis(0, 4, 6, 1).unwrap()
}

/// Every operation that reads `source`, into blocks on the host and on the device: the numbers of all.
fn everything(source: &Block, near: &mut Block, far: &mut Block) -> ulib_core::Result<Vec<f64>> {
    let mut numbers = vec![ops::sum_all(&view(source))?];
    numbers.extend(ops::sum(&view(source), &[1])?);
    // New arrays, wherever the source is by then.
    let turned = view(source).permute(&[1, 0])?;
    let halves: Array<f64> = ops::cast(&turned)?;
    numbers.extend(halves.to_array()?);
    for made in [
        ops::add(&turned, 1.0)?,
        ops::multiply(&turned, &turned)?,
        ops::fma(&turned, 2.0, &turned)?,
    ] {
        numbers.extend(made.to_array()?.iter().map(|&value| f64::from(value)));
    }
    for out in [near, far] {
        let rows = Layout::contiguous(&[20])?;
        ops::sum_into(&view(source), &[1], ViewMut::<f64>::new(out, rows)?)?;
        numbers.extend(contents::<f64>(out).iter().take(20));
        let all = Layout::contiguous(&[20, 30])?;
        ops::copy(&view(source), ViewMut::<f32>::new(out, all)?)?;
        let some = Layout::contiguous(&[2, 30])?;
        ops::copy(&part(source), ViewMut::<f32>::new(out, some)?)?;
        numbers.extend(contents::<f32>(out).iter().map(|&value| f64::from(value)));
    }
    let mut values = vec![0.0; 60];
    ops::copy_to_host(&part(source), &mut values, &Layout::contiguous(&[2, 30])?)?;
    numbers.extend(values.iter().map(|&value| f64::from(value)));
    Ok(numbers)
}

#[test]
fn no_operation_fails_because_another_thread_changed_the_preference() {
    let Some(_driver) = common::gpu() else { return };
    let values = samples::<f32>(600);
    let source = on_device(&values);
    let outputs = || (on_host(&values), on_device(&values));
    let (mut near, mut far) = outputs();
    let expected = everything(&source, &mut near, &mut far).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut near, mut far) = outputs();
                    for _ in 0..60 {
                        let found = everything(&source, &mut near, &mut far);
                        assert_eq!(found.unwrap(), expected);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut places = [PreferredDevice::Host, DEVICE, PreferredDevice::Device(1)]
                .into_iter()
                .cycle();
            while !done.load(Ordering::Relaxed) {
                let _ = places
                    .next()
                    .map(|place| source.set_preferred(place).unwrap());
            }
        });
        let failed: Vec<_> = workers
            .into_iter()
            .filter_map(|worker| worker.join().err())
            .collect();
        done.store(true, Ordering::Relaxed);
        assert!(failed.is_empty(), "a message is above");
    });
}

/// In a process of its own: a context is made once.
#[test]
fn numbers_on_the_host_are_worked_on_there_when_the_device_cannot_be_reached() {
    const NAME: &str =
        "places::numbers_on_the_host_are_worked_on_there_when_the_device_cannot_be_reached";
    if !common::in_child() {
        let output = common::child(NAME, &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let Some(session) = common::fake_only() else {
        return;
    };
    let values = samples::<f32>(600);
    let (source, mut near, mut far) = (on_host(&values), on_host(&values), on_host(&values));
    let expected = everything(&source, &mut near, &mut far).unwrap();
    session.fail_from("cuDevicePrimaryCtxRetain", 1, 999);
    far.set_preferred(DEVICE).unwrap_err();
    source.set_preferred(DEVICE).unwrap_err();
    assert_eq!(everything(&source, &mut near, &mut far).unwrap(), expected);
    ops::fill(ViewMut::<f32>::flat(&mut far).unwrap(), 2.0).unwrap();
    ops::scale(ViewMut::<f32>::flat(&mut far).unwrap(), 2.0).unwrap();
    // All three prefer the device and are on the host.
    ops::subtract_into(
        2.5,
        ops::Input::Output,
        ViewMut::<f32>::flat(&mut far).unwrap(),
    )
    .unwrap();
    let twos = ops::maximum(View::<f32>::flat(&far).unwrap(), 2.0).unwrap();
    ops::divide_into(&twos, 0.5, ViewMut::<f32>::flat(&mut far).unwrap()).unwrap();
    assert_eq!(contents::<f32>(&far), [4.0; 600]);
    for block in [&source, &far] {
        let sentence = block.location().to_string();
        assert!(
            sentence.starts_with("Host (cuDevicePrimaryCtxRetain: "),
            "{sentence}"
        );
    }

    // What only the device has is not worked on elsewhere.
    session.fail_nothing();
    ops::scale(ViewMut::<f32>::flat(&mut far).unwrap(), 2.0).unwrap();
    assert_eq!(far.residency(), Residency::DeviceNewer);
    session.break_device(0, 700);
    let errors = [
        ops::sum_all(&view(&far)).map(drop).unwrap_err(),
        ops::copy(
            &view(&far),
            ViewMut::new(&mut near, Layout::contiguous(&[20, 30]).unwrap()).unwrap(),
        )
        .unwrap_err(),
        ops::scale(ViewMut::<f32>::flat(&mut far).unwrap(), 2.0).unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 700, .. }),
            "{error}"
        );
    }
}

#[test]
fn operands_apart_are_an_error_that_names_both_places() {
    let Some(_driver) = common::gpu() else { return };
    let values = samples::<f32>(600);
    let (near, mut far) = (on_host(&values), on_device(&values));
    fn flat(block: &Block) -> View<'_, f32> {
        View::flat(block).unwrap()
    }
    let error =
        ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), flat(&near)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency, "{error}");
    let name = Device::new(0).unwrap().to_string();
    let text = error.to_string();
    assert!(text.starts_with("add: "), "{text}");
    assert!(text.contains("is to be used on Host"), "{text}");
    assert!(text.contains(&format!("is to be used on {name}")), "{text}");
    assert_eq!(contents::<f32>(&far), values, "and nothing has changed");

    // What the host has changed goes to the device it prefers: that is one place.
    let mut other = on_device(&values);
    other.write_at(0, &[0; 4]).unwrap();
    ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), flat(&other)).unwrap();
    assert_eq!(other.transfers().uploads, 2);

    // What cannot be used at all says why, and not that it is elsewhere.
    other.write_at(0, &[0; 4]).unwrap();
    let view = other.host_view().unwrap();
    let error =
        ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), flat(&other)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
    drop(view);
    ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), flat(&other)).unwrap();
}

#[test]
fn an_operand_that_finds_no_room_is_named_with_the_reason() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let values = samples::<f32>(600);
    let (mut far, near) = (on_device(&values), on_host(&values));
    Device::new(0).unwrap().memory_resource().trim().unwrap();
    session.memory_limit(session.live_bytes() + 1000);
    assert!(!near.set_preferred(DEVICE).unwrap());
    let input = View::<f32>::flat(&near).unwrap();
    let error = ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), &input).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency, "{error}");
    assert!(
        error
            .to_string()
            .contains("is to be used on Host (out of device memory: needs 2400 bytes"),
        "{error}"
    );
    // What is made of it is made beside it, though there would be room for less.
    let made: Array<u8> = ops::cast(&input).unwrap();
    assert!(
        made.to_array()
            .unwrap()
            .iter()
            .zip(&values)
            .all(|(&made, &x)| made == x as u8)
    );
    let made = ops::abs(&input).unwrap();
    assert!(
        made.to_array()
            .unwrap()
            .iter()
            .zip(&values)
            .all(|(&made, &x)| made == x.abs())
    );
    session.memory_limit(u64::MAX);
    ops::add_in_place(ViewMut::<f32>::flat(&mut far).unwrap(), &input).unwrap();
}
