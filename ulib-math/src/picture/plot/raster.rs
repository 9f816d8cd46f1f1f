//! A plot as pixels.

use ulib_core::Result;

use super::{Plot, colour, font};
use crate::memory::zeros;
use crate::picture::Picture;

const PAPER: [u8; 3] = [255; 3];
const INK: [u8; 3] = [40; 3];
const GRID: [u8; 3] = [225; 3];

/// The farthest pixel that a line touches, and a little more.
const ASIDE: f64 = 8.0;

pub(super) fn draw(plot: &Plot) -> Result<Picture> {
    let (width, height) = plot.size;
    let mut picture = Picture::filled(width, height, PAPER)?;
    // Small plots have small letters.
    let scale = if width < 480 || height < 240 { 1 } else { 2 };
    let letter = (
        f64::from(scale * font::WIDTH),
        f64::from(scale * font::HEIGHT),
    );
    let frame = plot.frame(letter);
    let (left, right) = (frame.left.round() as u32, frame.right.round() as u32);
    let (top, bottom) = (frame.top.round() as u32, frame.bottom.round() as u32);
    let text = |x: f64, y: f64, text: &str, colour, picture: &mut Picture| {
        font::write(picture, scale, (x, y), text, colour);
    };
    for (value, label) in &frame.x.ticks {
        let at = frame.at_x(*value);
        fill(
            &mut picture,
            (at.round() as u32, top),
            (1, bottom - top),
            GRID,
        );
        fill(
            &mut picture,
            (at.round() as u32, bottom),
            (1, 3 * scale),
            INK,
        );
        text(at, frame.bottom + letter.1 * 0.9, label, INK, &mut picture);
    }
    for (value, label) in &frame.y.ticks {
        let at = frame.at_y(*value);
        fill(
            &mut picture,
            (left, at.round() as u32),
            (right - left, 1),
            GRID,
        );
        let half = label.len() as f64 * letter.0 / 2.0;
        text(
            frame.left - half - letter.0 * 0.5,
            at,
            label,
            INK,
            &mut picture,
        );
    }
    fill(&mut picture, (left, top), (1, bottom - top), INK);
    fill(&mut picture, (left, bottom), (right - left + 1, 1), INK);
    let middle = (frame.left + frame.right) / 2.0;
    text(middle, frame.title_at, &plot.title, INK, &mut picture);
    let below = frame.bottom + letter.1 * 2.2;
    text(middle, below, &plot.x_label, INK, &mut picture);
    for (line, at, name) in &frame.names {
        text(*at, frame.names_at, name, colour(*line), &mut picture);
    }
    let mut cover = zeros::<u8>(picture.pixels().len())?;
    for (i, line) in frame.lines.iter().enumerate() {
        // Only its own rows: of thousands of lines most are short.
        let ys = || line.iter().flatten().map(|point| point.1);
        let first = (ys().fold(f64::INFINITY, f64::min) - ASIDE).max(0.0) as usize;
        let last = (ys().fold(f64::NEG_INFINITY, f64::max) + ASIDE).max(0.0) as usize;
        let (first, last) = (first.min(height as usize), last.min(height as usize));
        let rows = first * width as usize..last.max(first) * width as usize;
        cover[rows.clone()].fill(0);
        for piece in line {
            for pair in piece.windows(2) {
                segment(&mut cover, (width, height), (pair[0], pair[1]), 1.0);
            }
            if let [alone] = piece[..] {
                segment(&mut cover, (width, height), (alone, alone), 2.0);
            }
        }
        for (pixel, &cover) in picture.pixels_mut()[rows.clone()]
            .iter_mut()
            .zip(&cover[rows])
        {
            let part = f64::from(cover) / 255.0;
            for (old, new) in pixel.iter_mut().zip(colour(i)) {
                *old = (f64::from(*old) * (1.0 - part) + f64::from(new) * part).round() as u8;
            }
        }
    }
    Ok(picture)
}

/// A rectangle, as much of it as is in the picture.
fn fill(picture: &mut Picture, at: (u32, u32), size: (u32, u32), colour: [u8; 3]) {
    for y in at.1..(at.1 + size.1).min(picture.height()) {
        for x in at.0..(at.0 + size.0).min(picture.width()) {
            picture.set_pixel(x, y, colour);
        }
    }
}

/// Covers the pixels within `radius` (at most 2) of a segment, with soft edges.
fn segment(cover: &mut [u8], size: (u32, u32), (a, b): ((f64, f64), (f64, f64)), radius: f64) {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let square = dx * dx + dy * dy;
    // The distance of the middle of a pixel from the segment decides.
    let mut touch = |x: f64, y: f64| {
        if x < 0.0 || y < 0.0 || x >= f64::from(size.0) || y >= f64::from(size.1) {
            return;
        }
        let (px, py) = (x + 0.5 - a.0, y + 0.5 - a.1);
        let along = if square > 0.0 {
            ((px * dx + py * dy) / square).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let distance = (px - along * dx).hypot(py - along * dy);
        let part = (radius + 0.5 - distance).clamp(0.0, 1.0);
        let place = y as usize * size.0 as usize + x as usize;
        cover[place] = cover[place].max((part * 255.0).round() as u8);
    };
    // Along the longer direction, a few pixels to both sides: at a slope of at most 1 four are enough.
    let steep = dy.abs() > dx.abs();
    let (from, to) = if steep { (a.1, b.1) } else { (a.0, b.0) };
    let slope = match if steep { (dx, dy) } else { (dy, dx) } {
        (_, 0.0) => 0.0,
        (across, along) => across / along,
    };
    let (first, last) = (from.min(to).floor() - 3.0, from.max(to).floor() + 3.0);
    for step in 0..=(last - first) as u32 {
        let at = first + f64::from(step);
        let middle = if steep { a.0 } else { a.1 } + (at + 0.5 - from) * slope;
        for aside in -4..=4 {
            let across = middle.floor() + f64::from(aside);
            if steep {
                touch(across, at);
            } else {
                touch(at, across);
            }
        }
    }
}
