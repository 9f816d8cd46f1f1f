use std::error::Error as _;

use super::{Context, Error, ErrorKind, Result};

#[test]
fn context_reads_from_the_outside_in() {
    let error = Error::new(ErrorKind::Io, "end of file")
        .context("reading the header")
        .context("opening scan.nii");
    assert_eq!(
        error.to_string(),
        "opening scan.nii: reading the header: end of file"
    );
    assert_eq!(error.message(), "end of file");
    assert_eq!(
        error.contexts().collect::<Vec<_>>(),
        ["opening scan.nii", "reading the header"]
    );
}

#[test]
fn context_on_a_clone_leaves_the_original_alone() {
    let original = Error::unavailable("no NVIDIA driver library: libcuda.so.1");
    let wrapped = original.clone().context("uploading");
    assert_eq!(original.contexts().count(), 0);
    assert_eq!(
        wrapped.to_string(),
        "uploading: no NVIDIA driver library: libcuda.so.1"
    );
    assert_eq!(wrapped.kind(), original.kind());
}

#[test]
fn lazy_context_runs_only_on_failure() {
    let fine: Result<u8> = Ok(1);
    let value = fine.with_context(|| -> String { unreachable!() });
    assert_eq!(value.unwrap(), 1);
    let failed: Result<u8> = Err(Error::busy("resize", "a view is open"));
    let error = failed.with_context(|| "append").unwrap_err();
    assert_eq!(
        error.to_string(),
        "append: resize: not possible now: a view is open"
    );
}

#[test]
fn every_constructor_has_its_kind_and_names_the_operation() {
    let cases: [(Error, ErrorKind, Option<&str>); 14] = [
        (Error::shape("op", &[1], &[2]), ErrorKind::Shape, Some("op")),
        (Error::index("op", 7, 3), ErrorKind::Index, Some("op")),
        (
            Error::invalid("op", "arg", 1, "2"),
            ErrorKind::InvalidArgument,
            Some("op"),
        ),
        (
            Error::malformed("op", "field", 1, "2"),
            ErrorKind::Format,
            Some("op"),
        ),
        (
            Error::dtype("op", "f32", "f64"),
            ErrorKind::DType,
            Some("op"),
        ),
        (Error::layout("op", "bad"), ErrorKind::Layout, Some("op")),
        (
            Error::overflow("op", "count"),
            ErrorKind::Overflow,
            Some("op"),
        ),
        (
            Error::residency("op", "not there"),
            ErrorKind::Residency,
            Some("op"),
        ),
        (Error::busy("op", "view"), ErrorKind::Busy, Some("op")),
        (Error::unavailable("why"), ErrorKind::Unavailable, None),
        (
            Error::out_of_memory(2, 1),
            ErrorKind::OutOfMemory { needs: 2, free: 1 },
            None,
        ),
        (
            Error::driver(-7, "cuInit", "status -7"),
            ErrorKind::Driver {
                code: -7,
                call: "cuInit",
            },
            Some("cuInit"),
        ),
        (Error::interrupted("op"), ErrorKind::Interrupted, Some("op")),
        (Error::forked("op"), ErrorKind::Forked, Some("op")),
    ];
    for (error, kind, op) in cases {
        assert_eq!(error.kind(), &kind);
        assert_eq!(error.op(), op);
        if let Some(op) = op {
            assert!(error.to_string().starts_with(op), "{error}");
        }
    }
}

#[test]
fn io_errors_keep_their_source() {
    let io = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
    let error = Error::io("open", io).context("loading");
    assert_eq!(error.kind(), &ErrorKind::Io);
    assert_eq!(error.to_string(), "loading: open: no such file");
    assert_eq!(error.source().unwrap().to_string(), "no such file");
    assert!(Error::unavailable("x").source().is_none());
}

#[test]
fn indices_are_printed_exactly() {
    let error = Error::index("op", u64::MAX, 3);
    assert_eq!(
        error.to_string(),
        "op: index 18446744073709551615 is out of range for length 3"
    );
    let error = Error::index("op", i64::MIN, 0);
    assert_eq!(
        error.to_string(),
        "op: index -9223372036854775808 is out of range for length 0"
    );
}

#[test]
fn debug_shows_kind_and_message() {
    let text = format!("{:?}", Error::busy("resize", "x").context("append"));
    assert_eq!(
        text,
        "Error { kind: Busy, message: \"append: resize: not possible now: x\" }"
    );
}
