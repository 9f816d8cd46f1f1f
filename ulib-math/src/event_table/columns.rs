//! The names of the columns.

use ulib_core::{Error, Result};

use super::EventTable;

/// The column names in a text that separates them by commas; spaces around a name are dropped.
///
/// # Errors
/// `InvalidArgument` for an empty name or one that occurs twice.
///
/// ```
/// use ulib_math::parse_columns;
/// assert_eq!(parse_columns("slice, total")?, ["slice", "total"]);
/// assert!(parse_columns("")?.is_empty());
/// assert!(parse_columns("slice,").is_err());
/// assert!(parse_columns("a,b,a").is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn parse_columns(text: &str) -> Result<Vec<String>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() || names.iter().any(|earlier| earlier == name) {
            return Err(Error::invalid(
                "table columns",
                "columns",
                format_args!("{text:?}"),
                "different names, separated by commas",
            ));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

impl EventTable {
    /// The column names, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Names the columns, as in `"slice,total"`, and answers how many rows that removed.
    ///
    /// With as many columns as before this is a renaming and every row stays. Another number of
    /// columns has no place for the rows there are, so they are removed, exactly as by
    /// [`clear`](EventTable::clear): a program that sets the columns, clears and fills the table
    /// can run again on the table of an earlier run.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty name or one that occurs twice, and `Busy` while somebody holds a
    /// host view of rows that would be removed; nothing changes then.
    ///
    /// ```
    /// use ulib_math::EventTable;
    ///
    /// let mut table = EventTable::new("slice,total")?;
    /// table.add_row(&[0.0, 1.0])?;
    /// assert_eq!(table.set_columns("plane,sum")?, 0);
    /// assert_eq!(table.rows(), 1);
    /// assert_eq!(table.set_columns("plane,sum,mean")?, 1);
    /// assert_eq!(table.rows(), 0);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn set_columns(&mut self, columns: &str) -> Result<usize> {
        let columns = parse_columns(columns)?;
        let mut removed = 0;
        if columns.len() != self.columns.len() && self.rows > 0 {
            removed = self.rows;
            self.clear()?;
        }
        self.columns = columns;
        Ok(removed)
    }
}
