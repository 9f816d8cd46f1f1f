//! Sizes that pinned buffers come in.

use super::region::PAGE_BYTES;

/// The size of buffer that serves `bytes`: four sizes an octave, in whole pages, so that at most a fifth is unused
/// beyond the first pages. `None` when there is no such size.
pub(super) fn class_of(bytes: usize) -> Option<usize> {
    if bytes <= PAGE_BYTES {
        return Some(PAGE_BYTES);
    }
    // The largest power of two below `bytes`, a quarter of which is the step.
    let octave = 1_usize << (usize::BITS - 1 - (bytes - 1).leading_zeros());
    let step = (octave / 4).max(PAGE_BYTES);
    let size = bytes.checked_next_multiple_of(step)?;
    isize::try_from(size).is_ok().then_some(size)
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test that expects fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_pages_and_waste_little() {
        let mut last = 0;
        for bytes in
            (0..300_000)
                .step_by(37)
                .chain([1 << 20, (1 << 20) + 1, 16 << 20, (16 << 20) + 1])
        {
            let size = class_of(bytes).expect("small sizes exist");
            assert!(size >= bytes && size.is_multiple_of(PAGE_BYTES));
            assert!(size >= last, "sizes grow with what is asked for");
            assert!(
                size - bytes <= PAGE_BYTES || (size - bytes) * 4 <= size,
                "{bytes} in {size}"
            );
            last = size;
        }
        assert_eq!(class_of(4097), Some(8192));
        assert_eq!(class_of(1 << 20), Some(1 << 20));
        assert_eq!(class_of((1 << 20) + 1), Some((1 << 20) + (1 << 18)));
        assert_eq!(class_of(usize::MAX), None);
        assert_eq!(class_of(isize::MAX as usize + 1), None);
    }
}
