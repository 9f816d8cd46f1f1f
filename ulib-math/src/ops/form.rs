//! How an elementwise kernel with one operand goes over it: along a line or over axes, by element or by 16 bytes.

use super::axes::Axes;

/// The widest access of a thread, in bytes.
pub(crate) const WIDE: usize = 16;

/// What a launch covers. Addresses and strides are in bytes; a unit is an element, or [`WIDE`] bytes when `packed`.
#[derive(Debug)]
pub(crate) struct Form {
    /// Address of unit 0.
    pub(crate) base: u64,
    pub(crate) units: usize,
    pub(crate) packed: bool,
    pub(crate) path: Path,
}

#[derive(Debug)]
pub(crate) enum Path {
    /// Units `stride` apart; packed: `head` elements before unit 0 and `tail` after the last.
    Line {
        stride: isize,
        head: usize,
        tail: usize,
    },
    Walk(Axes<1>),
}

impl Form {
    /// For elements of `size` bytes, a power of two, at `address` plus what `axes` (in bytes) says.
    pub(crate) fn new(axes: Axes<1>, address: u64, size: usize) -> Self {
        let base = address.wrapping_add_signed(axes.start[0] as i64);
        let units = axes.count();
        let line = |base, units, packed, stride, head, tail| Self {
            base,
            units,
            packed,
            path: Path::Line { stride, head, tail },
        };
        match (axes.len.as_slice(), axes.stride.as_slice()) {
            ([], _) => line(base, 1, size == WIDE, 0, 0, 0),
            (_, &[[stride]]) => {
                let lanes = WIDE / size;
                let head = (base.next_multiple_of(WIDE as u64) - base) as usize / size;
                let aligned = base.is_multiple_of(size as u64);
                if stride != size.cast_signed() || !aligned || units < head + lanes {
                    return line(base, units, size == WIDE, stride, 0, 0);
                }
                let wide = (units - head) / lanes;
                line(
                    base + (head * size) as u64,
                    wide,
                    true,
                    WIDE.cast_signed(),
                    head,
                    units - head - wide * lanes,
                )
            }
            _ if axes.holds_units(0, base, size, WIDE) => {
                let axes = axes.in_units(WIDE / size);
                Self {
                    base,
                    units: axes.count(),
                    packed: true,
                    path: Path::Walk(axes),
                }
            }
            _ => Self {
                base,
                units,
                packed: size == WIDE,
                path: Path::Walk(axes),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use ulib_core::{Layout, Result};

    use super::super::axes::Axes;
    use super::{Form, Path};

    fn line(
        elements: usize,
        offset: usize,
        step: isize,
        size: usize,
    ) -> Result<(u64, usize, bool, isize, usize, usize)> {
        let layout = Layout::new(vec![elements], vec![step], offset)?;
        let form = Form::new(Axes::new([&layout], 0).scaled([size]), 0x1000, size);
        match form.path {
            Path::Line { stride, head, tail } => {
                Ok((form.base, form.units, form.packed, stride, head, tail))
            }
            Path::Walk(_) => unreachable!("one axis is a line"),
        }
    }

    #[test]
    fn packed_runs_have_heads_and_tails() -> Result<()> {
        assert_eq!(line(16, 0, 1, 4)?, (0x1000, 4, true, 16, 0, 0));
        assert_eq!(line(16, 1, 1, 4)?, (0x1010, 3, true, 16, 3, 1));
        assert_eq!(line(3, 0, 1, 4)?, (0x1000, 3, false, 4, 0, 0), "too short");
        assert_eq!(line(16, 0, 2, 4)?, (0x1000, 16, false, 8, 0, 0), "strided");
        assert_eq!(
            line(1, 7, 1, 4)?,
            (0x101c, 1, false, 0, 0, 0),
            "one element"
        );
        assert_eq!(line(33, 1, 1, 1)?, (0x1010, 1, true, 16, 15, 2));
        Ok(())
    }

    #[test]
    fn rows_are_walked_in_wide_units_where_they_fit() -> Result<()> {
        let form = |cols: usize, used: usize| -> Result<(usize, bool)> {
            let layout = Layout::contiguous(&[3, cols])?.slice_axis(1, 0, used, 1)?;
            let form = Form::new(Axes::new([&layout], 0).scaled([4]), 0x1000, 4);
            assert!(matches!(form.path, Path::Walk(_)));
            Ok((form.units, form.packed))
        };
        assert_eq!(form(12, 8)?, (6, true));
        assert_eq!(form(12, 7)?, (21, false));
        assert_eq!(form(11, 8)?, (24, false));
        Ok(())
    }
}
