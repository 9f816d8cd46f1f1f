//! Elementwise operations on a device: one launch for each piece of the index space.
#![allow(unsafe_code, reason = "launches kernels of elementwise.cuh")]

use ulib_core::{DeviceStorable, Layout, Result, bytemuck};
use ulib_device::block::DeviceRef;
use ulib_device::{Device, Stream};

use super::{Extra, Form, Input, Inputs, Operation};
use crate::ops::axes::{Axes, DeviceAxes};
use crate::ops::element::{Element, Number};
use crate::ops::form::{Form as Shape, Path};
use crate::ops::launch::{self, THREADS};
use crate::view::ViewMut;

/// `MapParams<K>` of `elementwise.cuh`; operand 0 is the output.
#[derive(Clone, Copy)]
#[repr(C)]
struct Params<const K: usize> {
    at: [u64; K],
    stride: [i64; K],
    scalar: [u64; K],
    scalars: u64,
    units: u64,
    head: u64,
    tail: u64,
    extra: Extra,
    axes: DeviceAxes<K>,
}

const _: () = assert!(
    size_of::<Params<3>>() == 8 * (3 * 3 + 10) + size_of::<DeviceAxes<3>>(),
    "mirrors elementwise.cuh"
);

/// Runs the operation's kernel. Answers false where an input is not to be on `device` any more.
pub(super) fn run<T: Element, B: DeviceStorable + Copy + Default>(
    operation: &'static Operation,
    inputs: &Inputs<'_, T, B>,
    extra: Extra,
    out: &mut ViewMut<'_, T>,
    number: Number,
    device: &Device,
) -> Result<bool> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let whole = !inputs.reads_output() && out.is_whole();
    let (Some(a), Some(b), Some(c)) = (
        Placed::open(&inputs.a, &stream)?,
        Placed::open(&inputs.b, &stream)?,
        Placed::open(&inputs.c, &stream)?,
    ) else {
        return Ok(false);
    };
    // Opened last: what fails before, or fails to be launched, leaves the output as it was.
    let (block, layout) = out.parts_mut();
    let layouts = [
        layout,
        place_of(&inputs.a, layout),
        place_of(&inputs.b, layout),
        place_of(&inputs.c, layout),
    ];
    let target = if whole {
        block.device_overwrite(&stream)?
    } else {
        block.device_write(&stream)?
    };
    let number = if operation.signless {
        number.unsigned()
    } else {
        number
    };
    let job = Job {
        operation,
        number,
        extra,
        device,
        stream: &stream,
    };
    let operands = [
        Memory {
            address: target.ptr(),
            size: size_of::<T>(),
            scalar: 0,
        },
        a.memory(&inputs.a, target.ptr()),
        b.memory(&inputs.b, target.ptr()),
        c.memory(&inputs.c, target.ptr()),
    ];
    match inputs.count {
        1 => job.launch::<2>(&layouts, &operands)?,
        2 => job.launch::<3>(&layouts, &operands)?,
        _ => job.launch::<4>(&layouts, &operands)?,
    }
    for read in [a.guard, b.guard, c.guard].into_iter().flatten() {
        read.finish()?;
    }
    target.finish()?;
    Ok(true)
}

/// Where the elements of an input are. A number has none, and its strides are multiplied by its size 0 later: those of the
/// output do, and leave its axes as they are.
fn place_of<'l, T: DeviceStorable>(input: &'l Input<'_, T>, output: &'l Layout) -> &'l Layout {
    input.view().map_or(output, |view| view.layout())
}

/// An input made ready on the device.
struct Placed<'a> {
    guard: Option<DeviceRef<'a>>,
}

impl<'a> Placed<'a> {
    /// `None` where the view's block is not to be on the stream's device any more.
    fn open<T: DeviceStorable + Copy>(
        input: &'a Input<'_, T>,
        stream: &Stream,
    ) -> Result<Option<Self>> {
        Ok(match input.view() {
            None => Some(Self { guard: None }),
            Some(view) => view
                .block()
                .device_read_if_placed(stream)?
                .map(|guard| Self { guard: Some(guard) }),
        })
    }

    fn memory<T: DeviceStorable + Copy>(&self, input: &Input<'_, T>, output: u64) -> Memory {
        let in_memory = |address| Memory {
            address,
            size: size_of::<T>(),
            scalar: 0,
        };
        match (input, &self.guard) {
            (Input::Scalar(number), _) => Memory {
                address: 0,
                size: 0,
                scalar: bits_of(*number),
            },
            (Input::View(_), Some(guard)) => in_memory(guard.ptr()),
            (Input::View(_), None) | (Input::Output, _) => in_memory(output),
        }
    }
}

/// The bytes of a number, the first ones lowest.
fn bits_of<T: DeviceStorable>(number: T) -> u64 {
    let mut bits = [0; 8];
    for (to, &from) in bits.iter_mut().zip(bytemuck::bytes_of(&number)) {
        *to = from;
    }
    u64::from_le_bytes(bits)
}

/// Where an operand of a launch is; size 0 for a number that is not in memory.
struct Memory {
    address: u64,
    size: usize,
    scalar: u64,
}

struct Job<'a> {
    operation: &'static Operation,
    number: Number,
    extra: Extra,
    device: &'a Device,
    stream: &'a Stream,
}

impl Job<'_> {
    /// Launches the kernel on the first `K` operands.
    fn launch<const K: usize>(&self, layouts: &[&Layout; 4], operands: &[Memory; 4]) -> Result<()> {
        let address: [u64; K] = std::array::from_fn(|k| operands[k].address);
        let size: [usize; K] = std::array::from_fn(|k| operands[k].size);
        let axes = Axes::new(std::array::from_fn(|k| layouts[k]), 0).scaled(size);
        for axes in axes.pieces() {
            let shape = Shape::new(axes, address, size, false);
            let mut params = Params {
                at: shape.base,
                stride: [0; K],
                scalar: std::array::from_fn(|k| operands[k].scalar),
                scalars: (0..K).map(|k| u64::from(size[k] == 0) << k).sum(),
                units: shape.units as u64,
                head: 0,
                tail: 0,
                extra: self.extra,
                axes: DeviceAxes::NONE,
            };
            let (form, blocks) = match shape.path {
                Path::Line { stride, head, tail } => {
                    params.stride = stride.map(|stride| stride as i64);
                    (params.head, params.tail) = (head as u64, tail as u64);
                    if shape.packed {
                        (Form::Pack, launch::blocks_for_wide(shape.units))
                    } else {
                        (Form::Line, launch::blocks_for_line(shape.units))
                    }
                }
                Path::Walk(axes) => {
                    let blocks = launch::blocks_for_axes(self.device, shape.units);
                    let step = u64::from(blocks) * u64::from(THREADS);
                    params.axes = axes.for_device(self.operation.name, step)?;
                    (Form::Axes, blocks)
                }
            };
            let entry = (self.operation.entry)(self.number, form);
            let kernel = self.operation.kernels.kernel(entry)?;
            // SAFETY: `Params<K>` mirrors the struct of every kernel of an operation with K - 1 inputs (asserted above), and
            // the operation's file has as many. The units lie in the blocks by the checks of `View::new` and `ViewMut::new`;
            // their guards, which have made the stream wait, live in the caller.
            unsafe { launch::run(kernel, self.stream, blocks, THREADS, params) }?;
        }
        Ok(())
    }
}
