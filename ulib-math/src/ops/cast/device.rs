//! cast on a device.
#![allow(unsafe_code, reason = "launches cast.cu")]

use ulib_core::Result;
use ulib_device::{Device, Stream};

use super::{Castable, Kind};
use crate::ops::axes::{Axes, DeviceAxes};
use crate::ops::form::WIDE;
use crate::ops::launch::{self, Library, THREADS};
use crate::view::{View, ViewMut};

static KERNELS: Library = Library::new(include_str!("cast.ptx"));

/// `CastParams` of `cast.cu`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    src: u64,
    dst: u64,
    units: u64,
    from: u64,
    to: u64,
    head: u64,
    tail: u64,
    axes: DeviceAxes<2>,
}

const _: () = assert!(
    size_of::<Params>() == 56 + size_of::<DeviceAxes<2>>(),
    "mirrors cast.cu"
);

/// The kernel for packed elements of a type.
fn pack_entry(from: Kind) -> &'static str {
    match from {
        Kind::I8 => "ulib_cast_i8_pack",
        Kind::U8 => "ulib_cast_u8_pack",
        Kind::I16 => "ulib_cast_i16_pack",
        Kind::U16 => "ulib_cast_u16_pack",
        Kind::I32 => "ulib_cast_i32_pack",
        Kind::U32 => "ulib_cast_u32_pack",
        Kind::I64 => "ulib_cast_i64_pack",
        Kind::U64 => "ulib_cast_u64_pack",
        Kind::F16 => "ulib_cast_f16_pack",
        Kind::BF16 => "ulib_cast_bf16_pack",
        Kind::F32 => "ulib_cast_f32_pack",
        Kind::F64 => "ulib_cast_f64_pack",
    }
}

/// Both on `device`. Answers false where the source is not to be on its device any more.
pub(super) fn cast<A: Castable, B: Castable>(
    src: &View<'_, A>,
    dst: &mut ViewMut<'_, B>,
    device: &Device,
) -> Result<bool> {
    let stream = Stream::current(device);
    let Some(source) = src.block().device_read_if_placed(&stream)? else {
        return Ok(false);
    };
    let sizes = [size_of::<A>(), size_of::<B>()];
    let axes = Axes::new([src.layout(), dst.layout()], 1).scaled(sizes);
    let whole = dst.is_whole();
    let block = dst.block_mut();
    let target = if whole {
        block.device_overwrite(&stream)?
    } else {
        block.device_write(&stream)?
    };
    for axes in axes.pieces() {
        let params = Params {
            src: source.ptr().wrapping_add_signed(axes.start[0] as i64),
            dst: target.ptr().wrapping_add_signed(axes.start[1] as i64),
            units: axes.count() as u64,
            from: A::KIND as u64,
            to: B::KIND as u64,
            head: 0,
            tail: 0,
            axes: DeviceAxes::NONE,
        };
        launch_piece(params, &axes, sizes, A::KIND, &stream)?;
    }
    target.finish()?;
    source.finish()?;
    Ok(true)
}

fn launch_piece(
    mut params: Params,
    axes: &Axes<2>,
    sizes: [usize; 2],
    from: Kind,
    stream: &Stream,
) -> Result<()> {
    let (entry, blocks) = if let Some(units) = packed(&params, axes, sizes) {
        let [head, lanes] = [units.head, units.lanes].map(|count| count as u64);
        params.src += head * sizes[0] as u64;
        params.dst += head * sizes[1] as u64;
        params.head = head;
        params.tail = (params.units - head) % lanes;
        params.units = (params.units - head) / lanes;
        (
            pack_entry(from),
            launch::blocks_for_wide(params.units as usize),
        )
    } else {
        let units = axes.count();
        let blocks = if axes.len.len() <= 1 {
            launch::blocks_for_line(units)
        } else {
            launch::blocks_for_axes(stream.device(), units)
        };
        params.axes = axes.for_device("cast", u64::from(blocks) * u64::from(THREADS))?;
        ("ulib_cast_any", blocks)
    };
    let kernel = KERNELS.kernel(entry)?;
    // SAFETY: `Params` mirrors the struct of every entry of cast.cu (asserted above); the elements lie in their blocks by the
    // checks of `View::new` and `ViewMut::new`, and the guards, which have made the stream wait, live in the caller.
    unsafe { launch::run(kernel, stream, blocks, THREADS, params) }
}

/// How a packed line divides into units.
struct Units {
    /// Elements before the first unit.
    head: usize,
    /// Elements of a unit.
    lanes: usize,
}

/// The units of a line that is packed on both sides, if the two are aligned alike and there is one unit at least.
fn packed(params: &Params, axes: &Axes<2>, sizes: [usize; 2]) -> Option<Units> {
    let ([len], [stride]) = (axes.len.as_slice(), axes.stride.as_slice()) else {
        return None;
    };
    if *stride != sizes.map(usize::cast_signed) {
        return None;
    }
    let bases = [params.src, params.dst];
    let wider = usize::from(sizes[1] > sizes[0]);
    let lanes = WIDE / sizes[wider];
    let missing = bases[wider].next_multiple_of(WIDE as u64) - bases[wider];
    let head = missing as usize / sizes[wider];
    let aligned =
        |k: usize| (bases[k] + (head * sizes[k]) as u64).is_multiple_of((lanes * sizes[k]) as u64);
    (aligned(0) && aligned(1) && *len >= head + lanes).then_some(Units { head, lanes })
}
