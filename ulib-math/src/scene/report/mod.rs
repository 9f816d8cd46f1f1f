//! [`ReportWriter`]: a scene as one page for a browser.

mod viewer;

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::Path;

use ulib_core::{Context, Error, Result};

use super::content::{Content, Rows};
use super::html::{badge, rows};
use super::object::SceneObject;
use crate::event_table::EventTable;
use crate::io::AtomicFile;
use crate::picture::{Axis, Plot, Profile, Volume, escaped, numbers};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Rows that a table shows, and columns that are plotted.
const ROWS: usize = 20;
const PLOTTED: usize = 8;

/// Writes a page that shows objects and what a program said of them. It is one file that needs nothing from elsewhere: it can be sent,
/// and opened without a network.
///
/// | object | what the page has |
/// |---|---|
/// | all | name, class, size, preferred device, where it is and why |
/// | volume | slices along three axes with sliders, a window, colours; profiles |
/// | table | the first rows, a plot of the columns |
/// | collection | the first elements |
/// | recipe | its parameters and its source |
///
/// Volumes are embedded as numbers of 8 bits between the smallest and the largest value. Where a side has more than 128 voxels, each
/// value is the mean of two, three or more of them along it (the last one of those that are left), so that a page stays small;
/// a block with a NaN in it is NaN. Means are computed where the volume is. Numbers are those at the time of the call that adds the object.
/// Texts are escaped, and the page forbids itself to load anything.
///
/// ```
/// use ulib_math::scene::ReportWriter;
/// use ulib_math::{EventTable, VoxImage};
///
/// let mut table = EventTable::new("slice,total")?;
/// table.add_rows(&[0.0, 3.0, 1.0, 4.0])?;
/// let mut report = ReportWriter::new("A scene");
/// report.object("phantom", &VoxImage::<ulib_math::VoxelValue>::new([8, 8, 8])?)?;
/// report.object("profile", &table)?;
/// report.step("run sums");
/// report.log("2 slices <done>");
/// let page = report.to_string();
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// assert!(page.contains("2 slices &lt;done&gt;"));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReportWriter {
    title: String,
    tree: String,
    objects: String,
    log: String,
    count: usize,
}

impl ReportWriter {
    /// A page without objects.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        ReportWriter {
            title: title.into(),
            tree: String::new(),
            objects: String::new(),
            log: String::new(),
            count: 0,
        }
    }

    /// Adds an object as it is now.
    ///
    /// # Errors
    /// Those of reading its numbers; the page stays as it was.
    pub fn object(&mut self, name: &str, object: &dyn SceneObject) -> Result<()> {
        let shown = content(object).with_context(|| format!("showing object '{name}'"))?;
        let (name, class) = (escaped(name), escaped(object.class().name));
        let (size, number) = (escaped(&object.size()), self.count);
        let (preferred, badge) = (object.preferred_device(), badge(&object.location()));
        self.count += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.tree,
            "<tr><td><a href=\"#object-{number}\">{name}</a></td><td>{class}</td><td>{size}</td><td>{preferred}</td><td>{badge}</td></tr>",
        );
        let _ = writeln!(
            self.objects,
            "<section id=\"object-{number}\"><h2>{name}</h2><p class=\"facts\">{class} &middot; {size} &middot; prefers {preferred} &middot; {badge}</p>\n{shown}</section>",
        );
        Ok(())
    }

    /// Adds a line to the log.
    pub fn log(&mut self, text: &str) {
        let _ = writeln!(self.log, "<pre>{}</pre>", escaped(text));
    }

    /// Begins a step in the log: what follows belongs to it.
    pub fn step(&mut self, text: &str) {
        let _ = writeln!(self.log, "<h3>{}</h3>", escaped(text));
    }

    /// Writes the page to a file, which appears whole or not at all (see [`AtomicFile`]).
    ///
    /// # Errors
    /// `Io` when writing fails.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let file = AtomicFile::create(path)?;
        file.file()
            .write_all(self.to_string().as_bytes())
            .map_err(|error| Error::io("write", error))
            .with_context(|| format!("writing {}", path.display()))?;
        file.commit()
    }
}

/// The page.
impl fmt::Display for ReportWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = escaped(&self.title);
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>{title}</h1>\n",
        )?;
        if self.count > 0 {
            write!(
                f,
                "<table class=\"tree\"><thead><tr><th>name</th><th>class</th><th>size</th><th>prefers</th><th>location</th></tr></thead><tbody>\n{}</tbody></table>\n",
                self.tree
            )?;
        }
        f.write_str(&self.objects)?;
        if !self.log.is_empty() {
            write!(
                f,
                "<section id=\"log\"><h2>Log</h2>\n{}</section>\n",
                self.log
            )?;
        }
        let maps = viewer::colour_maps();
        write!(
            f,
            "<script>\n'use strict';\nconst MAPS = {maps};\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

fn content(object: &dyn SceneObject) -> Result<String> {
    match object.content(ROWS)? {
        Content::Volume(volume) if volume.grid().is_empty() => Ok("<p>no voxels</p>".to_owned()),
        Content::Volume(volume) => {
            let mut html = viewer::html(volume)?;
            html.push_str("<div class=\"plots\">");
            for axis in [Axis::Z, Axis::Y, Axis::X] {
                html.push_str(&profile(volume, axis)?);
            }
            html.push_str("</div>\n");
            Ok(html)
        }
        Content::Table(table) => Ok(format!(
            "{}{}",
            plot(table)?,
            rows(&Rows::of_table(table, ROWS)?)
        )),
        Content::Rows(all) => Ok(rows(&all)),
        Content::Source { text, parameters } => {
            let set = Rows {
                columns: vec!["parameter".to_owned(), "value".to_owned()],
                rows: parameters
                    .iter()
                    .map(|(name, value)| vec![name.clone(), value.clone()])
                    .collect(),
                total: parameters.len(),
            };
            let parameters = if parameters.is_empty() {
                String::new()
            } else {
                rows(&set)
            };
            Ok(format!(
                "{parameters}<pre class=\"source\">{}</pre>\n",
                escaped(text)
            ))
        }
        Content::Nothing => Ok(String::new()),
    }
}

fn profile(volume: &dyn Volume, axis: Axis) -> Result<String> {
    let plot = Profile::of(volume, axis)?.plot();
    Ok(plot.size(340, 210).svg())
}

/// The columns over the first one where that one rises, else over the row.
fn plot(table: &EventTable) -> Result<String> {
    let Some(first) = table.columns().first().filter(|_| table.rows() > 0) else {
        return Ok(String::new());
    };
    let rising = table.columns().len() > 1
        && numbers(&table.column_view(first)?)?.is_sorted_by(|a, b| a < b);
    let x = rising.then_some(first.as_str());
    let columns: Vec<&str> = table
        .columns()
        .iter()
        .map(String::as_str)
        .filter(|&name| Some(name) != x)
        .take(PLOTTED)
        .collect();
    let plot = Plot::of_table(table, x, &columns)?.size(720, 300);
    Ok(format!("<div class=\"plots\">{}</div>\n", plot.svg()))
}
