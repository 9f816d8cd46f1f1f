//! Blocks in bins of similar sizes, and what is counted about them.

/// Bits of a size that tell bins apart, below the highest one.
const MANTISSA_BITS: u32 = 4;

/// The bin of blocks for `bytes` bytes: sixteen to each power of two.
///
/// # Examples
/// ```
/// use ulib_device::memory::{bin_bytes, bin_number};
///
/// assert_eq!((bin_number(1000), bin_bytes(bin_number(1000))), (159, 1023));
/// assert_eq!((bin_number(0), bin_bytes(0)), (0, 1));
/// ```
#[must_use]
pub const fn bin_number(bytes: u64) -> u32 {
    if bytes == 0 {
        return 0;
    }
    let exponent = bytes.ilog2();
    // The bits behind the highest one; of a size of few bits those that would be behind its point are zero.
    let mantissa = if exponent >= MANTISSA_BITS {
        bytes >> (exponent - MANTISSA_BITS)
    } else {
        bytes << (MANTISSA_BITS - exponent)
    };
    (exponent << MANTISSA_BITS) | (mantissa as u32 & ((1 << MANTISSA_BITS) - 1))
}

/// The size of the blocks in a bin: the largest one of which [`bin_number`] gives it.
#[must_use]
pub const fn bin_bytes(bin: u32) -> u64 {
    let (exponent, mantissa) = (bin >> MANTISSA_BITS, bin & ((1 << MANTISSA_BITS) - 1));
    let significant = ((1 << MANTISSA_BITS) | mantissa) as u64;
    if exponent < MANTISSA_BITS {
        return significant >> (MANTISSA_BITS - exponent);
    }
    let behind = exponent - MANTISSA_BITS;
    // All bits behind the significant ones are set.
    (significant << behind) | ((1 << behind) - 1)
}

/// What a pool of blocks has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Blocks kept for later.
    pub held_blocks: u64,
    /// Blocks handed out.
    pub active_blocks: u64,
    /// Bytes of all blocks, kept and handed out, as allocated.
    pub managed_bytes: u64,
    /// Bytes of the blocks handed out, as asked for.
    pub active_bytes: u64,
    /// The largest value that `managed_bytes` ever had.
    pub peak_managed_bytes: u64,
    /// The largest value that `active_bytes` ever had.
    pub peak_active_bytes: u64,
    /// Requests served with a block that was kept.
    pub reused: u64,
    /// Requests served with new memory.
    pub allocated: u64,
}

/// The blocks that are kept, by bin, and the counts.
#[derive(Debug)]
pub(crate) struct Bins<B> {
    bins: Vec<Vec<B>>,
    pub(crate) counts: PoolStatistics,
    pub(crate) limit_bytes: Option<u64>,
    /// Of blocks that are being made.
    reserved_bytes: u64,
    pub(crate) holding: bool,
}

impl<B> Default for Bins<B> {
    fn default() -> Self {
        Self {
            bins: Vec::new(),
            counts: PoolStatistics::default(),
            limit_bytes: None,
            reserved_bytes: 0,
            holding: true,
        }
    }
}

impl<B> Bins<B> {
    /// Takes a block out of `bin`: the one kept last of which `suits` holds, else, with `any`, the one kept last.
    #[inline]
    pub(crate) fn take(&mut self, bin: u32, any: bool, suits: impl Fn(&B) -> bool) -> Option<B> {
        let blocks = self.bins.get_mut(bin as usize)?;
        let at = match blocks.iter().rposition(suits) {
            None if any => blocks.len().checked_sub(1)?,
            found => found?,
        };
        self.counts.held_blocks -= 1;
        Some(blocks.remove(at))
    }

    /// Keeps a block, or hands it back where nothing is to be kept.
    #[inline]
    pub(crate) fn keep(&mut self, bin: u32, block: B) -> Result<(), B> {
        if !self.holding {
            self.counts.managed_bytes -= bin_bytes(bin);
            return Err(block);
        }
        let index = bin as usize;
        if self.bins.len() <= index {
            self.bins.resize_with(index + 1, Vec::new);
        }
        self.bins[index].push(block);
        self.counts.held_blocks += 1;
        Ok(())
    }

    /// Takes out the block that was kept longest in the bin of the largest blocks.
    pub(crate) fn take_largest(&mut self) -> Option<(u32, B)> {
        let bin = self.bins.iter().rposition(|blocks| !blocks.is_empty())?;
        let block = self.bins[bin].remove(0);
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= bin_bytes(bin as u32);
        Some((bin as u32, block))
    }

    /// Counts a block of `bin` as handed out for `bytes` bytes.
    pub(crate) fn started(&mut self, bytes: u64, reused: bool) {
        let counts = &mut self.counts;
        counts.active_blocks += 1;
        counts.active_bytes += bytes;
        counts.peak_active_bytes = counts.peak_active_bytes.max(counts.active_bytes);
        *(if reused {
            &mut counts.reused
        } else {
            &mut counts.allocated
        }) += 1;
    }

    /// Counts a block that was handed out for `bytes` bytes as back.
    pub(crate) fn ended(&mut self, bytes: u64) {
        self.counts.active_blocks -= 1;
        self.counts.active_bytes -= bytes;
    }

    /// Sets the room for a new block of `bin` aside, if the limit allows it: until it is
    /// [known](Self::unreserve) whether there is one.
    pub(crate) fn reserve(&mut self, bin: u32) -> bool {
        let taken = self
            .counts
            .managed_bytes
            .saturating_add(self.reserved_bytes);
        let grown = taken.saturating_add(bin_bytes(bin));
        if self.limit_bytes.is_some_and(|limit| grown > limit) {
            return false;
        }
        self.reserved_bytes = self.reserved_bytes.saturating_add(bin_bytes(bin));
        true
    }

    /// A new block of `bin` was made, or was not to be had.
    pub(crate) fn unreserve(&mut self, bin: u32) {
        self.reserved_bytes = self.reserved_bytes.saturating_sub(bin_bytes(bin));
    }

    /// Counts the memory of a new block of `bin`.
    pub(crate) fn made(&mut self, bin: u32) {
        let counts = &mut self.counts;
        counts.managed_bytes = counts.managed_bytes.saturating_add(bin_bytes(bin));
        counts.peak_managed_bytes = counts.peak_managed_bytes.max(counts.managed_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size, bin, and size of the blocks in it, as the pools of PyCUDA have them.
    const GOLDEN: &[(u64, u32, u64)] = &[
        (0, 0, 1),
        (1, 0, 1),
        (2, 16, 2),
        (3, 24, 3),
        (15, 62, 15),
        (16, 64, 16),
        (17, 65, 17),
        (32, 80, 33),
        (33, 80, 33),
        (100, 105, 103),
        (255, 127, 255),
        (257, 128, 271),
        (1000, 159, 1023),
        (1024, 160, 1087),
        (1025, 160, 1087),
        (4096, 192, 4351),
        (5000, 195, 5119),
        (1 << 20, 320, 1_114_111),
        ((1 << 20) + 1, 320, 1_114_111),
        (1_000_000, 318, 1_015_807),
        (1_000_000_000, 477, 1_006_632_959),
        ((1 << 32) + 5, 512, 4_563_402_751),
    ];

    #[test]
    fn bins_and_their_sizes_are_the_known_ones() {
        for &(size, bin, bytes) in GOLDEN {
            assert_eq!(bin_number(size), bin, "{size}");
            assert_eq!(bin_bytes(bin), bytes, "{size}");
        }
    }

    #[test]
    fn every_size_fits_into_its_bin_and_into_no_smaller_one() {
        let sizes = (1..10_000).chain((13..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, power | (power >> 3)]
        }));
        for size in sizes.chain([u64::MAX]) {
            let bin = bin_number(size);
            assert!(bin_bytes(bin) >= size, "{size}");
            assert_eq!(bin_number(bin_bytes(bin)), bin, "{size}");
            assert!(bin_bytes(bin) - size <= size / 16, "{size}");
        }
    }
}
