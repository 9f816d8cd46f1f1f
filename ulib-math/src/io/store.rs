//! The way of an image's numbers into a file.

use std::fs::File;
use std::io::{self, Write};

use rayon::prelude::*;
use ulib_core::DType;

use super::asking::{Progress, ask_in_stream};
use super::element::{Number, with_number};
use super::source::write_all_at;
use crate::ops::parallel;

/// Bytes written at once.
const BUFFER: usize = 1 << 20;

/// An image on its way into a file.
pub(super) struct Outgoing<'a> {
    pub(super) dims: [usize; 3],
    pub(super) spacing: [f64; 3],
    pub(super) origin: [f64; 3],
    pub(super) values: &'a [f32],
    /// Words from a voxel to its neighbours along x, y and z.
    pub(super) strides: [usize; 3],
    pub(super) arrays: Vec<Outline>,
    pub(super) dtype: DType,
    pub(super) scale: f64,
    pub(super) compressed: bool,
    pub(super) ascii: bool,
}

/// An array on its way into a file.
pub(super) struct Outline {
    pub(super) name: String,
    /// Words of a voxel before its numbers.
    pub(super) offset: usize,
    pub(super) components: usize,
}

impl Outgoing<'_> {
    pub(super) fn voxels(&self) -> usize {
        self.dims.iter().product()
    }

    /// The bytes of a voxel of an array.
    fn record(&self, array: &Outline) -> usize {
        array.components * self.dtype.size()
    }

    /// The bytes of an array.
    pub(super) fn bytes(&self, array: &Outline) -> usize {
        self.voxels() * self.record(array)
    }

    /// All arrays as one with that many components more, for formats that hold one.
    pub(super) fn joined(&self) -> Outline {
        Outline {
            name: self
                .arrays
                .first()
                .map(|array| array.name.clone())
                .unwrap_or_default(),
            offset: self.arrays.first().map_or(0, |array| array.offset),
            components: self.arrays.iter().map(|array| array.components).sum(),
        }
    }

    /// Writes an array, x fastest, to a place of a file, on all threads.
    pub(super) fn write_at(
        &self,
        array: &Outline,
        file: &File,
        offset: u64,
        little: bool,
    ) -> io::Result<()> {
        // Systems let one thread at a time write to a file: others help by gathering alone.
        let progress = Progress::new(self.bytes(array) as u64);
        let put = |at: u64, bytes: &[u8]| {
            write_all_at(file, offset + at, bytes)?;
            progress.add(bytes.len())
        };
        if let Some(bytes) = self.as_bytes(array, little) {
            let mut pieces = (0..).step_by(BUFFER).zip(bytes.chunks(BUFFER));
            return pieces.try_for_each(|(at, piece)| put(at, piece));
        }
        let (record, voxels, at_once) = (self.record(array), self.voxels(), self.at_once(array));
        let part = |buffer: &mut Vec<u8>, number: usize| {
            let first = number * at_once;
            buffer.resize(at_once.min(voxels - first) * record, 0);
            self.gather(array, first, buffer, little);
            put((first * record) as u64, buffer)
        };
        let parts = voxels.div_ceil(at_once);
        if parts > 1 && parallel::available() {
            progress.on_all_threads(|| (0..parts).into_par_iter().try_for_each_init(Vec::new, part))
        } else {
            let mut buffer = Vec::new();
            (0..parts).try_for_each(|number| part(&mut buffer, number))
        }
    }

    /// Writes an array, x fastest, to a stream.
    pub(super) fn write_to(
        &self,
        array: &Outline,
        stream: &mut dyn Write,
        little: bool,
    ) -> io::Result<()> {
        self.pieces(array, little, |bytes| stream.write_all(bytes))
    }

    /// Writes an array, x fastest, as words, a row of voxels in each line.
    pub(super) fn write_ascii(&self, array: &Outline, stream: &mut dyn Write) -> io::Result<()> {
        let mut column = 0;
        self.pieces(array, true, |bytes| {
            with_number!(self.dtype, T => for number in bytes.chunks_exact(T::SIZE) {
                column += 1;
                let end = if column == self.dims[0] * array.components { '\n' } else { ' ' };
                column %= self.dims[0] * array.components;
                write!(stream, "{}{end}", T::get(number, true))?;
            }, {});
            Ok(())
        })
    }

    /// Hands the bytes of an array, x fastest, to `take`, a piece after the other.
    fn pieces(
        &self,
        array: &Outline,
        little: bool,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        let (voxels, at_once) = (self.voxels(), self.at_once(array));
        for first in (0..voxels).step_by(at_once) {
            buffer.resize(at_once.min(voxels - first) * self.record(array), 0);
            self.gather(array, first, &mut buffer, little);
            take(&buffer)?;
            let done = (first + at_once).min(voxels) * self.record(array);
            ask_in_stream(done as u64, self.bytes(array) as u64)?;
        }
        Ok(())
    }

    /// The bytes of a piece of an array, which is in blocks of `size` bytes.
    pub(super) fn block(
        &self,
        array: &Outline,
        number: usize,
        size: usize,
        little: bool,
    ) -> Vec<u8> {
        let record = self.record(array);
        let at_once = (size / record).max(1);
        let first = number * at_once;
        let mut bytes = vec![0; at_once.min(self.voxels() - first) * record];
        self.gather(array, first, &mut bytes, little);
        bytes
    }

    /// Voxels whose bytes fill a buffer.
    fn at_once(&self, array: &Outline) -> usize {
        (BUFFER / self.record(array)).max(1)
    }

    /// Whether neighbours along x, y and z are neighbours in memory.
    fn is_x_fastest(&self) -> bool {
        let [x, y, _] = self.dims;
        let step = self.strides[0];
        self.strides == [step, step * x, step * x * y]
    }

    /// The bytes of an array where they are those in memory.
    fn as_bytes(&self, array: &Outline, little: bool) -> Option<&[u8]> {
        let same = self.dtype == DType::F32
            && self.scale == 1.0
            && little == cfg!(target_endian = "little")
            && self.is_x_fastest()
            && self.strides[0] == array.components;
        let end = array.offset + self.voxels() * array.components;
        same.then(|| bytemuck::cast_slice(&self.values[array.offset..end]))
    }

    /// Fills `bytes` with the numbers of voxels from voxel `first` on, counted x fastest.
    fn gather(&self, array: &Outline, first: usize, bytes: &mut [u8], little: bool) {
        with_number!(self.dtype, T => match (little, self.scale == 1.0) {
            (true, true) => self.each(array, first, bytes, |value, bytes| T::of_single(value).put(bytes, true)),
            (false, true) => self.each(array, first, bytes, |value, bytes| T::of_single(value).put(bytes, false)),
            (little, false) => self.each(array, first, bytes, |value, bytes| {
                T::of_double(f64::from(value) * self.scale).put(bytes, little);
            }),
        }, {});
    }

    #[inline(always)]
    fn each(
        &self,
        array: &Outline,
        first: usize,
        mut bytes: &mut [u8],
        put: impl Fn(f32, &mut [u8]),
    ) {
        let (item, record) = (self.dtype.size(), self.record(array));
        let [nx, ny, _] = self.dims;
        let flat = self.is_x_fastest();
        let mut voxel = first;
        while !bytes.is_empty() {
            // The rest of the row, or of everything where rows follow each other.
            let left = bytes.len() / record;
            let (start, count) = if flat {
                (voxel * self.strides[0], left)
            } else {
                let (x, row) = (voxel % nx, voxel / nx);
                let start =
                    x * self.strides[0] + row % ny * self.strides[1] + row / ny * self.strides[2];
                (start, left.min(nx - x))
            };
            let (now, later) = bytes.split_at_mut(count * record);
            let values = &self.values[array.offset + start..];
            if array.components == 1 {
                for (bytes, &value) in now
                    .chunks_exact_mut(item)
                    .zip(values.iter().step_by(self.strides[0]))
                {
                    put(value, bytes);
                }
            } else {
                for (bytes, values) in now
                    .chunks_exact_mut(record)
                    .zip(values.chunks(self.strides[0]))
                {
                    for (bytes, &value) in bytes.chunks_exact_mut(item).zip(values) {
                        put(value, bytes);
                    }
                }
            }
            voxel += count;
            bytes = later;
        }
    }
}
