//! Tables as text: numbers separated by commas or tabulators, names in the first line.

use std::io::{BufWriter, Write};
use std::path::Path;

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, WriterBuilder};
use ulib_core::words::counted;
use ulib_core::{Error, Result};

use super::chosen;
use crate::event_table::EventTable;
use crate::io::AtomicFile;
use crate::io::asking::{Asking, ask};
use crate::io::source::open_ordinary;

/// Numbers that are added to the table together.
const TOGETHER: usize = 1 << 16;

/// Rows that are written without a look at the clock.
const SOME: usize = 64;

pub(super) fn read(path: &Path, separator: u8, columns: Option<&[&str]>) -> Result<EventTable> {
    let file = open_ordinary(path)?;
    let length = file
        .metadata()
        .map_err(|error| Error::io("open", error))?
        .len();
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .from_reader(Asking::new(file, length));
    let names: Vec<String> = reader
        .headers()
        .map_err(failed)?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let (places, mut table) = chosen(&names, columns)?;
    let mut numbers = Vec::with_capacity(TOGETHER);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        for &place in &places {
            numbers.push(number(&record, place, &names)?);
        }
        if numbers.len() + places.len() > TOGETHER {
            table.add_rows(&numbers)?;
            numbers.clear();
        }
    }
    table.add_rows(&numbers)?;
    Ok(table)
}

fn number(record: &StringRecord, place: usize, names: &[String]) -> Result<f64> {
    // Every record has as many fields as the first: the reader sees to it.
    let field = record.get(place).unwrap_or_default().trim();
    if field.is_empty() {
        return Ok(f64::NAN);
    }
    field.parse().map_err(|_| {
        let shown: String = field.chars().take(40).collect();
        Error::malformed(
            "csv",
            format!(
                "column '{}' in line {}",
                names[place],
                line(record.position())
            ),
            format_args!("'{}'", shown.escape_debug()),
            "a number",
        )
    })
}

pub(super) fn write(table: &EventTable, path: &Path, separator: u8) -> Result<()> {
    let cells = table.cells()?;
    let file = AtomicFile::create(path)?;
    let mut writer = WriterBuilder::new()
        .delimiter(separator)
        .from_writer(BufWriter::new(file.file()));
    let columns = table.columns();
    if !columns.is_empty() {
        writer.write_record(columns).map_err(failed)?;
        for (number, row) in cells.chunks_exact(columns.len()).enumerate() {
            // The form of `Debug` is the shortest that reads back as the same number.
            let texts = row.iter().map(|number| format!("{number:?}"));
            writer.write_record(texts).map_err(failed)?;
            if number % SOME == 0 {
                let done = number * size_of_val(row);
                ask(done as u64, size_of_val(&*cells) as u64)?;
            }
        }
    }
    let io = |error| Error::io("write", error);
    writer.flush().map_err(io)?;
    let written = writer.into_inner();
    written
        .map_err(|error| io(error.into_error()))?
        .flush()
        .map_err(io)?;
    file.commit()
}

fn line(position: Option<&Position>) -> String {
    position.map_or_else(|| "?".to_owned(), |position| position.line().to_string())
}

fn failed(error: csv::Error) -> Error {
    let message = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => Error::io("csv", error),
        ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => Error::malformed(
            "csv",
            format!("line {}", line(pos.as_ref())),
            counted(len, "field"),
            format!("{expected_len}, as in the first line"),
        ),
        ErrorKind::Utf8 { pos, .. } => Error::malformed(
            "csv",
            format!("line {}", line(pos.as_ref())),
            "no text in UTF-8",
            "text in UTF-8",
        ),
        _ => Error::malformed("csv", "content", message, "a table"),
    }
}
