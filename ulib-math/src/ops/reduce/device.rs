//! Reductions on a device: one launch for each level of the tree.

use ulib_core::{Result, bytemuck};
use ulib_device::block::DeviceRef;
use ulib_device::memory::{Access, Scratch};
use ulib_device::pinned::Mailbox;
use ulib_device::{Device, Stream};

use super::Views;
use super::fold::Fold;
use super::level::{Level, Target};
use super::plan::{CHUNK, Plan};
use crate::memory::zeros;
use crate::ops::axes::Axes;
use crate::ops::form::WIDE;
use crate::view::ViewMut;

/// The results, in the order of the plan's kept axes; `None` where the data is not to be on `device` any more.
pub(super) fn reduce<F: Fold>(
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    plan: &Plan,
    device: &Device,
) -> Result<Option<Vec<F::Out>>> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let outputs = plan.kept.count();
    let memory = Memory::new(
        outputs * size_of::<F::Out>(),
        scratch_bytes::<F>(plan),
        &stream,
    )?;
    let Some(sources) = Sources::open(views, &stream)? else {
        return Ok(None);
    };
    let kept = contiguous(&plan.kept, size_of::<F::Out>());
    let work = Work {
        fold,
        plan,
        device,
        stream: &stream,
    };
    work.levels(sources.ptrs(), memory.results(), kept, memory.scratch())?;
    sources.finish()?;
    let mut values = zeros::<F::Out>(outputs)?;
    memory.bring_home(bytemuck::cast_slice_mut(&mut values), &stream)?;
    Ok(Some(values))
}

/// The results into a view on the same device. Answers false where the data is not to be on `device` any more.
pub(super) fn reduce_into<F: Fold>(
    fold: &F,
    views: &Views<'_, '_, F::Value>,
    plan: &Plan,
    out: &mut ViewMut<'_, F::Out>,
    device: &Device,
) -> Result<bool> {
    // Bound once, so that the calls below find the context current.
    let _context = device.bind()?;
    let stream = Stream::current(device);
    let whole = out.is_whole();
    let memory = Memory::new(0, scratch_bytes::<F>(plan), &stream)?;
    let Some(sources) = Sources::open(views, &stream)? else {
        return Ok(false);
    };
    // Opened last: what fails before, or fails to be launched, leaves the output as it was.
    let block = out.block_mut();
    let target = if whole {
        block.device_overwrite(&stream)?
    } else {
        block.device_write(&stream)?
    };
    let kept = plan.kept.clone().scaled([1, 1, size_of::<F::Out>()]);
    let work = Work {
        fold,
        plan,
        device,
        stream: &stream,
    };
    work.levels(sources.ptrs(), target.ptr(), kept, memory.scratch())?;
    sources.finish()?;
    target.finish()?;
    Ok(true)
}

/// The views' blocks, open for kernels to read.
struct Sources<'b> {
    first: DeviceRef<'b>,
    second: Option<DeviceRef<'b>>,
}

impl<'b> Sources<'b> {
    fn open<T>(views: &'b Views<'_, '_, T>, stream: &Stream) -> Result<Option<Self>>
    where
        T: ulib_core::DeviceStorable,
    {
        let Some(first) = views.first.block().device_read_if_placed(stream)? else {
            return Ok(None);
        };
        let second = match views.second {
            None => None,
            Some(view) => match view.block().device_read_if_placed(stream)? {
                None => return Ok(None),
                second => second,
            },
        };
        Ok(Some(Self { first, second }))
    }

    /// Addresses; of places the first one.
    fn ptrs(&self) -> [u64; 2] {
        [
            self.first.ptr(),
            self.second.as_ref().map_or(0, DeviceRef::ptr),
        ]
    }

    fn finish(self) -> Result<()> {
        self.first.finish()?;
        self.second.map_or(Ok(()), DeviceRef::finish)
    }
}

/// Where the results that go to the host are written, and what the levels of the tree leave.
struct Memory {
    /// Few results: the kernels write them to the host themselves.
    mailbox: Option<Mailbox>,
    /// The results, if there is no mailbox, and after them the levels.
    bytes: Scratch,
    levels: usize,
}

impl Memory {
    /// For results of `results` bytes that go to the host, and levels of `levels` bytes.
    fn new(results: usize, levels: usize, stream: &Stream) -> Result<Self> {
        let mailbox = Mailbox::open(stream, results)?;
        let here = if mailbox.is_some() { 0 } else { results };
        let before = if levels == 0 {
            here
        } else {
            here.next_multiple_of(WIDE)
        };
        let bytes = match &mailbox {
            Some(mailbox) => mailbox.scratch(levels)?,
            None => Scratch::take(stream, before + levels)?,
        };
        bytes.use_on(stream, Access::Write)?;
        Ok(Self {
            mailbox,
            bytes,
            levels: before,
        })
    }

    fn results(&self) -> u64 {
        self.mailbox.as_ref().map_or(self.bytes.ptr(), Mailbox::ptr)
    }

    fn scratch(&self) -> u64 {
        self.bytes.ptr() + self.levels as u64
    }

    /// The results, when they are there.
    fn bring_home(self, to: &mut [u8], stream: &Stream) -> Result<()> {
        match self.mailbox {
            Some(mailbox) => {
                to.copy_from_slice(&mailbox.wait()?);
                Ok(())
            }
            None => ulib_device::copy::download(self.bytes.bytes()?, 0, to, stream),
        }
    }
}

/// Bytes for the results of all levels but the last, each level at a multiple of 16.
fn scratch_bytes<F: Fold>(plan: &Plan) -> usize {
    let (mut bytes, mut chunks) = (0, plan.chunks());
    while chunks > 1 {
        bytes += (plan.kept.count() * chunks * size_of::<F::Acc>()).next_multiple_of(WIDE);
        chunks = chunks.div_ceil(CHUNK);
    }
    bytes
}

/// Kept axes whose results lie `step` bytes apart in the order of the axes.
fn contiguous(kept: &Axes<3>, step: usize) -> Axes<3> {
    let mut out = kept.clone();
    out.start[2] = 0;
    let mut next = step.cast_signed();
    for (len, stride) in out.len.iter().zip(&mut out.stride).rev() {
        stride[2] = next;
        next *= len.cast_signed();
    }
    out
}

/// `to` with what is read taken from `from`, which has the same axes.
fn reading(mut to: Axes<3>, from: &Axes<3>) -> Axes<3> {
    to.start[..2].copy_from_slice(&from.start[..2]);
    for (to, from) in to.stride.iter_mut().zip(&from.stride) {
        to[..2].copy_from_slice(&from[..2]);
    }
    to
}

struct Work<'a, F> {
    fold: &'a F,
    plan: &'a Plan,
    device: &'a Device,
    stream: &'a Stream,
}

impl<F: Fold> Work<'_, F> {
    /// All levels: from `sources` to results where operand 2 of `kept` (in bytes; the others in elements) says, from
    /// `target` on. At `scratch` are [`scratch_bytes`].
    fn levels(
        &self,
        sources: [u64; 2],
        target: u64,
        kept: Axes<3>,
        mut scratch: u64,
    ) -> Result<()> {
        use super::fold::{Item, Second};
        let acc = size_of::<F::Acc>();
        let size = size_of::<F::Value>();
        let second = if F::Item::SECOND == Second::Place {
            1
        } else {
            size
        };
        let (reduced, start) = if F::Item::SECOND == Second::Place {
            self.plan.reduced_by_place()
        } else {
            (self.plan.reduced.clone(), [0; 2])
        };
        let mut last = kept;
        for (at, start) in last.start.iter_mut().zip(start) {
            *at += start;
        }
        let last = last.scaled([size, second, 1]);
        let mut level = Level {
            first: true,
            size,
            source: sources,
            kept: last.clone(),
            reduced: reduced.scaled([size, second]),
        };
        loop {
            let outputs = level.kept.count();
            let chunks = level.reduced.count().div_ceil(CHUNK);
            if chunks == 1 {
                level.kept = reading(last, &level.kept);
                let target = Target {
                    address: target,
                    between_chunks: 0,
                    last: true,
                };
                return level.launch(self.fold, &target, self.device, self.stream);
            }
            // Rows leave the chunks of a result side by side; columns leave the results of a chunk side by side.
            let (between_outputs, between_chunks) = if level.by_columns() {
                (acc, outputs * acc)
            } else {
                (chunks * acc, acc)
            };
            level.kept = contiguous(&level.kept, between_outputs);
            let to = Target {
                address: scratch,
                between_chunks,
                last: false,
            };
            level.launch(self.fold, &to, self.device, self.stream)?;
            let mut kept = level.kept;
            kept.start = [0; 3];
            kept.stride
                .iter_mut()
                .for_each(|stride| *stride = [stride[2]; 3]);
            level = Level {
                first: false,
                size: acc,
                source: [scratch, 0],
                kept,
                reduced: Axes {
                    len: vec![chunks],
                    stride: vec![[between_chunks.cast_signed(), 0]],
                    start: [0; 2],
                },
            };
            scratch += (outputs * chunks * acc).next_multiple_of(WIDE) as u64;
        }
    }
}
