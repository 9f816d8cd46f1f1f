//! The way of an array's numbers from a file into the voxels.

use std::io::{self, BufReader, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use rayon::prelude::*;
use ulib_core::{DType, Result};

use super::ascii::AsciiNumbers;
use super::asking::{Asking, Progress};
use super::checksum::Checked;
use super::element::{Number, with_number};
use super::source::{Section, Source};
use super::volume::{self, Array, Encoding, broken};
use super::{Format, vti};
use crate::ops::elementwise::with_first;
use crate::ops::parallel;

/// Bytes read at once.
const BUFFER: usize = 256 << 10;

/// Bytes read at once that are those of voxels already.
const COPIED: usize = 1 << 20;

/// Voxels that are worth a task of their own.
const TASK: usize = 1 << 20;

/// Where numbers go: those of voxel `v` are `values[offset + v * step ..]`, in the order of the file's voxels.
pub(super) struct Target<'a> {
    pub(super) values: &'a mut [f32],
    pub(super) offset: usize,
    pub(super) step: usize,
}

/// Which of an array's components are taken.
#[derive(Clone, Copy)]
pub(super) struct Components {
    pub(super) first: usize,
    pub(super) count: usize,
}

/// Reads `taken` of an array into as many neighbours of each voxel of `target`, multiplied by `scale`.
///
/// `start` is what [`Array::check_room`] said.
pub(super) fn load(
    format: Format,
    array: &Array,
    source: &dyn Source,
    start: u64,
    taken: Components,
    scale: f64,
    target: &mut Target<'_>,
) -> Result<()> {
    let convert = Convert::new(array, taken, scale);
    let voxels = array.grid.len();
    // Components that are not together are read one after the other.
    let passes = if array.interleaved { 1 } else { taken.count };
    let first =
        |pass: usize| (taken.first + pass) as u64 * voxels as u64 * array.dtype.size() as u64;
    let skipped = |pass: usize| if array.interleaved { 0 } else { first(pass) };
    let failed = |error: io::Error| volume::io(format, error);
    let mut stream = match array.data.encoding {
        Encoding::Raw | Encoding::RawAtEnd => None,
        _ => Some(open(format, array, source)?),
    };
    let mut position = 0;
    for pass in 0..passes {
        let values = &mut target.values[target.offset + pass..];
        match &mut stream {
            None => raw(
                &convert,
                source,
                start + skipped(pass),
                values,
                target.step,
                voxels,
            )
            .map_err(failed)?,
            Some(stream) => {
                skip(stream, skipped(pass) - position).map_err(failed)?;
                sequential(&convert, stream, values, target.step, voxels).map_err(failed)?;
                position = skipped(pass) + (voxels * convert.record) as u64;
            }
        }
    }
    // The end of a compressed stream has its checksum.
    if let (Some(stream), true) = (&mut stream, array.data.encoding.is_compressed()) {
        volume::head(stream, &mut [0]).map_err(failed)?;
    }
    Ok(())
}

/// The decoded bytes of an array.
fn open<'a>(
    format: Format,
    array: &'a Array,
    source: &'a dyn Source,
) -> Result<Box<dyn Read + 'a>> {
    let data = &array.data;
    let section = Section::new(source, data.start, data.len);
    let buffered = BufReader::with_capacity(BUFFER, Asking::new(section.clone(), section.length()));
    let (stream, skipped): (Box<dyn Read>, u64) = match data.encoding {
        Encoding::Gzip { skip } => (Box::new(MultiGzDecoder::new(buffered)), skip),
        // Libraries that write zlib streams read gzip ones under the same name.
        Encoding::Zlib { skip } if is_gzip(&section) => {
            (Box::new(MultiGzDecoder::new(buffered)), skip)
        }
        Encoding::Zlib { skip } => (Box::new(ZlibDecoder::new(buffered)), skip),
        Encoding::Deflate { skip, crc } => (
            Box::new(Checked::new(DeflateDecoder::new(buffered), crc)),
            skip,
        ),
        Encoding::Ascii { fractions } => (
            Box::new(AsciiNumbers::new(
                buffered,
                array.dtype,
                data.little,
                fractions,
            )),
            0,
        ),
        Encoding::VtkBase64 { header, compressed } => (
            vti::open_base64(section, header, compressed, array.bytes())?,
            0,
        ),
        Encoding::VtkBlocks { header } => (vti::open_blocks(section, header, array.bytes())?, 0),
        Encoding::Raw | Encoding::RawAtEnd => return Err(broken(format, "raw data is no stream")),
    };
    // Few bytes of the file can be many of the array.
    let mut stream = Box::new(Asking::new(stream, skipped + array.bytes()));
    skip(&mut stream, skipped).map_err(|error| volume::io(format, error))?;
    Ok(stream)
}

fn is_gzip(section: &Section<'_>) -> bool {
    let mut start = [0; 2];
    volume::head(section.clone(), &mut start).is_ok() && start == [0x1f, 0x8b]
}

/// Leaves out bytes of a stream.
fn skip(stream: &mut dyn Read, count: u64) -> io::Result<()> {
    if io::copy(&mut stream.take(count), &mut io::sink())? < count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// What happens to the bytes of each voxel.
struct Convert {
    dtype: DType,
    little: bool,
    /// Bytes from one voxel to the next.
    record: usize,
    /// Bytes before the first number taken.
    before: usize,
    /// Numbers taken.
    count: usize,
    /// Factor and summand, where they change anything.
    affine: Option<(f64, f64)>,
}

impl Convert {
    fn new(array: &Array, taken: Components, scale: f64) -> Self {
        let item = array.dtype.size();
        let (record, before, count) = if array.interleaved {
            (array.components * item, taken.first * item, taken.count)
        } else {
            (item, 0, 1)
        };
        let (slope, intercept) = (array.slope * scale, array.intercept * scale);
        let changes = slope != 1.0 || intercept != 0.0;
        // Of zeros the negative one leaves every number as it is, zeros included.
        let intercept = if intercept == 0.0 { -0.0 } else { intercept };
        let affine = changes.then_some((slope, intercept));
        Convert {
            dtype: array.dtype,
            little: array.data.little,
            record,
            before,
            count,
            affine,
        }
    }

    /// Whether the bytes of the file are those of the voxels.
    fn is_copy(&self, step: usize) -> bool {
        self.dtype == DType::F32
            && self.affine.is_none()
            && self.little == cfg!(target_endian = "little")
            && self.record == step * size_of::<f32>()
            && self.count == step
    }

    /// Puts the numbers of whole records into voxels `step` apart.
    ///
    /// Fails when a finite number is beyond those of `f32`.
    fn run(&self, records: &[u8], target: &mut [f32], step: usize) -> io::Result<()> {
        let mut lost = None;
        let mut narrow = |wide: f64| {
            let value = wide as f32;
            if value.is_infinite() && wide.is_finite() {
                lost = Some(wide);
            }
            value
        };
        with_number!(self.dtype, T => match (self.little, self.affine) {
            (little, None) if self.dtype == DType::F64 => {
                self.each(T::SIZE, records, target, step, |bytes| narrow(T::get(bytes, little).double()));
            }
            (true, None) => self.each(T::SIZE, records, target, step, |bytes| T::get(bytes, true).single()),
            (false, None) => self.each(T::SIZE, records, target, step, |bytes| T::get(bytes, false).single()),
            (little, Some((slope, intercept))) => self.each(T::SIZE, records, target, step, |bytes| {
                narrow(T::get(bytes, little).double() * slope + intercept)
            }),
        }, {});
        match lost {
            None => Ok(()),
            Some(wide) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{wide:e} is too large for f32, which voxels are"),
            )),
        }
    }

    /// `item` are the bytes of a number, given so that the compiler knows them.
    #[inline(always)]
    fn each(
        &self,
        item: usize,
        records: &[u8],
        target: &mut [f32],
        step: usize,
        mut number: impl FnMut(&[u8]) -> f32,
    ) {
        if self.count == 1 {
            let done = match step {
                1 if self.record == item => packed::<1>(item, records, target, &mut number),
                2 if self.record == item => packed::<2>(item, records, target, &mut number),
                _ => 0,
            };
            let records = records[done * self.record..].chunks_exact(self.record);
            let target = target[done * step..].iter_mut().step_by(step);
            for (value, record) in target.zip(records) {
                *value = number(&record[self.before..]);
            }
            return;
        }
        let records = records.chunks_exact(self.record);
        for (values, record) in target.chunks_mut(step).zip(records) {
            let numbers = record[self.before..].chunks_exact(item);
            for (value, bytes) in values[..self.count].iter_mut().zip(numbers) {
                *value = number(bytes);
            }
        }
    }

    /// Voxels whose bytes fill a buffer.
    fn at_once(&self) -> usize {
        (BUFFER / self.record).max(1)
    }
}

/// The records from the first on whose voxels have all `STEP` words, and how many they are, in a loop that compiles to vector
/// instructions.
#[inline(always)]
fn packed<const STEP: usize>(
    item: usize,
    records: &[u8],
    target: &mut [f32],
    number: &mut impl FnMut(&[u8]) -> f32,
) -> usize {
    let voxels = target.as_chunks_mut::<STEP>().0;
    for (voxel, record) in voxels.iter_mut().zip(records.chunks_exact(item)) {
        *voxel = with_first(number(record), voxel);
    }
    voxels.len().min(records.len() / item)
}

/// Reads by position, on all threads.
fn raw(
    convert: &Convert,
    source: &dyn Source,
    start: u64,
    values: &mut [f32],
    step: usize,
    voxels: usize,
) -> io::Result<()> {
    let last = (voxels - 1) * step + convert.count;
    let values = &mut values[..last];
    let progress = Progress::new((voxels * convert.record) as u64);
    let task = |(number, values): (usize, &mut [f32])| {
        raw_part(
            convert,
            source,
            start + (number * TASK * convert.record) as u64,
            values,
            step,
            &progress,
        )
    };
    if voxels > TASK && parallel::available() {
        progress.on_all_threads(|| {
            values
                .par_chunks_mut(TASK * step)
                .enumerate()
                .try_for_each(task)
        })
    } else {
        values
            .chunks_mut(TASK * step)
            .enumerate()
            .try_for_each(task)
    }
}

fn raw_part(
    convert: &Convert,
    source: &dyn Source,
    start: u64,
    values: &mut [f32],
    step: usize,
    progress: &Progress,
) -> io::Result<()> {
    let mut at = start;
    if convert.is_copy(step) {
        for bytes in bytemuck::cast_slice_mut(values).chunks_mut(COPIED) {
            source.read_exact_at(at, bytes)?;
            at += bytes.len() as u64;
            progress.add(bytes.len())?;
        }
        return Ok(());
    }
    let voxels = values.len().div_ceil(step);
    let mut buffer = vec![0; convert.at_once().min(voxels) * convert.record];
    for values in values.chunks_mut(convert.at_once() * step) {
        let bytes = &mut buffer[..values.len().div_ceil(step) * convert.record];
        source.read_exact_at(at, bytes)?;
        convert.run(bytes, values, step)?;
        at += bytes.len() as u64;
        progress.add(bytes.len())?;
    }
    Ok(())
}

/// Reads a stream.
fn sequential(
    convert: &Convert,
    stream: &mut dyn Read,
    values: &mut [f32],
    step: usize,
    voxels: usize,
) -> io::Result<()> {
    let values = &mut values[..(voxels - 1) * step + convert.count];
    let mut buffer = vec![0; convert.at_once().min(voxels) * convert.record];
    for values in values.chunks_mut(convert.at_once() * step) {
        let bytes = &mut buffer[..values.len().div_ceil(step) * convert.record];
        stream.read_exact(bytes)?;
        convert.run(bytes, values, step)?;
    }
    Ok(())
}
