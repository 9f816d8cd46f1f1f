//! Conditions on a number, as Python writes them: a word and the numbers that it takes.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_math::ops::Predicate;

use super::Numeric;
use crate::args::number;
use crate::errors::shortened;

/// The condition `word` with `limits`, for elements of type `T`.
pub(super) fn condition<T: Numeric>(
    op: &str,
    word: &str,
    limits: &Bound<'_, PyTuple>,
) -> PyResult<Predicate<T>> {
    let takes = match word {
        "<" | "<=" | ">" | ">=" | "==" | "!=" => 1,
        "between" => 2,
        "nan" | "finite" => 0,
        _ => {
            return Err(PyValueError::new_err(format!(
                "{op}: condition {:?} is none of '<', '<=', '>', '>=', '==', '!=', 'between', 'nan', 'finite'",
                shortened(word)
            )));
        }
    };
    if limits.len() != takes {
        let plural = if takes == 1 { "" } else { "s" };
        return Err(PyTypeError::new_err(format!(
            "{op}: the condition '{word}' takes {takes} number{plural}, not {}",
            limits.len()
        )));
    }
    let limit = |at: usize| number::<T>(op, "limit", &limits.get_item(at)?);
    Ok(match word {
        "<" => Predicate::Less(limit(0)?),
        "<=" => Predicate::LessEqual(limit(0)?),
        ">" => Predicate::Greater(limit(0)?),
        ">=" => Predicate::GreaterEqual(limit(0)?),
        "==" => Predicate::Equal(limit(0)?),
        "!=" => Predicate::NotEqual(limit(0)?),
        "between" => Predicate::Between(limit(0)?, limit(1)?),
        "nan" => Predicate::IsNan,
        _ => Predicate::IsFinite,
    })
}
