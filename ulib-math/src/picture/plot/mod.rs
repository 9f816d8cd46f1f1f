//! [`Plot`]: lines through points, with axes, as a picture or as SVG.

mod font;
mod frame;
mod raster;
mod scale;
mod svg;

use ulib_core::Result;

use super::Picture;
use super::plane::numbers;
use crate::event_table::EventTable;
use frame::Frame;
pub(crate) use svg::escaped;

/// Beyond this size numbers count as this large, so that no span overflows.
const LARGEST: f64 = 8e307;

/// Lines through points, drawn with axes, numbers at nice places, and the names of the lines.
///
/// A line has a gap where a number is not finite. Of a line with more points than pixels can show, the smallest and the largest
/// of each stretch of points are drawn, so that no peak is lost.
///
/// ```
/// use ulib_math::EventTable;
/// use ulib_math::picture::Plot;
///
/// let mut table = EventTable::new("slice,total,mean")?;
/// table.add_rows(&[0.0, 10.0, 1.0, 1.0, 30.0, 3.0, 2.0, 20.0, 2.0])?;
/// let plot = Plot::of_table(&table, Some("slice"), &["total"])?.title("totals").size(400, 200);
/// assert_eq!(plot.picture()?.width(), 400);
/// let svg = plot.svg();
/// assert!(svg.starts_with("<svg ") && svg.contains(">totals</text>"));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    title: String,
    x_label: String,
    lines: Vec<Line>,
    size: (u32, u32),
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Default for Plot {
    fn default() -> Self {
        Plot::new()
    }
}

impl Plot {
    /// A plot without lines, of 800 x 400 pixels.
    #[must_use]
    pub fn new() -> Self {
        Plot {
            title: String::new(),
            x_label: String::new(),
            lines: Vec::new(),
            size: (800, 400),
        }
    }

    /// The columns of a table over the column `x`, or over the number of the row. No names mean all columns but `x`.
    ///
    /// # Errors
    /// `Index` when there is no such column; those of reading the table.
    pub fn of_table(table: &EventTable, x: Option<&str>, columns: &[&str]) -> Result<Self> {
        let column = |name: &str| numbers(&table.column_view(name)?);
        let places = match x {
            Some(name) => column(name)?,
            None => (0..table.rows()).map(|row| row as f64).collect(),
        };
        let mut plot = Plot::new().x_label(x.unwrap_or("row"));
        if columns.is_empty() {
            let others = table.columns().iter().map(String::as_str);
            for name in others.filter(|&name| Some(name) != x) {
                plot = plot.line(name, &places, &column(name)?);
            }
        }
        for &name in columns {
            plot = plot.line(name, &places, &column(name)?);
        }
        Ok(plot)
    }

    /// A line above the plot.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// What the numbers along the bottom are.
    #[must_use]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    /// Adds a line through the points `(x[i], y[i])`, as many as both have.
    #[must_use]
    pub fn line(mut self, name: impl Into<String>, x: &[f64], y: &[f64]) -> Self {
        self.lines.push(Line {
            name: name.into(),
            points: x.iter().copied().zip(y.iter().copied()).collect(),
        });
        self
    }

    /// Width and height, in pixels.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.size = (width, height);
        self
    }

    /// Draws the plot, with letters of ASCII; others are boxes.
    ///
    /// # Errors
    /// As [`Picture::filled`].
    pub fn picture(&self) -> Result<Picture> {
        raster::draw(self)
    }

    /// The plot as an SVG element, for a page: text that can be selected, and colours that follow the page's
    /// (`currentColor`). Names and titles are escaped.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Lines in pieces without gaps, thinned.
    fn pieces(&self, line: &Line) -> Vec<Vec<(f64, f64)>> {
        let most = self.size.0.max(16) as usize;
        let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for chunk in line.points.chunks(line.points.len().div_ceil(most).max(1)) {
            let finite = || {
                let points = chunk.iter().enumerate();
                points.filter(|(_, (x, y))| x.is_finite() && y.is_finite())
            };
            let lowest = finite().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
            let highest = finite().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
            let (Some(lowest), Some(highest)) = (lowest, highest) else {
                pieces.push(Vec::new());
                continue;
            };
            let limited =
                |(x, y): (f64, f64)| (x.clamp(-LARGEST, LARGEST), y.clamp(-LARGEST, LARGEST));
            if let Some(piece) = pieces.last_mut() {
                let (first, second) = if lowest.0 < highest.0 {
                    (lowest, highest)
                } else {
                    (highest, lowest)
                };
                piece.push(limited(*first.1));
                if first.0 != second.0 {
                    piece.push(limited(*second.1));
                }
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    fn frame(&self, letter: (f64, f64)) -> Frame {
        Frame::new(self, letter)
    }
}

/// The colour of a line.
fn colour(line: usize) -> [u8; 3] {
    let palette = colorous::CATEGORY10;
    let colour = palette[line % palette.len()];
    [colour.r, colour.g, colour.b]
}
