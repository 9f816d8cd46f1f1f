//! [`Axis`]: one of the three axes of a volume.

use std::fmt;
use std::str::FromStr;

use ulib_core::{Error, Result};

/// An axis of a volume. Its text is `x`, `y` or `z`; both cases are read.
///
/// ```
/// use ulib_math::picture::Axis;
/// assert_eq!("Y".parse::<Axis>()?, Axis::Y);
/// assert_eq!((Axis::Z.to_string(), Axis::Z.index()), ("z".to_owned(), 2));
/// assert!("w".parse::<Axis>().is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The first side of the dimensions.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl Axis {
    /// All three.
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    /// The place in triples such as dimensions and spacings: 0, 1 or 2.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        }
    }

    /// The axes that point right and up in a picture that is looked at along this one.
    #[must_use]
    pub fn across(self) -> (Axis, Axis) {
        match self {
            Axis::X => (Axis::Y, Axis::Z),
            Axis::Y => (Axis::X, Axis::Z),
            Axis::Z => (Axis::X, Axis::Y),
        }
    }

    /// The place in arrays that are indexed `[z, y, x]`.
    pub(crate) fn of_array(self) -> usize {
        2 - self.index()
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["x", "y", "z"][self.index()])
    }
}

impl FromStr for Axis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Axis::ALL
            .into_iter()
            .find(|axis| axis.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                Error::invalid(
                    "axis",
                    "name",
                    format_args!("'{}'", text.escape_debug()),
                    "x, y or z",
                )
            })
    }
}
