//! The bins of a histogram: their edges, and which of them a number belongs to.

use std::sync::Arc;

use ulib_core::{Error, Result};

use crate::memory::room;

/// The edges of the bins of a [`histogram`](super::histogram()): bin `i` holds `edge[i] <= x < edge[i + 1]`, the last one also
/// `x` equal to its upper edge.
///
/// # Examples
/// ```
/// use ulib_math::ops::Bins;
///
/// let bins = Bins::uniform(0.0, 1.0, 4)?;
/// assert_eq!(bins.len(), 4);
/// assert_eq!(bins.as_slice(), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// assert_eq!(Bins::edges(vec![0.0, 1.0, 10.0])?.len(), 2);
/// assert!(Bins::uniform(1.0, 0.0, 4).is_err());
/// assert!(Bins::edges(vec![0.0, 0.0]).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// Finite, ascending, at least two.
    edges: Arc<Vec<f64>>,
    uniform: Option<Uniform>,
}

/// What makes the edges of uniform bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uniform {
    /// From edge to edge.
    pub(super) width: f64,
    /// Bins for each unit.
    pub(super) inverse: f64,
}

impl Bins {
    /// `n` bins of one width from `lo` to `hi`. Edge `i` is `lo + i * ((hi - lo) / n)` in `f64`, every operation rounded,
    /// and edge `n` is `hi`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for no bins, for bounds that are not finite, not ascending, or further apart than any `f64`, and
    /// for so many bins that neighbouring edges are the same `f64`; kind `OutOfMemory` where the host has no room for the edges.
    pub fn uniform(lo: f64, hi: f64, n: usize) -> Result<Self> {
        const OP: &str = "Bins::uniform";
        if n == 0 {
            return Err(Error::invalid(OP, "n", n, "at least one bin"));
        }
        if !lo.is_finite() || !hi.is_finite() || lo >= hi || !(hi - lo).is_finite() {
            return Err(Error::invalid(
                OP,
                "range",
                format_args!("{lo:?} to {hi:?}"),
                "finite bounds, the lower one first, with a finite difference",
            ));
        }
        let width = (hi - lo) / n as f64;
        let mut edges = room(n.saturating_add(1))?;
        edges.extend((0..n).map(|i| lo + i as f64 * width));
        edges.push(hi);
        if let Some(pair) = edges.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::invalid(
                OP,
                "n",
                n,
                format!("bins wider than the spacing of f64 near {:?}", pair[0]),
            ));
        }
        let inverse = n as f64 / (hi - lo);
        Ok(Self {
            edges: Arc::new(edges),
            // Of narrower bins there is no guess.
            uniform: inverse.is_finite().then_some(Uniform { width, inverse }),
        })
    }

    /// Bins between neighbours of `edges`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for fewer than two edges, for one that is not finite, and for one that is not above the one before.
    pub fn edges(edges: Vec<f64>) -> Result<Self> {
        const OP: &str = "Bins::edges";
        if edges.len() < 2 {
            return Err(Error::invalid(
                OP,
                "edges",
                format_args!("{edges:?}"),
                "at least two",
            ));
        }
        if let Some(i) = edges.iter().position(|edge| !edge.is_finite()) {
            return Err(Error::invalid(
                OP,
                format!("edges[{i}]"),
                edges[i],
                "a finite number",
            ));
        }
        if let Some(i) = (1..edges.len()).find(|&i| edges[i - 1] >= edges[i]) {
            return Err(Error::invalid(
                OP,
                format!("edges[{i}]"),
                format_args!("{:?} after {:?}", edges[i], edges[i - 1]),
                "ascending edges",
            ));
        }
        Ok(Self {
            edges: Arc::new(edges),
            uniform: None,
        })
    }

    /// The number of bins, one less than the edges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// Never: there is at least one bin.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.edges
    }

    pub(super) fn spacing(&self) -> Option<Uniform> {
        self.uniform
    }

    /// The first and the last edge.
    pub(super) fn range(&self) -> (f64, f64) {
        (self.edges[0], self.edges[self.len()])
    }

    /// The bin of a number; `None` outside of all, and for NaN.
    #[inline(always)]
    pub(super) fn find(&self, x: f64) -> Option<usize> {
        let (edges, last) = (self.as_slice(), self.len() - 1);
        if !(x >= edges[0] && x <= edges[last + 1]) {
            return None;
        }
        let Some(Uniform { inverse, .. }) = self.uniform else {
            let above = edges.partition_point(|edge| *edge <= x);
            return Some((above - 1).min(last));
        };
        let mut bin = (((x - edges[0]) * inverse) as usize).min(last);
        while bin > 0 && x < edges[bin] {
            bin -= 1;
        }
        while bin < last && x >= edges[bin + 1] {
            bin += 1;
        }
        Some(bin)
    }
}
