//! [`Render`]: slices and projections of volumes as pictures.

use ulib_core::{Error, Result};

use super::plane::{Plane, Shown};
use super::{Axis, ColourMap, Picture, Projection, Volume};

/// Small pictures are enlarged until a side has this many pixels.
const SMALLEST: f64 = 256.0;

/// How a volume is drawn: set what is needed, then call [`image`](Render::image).
///
/// # Values
/// The window is where the colours change: its low end and all below have the first colour, its high end and all above the
/// last one. Without a window it goes from the smallest to the largest finite number that is shown. Where both ends are the
/// same, values that equal them have the colour in the middle. NaN has a colour of its own.
///
/// # Pixels
/// Pixels are square in the world: with a spacing of (1, 1, 3) a voxel is three times as long along z. The shorter side of
/// a voxel is one pixel, or a whole number of them where the longer side of the picture would have less than 256, but the
/// picture is never larger than [`size`](Render::size). A pixel shows the voxel that its middle lies in.
///
/// ```
/// use ulib_math::picture::{Axis, ColourMap, Render};
/// use ulib_math::{Compute, VoxImage};
///
/// let mut image: VoxImage = VoxImage::new([100, 100, 50])?;
/// image.set_spacing([1.0, 1.0, 3.0])?;
/// image.fill(2.0)?;
/// let render = Render::new().axis(Axis::Y).slice(7).window(0.0, 4.0).colours(ColourMap::Viridis);
/// let picture = render.image(&image)?;
/// assert_eq!((picture.width(), picture.height()), (200, 300));
/// assert_eq!(picture.pixel(0, 0), Some(ColourMap::Viridis.colour(0.5)));
/// assert!(render.slice(100).image(&image).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Render {
    axis: Axis,
    shown: Shown,
    window: Option<(f64, f64)>,
    colours: ColourMap,
    nan: [u8; 3],
    size: u32,
}

impl Default for Render {
    fn default() -> Self {
        Render::new()
    }
}

impl Render {
    /// The middle slice along z in greys, NaN red, not more than 1024 pixels wide and high.
    #[must_use]
    pub fn new() -> Self {
        Render {
            axis: Axis::Z,
            shown: Shown::Middle,
            window: None,
            colours: ColourMap::default(),
            nan: [200, 30, 30],
            size: 1024,
        }
    }

    /// The axis that is looked along.
    #[must_use]
    pub fn axis(mut self, axis: Axis) -> Self {
        self.axis = axis;
        self
    }

    /// Shows the slice with this index on the axis. Without it that is half the number of slices, rounded down.
    #[must_use]
    pub fn slice(mut self, index: usize) -> Self {
        self.shown = Shown::Slice(index);
        self
    }

    /// Shows the projection of all slices.
    #[must_use]
    pub fn projection(mut self, projection: Projection) -> Self {
        self.shown = Shown::Projection(projection);
        self
    }

    /// The values between which the colours change.
    #[must_use]
    pub fn window(mut self, low: f64, high: f64) -> Self {
        self.window = Some((low, high));
        self
    }

    /// The colours.
    #[must_use]
    pub fn colours(mut self, colours: ColourMap) -> Self {
        self.colours = colours;
        self
    }

    /// The colour of NaN.
    #[must_use]
    pub fn nan_colour(mut self, colour: [u8; 3]) -> Self {
        self.nan = colour;
        self
    }

    /// The largest width and height, in pixels.
    #[must_use]
    pub fn size(mut self, pixels: u32) -> Self {
        self.size = pixels;
        self
    }

    /// Draws an image.
    ///
    /// # Errors
    /// `InvalidArgument` for an image without voxels, a window whose ends are not finite or in the wrong order, and a size of
    /// 0 or above [`Picture::LONGEST`]; `Index` when there is no such slice; `OutOfMemory`; `Driver` when the device breaks.
    pub fn image<T: Volume + ?Sized>(&self, image: &T) -> Result<Picture> {
        if let Some((low, high)) = self.window
            && !(low.is_finite() && high.is_finite() && low <= high)
        {
            return Err(Error::invalid(
                "render",
                "window",
                format_args!("{low} to {high}"),
                "two finite numbers, the smaller one first",
            ));
        }
        if !(1..=Picture::LONGEST).contains(&self.size) {
            return Err(Error::invalid(
                "render",
                "size",
                self.size,
                format!("1 to {} pixels", Picture::LONGEST),
            ));
        }
        self.draw(&Plane::of(image, self.axis, self.shown)?)
    }

    fn draw(&self, plane: &Plane) -> Result<Picture> {
        let window = self.window.or_else(|| plane.range()).unwrap_or((0.0, 0.0));
        let (width, height) = pixels(plane.sides, plane.spacing, self.size);
        let mut picture = Picture::filled(width, height, self.nan)?;
        let (right, up) = plane.sides;
        let columns = nearest(right, width);
        let mut rows = nearest(up, height);
        rows.reverse();
        let (pixels, width) = (picture.pixels_mut(), width as usize);
        let mut drawn = None;
        for (line, row) in rows.into_iter().enumerate() {
            let start = line * width;
            if drawn == Some(row) {
                pixels.copy_within(start - width..start, start);
                continue;
            }
            drawn = Some(row);
            let values = &plane.values[row * right..(row + 1) * right];
            for (pixel, &column) in pixels[start..start + width].iter_mut().zip(&columns) {
                if let Some(place) = place_in(window, values[column]) {
                    *pixel = self.colours.colour(place);
                }
            }
        }
        Ok(picture)
    }
}

/// Where in the window a value lies, from 0 to 1; nothing for NaN.
fn place_in((low, high): (f64, f64), value: f64) -> Option<f64> {
    if value.is_nan() {
        None
    } else if low == high {
        // Also what lies infinitely far away has a side.
        Some(if value < low {
            0.0
        } else if value > low {
            1.0
        } else {
            0.5
        })
    } else {
        // Halves, so that no difference of finite numbers overflows.
        let place = (value * 0.5 - low * 0.5) / (high * 0.5 - low * 0.5);
        Some(place.clamp(0.0, 1.0))
    }
}

/// The width and height of the picture of a plane.
fn pixels(sides: (usize, usize), spacing: (f64, f64), most: u32) -> (u32, u32) {
    let finest = spacing.0.min(spacing.1);
    let wide = sides.0 as f64 * (spacing.0 / finest);
    let high = sides.1 as f64 * (spacing.1 / finest);
    let (longest, most) = (wide.max(high), f64::from(most));
    let factor = if longest > most {
        most / longest
    } else {
        (SMALLEST / longest)
            .ceil()
            .min((most / longest).floor())
            .max(1.0)
    };
    // An infinite side, of spacings that are worlds apart, is as long as allowed, and the other one a pixel.
    let side = |length: f64| {
        let pixels = if length == longest && longest > most {
            most
        } else {
            (length * factor).round()
        };
        pixels.max(1.0).min(most) as u32
    };
    (side(wide), side(high))
}

/// The index among `from` that the middle of each of `to` pixels lies in.
fn nearest(from: usize, to: u32) -> Vec<usize> {
    (0..to)
        .map(|pixel| {
            let at = (f64::from(pixel) + 0.5) * from as f64 / f64::from(to);
            (at as usize).min(from - 1)
        })
        .collect()
}
