//! Loops that stay on the device: what moves, what is allocated, and that a graph can be made of them.
#![allow(
    unsafe_code,
    reason = "plays the outsider that launches a kernel of its own, and captures streams"
)]

use fakecuda::{Session, Store};
use ulib_core::{ErrorKind, Layout};
use ulib_device::block::{Block, Lease, Transfers};
use ulib_device::sys::{CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode};
use ulib_device::{Device, Kernel, LaunchConfig, Stream, launch};
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common::{self, Mode};
use crate::support::{contents, on_device, on_host, samples};

const SHAPE: [usize; 3] = [9, 21, 25];
const VOXELS: usize = 9 * 21 * 25;

/// What the software driver's built-in kernel of this name does, for a card.
const STORE: Kernel = Kernel {
    ptx: "
.version 7.0
.target sm_60
.address_size 64
.visible .entry fakecuda_store(.param .align 8 .b8 p[24])
{
    .reg .pred %end;
    .reg .b64 %at, %left, %value;
    ld.param.u64 %at, [p];
    ld.param.u64 %left, [p+8];
    ld.param.u64 %value, [p+16];
    cvta.to.global.u64 %at, %at;
again:
    setp.eq.u64 %end, %left, 0;
    @%end ret;
    st.global.u8 [%at], %value;
    add.u64 %at, %at, 1;
    sub.u64 %left, %left, 1;
    bra again;
}
",
    entry: "fakecuda_store",
};

/// Values of (Value, Count) voxels, in 3 axes.
fn layout() -> Layout {
    Layout::new(SHAPE.to_vec(), vec![2 * 21 * 25, 2 * 25, 2], 0).unwrap()
}

fn voxels(block: &Block) -> View<'_, f32> {
    View::new(block, layout()).unwrap()
}

fn voxels_mut(block: &mut Block) -> ViewMut<'_, f32> {
    ViewMut::new(block, layout()).unwrap()
}

fn floats(block: &mut Block) -> ViewMut<'_, f32> {
    ViewMut::new(block, Layout::contiguous(&SHAPE).unwrap()).unwrap()
}

/// The objects of an iteration: an image, a packed one of the same shape, and a profile.
struct Objects {
    image: Block,
    other: Block,
    profile: Block,
}

impl Objects {
    fn new(place: impl Fn(&[f32]) -> Block) -> Self {
        Self {
            image: place(&samples::<f32>(2 * VOXELS)),
            other: place(&[0.0; VOXELS]),
            profile: place(&[0.0; 2 * 25]),
        }
    }

    /// Ten operations, with somebody else's kernel in the middle.
    fn iterate(&mut self, outsider: impl FnOnce(&mut Block)) -> ulib_core::Result<()> {
        let Self {
            image,
            other,
            profile,
        } = self;
        let all = Layout::contiguous(&SHAPE)?;
        ops::scale(voxels_mut(image), 0.5)?;
        ops::copy(&voxels(image), floats(other))?;
        ops::scale(floats(other), -0.25)?;
        ops::add_in_place(voxels_mut(image), &View::new(other, all.clone())?)?;
        ops::sum_into(&voxels(image), &[0, 1], ViewMut::<f64>::flat(profile)?)?;
        outsider(image);
        ops::fill(voxels_mut(image).slice_axis(0, 4, 5, 1)?, 0.25)?;
        ops::maximum_in_place(voxels_mut(image), -3.5)?;
        ops::axpy(0.125, &View::new(other, all.clone())?, voxels_mut(image))?;
        ops::copy(&voxels(image), floats(other))?;
        ops::sum_into(
            &View::<f32>::new(other, all)?,
            &[1, 0],
            ViewMut::<f64>::flat(profile)?,
        )
    }
}

/// The first bytes of the image become 63, by the host.
fn outsider_on_the_host(image: &mut Block) {
    image.write_at(0, &[63; 40]).unwrap();
}

/// The same by a kernel of somebody who was lent the image, on a stream that nothing orders.
fn outsider_on_the_device(image: &mut Block) {
    let lease: Lease = image.lease().unwrap();
    let device = lease.device();
    let stream = Stream::non_blocking(device).unwrap();
    let mut parameter = Store {
        address: lease.ptr(),
        count: 40,
        value: 63,
    };
    let one = LaunchConfig {
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
    };
    // SAFETY: the kernel takes this one parameter; the bytes lie in the lease, which shows outsiders' work to the block.
    unsafe {
        launch(
            &STORE.function(device).unwrap(),
            &stream,
            one,
            &mut [(&raw mut parameter).cast()],
        )
    }
    .unwrap();
}

fn moved(block: &Block, since: Transfers) -> (u64, u64) {
    let now = block.transfers();
    (now.uploads - since.uploads, now.downloads - since.downloads)
}

/// Calls by which memory comes from the driver.
fn allocations(session: &Session) -> u64 {
    [
        "cuMemAlloc_v2",
        "cuMemAllocAsync",
        "cuMemAllocFromPoolAsync",
        "cuMemAllocManaged",
        "cuMemAllocPitch_v2",
        "cuMemHostAlloc",
        "cuMemAllocHost_v2",
        "cuMemHostRegister_v2",
    ]
    .iter()
    .map(|call| session.count(call))
    .sum()
}

fn driver() -> Option<Mode> {
    let mode = common::gpu()?;
    if let Some(session) = mode.session() {
        session.deferred(true);
    }
    Some(mode)
}

#[test]
fn an_iteration_moves_each_image_once_each_way() {
    let Some(_mode) = driver() else { return };
    let mut expected = Objects::new(on_host);
    expected.iterate(outsider_on_the_host).unwrap();
    let mut found = Objects::new(on_device);
    found.iterate(outsider_on_the_device).unwrap();
    let none = Transfers::default();
    assert_eq!(moved(&found.image, none), (1, 0));
    for (on_device, on_host) in [
        (&found.image, &expected.image),
        (&found.other, &expected.other),
        (&found.profile, &expected.profile),
    ] {
        assert_eq!(contents::<u32>(on_device), contents::<u32>(on_host));
        assert_eq!(moved(on_device, none), (1, 1));
    }
    // And the results were read again without another trip.
    assert_eq!(contents::<u32>(&found.image), contents(&expected.image));
    assert_eq!(moved(&found.image, none), (1, 1));
}

#[test]
fn further_iterations_move_and_allocate_nothing() {
    let Some(mode) = driver() else { return };
    let mut expected = Objects::new(on_host);
    let mut found = Objects::new(on_device);
    let iterate = |objects: &mut Objects, place: fn(&mut Block)| objects.iterate(place).unwrap();
    iterate(&mut found, outsider_on_the_device);
    iterate(&mut expected, outsider_on_the_host);
    if let Some(session) = mode.session() {
        session.reset_counts();
    }
    let before = ulib_device::transfers::total();
    for _ in 0..100 {
        iterate(&mut found, outsider_on_the_device);
        iterate(&mut expected, outsider_on_the_host);
    }
    assert_eq!(ulib_device::transfers::total(), before);
    if let Some(session) = mode.session() {
        assert_eq!(allocations(session), 0);
        assert!(session.count("cuLaunchKernel") >= 1000);
    }
    assert_eq!(contents::<u32>(&found.image), contents(&expected.image));
    assert_eq!(contents::<u32>(&found.profile), contents(&expected.profile));
}

#[test]
fn numbers_that_come_home_take_nothing_either() {
    let Some(mode) = driver() else { return };
    let image = on_device(&samples::<f32>(2 * VOXELS));
    let sum = ops::sum_all(&voxels(&image)).unwrap();
    let profile = ops::sum(&voxels(&image), &[0, 1]).unwrap();
    if let Some(session) = mode.session() {
        session.reset_counts();
    }
    for _ in 0..100 {
        assert_eq!(ops::sum_all(&voxels(&image)).unwrap(), sum);
        assert_eq!(ops::sum(&voxels(&image), &[0, 1]).unwrap(), profile);
    }
    if let Some(session) = mode.session() {
        assert_eq!(allocations(session), 0);
    }
    assert_eq!(moved(&image, Transfers::default()), (1, 0));
}

/// Captures `stream`, in the strictest mode, while `during` runs.
fn captured(stream: &Stream, during: impl FnOnce()) -> CUgraph {
    let table = stream.device().driver().table();
    let (begin, end) = (
        table.cuStreamBeginCapture_v2.unwrap(),
        table.cuStreamEndCapture.unwrap(),
    );
    let _context = stream.device().bind().unwrap();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: a live stream of the current context.
    let status = unsafe { begin(stream.handle(), mode) };
    assert!(status == CUresult::CUDA_SUCCESS);
    during();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the capture begun above; whoever called destroys the graph.
    let status = unsafe { end(stream.handle(), &raw mut graph) };
    assert!(status == CUresult::CUDA_SUCCESS, "spoilt: {}", status.0);
    graph
}

/// Runs a graph so many times on `stream`, and destroys it.
fn replay(graph: CUgraph, times: usize, stream: &Stream) {
    let table = stream.device().driver().table();
    let _context = stream.device().bind().unwrap();
    let mut exec: CUgraphExec = std::ptr::null_mut();
    // SAFETY: a live graph and a live stream of the current context; both handles are destroyed once, the second after
    // what was launched of it is done.
    unsafe {
        let made = table.cuGraphInstantiateWithFlags.unwrap()(&raw mut exec, graph, 0);
        assert!(made == CUresult::CUDA_SUCCESS);
        for _ in 0..times {
            let launched = table.cuGraphLaunch.unwrap()(exec, stream.handle());
            assert!(launched == CUresult::CUDA_SUCCESS);
        }
        stream.synchronize().unwrap();
        table.cuGraphExecDestroy.unwrap()(exec);
        table.cuGraphDestroy.unwrap()(graph);
    }
}

/// Operations in place and between resident blocks.
fn chain(image: &mut Block, other: &mut Block) -> ulib_core::Result<()> {
    ops::scale(voxels_mut(image), 2.0)?;
    ops::fill(voxels_mut(image).slice_axis(1, 3, 9, 2)?, 0.75)?;
    ops::copy(&voxels(image), floats(other))?;
    ops::scale(floats(other), -0.5)?;
    ops::add_in_place(
        voxels_mut(image),
        &View::new(other, Layout::contiguous(&SHAPE)?)?,
    )
}

#[test]
fn a_chain_becomes_a_graph() {
    let Some(_mode) = driver() else { return };
    let device = Device::new(0).unwrap();
    let Objects { image, other, .. } = Objects::new(on_host);
    let (mut image, mut other) = (image, other);
    for _ in 0..3 {
        chain(&mut image, &mut other).unwrap();
    }
    for stream in [
        Stream::non_blocking(&device).unwrap(),
        Stream::new(&device).unwrap(),
    ] {
        let found = Objects::new(on_device);
        let (mut on_image, mut on_other) = (found.image, found.other);
        // What was queued before on other streams, the uploads among it, is waited for before the graph begins.
        assert!(on_image.update().unwrap() && on_other.update().unwrap());
        let graph = captured(&stream, || {
            stream.scope(|| chain(&mut on_image, &mut on_other).unwrap());
        });
        replay(graph, 3, &stream);
        assert_eq!(contents::<u32>(&on_image), contents::<u32>(&image));
        assert_eq!(contents::<u32>(&on_other), contents::<u32>(&other));
    }
}

#[test]
fn what_a_graph_cannot_hold_is_an_error_that_spoils_nothing() {
    let Some(_mode) = driver() else { return };
    let device = Device::new(0).unwrap();
    let stream = Stream::non_blocking(&device).unwrap();
    let mut image = on_device(&samples::<f32>(2 * VOXELS));
    let (mut out, mut numbers) = (on_device(&[7_u64; 4]), on_device(&[7.0_f64; 1]));
    let bins = ops::Bins::uniform(0.0, 1.0, 4).unwrap();
    let busy = |outcome: ulib_core::Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
    };
    let graph = captured(&stream, || {
        stream.scope(|| {
            ops::scale(voxels_mut(&mut image), 2.0).unwrap();
            // Numbers that come home, and scratch memory that would be gone when the graph runs.
            busy(ops::sum_all(&voxels(&image)).map(drop));
            busy(image.read().map(drop));
            busy(ops::argmax_all(&voxels(&image)).map(drop));
            busy(ops::quantile_all(&voxels(&image), &[0.5]).map(drop));
            busy(ops::histogram(&voxels(&image), &bins).map(drop));
            let (counts, one) = (
                Layout::contiguous(&[4]).unwrap(),
                Layout::contiguous(&[]).unwrap(),
            );
            let out = ViewMut::new(&mut out, counts).unwrap();
            busy(ops::histogram_into(&voxels(&image), &[0, 1, 2], &bins, out));
            let out = ViewMut::new(&mut numbers, one).unwrap();
            busy(ops::quantile_into(&voxels(&image), &[0, 1, 2], 0.5, out));
        });
        // Another stream would have to wait for a part of the graph.
        busy(ops::scale(voxels_mut(&mut image), 2.0));
        let other = Stream::non_blocking(&device).unwrap();
        busy(other.scope(|| ops::fill(voxels_mut(&mut image), 1.0)));
    });
    replay(graph, 1, &stream);
    let mut expected = on_host(&samples::<f32>(2 * VOXELS));
    ops::scale(voxels_mut(&mut expected), 2.0).unwrap();
    assert_eq!(contents::<u32>(&image), contents::<u32>(&expected));
    assert_eq!(contents::<u64>(&out), [7; 4]);
    assert_eq!(contents::<f64>(&numbers), [7.0]);
}
