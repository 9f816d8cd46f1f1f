//! Rows under named columns.

use ulib::core::{DType, Result};
use ulib::math::{BulkArray, EventTable, ops};

use crate::common;

#[test]
fn the_array_is_rows_by_columns() -> Result<()> {
    let _driver = common::driver();
    let mut table = EventTable::new("slice,total")?;
    assert_eq!(
        (table.dtype(), table.layout()?.shape().to_vec()),
        (DType::F64, vec![0, 2])
    );
    for i in 0..5 {
        table.add_row(&[f64::from(i), f64::from(10 * i)])?;
    }
    let layout = table.layout()?;
    assert_eq!(
        (layout.shape(), layout.strides()),
        (&[5, 2][..], &[2, 1][..])
    );
    assert!(layout.is_contiguous());
    assert_eq!(table.row(3)?, [3.0, 30.0]);
    assert_eq!(table.cell(4, 1)?, 40.0);
    assert_eq!(table.column("total")?, [0.0, 10.0, 20.0, 30.0, 40.0]);
    let view = table.column_view("total")?;
    assert_eq!(
        (view.layout().shape(), view.layout().strides()),
        (&[5][..], &[2][..])
    );
    assert_eq!(view.layout().offset(), 1);
    assert_eq!(ops::sum_all(&view)?, 100.0);
    assert_eq!(table.field("slice")?.0, DType::F64);
    assert_eq!(table.field_names(), ["slice", "total"]);
    Ok(())
}

#[test]
fn the_recipe_can_run_twice() -> Result<()> {
    let _driver = common::driver();
    let mut table = EventTable::new("")?;
    for run in 0..2 {
        table.set_columns("slice,total")?;
        table.clear()?;
        for i in 0..3 {
            table.add_row(&[f64::from(i), f64::from(run)])?;
        }
        assert_eq!(table.rows(), 3);
        assert_eq!(table.column("total")?, [f64::from(run); 3]);
    }
    Ok(())
}

#[test]
fn other_names_rename_and_another_number_removes() -> Result<()> {
    let _driver = common::driver();
    let mut table = EventTable::new("a,b")?;
    table.add_rows(&[1.0, 2.0, 3.0, 4.0])?;
    assert_eq!(table.set_columns(" b , a ")?, 0);
    assert_eq!(table.columns(), ["b", "a"]);
    assert_eq!(table.column("a")?, [2.0, 4.0]);
    assert!(table.set_columns("a,").is_err());
    assert_eq!(table.columns(), ["b", "a"]);
    assert_eq!(table.set_columns("a,b,c")?, 2);
    assert_eq!(
        (table.rows(), table.layout()?.shape().to_vec()),
        (0, vec![0, 3])
    );
    table.add_row(&[1.0, 2.0, 3.0])?;
    assert_eq!(table.set_columns("")?, 1);
    assert!(table.columns().is_empty());
    assert!(table.add_row(&[]).is_err());
    assert!(table.resize(1).is_err());
    Ok(())
}

#[test]
fn rows_can_be_replaced_and_added() -> Result<()> {
    let _driver = common::driver();
    let mut table = EventTable::new("a,b")?;
    table.resize(2)?;
    assert_eq!(&*table.cells()?, [0.0; 4]);
    table.set_row(1, &[5.0, 6.0])?;
    table.set_cell(0, 1, 4.0)?;
    assert_eq!(&*table.cells()?, [0.0, 4.0, 5.0, 6.0]);
    table.resize(1)?;
    table.resize(2)?;
    assert_eq!(&*table.cells()?, [0.0, 4.0, 0.0, 0.0]);
    table.set_cells(&[1.0, 2.0, 3.0, 4.0])?;
    table.cells_mut()?[0] = 9.0;
    assert_eq!(&*table.cells()?, [9.0, 2.0, 3.0, 4.0]);
    assert!(table.set_row(2, &[0.0, 0.0]).is_err());
    assert!(table.set_row(0, &[0.0]).is_err());
    let mut copy = table.try_clone()?;
    copy.clear()?;
    assert_eq!((copy.rows(), table.rows()), (0, 2));
    assert_eq!(copy.columns(), table.columns());
    Ok(())
}

#[test]
fn many_rows() -> Result<()> {
    let _driver = common::driver();
    let mut table = EventTable::new("i,square")?;
    for i in 0..10_000_u32 {
        table.add_row(&[f64::from(i), f64::from(i) * f64::from(i)])?;
    }
    assert_eq!(table.row(9_999)?, [9_999.0, 9_999.0 * 9_999.0]);
    assert_eq!(table.column("i")?.iter().sum::<f64>(), 49_995_000.0);
    Ok(())
}
