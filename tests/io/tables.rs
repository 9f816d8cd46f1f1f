//! Tables as text and in Parquet files.

use std::fs;

use ulib::core::ErrorKind;
use ulib::math::EventTable;
use ulib::math::io::{read_columns, read_table, write_table};

use crate::support::Folder;

fn read(folder: &Folder, name: &str, text: &str) -> Result<EventTable, ulib::core::Error> {
    folder.file(name, text);
    read_table(folder.join(name))
}

fn bits(table: &EventTable) -> Vec<u64> {
    table.cells().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn text_of_other_programs() {
    let folder = Folder::new();
    let table = read(
        &folder,
        "a.csv",
        "x, y\r\n1,-2.5e3\r\n\"3\", +4 \r\nNaN,inf\r\n,-Infinity",
    )
    .unwrap();
    assert_eq!(table.columns(), ["x", "y"]);
    assert_eq!(table.rows(), 4);
    assert_eq!(table.row(0).unwrap(), [1.0, -2500.0]);
    assert_eq!(table.row(1).unwrap(), [3.0, 4.0]);
    assert!(table.cell(2, 0).unwrap().is_nan() && table.cell(3, 0).unwrap().is_nan());
    assert_eq!(table.cell(2, 1).unwrap(), f64::INFINITY);
    assert_eq!(table.cell(3, 1).unwrap(), f64::NEG_INFINITY);
    let tabs = read(&folder, "a.tsv", "x\ty z\n1\t2\n").unwrap();
    assert_eq!(tabs.columns(), ["x", "y z"]);
    assert_eq!(tabs.row(0).unwrap(), [1.0, 2.0]);
    let none = read(&folder, "none.csv", "x,y\n").unwrap();
    assert_eq!((none.rows(), none.columns().len()), (0, 2));
    assert_eq!(read(&folder, "empty.csv", "").unwrap().columns().len(), 0);
}

#[test]
fn columns_are_chosen_by_name_and_others_need_no_numbers() {
    let folder = Folder::new();
    let text = "name,t,x\nmu-,1,2\nmu+,3,4\n";
    let error = read(&folder, "a.csv", text).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("column 'name' in line 2 is 'mu-', expected a number"),
        "{error}"
    );
    let table = read_columns(folder.join("a.csv"), &["x", "t"]).unwrap();
    assert_eq!(table.columns(), ["x", "t"]);
    assert_eq!(*table.cells().unwrap(), [2.0, 1.0, 4.0, 3.0]);
    let error = read_columns(folder.join("a.csv"), &["y"]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert!(
        error
            .to_string()
            .contains("the file has no column 'y', only name, t, x"),
        "{error}"
    );
}

#[test]
fn what_is_written_is_what_is_read() {
    let folder = Folder::new();
    let mut table = EventTable::new("slice,total µ,\"quoted\"").unwrap();
    for i in 0..70_000 {
        table
            .add_row(&[f64::from(i), f64::from(i) / 3.0, -1.0 / f64::from(i)])
            .unwrap();
    }
    let odd = [f64::NAN, f64::MIN_POSITIVE / 8.0, f64::MAX];
    table.add_row(&odd).unwrap();
    for name in ["a.csv", "a.tsv", "a.parquet"] {
        write_table(&table, folder.join(name)).unwrap();
        let again = read_table(folder.join(name)).unwrap();
        assert_eq!(again.columns(), table.columns(), "{name}");
        assert_eq!(bits(&again), bits(&table), "{name}");
        let some = read_columns(folder.join(name), &["total µ"]).unwrap();
        assert_eq!(
            some.column("total µ").unwrap()[..70_000],
            table.column("total µ").unwrap()[..70_000]
        );
    }
    assert!(
        fs::read_to_string(folder.join("a.csv"))
            .unwrap()
            .starts_with(
                "slice,total µ,\"\"\"quoted\"\"\"\n0.0,0.0,-inf\n1.0,0.3333333333333333,-1.0\n"
            )
    );
    let none = EventTable::new("").unwrap();
    for name in ["b.csv", "b.parquet"] {
        write_table(&none, folder.join(name)).unwrap();
        assert_eq!(read_table(folder.join(name)).unwrap().rows(), 0, "{name}");
    }
}

#[test]
fn damaged_tables_are_refused_by_line_and_column() {
    let folder = Folder::new();
    let cases = [
        (
            "x,y\n1,2\n3\n",
            "line 3 is 1 field, expected 2, as in the first line",
        ),
        ("x,y\n1,2,3\n", "line 2 is 3 fields"),
        (
            "x,y\n1,two\n",
            "column 'y' in line 2 is 'two', expected a number",
        ),
        ("x,x\n1,2\n", "x"),
        (
            "\"a,b\",y\n1,2\n",
            "column is 'a,b', expected a name without commas",
        ),
        (",y\n1,2\n", "name"),
    ];
    for (text, cause) in cases {
        let error = read(&folder, "bad.csv", text).unwrap_err().to_string();
        assert!(
            error.contains(cause) && error.contains("bad.csv"),
            "{text:?}: {error}"
        );
    }
    fs::write(folder.join("bad.csv"), b"x\n\xff\n").unwrap();
    let error = read_table(folder.join("bad.csv")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Format);
    for name in ["missing.csv", "missing.parquet"] {
        let error = read_table(folder.join(name)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Io, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let error = read_table(folder.join("table.root")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
}

#[test]
fn parquet_files_cut_or_changed_anywhere_are_refused_or_read_without_harm() {
    let folder = Folder::new();
    let mut table = EventTable::new("a,b").unwrap();
    for i in 0..100 {
        table.add_row(&[f64::from(i), 0.5]).unwrap();
    }
    let path = folder.join("a.parquet");
    write_table(&table, &path).unwrap();
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(read_table(&path).is_err(), "{len}");
    }
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            fs::write(&path, bytes).unwrap();
            let _ = read_table(&path);
        }
    }
}
