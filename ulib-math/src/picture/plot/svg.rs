//! A plot as SVG.

use std::fmt::Write;

use super::{Plot, colour};

/// Width and height of a letter, about.
const LETTER: (f64, f64) = (7.2, 15.0);

pub(super) fn draw(plot: &Plot) -> String {
    let frame = plot.frame(LETTER);
    let (width, height) = plot.size;
    let mut svg = String::new();
    let out = &mut svg;
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\" fill=\"currentColor\">",
    );
    let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
    for (value, label) in &frame.x.ticks {
        let at = frame.at_x(*value);
        stroke(out, (at, top), (at, bottom), "stroke-opacity=\"0.15\"");
        stroke(out, (at, bottom), (at, bottom + 5.0), "");
        text(out, (at, bottom + LETTER.1 * 1.3), "", label);
    }
    for (value, label) in &frame.y.ticks {
        let at = frame.at_y(*value);
        stroke(out, (left, at), (right, at), "stroke-opacity=\"0.15\"");
        text(out, (left - 5.0, at + 4.5), " text-anchor=\"end\"", label);
    }
    stroke(out, (left, top), (left, bottom), "");
    stroke(out, (left, bottom), (right, bottom), "");
    let middle = (left + right) / 2.0;
    text(
        out,
        (middle, frame.title_at + 4.5),
        " font-weight=\"bold\"",
        &plot.title,
    );
    text(out, (middle, bottom + LETTER.1 * 2.6), "", &plot.x_label);
    for (line, at, name) in &frame.names {
        let own = format!(" fill=\"{}\"", hexadecimal(colour(*line)));
        text(out, (*at, frame.names_at + 4.5), &own, name);
    }
    for (i, line) in frame.lines.iter().enumerate() {
        let mut path = String::new();
        for piece in line {
            for (j, (x, y)) in piece.iter().enumerate() {
                let step = if j == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{step}{x:.1} {y:.1}");
            }
            if piece.len() == 1 {
                path.push('z');
            }
        }
        let _ = write!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linecap=\"round\" \
             stroke-linejoin=\"round\"/>",
            hexadecimal(colour(i))
        );
    }
    svg.push_str("</svg>");
    svg
}

fn stroke(out: &mut String, a: (f64, f64), b: (f64, f64), more: &str) {
    let _ = write!(
        out,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"currentColor\" {more}/>",
        a.0, a.1, b.0, b.1
    );
}

fn text(out: &mut String, at: (f64, f64), more: &str, text: &str) {
    if !text.is_empty() {
        let (x, y) = at;
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{more}>{}</text>",
            escaped(text)
        );
    }
}

fn hexadecimal([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A text as HTML and XML have it, in elements and in attributes. Control characters, which XML cannot have, are boxes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}
