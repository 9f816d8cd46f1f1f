//! Tables in files: CSV and Parquet.

#[cfg(feature = "parquet")]
mod columns;
mod comma;

use std::path::Path;

use ulib_core::{Context, Error, Result};

use crate::event_table::EventTable;

/// A file format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TableFormat {
    /// Text with a line for each row and the columns' names in the first, separated by commas: `.csv`.
    Csv,
    /// The same, separated by tabulators: `.tsv`.
    Tsv,
    /// Apache Parquet: `.parquet`. Needs the feature `parquet`, which is on by default.
    Parquet,
}

impl TableFormat {
    /// The format that the end of a file's name stands for, in any case.
    ///
    /// # Errors
    /// `InvalidArgument`, listing the ends that are known.
    ///
    /// ```
    /// use ulib_math::io::TableFormat;
    /// assert_eq!(TableFormat::from_path("run 7/hits.CSV")?, TableFormat::Csv);
    /// assert!(TableFormat::from_path("hits.root").is_err());
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let end = path.extension().unwrap_or_default().to_string_lossy();
        match end.to_lowercase().as_str() {
            "csv" => Ok(TableFormat::Csv),
            "tsv" => Ok(TableFormat::Tsv),
            "parquet" => Ok(TableFormat::Parquet),
            _ => Err(Error::invalid(
                "file format",
                "the file name",
                path.display(),
                "one that ends in .csv, .tsv, .parquet",
            )),
        }
    }
}

/// The table in a file, whose name says the format: all of its columns, in the file's order.
///
/// Numbers of every type and booleans become `f64`, the nearest one; what is missing (an empty field, a null) becomes NaN. Columns
/// of anything else are an error; [`read_columns`] leaves them out.
///
/// Memory is asked for as rows come. A Parquet file of which more rows are declared than its size makes believable is refused; a damaged
/// page of one may ask for 2 GiB that are not used.
///
/// # Errors
/// `Io`; `InvalidArgument` for a name that stands for no format; `Format` for a file that is damaged, a row of another length, or
/// what is no number, naming the file, the row and the column; `OutOfMemory`.
///
/// ```
/// use ulib_math::EventTable;
/// use ulib_math::io::{read_table, write_table};
///
/// let mut table = EventTable::new("slice,total")?;
/// table.add_row(&[0.0, 0.1])?;
/// for end in ["csv", "tsv", "parquet"] {
///     let path = std::env::temp_dir().join(format!("ulib-table-{}.{end}", std::process::id()));
///     write_table(&table, &path)?;
///     let again = read_table(&path)?;
///     assert_eq!(again.columns(), ["slice", "total"]);
///     assert_eq!(again.row(0)?, [0.0, 0.1]);
///     # std::fs::remove_file(&path).unwrap();
/// }
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn read_table(path: impl AsRef<Path>) -> Result<EventTable> {
    read(path.as_ref(), None)
}

/// As [`read_table`], of these columns, in this order.
///
/// # Errors
/// As [`read_table`], and `Index` when the file has no such column, naming those it has.
pub fn read_columns(path: impl AsRef<Path>, columns: &[&str]) -> Result<EventTable> {
    read(path.as_ref(), Some(columns))
}

fn read(path: &Path, columns: Option<&[&str]>) -> Result<EventTable> {
    let format = TableFormat::from_path(path)?;
    match format {
        TableFormat::Csv => comma::read(path, b',', columns),
        TableFormat::Tsv => comma::read(path, b'\t', columns),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => columns::read(path, columns),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => Err(without_parquet()),
    }
    .with_context(|| format!("reading {}", path.display()))
}

/// Writes a table to a file, whose name says the format. Numbers on a device are fetched once, all together.
///
/// Text has the shortest form of every number that reads back as the same one. The file appears whole or not at all.
///
/// # Errors
/// `Io`; `InvalidArgument` for a name that stands for no format; those of fetching the numbers.
pub fn write_table(table: &EventTable, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let format = TableFormat::from_path(path)?;
    match format {
        TableFormat::Csv => comma::write(table, path, b','),
        TableFormat::Tsv => comma::write(table, path, b'\t'),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => columns::write(table, path),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => Err(without_parquet()),
    }
    .with_context(|| format!("writing {}", path.display()))
}

#[cfg(not(feature = "parquet"))]
fn without_parquet() -> Error {
    Error::unavailable("Parquet files need the feature `parquet` of ulib-math")
}

/// Which columns of a file are read, as places among `names`, and an empty table of them.
fn chosen(names: &[String], columns: Option<&[&str]>) -> Result<(Vec<usize>, EventTable)> {
    let place = |wanted: &&str| {
        names.iter().position(|name| name == wanted).ok_or_else(|| {
            let message = format!(
                "the file has no column '{}', only {}",
                wanted.escape_debug(),
                names.join(", ")
            );
            Error::new(ulib_core::ErrorKind::Index, message)
        })
    };
    let places = match columns {
        None => (0..names.len()).collect(),
        Some(columns) => columns.iter().map(place).collect::<Result<Vec<usize>>>()?,
    };
    let chosen: Vec<&str> = places.iter().map(|&place| names[place].as_str()).collect();
    if let Some(name) = chosen.iter().find(|name| name.contains(',')) {
        return Err(Error::malformed(
            "table",
            "column",
            format_args!("'{name}'"),
            "a name without commas",
        ));
    }
    let table = EventTable::new(&chosen.join(","))?;
    Ok((places, table))
}
