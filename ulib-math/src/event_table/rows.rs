//! Rows and cells, on the host.

use bytemuck::{bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use ulib_core::{Error, Result, byte_count};

use super::EventTable;
use crate::host::{HostSlice, HostSliceMut};
use crate::placed::BulkArray;

impl EventTable {
    /// Adds one row at the end: one number per column.
    ///
    /// # Errors
    /// `Shape` when `row` has not as many numbers as there are columns, or there are none;
    /// `Busy` while somebody holds a host view; those of an allocation and of the device.
    pub fn add_row(&mut self, row: &[f64]) -> Result<()> {
        let columns = self.columns.len();
        if row.len() != columns || columns == 0 {
            return Err(Error::shape("add row", &[columns], &[row.len()]));
        }
        self.add_rows(row)
    }

    /// Adds several rows at the end, one after the other in `rows`.
    ///
    /// # Errors
    /// `Shape` when `rows` does not divide into whole rows; as [`add_row`](EventTable::add_row).
    pub fn add_rows(&mut self, rows: &[f64]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let columns = self.columns.len();
        if columns == 0 || !rows.len().is_multiple_of(columns) {
            return Err(Error::shape("add rows", &[columns], &[rows.len()]));
        }
        let count = self.rows.saturating_add(rows.len() / columns);
        byte_count(count, byte_count(columns, size_of::<f64>())?)?;
        self.block.append(cast_slice(rows))?;
        self.rows = count;
        Ok(())
    }

    /// Removes all rows; the columns stay.
    ///
    /// # Errors
    /// `Busy` while somebody holds a host view.
    pub fn clear(&mut self) -> Result<()> {
        self.block.clear()?;
        self.rows = 0;
        Ok(())
    }

    /// Makes the table `rows` rows long: the first ones are kept, new ones are zero.
    ///
    /// # Errors
    /// `Shape` when rows are wanted and there are no columns; as [`add_row`](EventTable::add_row).
    pub fn resize(&mut self, rows: usize) -> Result<()> {
        let columns = self.columns.len();
        if columns == 0 && rows > 0 {
            return Err(Error::shape("resize table", &[0, 0], &[rows, 0]));
        }
        let row = byte_count(columns, size_of::<f64>())?;
        self.block.resize(byte_count(rows, row)?)?;
        self.rows = rows;
        Ok(())
    }

    /// The number in one cell.
    ///
    /// # Errors
    /// `Index` when there is no such row or column; `Driver` when the device breaks.
    pub fn cell(&self, row: usize, column: usize) -> Result<f64> {
        let mut cell = 0.0_f64;
        self.block
            .read_at(self.byte(row, column)?, bytes_of_mut(&mut cell))?;
        Ok(cell)
    }

    /// As [`cell`](EventTable::cell) where that takes no lock, no wait and no transfer; `None` where it does. For
    /// who has the table alone.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn cell_at_hand(&mut self, row: usize, column: usize) -> Result<Option<f64>> {
        let (byte, mut cell) = (self.byte(row, column)?, 0.0_f64);
        let here = self.block.read_at_hand(byte, bytes_of_mut(&mut cell))?;
        Ok(here.then_some(cell))
    }

    /// Sets the number in one cell.
    ///
    /// # Errors
    /// As [`cell`](EventTable::cell).
    pub fn set_cell(&mut self, row: usize, column: usize, value: f64) -> Result<()> {
        let byte = self.byte(row, column)?;
        self.block.write_at(byte, bytes_of(&value))
    }

    /// As [`set_cell`](EventTable::set_cell) where that takes no lock, no wait and no transfer; false, with nothing changed,
    /// where it does.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn set_cell_at_hand(&mut self, row: usize, column: usize, value: f64) -> Result<bool> {
        let byte = self.byte(row, column)?;
        self.block.write_at_hand(byte, bytes_of(&value))
    }

    /// The numbers of one row.
    ///
    /// # Errors
    /// `Index` when there is no such row; `Driver` when the device breaks.
    pub fn row(&self, row: usize) -> Result<Vec<f64>> {
        let mut numbers = vec![0.0_f64; self.columns.len()];
        if row >= self.rows {
            return Err(Error::index("row", row, self.rows));
        }
        self.block
            .read_at(self.byte(row, 0)?, cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }

    /// Replaces the numbers of one row.
    ///
    /// # Errors
    /// As [`row`](EventTable::row), and `Shape` when there is not one number per column.
    pub fn set_row(&mut self, row: usize, numbers: &[f64]) -> Result<()> {
        if numbers.len() != self.columns.len() {
            return Err(Error::shape(
                "set row",
                &[self.columns.len()],
                &[numbers.len()],
            ));
        }
        let byte = self.byte(row, 0)?;
        self.block.write_at(byte, cast_slice(numbers))
    }

    /// A copy of one column, by name.
    ///
    /// # Errors
    /// `Index` when there is no such column; `Driver` when the device breaks.
    pub fn column(&self, name: &str) -> Result<Vec<f64>> {
        let column = self.column_index(name)?;
        let cells = self.cells()?;
        Ok(cells
            .iter()
            .skip(column)
            .step_by(self.columns.len())
            .copied()
            .collect())
    }

    /// All numbers, row by row, for reading.
    ///
    /// # Errors
    /// `Driver` when the numbers have to come home and the device breaks.
    pub fn cells(&self) -> Result<HostSlice<'_, f64>> {
        HostSlice::read(&self.block)
    }

    /// All numbers, row by row, for reading and writing.
    ///
    /// # Errors
    /// As [`cells`](EventTable::cells).
    pub fn cells_mut(&mut self) -> Result<HostSliceMut<'_, f64>> {
        HostSliceMut::write(&mut self.block)
    }

    /// Replaces every number, row by row, keeping the number of rows. The old ones are not brought
    /// home for it.
    ///
    /// # Errors
    /// `Shape` when there are not as many; nothing changes then.
    pub fn set_cells(&mut self, cells: &[f64]) -> Result<()> {
        let len = self.rows * self.columns.len();
        if cells.len() != len {
            return Err(Error::shape(
                "set cells",
                self.layout()?.shape(),
                &[cells.len()],
            ));
        }
        let mut guard = HostSliceMut::overwrite(&mut self.block)?;
        guard.copy_from_slice(cells);
        guard.commit()
    }

    /// The first byte of a cell.
    #[inline]
    fn byte(&self, row: usize, column: usize) -> Result<usize> {
        if row >= self.rows {
            return Err(Error::index("row", row, self.rows));
        }
        if column >= self.columns.len() {
            return Err(Error::index("column", column, self.columns.len()));
        }
        // Cannot overflow: the cell lies in the block.
        Ok((row * self.columns.len() + column) * size_of::<f64>())
    }
}
