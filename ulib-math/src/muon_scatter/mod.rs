//! Muon scattering events: a muon's track before and after the volume, with errors and momentum.

use ulib_core::device_storable;

use crate::collections::{Collection, Line, Vector4};

device_storable! {
    /// The uncertainty of a measured line, 32 bytes.
    #[derive(Debug, Default, PartialEq)]
    pub struct LineError {
        /// Of the point.
        pub position: Vector4,
        /// Of the direction.
        pub direction: Vector4,
    }
}

device_storable! {
    /// One muon, 144 bytes: lines in and out, their errors, and two momenta.
    ///
    /// Positions are in cm and momenta in GeV. Directions are often slopes (divided by the vertical
    /// component, y). A muon that was absorbed has NaN in the origin of its outgoing line.
    ///
    /// | byte | field | type |
    /// |---|---|---|
    /// | 0 | `LineIn.origin` | 4 x f32 |
    /// | 16 | `LineIn.direction` | 4 x f32 |
    /// | 32 | `LineOut.origin` | 4 x f32 |
    /// | 48 | `LineOut.direction` | 4 x f32 |
    /// | 64 | `ErrorIn.position` | 4 x f32 |
    /// | 80 | `ErrorIn.direction` | 4 x f32 |
    /// | 96 | `ErrorOut.position` | 4 x f32 |
    /// | 112 | `ErrorOut.direction` | 4 x f32 |
    /// | 128 | `Momentum` | f32 |
    /// | 132 | `MomentumPrime` | f32 |
    /// | 136 | `Padding` | 8 bytes, zero |
    ///
    /// ```
    /// use ulib_math::{Line, MuonScatter};
    ///
    /// let line = Line::new([0.0, 10.0, 0.0], [0.0, -1.0, 0.0]);
    /// let muon = MuonScatter { Momentum: 3.0, ..MuonScatter::new(line, line) };
    /// assert_eq!(size_of::<MuonScatter>(), 144);
    /// assert!(!muon.is_absorbed());
    /// ```
    #[derive(Debug, Default, PartialEq)]
    pub struct MuonScatter {
        /// The line before the volume.
        pub LineIn: Line,
        /// The line behind the volume.
        pub LineOut: Line,
        /// The error of the line before the volume.
        pub ErrorIn: LineError,
        /// The error of the line behind the volume.
        pub ErrorOut: LineError,
        /// The momentum, in GeV.
        pub Momentum: f32,
        /// The momentum behind the volume, in GeV.
        pub MomentumPrime: f32,
        /// Unused; kept at zero so that equal muons have equal bytes.
        pub Padding: [u8; 8],
    }
}

impl MuonScatter {
    /// A muon with these lines; errors, momenta and padding are zero.
    pub fn new(line_in: Line, line_out: Line) -> Self {
        MuonScatter {
            LineIn: line_in,
            LineOut: line_out,
            ..MuonScatter::default()
        }
    }

    /// Whether the muon never left the volume: the origin of its outgoing line is NaN.
    pub fn is_absorbed(&self) -> bool {
        let origin = self.LineOut.origin;
        [origin.x, origin.y, origin.z].iter().any(|c| c.is_nan())
    }
}

/// Muons, one after the other.
///
/// As an array it is the muons' raw bytes: `u8`, shape `(144 n,)`. The numbers are reached by field:
///
/// ```
/// use ulib_math::{BulkArray, MuonScatter, MuonScatterCollection};
///
/// let muons = MuonScatterCollection::from_slice(&[MuonScatter::default(); 10])?;
/// assert_eq!(muons.layout()?.shape(), [1440]);
/// let momentum = muons.field_view::<f32>("Momentum")?;
/// assert_eq!(momentum.layout().shape(), [10]);
/// let origin = muons.field_view::<f32>("LineIn.origin")?; // or "LineInOrigin"
/// assert_eq!(origin.layout().shape(), [10, 4]);
/// assert_eq!(origin.layout().strides(), [36, 1]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub type MuonScatterCollection = Collection<MuonScatter>;
