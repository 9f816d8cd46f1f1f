//! How an elementwise kernel goes over its operands: along a line or over axes, by element or by 16 bytes.

use super::axes::Axes;

/// The widest access of a thread, in bytes.
pub(crate) const WIDE: usize = 16;

/// What a launch covers. Addresses and strides are in bytes; a unit is an element of each operand, or, when `packed`, as many
/// adjacent elements of each as make [`WIDE`] bytes of operand 0.
#[derive(Debug)]
pub(crate) struct Form<const K: usize> {
    /// Addresses of unit 0.
    pub(crate) base: [u64; K],
    pub(crate) units: usize,
    pub(crate) packed: bool,
    pub(crate) path: Path<K>,
}

#[derive(Debug)]
pub(crate) enum Path<const K: usize> {
    /// Units `stride` apart; packed: `head` elements before unit 0 and `tail` after the last.
    Line {
        stride: [isize; K],
        head: usize,
        tail: usize,
    },
    Walk(Axes<K>),
}

impl<const K: usize> Form<K> {
    /// For elements of `size` bytes, powers of two, at `address` plus what `axes` (in bytes) says. An operand of size 0 is
    /// not in memory. `wide_rows` says whether there is a kernel that walks over axes by 16 bytes.
    pub(crate) fn new(axes: Axes<K>, address: [u64; K], size: [usize; K], wide_rows: bool) -> Self {
        let base: [u64; K] =
            std::array::from_fn(|k| address[k].wrapping_add_signed(axes.start[k] as i64));
        let single = size[0] == WIDE;
        let form = |base, units, packed, path| Self {
            base,
            units,
            packed,
            path,
        };
        if axes.len.len() > 1 {
            let lanes = WIDE / size[0];
            let wide = (0..K)
                .all(|k| size[k] == 0 || axes.holds_units(k, base[k], size[k], lanes * size[k]));
            if wide_rows && wide {
                let axes = axes.in_units(lanes);
                return form(base, axes.count(), true, Path::Walk(axes));
            }
            return form(base, axes.count(), single, Path::Walk(axes));
        }
        let units = axes.count();
        let stride = axes.stride.first().copied().unwrap_or([0; K]);
        let Some((head, wide)) = wide_run(&base, &stride, &size, units) else {
            let (head, tail) = (0, 0);
            return form(base, units, single, Path::Line { stride, head, tail });
        };
        let lanes = WIDE / size[0];
        let path = Path::Line {
            stride: size.map(|size| (lanes * size).cast_signed()),
            head,
            tail: units - head - wide * lanes,
        };
        let base = std::array::from_fn(|k| base[k] + (head * size[k]) as u64);
        form(base, wide, true, path)
    }
}

/// The elements before the first whole unit of a packed run, and the number of whole units, if there is one.
fn wide_run<const K: usize>(
    base: &[u64; K],
    stride: &[isize; K],
    size: &[usize; K],
    elements: usize,
) -> Option<(usize, usize)> {
    let lanes = WIDE / size[0];
    if !base[0].is_multiple_of(size[0] as u64) {
        return None;
    }
    let head = (base[0].next_multiple_of(WIDE as u64) - base[0]) as usize / size[0];
    let fits = |k: usize| {
        let first = base[k] + (head * size[k]) as u64;
        size[k] == 0
            || stride[k] == size[k].cast_signed() && first.is_multiple_of((lanes * size[k]) as u64)
    };
    let wide = elements.checked_sub(head)? / lanes;
    (wide > 0 && (0..K).all(fits)).then_some((head, wide))
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
        let form = Form::new(
            Axes::new([&layout], 0).scaled([size]),
            [0x1000],
            [size],
            true,
        );
        match form.path {
            Path::Line { stride, head, tail } => {
                Ok((form.base[0], form.units, form.packed, stride[0], head, tail))
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
            let form = Form::new(Axes::new([&layout], 0).scaled([4]), [0x1000], [4], true);
            assert!(matches!(form.path, Path::Walk(_)));
            Ok((form.units, form.packed))
        };
        assert_eq!(form(12, 8)?, (6, true));
        assert_eq!(form(12, 7)?, (21, false));
        assert_eq!(form(11, 8)?, (24, false));
        Ok(())
    }
}
