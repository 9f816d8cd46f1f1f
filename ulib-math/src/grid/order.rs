//! [`DataOrder`]: which axis of an image runs fastest in memory.

use std::fmt;
use std::str::FromStr;

use ulib_core::{Error, Result};

/// The order in which the voxels of an image lie in memory: the first axis named runs fastest.
///
/// The default is [`Xyz`](DataOrder::Xyz), as in VTK, ITK and (read from the back) NumPy: stepping
/// along x moves by one voxel. The order belongs to the image and is saved with it; a triple
/// `[x, y, z]` means the same voxel under every order, only its place in memory differs.
///
/// ```
/// use ulib_math::DataOrder;
///
/// assert_eq!(DataOrder::default(), DataOrder::Xyz);
/// assert_eq!(DataOrder::Xyz.increments([2, 3, 4])?, [1, 2, 6]);
/// assert_eq!("YXZ".parse::<DataOrder>()?.increments([2, 3, 4])?, [3, 1, 6]);
/// assert!("XYY".parse::<DataOrder>().is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DataOrder {
    /// x fastest, then y, then z.
    #[default]
    Xyz,
    /// x fastest, then z, then y.
    Xzy,
    /// y fastest, then x, then z (the order of uLib 0.6).
    Yxz,
    /// y fastest, then z, then x.
    Yzx,
    /// z fastest, then x, then y.
    Zxy,
    /// z fastest, then y, then x.
    Zyx,
}

impl DataOrder {
    /// All six orders.
    pub const ALL: [DataOrder; 6] = [
        DataOrder::Xyz,
        DataOrder::Xzy,
        DataOrder::Yxz,
        DataOrder::Yzx,
        DataOrder::Zxy,
        DataOrder::Zyx,
    ];

    /// The axes (0 for x, 1 for y, 2 for z), fastest first.
    pub const fn axes(self) -> [usize; 3] {
        match self {
            DataOrder::Xyz => [0, 1, 2],
            DataOrder::Xzy => [0, 2, 1],
            DataOrder::Yxz => [1, 0, 2],
            DataOrder::Yzx => [1, 2, 0],
            DataOrder::Zxy => [2, 0, 1],
            DataOrder::Zyx => [2, 1, 0],
        }
    }

    /// The name, three capital letters, as [`Display`](fmt::Display) writes it and
    /// [`FromStr`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            DataOrder::Xyz => "XYZ",
            DataOrder::Xzy => "XZY",
            DataOrder::Yxz => "YXZ",
            DataOrder::Yzx => "YZX",
            DataOrder::Zxy => "ZXY",
            DataOrder::Zyx => "ZYX",
        }
    }

    /// How many voxels one step along x, y and z moves in memory, for an image of `dims` voxels.
    ///
    /// # Errors
    /// `Overflow` when the number of voxels does not fit `isize`.
    pub fn increments(self, dims: [usize; 3]) -> Result<[usize; 3]> {
        super::index_map::voxel_count(dims)?;
        let mut increments = [0; 3];
        let mut step = 1_usize;
        for axis in self.axes() {
            increments[axis] = step;
            // Cannot overflow while no side is zero; with an empty side nothing is ever reached.
            step = step.saturating_mul(dims[axis]);
        }
        Ok(increments)
    }
}

impl fmt::Display for DataOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DataOrder {
    type Err = Error;

    /// Reads `XYZ`, `XZY`, `YXZ`, `YZX`, `ZXY` or `ZYX`, in this exact case.
    fn from_str(word: &str) -> Result<Self> {
        DataOrder::ALL
            .into_iter()
            .find(|order| order.name() == word)
            .ok_or_else(|| {
                Error::invalid(
                    "data order",
                    "order",
                    format_args!("{word:?}"),
                    "one of XYZ, XZY, YXZ, YZX, ZXY, ZYX",
                )
            })
    }
}
