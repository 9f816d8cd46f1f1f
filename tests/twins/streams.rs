//! What only the software driver can show: work that runs as late as it may, and calls that fail.

use ulib_core::{ErrorKind, Layout, PreferredDevice};
use ulib_device::{Device, block::Block};
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{contents, on_device, on_host, samples};

/// A small program that uses every operation.
fn program(image: &mut Block, other: &mut Block) -> ulib_core::Result<(f64, Vec<f64>)> {
    let rows = Layout::contiguous(&[30, 200])?;
    ops::scale(ViewMut::<f32>::flat(image)?, 3.0)?;
    let turned = View::<f32>::new(image, rows.clone())?.permute(&[1, 0])?;
    ops::copy(
        &turned,
        ViewMut::new(other, Layout::contiguous(&[200, 30])?)?,
    )?;
    ops::cast_into(
        &View::<f32>::new(image, Layout::contiguous(&[500])?)?,
        ViewMut::<u32>::new(other, Layout::contiguous(&[500])?)?,
    )?;
    ops::fill(
        ViewMut::<f32>::new(other, Layout::new(vec![100], vec![60], 7)?)?,
        0.5,
    )?;
    ops::scale(ViewMut::<f32>::flat(other)?, -0.25)?;
    // A new array, two inputs, three of which one is the output, and in place.
    let raised = ops::maximum(&View::<f32>::flat(other)?, -0.01)?;
    ops::subtract_into(&View::flat(other)?, &raised, ViewMut::<f32>::flat(image)?)?;
    ops::fma_in_place(ViewMut::<f32>::flat(other)?, &raised, &View::flat(image)?)?;
    ops::abs_in_place(ViewMut::<f32>::flat(image)?)?;
    let profile = ops::sum(
        &View::<f32>::new(other, Layout::contiguous(&[200, 30])?)?,
        &[0],
    )?;
    Ok((
        ops::sum_all(&View::<f32>::flat(other)?)?,
        profile.into_iter().collect(),
    ))
}

#[test]
fn late_work_is_waited_for() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let values = samples::<f32>(6000);
    let (mut image, mut other) = (on_host(&values), on_host(&values));
    let expected = program(&mut image, &mut other).unwrap();
    session.deferred(true);
    let (mut on_image, mut on_other) = (on_device(&values), on_device(&values));
    assert_eq!(program(&mut on_image, &mut on_other).unwrap(), expected);
    assert_eq!(contents::<f32>(&on_image), contents::<f32>(&image));
    assert_eq!(contents::<f32>(&on_other), contents::<f32>(&other));
    assert_eq!(session.faults(), Vec::<String>::new());
}

#[test]
fn every_call_may_fail_once_and_nothing_is_lost() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let values = samples::<f32>(6000);
    let (mut image, mut other) = (on_host(&values), on_host(&values));
    let expected = program(&mut image, &mut other).unwrap();
    for nth in 1.. {
        let (mut image, mut other) = (on_device(&values), on_device(&values));
        session.reset_counts();
        session.fail_any(nth, 700);
        let answer = program(&mut image, &mut other);
        let calls = session.total_calls();
        session.fail_nothing();
        match answer {
            Ok(answer) => {
                assert_eq!(answer, expected, "call {nth} failed and the answer changed");
                if calls < nth {
                    assert!(nth > 30, "only {calls} calls: the device was not used");
                    break;
                }
            }
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::Driver { code: 700, .. }),
                "call {nth}: {error}"
            ),
        }
        drop((image, other));
        assert_eq!(
            session.live_bytes(),
            0,
            "call {nth} failed and memory stayed"
        );
        assert!(nth < 2000, "the program does not end");
    }
}

#[test]
fn scratch_that_does_not_fit_is_an_error_with_both_numbers() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let block = on_host(&samples::<f32>(100_000));
    assert!(block.set_preferred(PreferredDevice::Device(0)).unwrap());
    let view = View::<f32>::new(&block, Layout::contiguous(&[100_000, 1]).unwrap()).unwrap();
    // What earlier tests left in the pool would do.
    Device::new(0).unwrap().memory_resource().trim().unwrap();
    session.memory_limit(session.live_bytes() + 1000);
    let error = ops::sum(&view, &[1]).unwrap_err();
    session.memory_limit(u64::MAX);
    assert!(
        matches!(error.kind(), ErrorKind::OutOfMemory { needs: 800_000, .. }),
        "{error}"
    );
    assert_eq!(ops::sum(&view, &[1]).unwrap().len(), 100_000);
}
