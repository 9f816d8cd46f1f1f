//! Objects as pieces of HTML.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ulib_core::{Location, Result};

use super::content::{Content, Rows};
use super::object::SceneObject;
use crate::picture::{Render, escaped};

/// Rows and columns of a fragment's table, and letters of a text in it.
const ROWS: usize = 10;
const COLUMNS: usize = 12;
const LETTERS: usize = 60;
/// Letters of a line of a program, and of what went wrong.
const LINE: usize = 120;
const ERROR: usize = 500;
/// Lines of a program in a fragment.
const LINES: usize = 20;

/// An object as a piece of HTML for a notebook: its class, its size, the preferred device, where it is and why, and a middle slice
/// or the first rows.
///
/// The piece is bounded: a picture of not more than 256 x 256 pixels, 10 rows of 12 columns, 20 lines. It needs nothing from
/// elsewhere, has no program in it, and texts of the object are escaped. What cannot be read says so in place of what would
/// be shown.
///
/// ```
/// use ulib_math::scene::html;
/// use ulib_math::VoxImage;
///
/// let image: VoxImage = VoxImage::new([8, 8, 8])?;
/// let fragment = html::fragment(&image);
/// assert!(fragment.contains("8 x 8 x 8 voxels"));
/// assert!(fragment.contains("<img src=\"data:image/png;base64,"));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[must_use]
pub fn fragment(object: &dyn SceneObject) -> String {
    let shown = middle(object).unwrap_or_else(|error| {
        format!("<p>{}</p>", escaped(&shortened(&error.to_string(), ERROR)))
    });
    format!(
        "<div style=\"font-family:sans-serif;font-size:90%\"><div><b>{}</b> &middot; {} &middot; prefers {} &middot; {}</div>{shown}</div>",
        escaped(object.class().name),
        escaped(&object.size()),
        object.preferred_device(),
        badge(&object.location()),
    )
}

fn middle(object: &dyn SceneObject) -> Result<String> {
    Ok(match object.content(ROWS)? {
        Content::Volume(volume) if volume.grid().is_empty() => "<p>no voxels</p>".to_owned(),
        Content::Volume(volume) => {
            let png = Render::new().size(256).image(volume)?.to_png()?;
            format!(
                "<img src=\"data:image/png;base64,{}\" alt=\"middle slice along z\" style=\"image-rendering:pixelated;margin-top:4px\">",
                STANDARD.encode(png)
            )
        }
        Content::Table(table) => rows(&Rows::of_table(table, ROWS)?),
        Content::Rows(all) => rows(&all),
        Content::Source { text, .. } => {
            let lines: Vec<String> = text
                .lines()
                .take(LINES)
                .map(|line| shortened(line, LINE))
                .collect();
            let more = if text.lines().nth(LINES).is_some() {
                "\n..."
            } else {
                ""
            };
            format!("<pre>{}{more}</pre>", escaped(&lines.join("\n")))
        }
        Content::Nothing => String::new(),
    })
}

/// Rows as a table with a line that says how many there are where not all are shown.
pub(super) fn rows(all: &Rows) -> String {
    let mut html = String::from("<table><thead><tr>");
    let cells = |row: &[String], tag: &str, html: &mut String| {
        for text in row.iter().take(COLUMNS) {
            // Writing to a string cannot fail.
            let _ = write!(
                html,
                "<{tag}>{}</{tag}>",
                escaped(&shortened(text, LETTERS))
            );
        }
        if row.len() > COLUMNS {
            let _ = write!(html, "<{tag}>...</{tag}>");
        }
    };
    cells(&all.columns, "th", &mut html);
    html.push_str("</tr></thead><tbody>");
    for row in &all.rows {
        html.push_str("<tr>");
        cells(row, "td", &mut html);
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    if all.total > all.rows.len() {
        let _ = write!(html, "<p>the first {} of {}</p>", all.rows.len(), all.total);
    }
    html
}

/// Where an object is, on a coloured ground: green on a device, grey on the host, amber where it is not where it is preferred.
pub(super) fn badge(location: &Location) -> String {
    let (class, ground) = match location {
        Location::Device { .. } => ("device", "#1a7f37"),
        Location::Host | Location::HostBecause(ulib_core::Reason::AsPreferred) => {
            ("host", "#57606a")
        }
        Location::HostBecause(_) => ("reason", "#9a6700"),
    };
    format!(
        "<span class=\"badge {class}\" style=\"background:{ground};color:#fff;border-radius:1em;padding:1px 9px;white-space:nowrap\">{}</span>",
        escaped(&location.to_string())
    )
}

fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
