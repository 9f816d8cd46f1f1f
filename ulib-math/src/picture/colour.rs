//! [`ColourMap`]: numbers from 0 to 1 as colours.

use std::fmt;
use std::str::FromStr;

use ulib_core::{Error, Result};

/// The colours between the low and the high end of a window.
///
/// ```
/// use ulib_math::picture::ColourMap;
/// assert_eq!(ColourMap::Greys.colour(0.5), [128, 128, 128]);
/// assert_eq!(ColourMap::Viridis.colour(0.0), [68, 1, 84]);
/// assert_eq!("Turbo".parse::<ColourMap>()?, ColourMap::Turbo);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColourMap {
    /// Black to white, linear.
    #[default]
    Greys,
    /// Dark violet, green, yellow; even to the eye.
    Viridis,
    /// Black, purple, orange, pale yellow; even to the eye.
    Inferno,
    /// Black, purple, pink, white; even to the eye.
    Magma,
    /// A rainbow: large differences of hue.
    Turbo,
}

impl ColourMap {
    /// All of them.
    pub const ALL: [ColourMap; 5] = [
        ColourMap::Greys,
        ColourMap::Viridis,
        ColourMap::Inferno,
        ColourMap::Magma,
        ColourMap::Turbo,
    ];

    /// The name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ColourMap::Greys => "greys",
            ColourMap::Viridis => "viridis",
            ColourMap::Inferno => "inferno",
            ColourMap::Magma => "magma",
            ColourMap::Turbo => "turbo",
        }
    }

    /// The red, green and blue of a place from 0 to 1; places outside count as the nearer end, NaN as 0.
    #[must_use]
    pub fn colour(self, place: f64) -> [u8; 3] {
        let place = if place.is_nan() {
            0.0
        } else {
            place.clamp(0.0, 1.0)
        };
        let gradient = match self {
            ColourMap::Greys => return [(place * 255.0).round() as u8; 3],
            ColourMap::Viridis => colorous::VIRIDIS,
            ColourMap::Inferno => colorous::INFERNO,
            ColourMap::Magma => colorous::MAGMA,
            ColourMap::Turbo => colorous::TURBO,
        };
        let colour = gradient.eval_continuous(place);
        [colour.r, colour.g, colour.b]
    }
}

impl fmt::Display for ColourMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ColourMap {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        ColourMap::ALL
            .into_iter()
            .find(|map| map.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let names = ColourMap::ALL.map(ColourMap::name);
                Error::invalid(
                    "colour map",
                    "name",
                    format_args!("'{}'", text.escape_debug()),
                    format!("one of {}", names.join(", ")),
                )
            })
    }
}
