//! The records of where operations ran and why.

use std::cell::RefCell;
use std::sync::Once;

use log::{LevelFilter, Log, Metadata, Record};
use ulib_core::{Layout, PreferredDevice};
use ulib_device::block::Block;
use ulib_device::{Device, Stream};
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{contents, on_device, on_host};

thread_local! {
    /// What this thread has logged; `None` while it is not asked.
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Keeps the placement records of threads that ask.
struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == ops::PLACEMENT_LOG && HEARD.with_borrow(Option::is_some)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            assert_eq!(record.level(), log::Level::Debug);
            HEARD.with_borrow_mut(|heard| {
                heard.as_mut().unwrap().push(record.args().to_string());
            });
        }
    }

    fn flush(&self) {}
}

/// The records of `work`.
fn heard(work: impl FnOnce()) -> Vec<String> {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        log::set_logger(&Listener).unwrap();
        log::set_max_level(LevelFilter::Debug);
    });
    HEARD.set(Some(Vec::new()));
    work();
    HEARD.take().unwrap()
}

fn flat(block: &mut Block) -> ViewMut<'_, f32> {
    ViewMut::flat(block).unwrap()
}

#[test]
fn on_the_host_as_preferred() {
    let mut block = on_host(&[1.0_f32; 8]);
    let records = heard(|| {
        ops::fill(flat(&mut block), 2.0).unwrap();
        ops::scale(flat(&mut block), 2.0).unwrap();
        ops::copy_to_host(
            &View::<f32>::flat(&block).unwrap(),
            &mut [0.0; 8],
            &Layout::contiguous(&[8]).unwrap(),
        )
        .unwrap();
    });
    assert_eq!(
        records,
        ["fill: Host", "multiply: Host", "copy_to_host: Host"]
    );
}

#[test]
fn on_the_device_with_what_went_there() {
    let Some(_turn) = common::gpu() else { return };
    let name = Device::new(0).unwrap().to_string();
    let mut block = on_device(&[1.0_f32; 8]);
    contents::<f32>(&block);
    block.write_at(0, &3.0_f32.to_ne_bytes()).unwrap();
    let records = heard(|| {
        ops::scale(flat(&mut block), 2.0).unwrap();
        ops::scale(flat(&mut block), 2.0).unwrap();
    });
    assert_eq!(
        records,
        [
            format!("multiply: {name}; uploaded 32 bytes"),
            format!("multiply: {name}")
        ]
    );
    assert_eq!(contents::<f32>(&block)[0], 12.0);
}

#[test]
fn on_the_host_for_a_reason() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let mut block = on_host(&[1.0_f32; 8]);
    assert!(!block.set_preferred(PreferredDevice::Device(7)).unwrap());
    let why = block.location().to_string();
    assert!(
        why.starts_with("Host (no device 7: this machine has "),
        "{why}"
    );
    let records = heard(|| ops::scale(flat(&mut block), 2.0).unwrap());
    assert_eq!(records, [format!("multiply: {why}")]);
}

#[test]
fn between_places_each_side_is_named() {
    let Some(_turn) = common::gpu() else { return };
    let name = Device::new(0).unwrap().to_string();
    let source = on_device(&[1.0_f32; 8]);
    let mut target = on_host(&[0.0_f32; 8]);
    let records = heard(|| {
        ops::copy(&View::flat(&source).unwrap(), flat(&mut target)).unwrap();
    });
    // The upload made both copies of the source current: nothing has to come back.
    assert_eq!(
        records,
        [format!("copy: Host; source: {name}, target: Host")]
    );
    let mut source = source;
    ops::scale(flat(&mut source), 3.0).unwrap();
    let records = heard(|| {
        ops::copy(&View::flat(&source).unwrap(), flat(&mut target)).unwrap();
    });
    assert_eq!(
        records,
        [format!(
            "copy: Host; source: {name}, target: Host; downloaded 32 bytes"
        )]
    );
    assert_eq!(contents::<f32>(&target), [3.0; 8]);
}

#[test]
fn a_failure_is_part_of_the_record() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(&[1.0_f32; 8]);
    session.fail_from("cuLaunchKernel", 1, 719);
    let mut error = None;
    let records = heard(|| error = ops::scale(flat(&mut block), 2.0).err());
    session.fail_nothing();
    let error = error.unwrap();
    let name = Device::new(0).unwrap().to_string();
    assert_eq!(records, [format!("multiply: {name}; failed: {error}")]);
}

#[test]
fn nothing_is_said_of_nothing() {
    let mut block = on_host::<f32>(&[]);
    assert!(heard(|| ops::scale(flat(&mut block), 2.0).unwrap()).is_empty());
}

#[test]
fn a_scope_changes_no_place() {
    let Some(_turn) = common::gpu() else { return };
    let device = Device::new(0).unwrap();
    let mut block = on_device(&[1.0_f32; 8]);
    let stream = Stream::non_blocking(&device).unwrap();
    let records = heard(|| stream.scope(|| ops::fill(flat(&mut block), 2.0).unwrap()));
    assert_eq!(records, [format!("fill: {device}")]);
}
