//! [`EventTable`]: rows of numbers under named columns.

mod columns;
mod rows;

use std::fmt;

use ulib_core::{DType, Error, ErrorKind, Layout, Result};
use ulib_device::block::Block;

use crate::placed::{Bulk, BulkArray, Placed};
use crate::view::{View, ViewMut};

pub use columns::parse_columns;

/// A table of `f64` numbers, row-major, with named columns, in one coherent block.
///
/// # Array
/// `f64`, shape `(rows, columns)`, packed; a column is a strided view of it.
///
/// # Placement
/// See [`Placed`]. Adding rows gives the numbers a new block; leases and exports of the old one keep
/// seeing the old rows.
///
/// ```
/// use ulib_math::{BulkArray, EventTable};
///
/// let mut table = EventTable::new("slice,total")?;
/// table.add_row(&[0.0, 12.5])?;
/// table.add_row(&[1.0, 13.5])?;
/// assert_eq!(table.layout()?.shape(), [2, 2]);
/// assert_eq!(table.cell(1, 1)?, 13.5);
/// assert_eq!(table.column("total")?, [12.5, 13.5]);
/// assert!(table.add_row(&[2.0]).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub struct EventTable {
    columns: Vec<String>,
    rows: usize,
    block: Block,
}

impl EventTable {
    /// A table without rows whose columns have these names, separated by commas (see
    /// [`set_columns`](EventTable::set_columns)). The empty text makes a table without columns.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty name or one that occurs twice.
    pub fn new(columns: &str) -> Result<Self> {
        Ok(EventTable {
            columns: parse_columns(columns)?,
            rows: 0,
            block: Block::zeroed(0)?,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The layout of one column: shape `(rows,)`, stride the number of columns.
    ///
    /// # Errors
    /// `Index` when there is no such column, naming those there are.
    pub fn column_layout(&self, name: &str) -> Result<Layout> {
        let column = self.column_index(name)?;
        self.layout()?.index_axis(1, column)
    }

    /// The whole table, where it is: `f64`, shape `(rows, columns)`.
    ///
    /// # Errors
    /// `Overflow` when the table reaches past the address range.
    pub fn table_view(&self) -> Result<View<'_, f64>> {
        View::new(&self.block, self.layout()?)
    }

    /// As [`table_view`](EventTable::table_view), for writing.
    ///
    /// # Errors
    /// As [`table_view`](EventTable::table_view).
    pub fn table_view_mut(&mut self) -> Result<ViewMut<'_, f64>> {
        let layout = self.layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// One column, where it is: `f64`, shape `(rows,)`.
    ///
    /// # Errors
    /// As [`column_layout`](EventTable::column_layout).
    ///
    /// ```
    /// let mut table = ulib_math::EventTable::new("slice,total")?;
    /// table.add_row(&[0.0, 12.5])?;
    /// table.add_row(&[1.0, 13.5])?;
    /// assert_eq!(ulib_math::ops::sum_all(&table.column_view("total")?)?, 26.0);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn column_view(&self, name: &str) -> Result<View<'_, f64>> {
        View::new(&self.block, self.column_layout(name)?)
    }

    /// As [`column_view`](EventTable::column_view), for writing.
    ///
    /// # Errors
    /// As [`column_layout`](EventTable::column_layout).
    pub fn column_view_mut(&mut self, name: &str) -> Result<ViewMut<'_, f64>> {
        let layout = self.column_layout(name)?;
        ViewMut::new(&mut self.block, layout)
    }

    /// The coherent block of the numbers.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// A copy with its own block. When the device has the newer numbers the copy is made there; the
    /// preference is copied too.
    ///
    /// # Errors
    /// Those of an allocation and of the device.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(EventTable {
            columns: self.columns.clone(),
            rows: self.rows,
            block: self.block.try_clone()?,
        })
    }

    /// The position of the column `name`.
    ///
    /// # Errors
    /// `Index` when there is no such column, naming those there are.
    pub fn column_index(&self, name: &str) -> Result<usize> {
        self.columns
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| {
                let name = name.escape_debug();
                let message = if self.columns.is_empty() {
                    format!("the table has no column '{name}': it has no columns")
                } else {
                    let known = self.columns.join(", ");
                    format!("the table has no column '{name}', only {known}")
                };
                Error::new(ErrorKind::Index, message)
            })
    }
}

impl fmt::Debug for EventTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTable")
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .field("location", &self.location().to_string())
            .finish()
    }
}

impl Placed for EventTable {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::Block(&self.block)
    }

    fn what(&self) -> &'static str {
        "rows"
    }
}

impl BulkArray for EventTable {
    fn dtype(&self) -> DType {
        DType::F64
    }

    fn layout(&self) -> Result<Layout> {
        Layout::contiguous(&[self.rows, self.columns.len()])
    }

    fn field_names(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn field(&self, name: &str) -> Result<(DType, Layout)> {
        Ok((DType::F64, self.column_layout(name)?))
    }
}
