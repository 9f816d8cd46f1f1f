//! `EventTable`: rows of numbers under named columns.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple, PyType};
use ulib_core::words::counted;
use ulib_core::{DType, Error, Residency, Result, bytemuck};
use ulib_math::scene::SceneObject;
use ulib_math::{EventTable as Table, Placed};

use crate::args::{self, Int, count, index_in, number, whole};
use crate::bulk::BulkArray;
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::interop::array_interface;
use crate::interop::import::Incoming;
use crate::items::{items, zeros};
use crate::persist;
use crate::source::{AnyViewMut, Holder, Object, Which};
use crate::view::ArrayView;

impl Object for Table {
    fn placed(&self) -> &dyn Placed {
        self
    }

    fn scene(&self) -> &dyn SceneObject {
        self
    }

    fn arrays(&self) -> Option<&dyn ulib_math::BulkArray> {
        Some(self)
    }

    fn view_mut(&mut self, which: &Which) -> Result<AnyViewMut<'_>> {
        Ok(AnyViewMut::F64(match which {
            Which::Field(name) => self.column_view_mut(name)?,
            _ => self.table_view_mut()?,
        }))
    }

    fn change_bytes(
        &mut self,
        overwrite: bool,
        change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        if overwrite && self.block().residency() == Residency::DeviceNewer {
            let mut cells = zeros::<f64>(self.rows() * self.columns().len())?;
            change(bytemuck::cast_slice_mut(&mut cells))?;
            return self.set_cells(&cells);
        }
        let mut cells = self.cells_mut()?;
        change(bytemuck::cast_slice_mut(&mut cells))?;
        cells.commit()
    }
}

/// A column by its number or its name.
enum Column {
    Number(Int),
    Name(String),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Column {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Column> {
        if object.is_instance_of::<PyString>() {
            return Ok(Column::Name(object.extract()?));
        }
        args::number("EventTable", "column", &object).map(Column::Number)
    }
}

impl Column {
    fn of(&self, table: &Table) -> Result<usize> {
        match self {
            Column::Number(number) => index_in("column", *number, table.columns().len()),
            Column::Name(name) => table.column_index(name),
        }
    }
}

/// Row and column of a cell that exists.
fn cell(table: &Table, row: Int, column: &Column) -> Result<(usize, usize)> {
    Ok((index_in("row", row, table.rows())?, column.of(table)?))
}

/// A table of numbers (float64), row by row, under named columns: ``EventTable('slice,total')``.
///
/// As an array it is ``(rows, columns)``, packed.
#[pyclass(frozen, extends = BulkArray, module = "uLib")]
pub(crate) struct EventTable {
    shared: Arc<Shared<Table>>,
}

impl EventTable {
    pub(crate) fn init(table: Table) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(table));
        BulkArray::bases(shared.clone(), Which::Own).add_subclass(EventTable { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }

    /// The numbers of one row.
    fn numbers(&self, op: &str, row: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let columns = self
            .shared
            .peek(row.py(), |table| Ok(table.columns().len()));
        items(op, "the row", row, columns.py()?)
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl EventTable {
    #[new]
    #[pyo3(signature = (columns="", rows=0))]
    fn new(
        py: Python<'_>,
        columns: &str,
        #[pyo3(from_py_with = whole)] rows: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        let rows = count("EventTable", "rows", Int(rows))?;
        let mut table = Table::new(columns).py()?;
        if rows > 0 {
            py.detach(|| table.resize(rows)).py()?;
        }
        Ok(EventTable::init(table))
    }

    /// The column names, separated by commas. Setting another number of columns removes all rows.
    #[getter]
    fn Columns(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .peek(py, |table| Ok(table.columns().join(",")))
            .py()
    }

    #[setter(Columns)]
    fn set_columns(&self, py: Python<'_>, columns: &str) -> PyResult<()> {
        self.shared
            .write(py, |table| table.set_columns(columns).map(|_removed| ()))
            .py()
    }

    /// How many rows there are.
    #[getter]
    fn Rows(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.peek(py, |table| Ok(table.rows())).py()
    }

    /// Adds one row at the end: one number per column.
    #[pyo3(signature = (row))]
    fn AddRow(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let row = self.numbers("AddRow", row)?;
        self.shared.tiny_mut(py, |table| table.add_row(&row)).py()
    }

    /// Adds rows at the end, from an array ``(n, columns)``.
    #[pyo3(signature = (rows))]
    fn AddRows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let Incoming::Host(rows) = Incoming::of(rows, DType::F64, "AddRows")? else {
            return Err(PyTypeError::new_err(
                "AddRows: takes an array of the host; SetValues takes one of a device",
            ));
        };
        // Copied before the table is held, and given back: they may be rows of the table itself.
        let numbers = py.detach(|| rows.to_vec::<f64>()).py()?;
        let shape = rows.shape.clone();
        drop(rows);
        self.shared
            .write(py, |table| {
                let columns = table.columns().len();
                match *shape.as_slice() {
                    [_, found] if found == columns => table.add_rows(&numbers),
                    _ => Err(Error::shape("AddRows", &[table.rows(), columns], &shape)),
                }
            })
            .py()
    }

    /// Removes all rows; the columns stay.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, Table::clear).py()
    }

    /// Makes the table ``rows`` rows long: the first ones are kept, new ones are zero.
    #[pyo3(signature = (rows))]
    fn Resize(&self, py: Python<'_>, rows: Int) -> PyResult<()> {
        let rows = count("Resize", "rows", rows)?;
        self.shared.write(py, |table| table.resize(rows)).py()
    }

    /// The number in one cell; ``column`` is a number or a name.
    #[pyo3(signature = (row, column))]
    fn GetValue(&self, py: Python<'_>, row: Int, column: Column) -> PyResult<f64> {
        let at = |table: &Table| cell(table, row, &column);
        self.shared
            .glance(
                |table| {
                    let (row, column) = at(table)?;
                    table.cell_at_hand(row, column)
                },
                || {
                    self.shared.read(py, |table| {
                        let (row, column) = at(table)?;
                        table.cell(row, column)
                    })
                },
            )
            .py()
    }

    /// Sets the number in one cell; ``column`` is a number or a name.
    #[pyo3(signature = (row, column, value))]
    fn SetValue(
        &self,
        py: Python<'_>,
        row: Int,
        column: Column,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value: f64 = number("SetValue", "value", value)?;
        let at = |table: &Table| cell(table, row, &column);
        self.shared
            .glance(
                |table| {
                    let (row, column) = at(table)?;
                    Ok(table.set_cell_at_hand(row, column, value)?.then_some(()))
                },
                || {
                    self.shared.write(py, |table| {
                        let (row, column) = at(table)?;
                        table.set_cell(row, column, value)
                    })
                },
            )
            .py()
    }

    /// The numbers of one row.
    #[pyo3(signature = (row))]
    fn GetRow<'py>(&self, py: Python<'py>, row: Int) -> PyResult<Bound<'py, PyTuple>> {
        let numbers = self
            .shared
            .tiny(py, |table| table.row(index_in("row", row, table.rows())?))
            .py()?;
        PyTuple::new(py, numbers)
    }

    /// Replaces the numbers of one row.
    #[pyo3(signature = (row, numbers))]
    fn SetRow(&self, py: Python<'_>, row: Int, numbers: &Bound<'_, PyAny>) -> PyResult<()> {
        let numbers = self.numbers("SetRow", numbers)?;
        self.shared
            .tiny_mut(py, |table| {
                let row = index_in("row", row, table.rows())?;
                table.set_row(row, &numbers)
            })
            .py()
    }

    /// One column by name, as an array of its own over the same memory.
    #[pyo3(signature = (name))]
    fn Column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, ArrayView>> {
        ArrayView::of(py, self.holder(), Which::Field(name.to_owned()))
    }

    /// One column by name, as a new NumPy array.
    #[pyo3(signature = (name))]
    fn GetColumn<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        array_interface::array(self.Column(py, name)?.as_any(), None, Some(true))
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.read(py, Table::try_clone).py()?;
        Bound::new(py, EventTable::init(copy))
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, (String, usize), persist::State<'py>)> {
        let (arguments, state) = persist::save(py, &self.shared, |table| {
            (table.columns().join(","), table.rows())
        })?;
        Ok((py.get_type::<Self>(), arguments, state))
    }

    #[pyo3(signature = (state, /))]
    fn __setstate__(&self, py: Python<'_>, state: (Bound<'_, PyBytes>, String)) -> PyResult<()> {
        persist::load(py, &self.holder(), state.0.as_bytes(), &state.1)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .read(py, |table| {
                Ok(format!(
                    "<uLib.EventTable {} of ({}), {}>",
                    counted(table.rows(), "row"),
                    table.columns().join(", "),
                    table.location()
                ))
            })
            .py()
    }
}
