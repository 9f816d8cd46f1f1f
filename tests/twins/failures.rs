//! What is left when an operation fails: the content from before, or all of the new one. And views of more elements than
//! there is memory.

#![allow(unsafe_code, reason = "copies from a foreign array")]

use ulib_core::{
    DType, ErrorKind, IDeviceArray, Layout, Placement, PreferredDevice, Residency, Result,
};
use ulib_device::block::{Block, Lease};
use ulib_device::memory::DeviceMemory;
use ulib_device::{Device, Stream};
use ulib_math::ops::{self, Bins};
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{contents, on_device, on_host};

/// Where an output is when an operation begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Host,
    DeviceNewer,
    /// The same on both sides.
    InSync,
    /// Only device 0 has it, and the host is preferred.
    Recalled,
    /// Only device 0 has it, and a second one, if there is one, is preferred.
    Redirected,
    /// Leased to an outsider.
    Shared,
}

const PLACES: [Place; 6] = [
    Place::Host,
    Place::DeviceNewer,
    Place::InSync,
    Place::Recalled,
    Place::Redirected,
    Place::Shared,
];

/// `count` sevens, and on the host, where that is older, ones.
fn output(count: usize, place: Place) -> (Block, Option<Lease>) {
    if place == Place::Host {
        return (on_host(&vec![7.0_f64; count]), None);
    }
    let mut block = on_device(&vec![1.0_f64; count]);
    ops::fill(ViewMut::<f64>::flat(&mut block).unwrap(), 7.0).unwrap();
    match place {
        Place::InSync => drop(block.read().unwrap()),
        Place::Recalled => {
            block.set_preferred(PreferredDevice::Host).unwrap();
        }
        Place::Redirected if Device::count().unwrap() > 1 => {
            block.set_preferred(PreferredDevice::Device(1)).unwrap();
        }
        Place::Shared => {
            let lease = block.lease().unwrap();
            return (block, Some(lease));
        }
        _ => assert_eq!(block.residency(), Residency::DeviceNewer),
    }
    (block, None)
}

/// 12 elements, or the even ones of 24: a whole block and a part of one.
fn shaped(whole: bool) -> (usize, Layout) {
    let (count, step) = if whole { (12, 1) } else { (24, 2) };
    (
        count,
        Layout::new(vec![3, 4], vec![4 * step, step], 0).unwrap(),
    )
}

/// A foreign array, valid as long as its memory.
#[derive(Debug)]
struct Foreign {
    memory: DeviceMemory<f64>,
    layout: Layout,
}

impl IDeviceArray for Foreign {
    fn dtype(&self) -> DType {
        DType::F64
    }
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn read_only(&self) -> bool {
        true
    }
    fn placement(&self) -> Placement {
        Placement::Device(0)
    }
    fn pointer(&self) -> u64 {
        self.memory.ptr()
    }
}

/// An operation that writes a 3 x 4 view from a 3 x 4 x 5 view of twos in a source of 200.
type Operation = fn(&View<'_, f64>, ViewMut<'_, f64>) -> Result<()>;

const OPERATIONS: [(&str, Operation); 6] = [
    ("max_into", |source, out| ops::max_into(source, &[2], out)),
    ("mean_into", |source, out| ops::mean_into(source, &[2], out)),
    ("quantile_into", |source, out| {
        ops::quantile_into(source, &[2], 0.5, out)
    }),
    ("sum_into", |source, out| ops::sum_into(source, &[2], out)),
    ("copy", |source, out| {
        ops::copy(&source.clone().index_axis(2, 1)?, out)
    }),
    ("copy, repeated", |source, out| {
        let one = source.clone().index_axis(0, 1)?.index_axis(1, 1)?;
        ops::copy(&one.broadcast_to(&[3, 4])?, out)
    }),
];

/// Operations whose inputs have to be where the output is. None of them makes sevens of twos, or of twos and sevens.
const TOGETHER: [(&str, Operation); 4] = [
    ("add_into", |source, out| {
        let twos = beside(source, &out)?;
        ops::add_into(&twos, &twos, out)
    }),
    ("fma_into", |source, out| {
        let twos = beside(source, &out)?;
        ops::fma_into(&twos, &twos, &twos, out)
    }),
    ("add_in_place", |source, out| {
        let twos = beside(source, &out)?;
        ops::add_in_place(out, &twos)
    }),
    ("axpy", |source, out| {
        let twos = beside(source, &out)?;
        ops::axpy(3.0, &twos, out)
    }),
];

/// What [`TOGETHER`] makes of twos and sevens.
const MADE: [f64; 4] = [4.0, 6.0, 9.0, 13.0];

/// 3 x 4 twos that prefer to be where the output prefers to be.
fn beside<'a>(source: &View<'a, f64>, out: &ViewMut<'_, f64>) -> Result<View<'a, f64>> {
    let view = source.clone().index_axis(2, 1)?;
    view.block().set_preferred(out.view().block().preferred())?;
    Ok(view)
}

/// Twos of which a view is a small part, on the host or on the device alone.
fn source(on_the_device: bool) -> Block {
    if !on_the_device {
        return on_host(&[2.0_f64; 200]);
    }
    let mut block = on_device(&[0.0_f64; 200]);
    ops::fill(ViewMut::<f64>::flat(&mut block).unwrap(), 2.0).unwrap();
    block
}

fn of_source(source: &Block) -> View<'_, f64> {
    View::new(source, Layout::contiguous(&[3, 4, 5]).unwrap()).unwrap()
}

/// All of `block` as before, or all of the view `layout` the same new value and the rest as before.
fn assert_whole(block: &Block, layout: &Layout, what: &str) -> bool {
    let values = contents::<f64>(block);
    if values.iter().all(|&value| value == 7.0) {
        return false;
    }
    let mut expected = vec![7.0; values.len()];
    layout
        .offsets()
        .for_each(|offset| expected[offset] = values[0]);
    assert!(
        [2.0, 10.0].contains(&values[0]) || MADE.contains(&values[0]),
        "{what}: {values:?}"
    );
    assert_eq!(values, expected, "{what}");
    true
}

#[test]
fn a_busy_source_leaves_the_output() {
    let _driver = common::driver();
    for place in PLACES {
        for whole in [true, false] {
            for (name, operation) in OPERATIONS {
                let what = format!("{name}, {place:?}, whole: {whole}");
                let (count, layout) = shaped(whole);
                let (mut out, _lease) = output(count, place);
                let source = source(false);
                let held = source.host_view().unwrap();
                let target = ViewMut::new(&mut out, layout.clone()).unwrap();
                let error = operation(&of_source(&source), target).unwrap_err();
                assert_eq!(*error.kind(), ErrorKind::Busy, "{what}: {error}");
                drop(held);
                assert!(!assert_whole(&out, &layout, &what), "{what}");
                let target = ViewMut::new(&mut out, layout.clone()).unwrap();
                operation(&of_source(&source), target).unwrap();
                assert!(assert_whole(&out, &layout, &what), "{what}");
            }
        }
    }
}

/// Runs `operation` with its n-th call to the driver failing, for every n, on a fresh source and output.
fn with_every_failure(
    session: &fakecuda::Session,
    what: &str,
    make: impl Fn() -> (Block, Option<Lease>),
    layout: &Layout,
    on_the_device: bool,
    operation: impl Fn(&Block, ViewMut<'_, f64>) -> Result<()>,
) {
    for nth in 1.. {
        let source = source(on_the_device);
        let (mut out, _lease) = make();
        session.reset_counts();
        session.fail_any(nth, 700);
        let result = operation(&source, ViewMut::new(&mut out, layout.clone()).unwrap());
        let calls = session.total_calls();
        session.fail_nothing();
        let what = format!("{what}, call {nth}: {result:?}");
        let new = assert_whole(&out, layout, &what);
        assert!(new || result.is_err(), "{what}: nothing done and no error");
        if calls < nth {
            return assert!(result.is_ok(), "{what}");
        }
        assert!(nth < 500, "{what}: does not end");
    }
}

#[test]
fn a_failing_call_leaves_the_output_or_writes_all_of_it() {
    let Some(session) = common::fake_only() else {
        return;
    };
    for place in PLACES {
        for whole in [true, false] {
            let (count, layout) = shaped(whole);
            let what = |name: &str| format!("{name}, {place:?}, whole: {whole}");
            let make = || output(count, place);
            for (name, operation) in OPERATIONS.into_iter().chain(TOGETHER) {
                for on_the_device in [false, true] {
                    let name = format!("{}, device: {on_the_device}", what(name));
                    with_every_failure(
                        &session,
                        &name,
                        make,
                        &layout,
                        on_the_device,
                        |source, out| operation(&of_source(source), out),
                    );
                }
            }
            with_every_failure(&session, &what("fill"), make, &layout, false, |_, out| {
                ops::fill(out, 2.0)
            });
            let host = [2.0_f64; 12];
            with_every_failure(
                &session,
                &what("copy_from_host"),
                make,
                &layout,
                false,
                |_, out| ops::copy_from_host(&host, &Layout::contiguous(&[3, 4])?, out),
            );
            let stream = Stream::legacy(&Device::new(0).unwrap());
            let foreign = Foreign {
                memory: DeviceMemory::from_slice(&host, &stream).unwrap(),
                layout: Layout::contiguous(&[3, 4]).unwrap(),
            };
            with_every_failure(
                &session,
                &what("copy_from_device"),
                make,
                &layout,
                false,
                |_, out| {
                    // SAFETY: the memory has the 12 elements and outlives the loop, whose output is read after each call.
                    unsafe { ops::copy_from_device(&foreign, out) }
                },
            );
        }
    }
}

/// Nine axes that cannot be merged are two launches: all that can fail before the first is done before it, and the driver's
/// refusal of the second leaves the first half, where the host has not the elements from before.
#[test]
fn between_two_launches_nobody_but_the_driver_can_fail() {
    type Change = fn(ViewMut<'_, f64>) -> Result<()>;
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = Device::new(0).unwrap();
    let _current = device.bind().unwrap();
    let strides = (0..9).rev().map(|axis| 3_isize.pow(axis)).collect();
    let layout = Layout::new(vec![2; 9], strides, 0).unwrap();
    let operations: [(&str, Change); 2] = [
        ("fill", |out| ops::fill(out, 8.0)),
        ("add_in_place", |out| ops::add_in_place(out, 1.0)),
    ];
    for (name, operation) in operations {
        let mut halves = 0;
        for nth in 1.. {
            let (mut block, _) = output(9842, Place::DeviceNewer);
            session.reset_counts();
            session.record(true);
            session.fail_any(nth, 700);
            let result = operation(ViewMut::new(&mut block, layout.clone()).unwrap());
            let calls = session.calls();
            session.record(false);
            session.fail_nothing();
            let what = format!("{name}, call {nth}: {result:?}, {calls:?}");
            let values = contents::<f64>(&block);
            let all: Vec<usize> = layout.offsets().collect();
            let new = values.iter().filter(|&&value| value == 8.0).count();
            let launches = calls.iter().filter(|call| **call == LAUNCH).count();
            if new == 256 && result.is_err() {
                halves += 1;
                assert!(all[..256].iter().all(|&at| values[at] == 8.0), "{what}");
                let first = calls.iter().position(|call| *call == LAUNCH).unwrap();
                let after = [
                    LAUNCH,
                    "cuCtxGetCurrent",
                    "cuGetErrorName",
                    "cuGetErrorString",
                ];
                assert!(
                    calls[first..].iter().all(|call| after.contains(call)),
                    "{what}"
                );
            } else {
                assert!(new == 0 || launches == 2, "{what}");
            }
            if calls.len() < nth as usize {
                assert!(result.is_ok(), "{what}");
                break;
            }
        }
        assert_eq!(halves, 2, "{name}");
    }
}

const LAUNCH: &str = "cuLaunchKernel";

/// A view of `shape` that is one number everywhere.
fn everywhere<'a>(block: &'a Block, shape: &[usize]) -> View<'a, f32> {
    View::new(
        block,
        Layout::new(shape.to_vec(), vec![0; shape.len()], 0).unwrap(),
    )
    .unwrap()
}

fn assert_too_much<A: std::fmt::Debug>(result: Result<A>, at_least: u64) {
    let error = result.unwrap_err();
    assert!(
        matches!(*error.kind(), ErrorKind::OutOfMemory { needs, .. } if needs >= at_least),
        "{error}"
    );
}

#[test]
fn views_of_more_elements_than_memory_are_refused() {
    let mode = common::driver();
    for on_device in [false, true] {
        let block = on_host(&[1.0_f32, 2.0]);
        if on_device && mode.has_device() {
            assert!(block.set_preferred(PreferredDevice::Device(0)).unwrap());
        }
        for bits in [50, 52, 60, 61, 62] {
            let len = 1_usize << bits;
            // As many results as elements.
            for shape in [vec![len], vec![4, len / 4], vec![len / 2, 2]] {
                assert_too_much(ops::sum(&everywhere(&block, &shape), &[]), 1 << bits);
            }
            // Many results, long sums: by rows, and by columns.
            let view = everywhere(&block, &[1 << 46, 1 << (bits - 46)]);
            assert_too_much(ops::sum(&view, &[1]), 1 << 46);
            assert_too_much(view.to_array(), 1 << bits);
            let columns = Layout::new(vec![len / 2, 2], vec![0, 1], 0).unwrap();
            let columns = View::<f32>::new(&block, columns).unwrap();
            assert_too_much(ops::sum(&columns, &[]), 1 << bits);
            assert_too_much(columns.to_array(), 1 << bits);
        }
        // One element of each is refused before there is a place for the rest.
        let view = everywhere(&block, &[1 << 60]);
        assert_too_much(ops::add(&view, 1.0), 1 << 60);
        assert_too_much(ops::cast::<f32, u8>(&view), 1 << 60);
        assert_too_much(ops::min(&view, &[]), 1 << 60);
        assert_too_much(ops::argmax(&view, &[]), 1 << 60);
        assert_too_much(ops::variance(&view, 0, &[]), 1 << 60);
        assert_too_much(ops::dot(&view, &view, &[]), 1 << 60);
        assert_too_much(ops::quantile(&view, &[], 0.5), 1 << 60);
        let bins = Bins::uniform(0.0, 1.0, 1).unwrap();
        assert_too_much(ops::histogram_axes(&view, &[], &bins), 1 << 60);
        let bins = Bins::uniform(0.0, 1.0, 9).unwrap();
        let error = ops::histogram_axes(&view, &[], &bins).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Overflow, "{error}");
        let few = everywhere(&block, &[3]);
        for error in [
            ops::add(&view, &few).map(drop),
            ops::dot_all(&few, &view).map(drop),
        ] {
            let error = error.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Shape, "{error}");
        }
        let view = everywhere(&block, &[1 << 62]);
        assert_too_much(ops::variance_all(&view, 1), 1 << 50);
        assert_too_much(ops::argmin_all(&view), 1 << 50);
        // One result, and more chunks than memory.
        assert_too_much(ops::sum_all(&everywhere(&block, &[1 << 62])), 1 << 50);
        assert_too_much(
            ops::sum(&everywhere(&block, &[1 << 31, 1 << 31]), &[0, 1]),
            1 << 50,
        );
        // Results that fit, and more chunks of them than memory.
        let view = everywhere(&block, &[1 << 10, 1 << 52]);
        assert_too_much(ops::sum(&view, &[1]), 1 << 50);
    }
}
