//! What a reduction does with its elements: a [`Fold`], and how an [`Item`] of it is read on the host.

use ulib_core::{DeviceStorable, bytemuck::Pod};

use crate::ops::element::Number;
use crate::ops::launch::Library;

/// How a reduction goes from elements to a result. The engine decides in which order and how often the steps happen, by the
/// number of elements alone: see [`sum`](crate::ops::sum()).
pub(crate) trait Fold: Copy + Send + Sync {
    /// The elements of the views.
    type Value: DeviceStorable + Copy;
    /// What is read at one index.
    type Item: Item<Self::Value>;
    /// What elements are added to one by one.
    type Lane: Copy;
    /// What lanes, chunks and levels are joined in.
    type Acc: Pod + Send + Sync;
    /// A result.
    type Out: DeviceStorable + Copy + Default + PartialEq;

    /// What no elements give: joined to any other on either side it leaves it unchanged.
    const EMPTY: Self::Acc;

    /// A lane before its elements, of which this is the first.
    fn open(&self, first: Self::Item) -> Self::Lane;

    /// The lane with one more element.
    fn step(&self, lane: Self::Lane, item: Self::Item) -> Self::Lane;

    /// A lane after all its elements, which were so many.
    fn close(&self, lane: Self::Lane, count: usize) -> Self::Acc;

    /// Both, of which the left has the earlier lanes or chunks.
    fn join(left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// The result.
    fn finish(&self, acc: Self::Acc) -> Self::Out;

    /// The result of no elements at all, if there is one.
    fn nothing(&self) -> Option<Self::Out> {
        Some(self.finish(Self::EMPTY))
    }

    /// The kernels.
    fn kernels() -> &'static Library;

    /// The kernel of the first level for this form, if there is one; there is for all that take an element at a time.
    fn entry(form: Form) -> Option<&'static str>;

    /// The kernel of the later levels, by rows and by columns.
    const JOIN: [&'static str; 2];

    /// `fold` of `ReduceParams`: what a kernel has to know, nothing for most.
    fn params(&self) -> [u64; 4] {
        [0; 4]
    }
}

/// What a kernel of the first level is compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) columns: bool,
    /// Takes 16 bytes at a time.
    pub(crate) pack: bool,
    /// The reduced axes are a single one.
    pub(crate) line: bool,
}

impl Form {
    /// Whether there is a kernel for elements of type `number`, where 16 bytes at a time are taken in rows of adjacent floats only.
    pub(crate) fn with_packed_rows_of_floats(self, number: Number) -> bool {
        let float = matches!(number, Number::F32 | Number::F64);
        !self.pack || (float && self.line && !self.columns)
    }
}

/// The names of an operation's kernels of the first level, by form and number.
macro_rules! entries {
    ($op:literal, $number:expr, $form:expr) => {{
        use $crate::ops::element::Number;
        use $crate::ops::reduce::entry;
        match $number {
            Number::F32 => entry!($op, "f32", $form),
            Number::F64 => entry!($op, "f64", $form),
            Number::I32 => entry!($op, "i32", $form),
            Number::U32 => entry!($op, "u32", $form),
            Number::I64 => entry!($op, "i64", $form),
            Number::U64 => entry!($op, "u64", $form),
        }
    }};
}

/// The names of an operation's kernels of the later levels, which join results of a type: [`Fold::JOIN`].
macro_rules! joins {
    ($op:literal, $acc:literal) => {
        [
            concat!("ulib_", $op, "_rows_join_", $acc),
            concat!("ulib_", $op, "_columns_join_", $acc),
        ]
    };
}

/// The match from a [`Form`] and a number's name to the name of a kernel.
macro_rules! entry {
    ($op:literal, $number:literal, $form:expr) => {
        match ($form.columns, $form.pack, $form.line) {
            (false, false, true) => concat!("ulib_", $op, "_rows_", $number, "_one_line"),
            (false, false, false) => concat!("ulib_", $op, "_rows_", $number, "_one_axes"),
            (true, false, true) => concat!("ulib_", $op, "_columns_", $number, "_one_line"),
            (true, false, false) => concat!("ulib_", $op, "_columns_", $number, "_one_axes"),
            (false, true, true) => concat!("ulib_", $op, "_rows_", $number, "_pack_line"),
            (false, true, false) => concat!("ulib_", $op, "_rows_", $number, "_pack_axes"),
            (true, true, true) => concat!("ulib_", $op, "_columns_", $number, "_pack_line"),
            (true, true, false) => concat!("ulib_", $op, "_columns_", $number, "_pack_axes"),
        }
    };
}
pub(crate) use {entries, entry, joins};

/// What there is beside the elements of the first view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    Nothing,
    /// The elements of a second view.
    Values,
    /// The place in the C order of the reduced axes.
    Place,
}

/// The elements of the views in host memory; `second` is empty where there is no second view.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a, T> {
    pub(crate) first: &'a [T],
    pub(crate) second: &'a [T],
}

/// Items at evenly spaced indices.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a, T> {
    first: Line<'a, T>,
    second: Line<'a, T>,
    place: isize,
    place_stride: isize,
}

/// Elements of one view at evenly spaced indices.
#[derive(Clone, Copy)]
struct Line<'a, T> {
    elements: &'a [T],
    origin: isize,
    stride: isize,
}

impl<'a, T: Copy> Line<'a, T> {
    const NONE: Self = Self {
        elements: &[],
        origin: 0,
        stride: 0,
    };

    fn new(data: &'a [T], start: isize, stride: isize, len: usize) -> Self {
        let last = start + (len - 1).cast_signed() * stride;
        let (low, high) = (start.min(last).unsigned_abs(), start.max(last));
        Self {
            elements: &data[low..=high.unsigned_abs()],
            origin: start - low.cast_signed(),
            stride,
        }
    }

    /// Some of them; with `S` above 0 the stride is known to be `S`.
    #[inline(always)]
    fn part<const S: usize>(self, first: usize, len: usize) -> Self {
        if S == 0 {
            let origin = self.origin + first.cast_signed() * self.stride;
            return Self { origin, ..self };
        }
        Self {
            elements: &self.elements[first * S..=(first + len - 1) * S],
            ..self
        }
    }

    #[inline(always)]
    fn at<const S: usize>(&self, i: usize) -> T {
        if S == 0 {
            self.elements[(self.origin + i.cast_signed() * self.stride).unsigned_abs()]
        } else {
            self.elements[i * S]
        }
    }

    /// The stride where it is one that loops are compiled for, else 0.
    fn known(&self) -> usize {
        match self.stride {
            1 => 1,
            2 => 2,
            _ => 0,
        }
    }
}

impl<'a, T: Copy> Row<'a, T> {
    /// `len` items, the first where `start` says, `stride` apart.
    pub(super) fn new<I: Item<T>>(
        data: Data<'a, T>,
        start: [isize; 2],
        stride: [isize; 2],
        len: usize,
    ) -> Self {
        let second = if I::SECOND == Second::Values {
            Line::new(data.second, start[1], stride[1], len)
        } else {
            Line::NONE
        };
        Self {
            first: Line::new(data.first, start[0], stride[0], len),
            second,
            place: start[1],
            place_stride: stride[1],
        }
    }

    /// Some of the items; with `S` above 0 the strides are known to be `S`.
    #[inline(always)]
    pub(super) fn part<I: Item<T>, const S: usize>(&self, first: usize, len: usize) -> Self {
        let second = if I::SECOND == Second::Values {
            self.second.part::<S>(first, len)
        } else {
            Line::NONE
        };
        Self {
            first: self.first.part::<S>(first, len),
            second,
            place: self.place + first.cast_signed() * self.place_stride,
            place_stride: self.place_stride,
        }
    }

    /// The strides where they are some that loops are compiled for, else 0.
    pub(super) fn known<I: Item<T>>(&self) -> usize {
        let known = self.first.known();
        if I::SECOND == Second::Values && self.second.known() != known {
            return 0;
        }
        known
    }

    /// The first addresses of the views, for prefetches.
    #[inline(always)]
    pub(super) fn pointers(&self) -> [*const T; 2] {
        [self.first.elements.as_ptr(), self.second.elements.as_ptr()]
    }
}

/// What a fold reads at one index.
pub(crate) trait Item<T>: Copy {
    const SECOND: Second;

    /// Item `i` of a row, whose strides are known to be `S` unless that is 0.
    fn read<const S: usize>(row: &Row<'_, T>, i: usize) -> Self;
}

/// The element of a view.
#[derive(Clone, Copy)]
pub(crate) struct One<T>(pub(crate) T);

impl<T: Copy> Item<T> for One<T> {
    const SECOND: Second = Second::Nothing;

    #[inline(always)]
    fn read<const S: usize>(row: &Row<'_, T>, i: usize) -> Self {
        Self(row.first.at::<S>(i))
    }
}

/// The elements of two views.
#[derive(Clone, Copy)]
pub(crate) struct Two<T>(pub(crate) T, pub(crate) T);

impl<T: Copy> Item<T> for Two<T> {
    const SECOND: Second = Second::Values;

    #[inline(always)]
    fn read<const S: usize>(row: &Row<'_, T>, i: usize) -> Self {
        Self(row.first.at::<S>(i), row.second.at::<S>(i))
    }
}

/// The element of a view and its place.
#[derive(Clone, Copy)]
pub(crate) struct Placed<T>(pub(crate) T, pub(crate) u64);

impl<T: Copy> Item<T> for Placed<T> {
    const SECOND: Second = Second::Place;

    #[inline(always)]
    fn read<const S: usize>(row: &Row<'_, T>, i: usize) -> Self {
        let place = row.place + i.cast_signed() * row.place_stride;
        Self(row.first.at::<S>(i), place.cast_unsigned() as u64)
    }
}
