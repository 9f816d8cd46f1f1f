//! [`Picture`]: pixels, and the PNG files of them.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::Path;

use ulib_core::{Context, Error, ErrorKind, Result};

use crate::io::AtomicFile;
use crate::memory::room;

/// A picture of 8-bit red, green and blue pixels, row by row from the top.
///
/// ```
/// use ulib_math::picture::Picture;
///
/// let mut picture = Picture::filled(3, 2, [255, 255, 255])?;
/// picture.set_pixel(2, 1, [200, 0, 0]);
/// assert_eq!(picture.pixel(2, 1), Some([200, 0, 0]));
/// assert_eq!(picture.pixel(3, 1), None);
/// assert!(picture.to_png()?.starts_with(b"\x89PNG\r\n\x1a\n"));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// The longest side that a picture may have, in pixels.
    pub const LONGEST: u32 = 16_384;

    /// A picture of one colour.
    ///
    /// # Errors
    /// `InvalidArgument` when a side is zero or longer than [`LONGEST`](Picture::LONGEST), `OutOfMemory`.
    pub fn filled(width: u32, height: u32, colour: [u8; 3]) -> Result<Self> {
        if [width, height]
            .iter()
            .any(|side| !(1..=Picture::LONGEST).contains(side))
        {
            return Err(Error::invalid(
                "picture",
                "size",
                format_args!("{width} x {height}"),
                format!("sides of 1 to {} pixels", Picture::LONGEST),
            ));
        }
        // Cannot overflow: both are below 2^15.
        let count = width as usize * height as usize;
        let mut pixels = room(count)?;
        pixels.resize(count, colour);
        Ok(Picture {
            width,
            height,
            pixels,
        })
    }

    /// Pixels from left to right.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Pixels from top to bottom.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// All pixels, row by row from the top.
    #[must_use]
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    pub(super) fn pixels_mut(&mut self) -> &mut [[u8; 3]] {
        &mut self.pixels
    }

    /// The pixel at `x` from the left and `y` from the top, if there is one.
    #[must_use]
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        self.place(x, y).map(|place| self.pixels[place])
    }

    /// Sets the pixel at `x` from the left and `y` from the top, if there is one.
    pub fn set_pixel(&mut self, x: u32, y: u32, colour: [u8; 3]) {
        if let Some(place) = self.place(x, y) {
            self.pixels[place] = colour;
        }
    }

    fn place(&self, x: u32, y: u32) -> Option<usize> {
        (x < self.width && y < self.height).then(|| y as usize * self.width as usize + x as usize)
    }

    /// The bytes of a PNG file of the picture.
    ///
    /// # Errors
    /// `Io` when the encoder fails.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a PNG file, which appears whole or not at all (see [`AtomicFile`]).
    ///
    /// # Errors
    /// `Io` when writing fails.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let file = AtomicFile::create(path)?;
        let write = || {
            let mut buffered = BufWriter::new(file.file());
            self.encode(&mut buffered)?;
            buffered.flush().map_err(|error| Error::io("write", error))
        };
        write().with_context(|| format!("writing {}", path.display()))?;
        file.commit()
    }

    fn encode(&self, out: impl Write) -> Result<()> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer
            .write_image_data(self.pixels.as_flattened())
            .map_err(failed)?;
        writer.finish().map_err(failed)
    }
}

fn failed(error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(error) => Error::io("png", error),
        other => Error::in_op(ErrorKind::Io, "png", other.to_string()),
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("width", &self.width)
            .field("height", &self.height)
            .finish_non_exhaustive()
    }
}
