//! Tables in Parquet files.

use std::fmt::Display;
use std::io;
use std::panic;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescriptor, Type};
use ulib_core::words::counted;
use ulib_core::{Error, Result};
use ulib_device::block::out_of_host_memory;

use super::chosen;
use crate::event_table::EventTable;
use crate::io::AtomicFile;
use crate::io::asking::ask;
use crate::io::source::open_ordinary;
use crate::memory::room;

/// Numbers of a column that are read at a time.
const BATCH: usize = 1 << 14;

/// Numbers that even the smallest file is believed to hold, and numbers that are believed for each byte of a larger one: equal
/// ones take next to no room.
const FEW: u64 = 1 << 24;
const DENSEST: u64 = 1032;

/// Rows of a group that is written.
const GROUP: usize = 1 << 20;

pub(super) fn read(path: &Path, columns: Option<&[&str]>) -> Result<EventTable> {
    // The library gives up with a panic on some damaged files. Nothing that it had a hand in is used after that.
    panic::catch_unwind(|| read_whole(path, columns))
        .unwrap_or_else(|_| Err(damaged("(the reader gave up)")))
}

fn read_whole(path: &Path, columns: Option<&[&str]>) -> Result<EventTable> {
    let file = open_ordinary(path)?;
    let bytes = file
        .metadata()
        .map_err(|error| Error::io("open", error))?
        .len();
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<String> = schema
        .columns()
        .iter()
        .map(|column| column.path().string())
        .collect();
    let (places, mut table) = chosen(&names, columns)?;
    for &place in &places {
        check(&schema.column(place))?;
    }
    for column in reader
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
    {
        let first = column
            .dictionary_page_offset()
            .unwrap_or_else(|| column.data_page_offset());
        if first < 0 || column.compressed_size() < 0 {
            return Err(damaged("a column before the file's beginning"));
        }
    }
    let rows = reader.metadata().file_metadata().num_rows();
    let most = FEW.max(bytes.saturating_mul(DENSEST));
    let cells = u64::try_from(rows)
        .ok()
        .and_then(|rows| rows.checked_mul(places.len() as u64));
    if cells.is_none_or(|cells| cells > most) {
        return Err(damaged(format_args!(
            "{} in {bytes} bytes, more than are believed",
            counted(rows, "row")
        )));
    }
    let mut left = rows.unsigned_abs() as usize;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(failed)?;
        let columns = places
            .iter()
            .map(|&place| column(&*group, place, left))
            .collect::<Result<Vec<_>>>()?;
        let rows = columns.first().map_or(0, Vec::len);
        if let Some(other) = columns.iter().find(|column| column.len() != rows) {
            return Err(Error::malformed(
                "parquet",
                "column",
                counted(other.len(), "row"),
                format!("{}, as in the first", counted(rows, "row")),
            ));
        }
        left -= rows;
        let mut numbers = room(rows.saturating_mul(columns.len()))?;
        for row in 0..rows {
            numbers.extend(columns.iter().map(|column| column[row]));
            if row % BATCH == 0 {
                ask(bytes_of(numbers.len()), bytes_of(numbers.capacity()))?;
            }
        }
        table.add_rows(&numbers)?;
    }
    Ok(table)
}

/// The bytes of that many numbers.
fn bytes_of(count: usize) -> u64 {
    8 * count as u64
}

/// Fails for a column that has no numbers, or several in a row.
fn check(column: &ColumnDescriptor) -> Result<()> {
    let wrong = |found: String| {
        Error::malformed(
            "parquet",
            format!("column '{}'", column.path().string()),
            found,
            "numbers or booleans, one in a row (other columns can be left out)",
        )
    };
    match column.physical_type() {
        Physical::BOOLEAN
        | Physical::INT32
        | Physical::INT64
        | Physical::FLOAT
        | Physical::DOUBLE => {}
        other => return Err(wrong(other.to_string())),
    }
    if column.max_rep_level() > 0 {
        return Err(wrong("a list".to_owned()));
    }
    Ok(())
}

/// The numbers of a column of a group of rows, which may be up to `most`.
fn column(group: &dyn RowGroupReader, place: usize, most: usize) -> Result<Vec<f64>> {
    let column = group.metadata().column(place).column_descr_ptr();
    let unsigned = is_unsigned(&column);
    let present = column.max_def_level();
    match group.get_column_reader(place).map_err(failed)? {
        ColumnReader::BoolColumnReader(reader) => {
            numbers(reader, present, most, |x| f64::from(u8::from(x)))
        }
        ColumnReader::Int32ColumnReader(reader) if unsigned => {
            numbers(reader, present, most, |x| f64::from(x.cast_unsigned()))
        }
        ColumnReader::Int32ColumnReader(reader) => numbers(reader, present, most, f64::from),
        ColumnReader::Int64ColumnReader(reader) if unsigned => {
            numbers(reader, present, most, |x| x.cast_unsigned() as f64)
        }
        ColumnReader::Int64ColumnReader(reader) => numbers(reader, present, most, |x| x as f64),
        ColumnReader::FloatColumnReader(reader) => numbers(reader, present, most, f64::from),
        ColumnReader::DoubleColumnReader(reader) => numbers(reader, present, most, |x| x),
        _ => Err(Error::malformed(
            "parquet",
            "column type",
            "another one than in the schema",
            "the same",
        )),
    }
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    matches!(
        column.logical_type_ref(),
        Some(LogicalType::Integer(integer)) if !integer.is_signed
    )
}

/// All numbers of a column, NaN where there is none: where the definition level is below `present`.
fn numbers<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    present: i16,
    most: usize,
    to_f64: impl Fn(T::T) -> f64,
) -> Result<Vec<f64>> {
    let (mut values, mut levels, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        values.clear();
        levels.clear();
        let wanted = (present > 0).then_some(&mut levels);
        let (records, _, _) = reader
            .read_records(BATCH, wanted, None, &mut values)
            .map_err(failed)?;
        if records == 0 {
            return Ok(numbers);
        }
        ask(bytes_of(numbers.len()), bytes_of(most))?;
        if numbers.len() + records > most {
            return Err(damaged("more rows than the file says"));
        }
        numbers
            .try_reserve(records)
            .map_err(|_| out_of_host_memory(8 * records as u64))?;
        let mut values = values.drain(..).map(&to_f64);
        if present == 0 {
            numbers.extend(values);
        } else {
            let number = |&level: &i16| (level >= present).then(|| values.next()).flatten();
            numbers.extend(levels.iter().map(number).map(|x| x.unwrap_or(f64::NAN)));
        }
    }
}

pub(super) fn write(table: &EventTable, path: &Path) -> Result<()> {
    let cells = table.cells()?;
    let columns = table.columns();
    let fields = columns
        .iter()
        .map(|name| {
            let field = Type::primitive_type_builder(name, Physical::DOUBLE)
                .with_repetition(Repetition::REQUIRED);
            field.build().map(Arc::new).map_err(failed)
        })
        .collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("schema")
        .with_fields(fields)
        .build()
        .map_err(failed)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let file = AtomicFile::create(path)?;
    let mut writer = SerializedFileWriter::new(file.file(), Arc::new(schema), Arc::new(properties))
        .map_err(failed)?;
    let (mut done, total) = (0, bytes_of(cells.len()));
    if !columns.is_empty() {
        for rows in cells.chunks(GROUP * columns.len()) {
            let mut group = writer.next_row_group().map_err(failed)?;
            let mut place = 0;
            while let Some(mut column) = group.next_column().map_err(failed)? {
                let numbers: Vec<f64> = rows
                    .iter()
                    .skip(place)
                    .step_by(columns.len())
                    .copied()
                    .collect();
                for batch in numbers.chunks(BATCH) {
                    column
                        .typed::<DoubleType>()
                        .write_batch(batch, None, None)
                        .map_err(failed)?;
                    done += batch.len();
                    ask(bytes_of(done), total)?;
                }
                column.close().map_err(failed)?;
                place += 1;
            }
            group.close().map_err(failed)?;
        }
    }
    writer.close().map_err(failed)?;
    file.commit()
}

fn failed(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            // Of the system, not of the content.
            Ok(source) if source.raw_os_error().is_some() => Error::io("parquet", *source),
            Ok(source) => damaged(source),
            Err(source) => damaged(source),
        },
        other => damaged(other),
    }
}

fn damaged(found: impl Display) -> Error {
    Error::malformed("parquet", "content", found, "a table")
}
