//! [`Frame`]: where the parts of a plot lie, the same for pictures and SVG.

use super::Plot;
use super::scale::Scale;
use crate::picture::plane::finite_range;

/// Where the lines go, in pixels from the top left, and the scales of both axes.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// The names of the lines that there is room for: line, middle of its text, text.
    pub(super) names: Vec<(usize, f64, String)>,
    /// The middle of the line of text with the names, and of the title.
    pub(super) names_at: f64,
    pub(super) title_at: f64,
    /// Points of each line in pieces without gaps, in pixels.
    pub(super) lines: Vec<Vec<Vec<(f64, f64)>>>,
}

impl Frame {
    /// The frame of a plot for letters of this width and height.
    pub(super) fn new(plot: &Plot, letter: (f64, f64)) -> Self {
        let (width, height) = (f64::from(plot.size.0), f64::from(plot.size.1));
        let pieces: Vec<_> = plot.lines.iter().map(|line| plot.pieces(line)).collect();
        let points = || pieces.iter().flatten().flatten();
        let ticks = |length: f64, room: f64| ((length / room) as usize).clamp(1, 10);
        let y = Scale::new(
            finite_range(points().map(|point| point.1)),
            0.05,
            ticks(height, letter.1 * 3.5),
        );
        let longest = y.ticks.iter().map(|(_, text)| text.len()).max();
        let left = (longest.unwrap_or(1) as f64 + 1.5) * letter.0;
        let right = (width - letter.0 * 2.0).max(left + 1.0);
        let x = Scale::new(
            finite_range(points().map(|point| point.0)),
            0.0,
            ticks(right - left, letter.0 * 8.0),
        );
        let title = if plot.title.is_empty() { 0.0 } else { 1.5 };
        let named = plot.lines.iter().any(|line| !line.name.is_empty());
        let top = letter.1 * (0.6 + title + if named { 1.5 } else { 0.0 });
        let label = if plot.x_label.is_empty() { 0.0 } else { 1.3 };
        let bottom = (height - letter.1 * (1.9 + label)).max(top + 1.0);
        let place = |(px, py): (f64, f64)| {
            (
                left + x.place(px) * (right - left),
                bottom - y.place(py) * (bottom - top),
            )
        };
        let lines = pieces
            .iter()
            .map(|line| {
                let placed = |piece: &Vec<_>| piece.iter().copied().map(place).collect();
                line.iter().map(placed).collect()
            })
            .collect();
        Frame {
            names: names(plot, left, right, letter.0),
            names_at: top - letter.1,
            title_at: letter.1 * 0.9,
            lines,
            left,
            right,
            top,
            bottom,
            x,
            y,
        }
    }

    /// Where a number is along the bottom, and along the left side.
    pub(super) fn at_x(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }
}

/// The names from left to right, long ones shortened, as many as there is room for.
fn names(plot: &Plot, left: f64, right: f64, letter: f64) -> Vec<(usize, f64, String)> {
    const LONGEST: usize = 24;
    let mut names = Vec::new();
    let mut at = left;
    for (i, line) in plot.lines.iter().enumerate() {
        let mut name = line.name.clone();
        if let Some((cut, _)) = name.char_indices().nth(LONGEST) {
            name.truncate(cut);
            name.push_str("...");
        }
        let length = name.chars().count() as f64 * letter;
        if at + length > right {
            break;
        }
        if !name.is_empty() {
            names.push((i, at + length / 2.0, name));
            at += length + letter * 3.0;
        }
    }
    names
}
