//! [`Content`]: what there is to see of an object.

use std::fmt;

use ulib_core::{DeviceStorable, Result};

use crate::collections::{Collection, Line};
use crate::event_table::EventTable;
use crate::geant::GeantEventCollection;
use crate::muon_scatter::MuonScatter;
use crate::picture::{Volume, numbers};

/// What there is to see of a [`SceneObject`](super::SceneObject).
#[derive(Default)]
pub enum Content<'a> {
    /// Nothing but its class and size.
    #[default]
    Nothing,
    /// A volume, in slices.
    Volume(&'a dyn Volume),
    /// Numbers in columns.
    Table(&'a EventTable),
    /// Elements in columns.
    Rows(Rows),
    /// A program.
    Source {
        /// Its text.
        text: &'a str,
        /// The names and values of its parameters.
        parameters: &'a [(String, String)],
    },
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Content::Nothing => "Nothing",
            Content::Volume(_) => "Volume",
            Content::Table(_) => "Table",
            Content::Rows(_) => "Rows",
            Content::Source { .. } => "Source",
        })
    }
}

/// The first elements of an object as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A text for each column.
    pub rows: Vec<Vec<String>>,
    /// How many there would be without a limit.
    pub total: usize,
}

impl Rows {
    /// The first rows of a table, not more than `limit`.
    pub(super) fn of_table(table: &EventTable, limit: usize) -> Result<Self> {
        let shown = table.rows().min(limit);
        let cells = numbers(&table.table_view()?.slice_axis(0, 0, shown, 1)?)?;
        let width = table.columns().len().max(1);
        Ok(Rows {
            columns: table.columns().to_vec(),
            rows: cells
                .chunks(width)
                .map(|row| texts(row.iter().copied()))
                .collect(),
            total: table.rows(),
        })
    }

    pub(super) fn of_floats(floats: &Collection<f32>, limit: usize) -> Result<Self> {
        Rows::of(floats, limit, &["value"], |value| texts([shortest(value)]))
    }

    pub(super) fn of_lines(lines: &Collection<Line>, limit: usize) -> Result<Self> {
        let columns = ["origin", "direction"];
        Rows::of(lines, limit, &columns, |line| ends(&line).into())
    }

    pub(super) fn of_muons(muons: &Collection<MuonScatter>, limit: usize) -> Result<Self> {
        let columns = [
            "in: origin",
            "in: direction",
            "out: origin",
            "out: direction",
            "momentum",
            "momentum behind",
        ];
        Rows::of(muons, limit, &columns, |muon| {
            let [origin, direction] = ends(&muon.LineIn);
            let [origin_out, direction_out] = ends(&muon.LineOut);
            let momenta = [muon.Momentum, muon.MomentumPrime]
                .map(shortest)
                .map(number);
            let mut row = vec![origin, direction, origin_out, direction_out];
            row.extend(momenta);
            row
        })
    }

    pub(super) fn of_events(events: &GeantEventCollection, limit: usize) -> Self {
        Rows {
            columns: vec!["name".to_owned(), "path".to_owned()],
            rows: events
                .iter()
                .take(limit)
                .map(|event| vec![event.name.clone(), event.path.clone()])
                .collect(),
            total: events.len(),
        }
    }

    fn of<T: DeviceStorable>(
        elements: &Collection<T>,
        limit: usize,
        columns: &[&str],
        row: impl Fn(T) -> Vec<String>,
    ) -> Result<Self> {
        let shown = 0..elements.len().min(limit);
        Ok(Rows {
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: shown
                .map(|index| elements.get(index).map(&row))
                .collect::<Result<_>>()?,
            total: elements.len(),
        })
    }
}

fn ends(line: &Line) -> [String; 2] {
    [line.origin, line.direction].map(|v| texts([v.x, v.y, v.z].map(shortest)).join(", "))
}

/// The `f64` with the shortest text that is this number, which has fewer digits than the number itself.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn texts(values: impl IntoIterator<Item = f64>) -> Vec<String> {
    values.into_iter().map(number).collect()
}

/// A number as a short text.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-4..1e9).contains(&magnitude) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}
