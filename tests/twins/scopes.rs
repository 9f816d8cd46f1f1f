//! Operations on streams of their own, whose work runs as late as it may.

use ulib_core::{Layout, PreferredDevice};
use ulib_device::block::Block;
use ulib_device::{Device, Stream};
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common::{self, Mode};
use crate::support::{contents, on_device, on_host, samples};

const LEN: usize = 6000;

fn flat(block: &Block) -> View<'_, f32> {
    View::flat(block).unwrap()
}

fn flat_mut(block: &mut Block) -> ViewMut<'_, f32> {
    ViewMut::flat(block).unwrap()
}

/// The device with two streams that nothing orders, and work that is run as late as it may.
fn late() -> Option<(Mode, Device, [Stream; 2])> {
    let mode = common::gpu()?;
    if let Some(session) = mode.session() {
        session.deferred(true);
    }
    let device = Device::new(0).unwrap();
    let streams = [(); 2].map(|()| Stream::non_blocking(&device).unwrap());
    Some((mode, device, streams))
}

fn assert_sound(mode: &Mode) {
    if let Some(session) = mode.session() {
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

/// A chain over two blocks that crosses between two sides, in both directions: `on(0, ..)` and `on(1, ..)` say where.
fn crossing(
    a: &mut Block,
    b: &mut Block,
    on: impl Fn(usize, &mut dyn FnMut() -> ulib_core::Result<()>) -> ulib_core::Result<()>,
) -> ulib_core::Result<()> {
    for step in 0..6 {
        let side = step % 2;
        on(side, &mut || ops::scale(flat_mut(a), 1.5))?;
        on(1 - side, &mut || ops::copy(&flat(a), flat_mut(b)))?;
        on(side, &mut || {
            ops::fill(flat_mut(b).slice_axis(0, step, LEN, 7)?, step as f32)
        })?;
        on(1 - side, &mut || ops::scale(flat_mut(b), -0.5))?;
        on(side, &mut || ops::copy(&flat(b), flat_mut(a)))?;
    }
    Ok(())
}

#[test]
fn chains_that_cross_between_two_streams_give_what_one_gives() {
    let Some((mode, _device, streams)) = late() else {
        return;
    };
    let values = samples::<f32>(LEN);
    let (mut a, mut b) = (on_host(&values), on_host(&values));
    crossing(&mut a, &mut b, |_, work| work()).unwrap();
    let (mut on_a, mut on_b) = (on_device(&values), on_device(&values));
    if let Some(session) = mode.session() {
        session.reset_counts();
    }
    crossing(&mut on_a, &mut on_b, |side, work| streams[side].scope(work)).unwrap();
    if let Some(session) = mode.session() {
        assert!(session.pending() > 0, "nothing has waited on the way");
        assert!(session.count("cuStreamWaitEvent") >= 20);
        assert_eq!(session.count("cuStreamSynchronize"), 0);
    }
    assert_eq!(contents::<u32>(&on_b), contents::<u32>(&b));
    assert_eq!(contents::<u32>(&on_a), contents::<u32>(&a));
    assert_sound(&mode);
}

#[test]
fn a_chain_leaves_a_scope_for_the_legacy_stream_and_comes_back() {
    let Some((mode, _device, [stream, _])) = late() else {
        return;
    };
    let values = samples::<f32>(LEN);
    let (mut a, mut b) = (on_host(&values), on_host(&values));
    crossing(&mut a, &mut b, |_, work| work()).unwrap();
    let (mut on_a, mut on_b) = (on_device(&values), on_device(&values));
    crossing(&mut on_a, &mut on_b, |side, work| match side {
        0 => work(),
        _ => stream.scope(work),
    })
    .unwrap();
    assert_eq!(contents::<u32>(&on_a), contents::<u32>(&a));
    assert_eq!(contents::<u32>(&on_b), contents::<u32>(&b));
    assert_sound(&mode);
}

#[test]
fn sums_on_two_streams_share_no_scratch_out_of_order() {
    let Some((mode, _device, streams)) = late() else {
        return;
    };
    let blocks = [1.0_f32, -3.0].map(|factor| {
        let mut block = on_host(&samples::<f32>(20_000));
        ops::scale(flat_mut(&mut block), factor).unwrap();
        block
    });
    let expected = [0, 1].map(|i| ops::sum_all(&flat(&blocks[i])).unwrap());
    let mut outs = [(); 2].map(|()| on_device(&[0.0_f64]));
    for block in &blocks {
        assert!(block.set_preferred(PreferredDevice::Device(0)).unwrap());
    }
    // More turns than pieces of scratch are kept; every stream works on every block.
    for turn in 0..12 {
        let swapped = turn % 2;
        for side in 0..2 {
            let out = ViewMut::<f64>::new(&mut outs[side], Layout::contiguous(&[]).unwrap());
            streams[side ^ swapped]
                .scope(|| ops::sum_into(&flat(&blocks[side]), &[0], out.unwrap()))
                .unwrap();
        }
    }
    for side in 0..2 {
        assert_eq!(contents::<f64>(&outs[side]), [expected[side]]);
    }
    assert_sound(&mode);
}

#[test]
fn a_stream_may_go_while_its_work_is_pending() {
    let Some((mode, device, [other, _])) = late() else {
        return;
    };
    let mut block = on_device(&[1.0_f32; LEN]);
    for _ in 0..3 {
        let stream = Stream::non_blocking(&device).unwrap();
        stream
            .scope(|| ops::scale(flat_mut(&mut block), 2.0))
            .unwrap();
        drop(stream);
    }
    other
        .scope(|| ops::scale(flat_mut(&mut block), 2.0))
        .unwrap();
    drop(other);
    assert_eq!(contents::<f32>(&block), [16.0; LEN]);
    assert_sound(&mode);
}

#[test]
fn the_block_may_go_while_work_on_it_is_pending() {
    let Some((mode, _device, streams)) = late() else {
        return;
    };
    let mut block = on_device(&[1.0_f32; LEN]);
    for stream in &streams {
        stream
            .scope(|| ops::scale(flat_mut(&mut block), 2.0))
            .unwrap();
    }
    drop(block);
    let again = on_device(&[5.0_f32; LEN]);
    assert_eq!(contents::<f32>(&again), [5.0; LEN]);
    assert_sound(&mode);
}

#[test]
fn a_block_is_read_inside_the_scope_that_changed_it() {
    let Some((mode, _device, [stream, other])) = late() else {
        return;
    };
    let mut block = on_device(&[1.0_f32; LEN]);
    stream.scope(|| {
        ops::scale(flat_mut(&mut block), 2.0).unwrap();
        assert_eq!(contents::<f32>(&block), [2.0; LEN]);
        ops::scale(flat_mut(&mut block), 2.0).unwrap();
        let mut one = [0; 4];
        other.scope(|| block.read_at(8, &mut one).unwrap());
        assert_eq!(f32::from_ne_bytes(one), 4.0);
        // A host write, then an upload that the next operation waits for.
        block.write_at(0, &9.0_f32.to_ne_bytes()).unwrap();
        ops::scale(flat_mut(&mut block), 0.5).unwrap();
        assert_eq!(
            ops::sum_all(&flat(&block)).unwrap(),
            4.5 + 2.0 * (LEN - 1) as f64
        );
    });
    assert_eq!(contents::<f32>(&block)[..2], [4.5, 2.0]);
    assert_sound(&mode);
}

#[test]
fn threads_with_scopes_of_their_own_work_on_one_block() {
    let Some((mode, device, _)) = late() else {
        return;
    };
    let source = on_device(&samples::<f32>(LEN));
    let expected = ops::sum_all(&flat(&on_host(&samples::<f32>(LEN)))).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let stream = Stream::non_blocking(&device).unwrap();
                stream.scope(|| {
                    for _ in 0..20 {
                        assert_eq!(ops::sum_all(&flat(&source)).unwrap(), expected);
                    }
                });
            });
        }
    });
    assert_sound(&mode);
}
