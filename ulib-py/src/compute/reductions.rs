//! The reductions: over all elements to a number, or over some axes to a NumPy array.

use ndarray::ArrayD;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};
use ulib_core::{DeviceStorable, Error, Result, bytemuck};
use ulib_math::ops::{self, Bins};
use ulib_math::view::View;

use super::condition::condition;
use super::operand::is_number;
use super::{Numeric, elementwise, numbers};
use crate::args::{Int, attempted, count, number, shown};
use crate::errors::IntoPyResult;
use crate::items::{is_text, items, reserve};
use crate::source::{Desc, Source};

/// What a reduction goes over: all elements, or the axes that Python names.
#[derive(Clone, Copy)]
pub(crate) struct Over<'a, 'py> {
    pub(crate) axis: Option<&'a Bound<'py, PyAny>>,
    /// Whether the axes stay, with length 1.
    pub(crate) keepdims: bool,
}

/// Reductions without further arguments: `name "Method" all, some;`.
macro_rules! plain {
    ($($name:ident $method:literal $all:ident, $some:ident;)*) => {$(
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            source: &Source,
            over: Over<'_, 'py>,
        ) -> PyResult<Bound<'py, PyAny>> {
            numbers!($method, source.dtype(py).py()?, T => {
                reduce(py, $method, source, over, ops::$all::<T>, ops::$some::<T>)
            })
        }
    )*};
}

plain! {
    sum "Sum" sum_all, sum;
    mean "Mean" mean_all, mean;
    norm "Norm" norm_all, norm;
    min "Min" min_all, min;
    max "Max" max_all, max;
    arg_min "ArgMin" argmin_all, argmin;
    arg_max "ArgMax" argmax_all, argmax;
}

/// The variance, with `ddof` less than the number of elements as its divisor.
pub(crate) fn variance<'py>(
    py: Python<'py>,
    source: &Source,
    ddof: i128,
    over: Over<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "Variance";
    let ddof = count(OP, "ddof", Int(ddof))?;
    numbers!(OP, source.dtype(py).py()?, T => reduce(
        py,
        OP,
        source,
        over,
        |view: &View<'_, T>| ops::variance_all(view, ddof),
        |view, axes| ops::variance(view, ddof, axes),
    ))
}

/// How many elements meet a condition.
pub(crate) fn count_where<'py>(
    py: Python<'py>,
    source: &Source,
    word: &str,
    limits: &Bound<'_, PyTuple>,
    over: Over<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "CountWhere";
    numbers!(OP, source.dtype(py).py()?, T => {
        let condition = condition::<T>(OP, word, limits)?;
        reduce(
            py,
            OP,
            source,
            over,
            |view: &View<'_, T>| ops::count_all(view, condition),
            |view, axes| ops::count(view, condition, axes),
        )
    })
}

/// The sum of the products with the elements of `other`.
pub(crate) fn dot<'py>(
    py: Python<'py>,
    own: &Source,
    other: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "Dot";
    numbers!(OP, own.dtype(py).py()?, T => {
        let sum = elementwise::with_other::<T, _>(py, OP, own, other, ops::dot_all)?;
        sum.into_bound_py_any(py)
    })
}

/// The quantile `q`, or those of several along a first axis.
pub(crate) fn quantile<'py>(
    py: Python<'py>,
    source: &Source,
    q: &Bound<'py, PyAny>,
    over: Over<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "Quantile";
    /// More than anybody waits for.
    const MOST: usize = 1 << 20;
    let dtype = source.dtype(py).py()?;
    if is_number(q)? {
        let q: f64 = number(OP, "q", q)?;
        return numbers!(OP, dtype, T => reduce(
            py,
            OP,
            source,
            over,
            |view: &View<'_, T>| {
                let one = ops::quantile_all(view, &[q])?;
                one.first().copied().ok_or_else(|| Error::index(OP, 0_usize, 0))
            },
            |view, axes| ops::quantile(view, axes, q),
        ));
    }
    let several: Vec<f64> = items(OP, "q", q, MOST)?;
    let (source, axes, kept) = over.axes(py, OP, source)?;
    let made = numbers!(OP, dtype, T => source.read(py, |block, desc| {
        let view = View::<T>::new(block, desc.layout)?;
        let mut numbers = Vec::new();
        for &q in &several {
            let part = ops::quantile(&view, &axes, q)?;
            reserve(&mut numbers, part.len())?;
            numbers.extend(part);
        }
        Ok(numbers)
    }).py())?;
    let shape: Vec<usize> = std::iter::once(several.len()).chain(kept).collect();
    array_of(py, &made, &shape)
}

/// How many elements fall into each bin, and the edges of the bins.
pub(crate) fn histogram<'py>(
    py: Python<'py>,
    source: &Source,
    bins: Option<&Bound<'py, PyAny>>,
    range: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    const OP: &str = "Histogram";
    /// Edges beyond this are a mistake, such as an image given for them.
    const MOST: usize = 1 << 32;
    let wanted = match bins {
        None => Wanted::Bins(10),
        Some(bins) if is_number(bins)? => match count(OP, "bins", number(OP, "bins", bins)?)? {
            0 => return Err(Error::invalid(OP, "bins", 0, "at least one bin")).py(),
            bins => Wanted::Bins(bins),
        },
        Some(edges) => Wanted::Edges(items(OP, "bins", edges, MOST)?),
    };
    let range = match range {
        None => None,
        Some(range) => match items::<f64>(OP, "range", range, 2)?[..] {
            [low, high] => Some((low, high)),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "{OP}: range is a pair of numbers"
                )));
            }
        },
    };
    if matches!(wanted, Wanted::Edges(_)) && range.is_some() {
        return Err(PyTypeError::new_err(format!(
            "{OP}: a range goes with a number of bins, not with edges"
        )));
    }
    let dtype = source.dtype(py).py()?;
    let (counts, bins) = numbers!(OP, dtype, T => source.read(py, |block, desc| {
        let view = View::<T>::new(block, desc.layout)?;
        let bins = match wanted {
            Wanted::Edges(edges) => Bins::edges(edges),
            Wanted::Bins(bins) => {
                let (low, high) = match range {
                    Some(range) => range,
                    None => range_of(&view)?,
                };
                Bins::uniform(low, high, bins)
            }
        };
        let bins = bins.map_err(|error| error.of_op(OP))?;
        Ok((ops::histogram(&view, &bins)?, bins))
    }).py())?;
    Ok((
        array_of(py, &counts, &[counts.len()])?,
        array_of(py, bins.as_slice(), &[bins.as_slice().len()])?,
    ))
}

/// The bins that a caller asks for.
enum Wanted {
    Bins(usize),
    Edges(Vec<f64>),
}

/// From the smallest to the largest element, widened where that is no range.
fn range_of<T: Numeric>(view: &View<'_, T>) -> Result<(f64, f64)> {
    if view.is_empty() {
        return Ok((0.0, 1.0));
    }
    let (low, high) = (ops::min_all(view)?.into(), ops::max_all(view)?.into());
    match low == high {
        true => Ok((low - 0.5, high + 0.5)),
        false => Ok((low, high)),
    }
}

/// Reduces the array of `source` with `all` to a number, or with `some` over axes to a NumPy array.
fn reduce<'py, T: Numeric, R: DeviceStorable + IntoPyObject<'py> + Send>(
    py: Python<'py>,
    op: &'static str,
    source: &Source,
    over: Over<'_, 'py>,
    all: impl FnOnce(&View<'_, T>) -> Result<R> + Send,
    some: impl FnOnce(&View<'_, T>, &[usize]) -> Result<ArrayD<R>> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    if over.axis.is_none() && !over.keepdims {
        let number = source
            .read(py, |block, desc| all(&View::new(block, desc.layout)?))
            .py()?;
        return number.into_bound_py_any(py);
    }
    let (source, axes, kept) = over.axes(py, op, source)?;
    let numbers = source
        .read(py, |block, desc| {
            some(&View::new(block, desc.layout)?, &axes)
        })
        .py()?;
    array_of(py, numbers.as_slice().unwrap_or_default(), &kept)
}

impl<'py> Over<'_, 'py> {
    /// The array whose axes are meant, which of an image is its grid, the axes, and the shape of the results.
    fn axes(
        self,
        py: Python<'py>,
        op: &'static str,
        source: &Source,
    ) -> PyResult<(Source, Vec<usize>, Vec<usize>)> {
        let source = source.grid_or_own(py).py()?;
        let desc = source.describe(py).py()?;
        let axes = match self.axis {
            Some(axis) => axes_of(op, axis, &desc)?,
            None => (0..desc.layout.ndim()).collect(),
        };
        let lengths = desc.layout.shape().iter().enumerate();
        let kept = lengths
            .filter_map(
                |(axis, &length)| match (axes.contains(&axis), self.keepdims) {
                    (false, _) => Some(length),
                    (true, true) => Some(1),
                    (true, false) => None,
                },
            )
            .collect();
        Ok((source, axes, kept))
    }
}

/// A new NumPy array with these elements in C order.
fn array_of<'py, T: DeviceStorable>(
    py: Python<'py>,
    packed: &[T],
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import(intern!(py, "numpy"))?;
    if packed.is_empty() {
        // frombuffer refuses a buffer of no bytes.
        return numpy.call_method1(intern!(py, "zeros"), (shape.to_vec(), T::dtype().typestr()));
    }
    let raw: &[u8] = bytemuck::cast_slice(packed);
    let bytes = PyByteArray::new_with(py, raw.len(), |target| {
        target.copy_from_slice(raw);
        Ok(())
    })?;
    numpy
        .call_method1(intern!(py, "frombuffer"), (bytes, T::dtype().typestr()))?
        .call_method1(intern!(py, "reshape"), (shape.to_vec(),))
}

/// The axes that `axis` names, counted from the front: one number, or a sequence of them; negative
/// ones count from the back.
fn axes_of(op: &str, axis: &Bound<'_, PyAny>, desc: &Desc) -> PyResult<Vec<usize>> {
    let named: Vec<Int> = match axis.extract() {
        Ok(one) => vec![one],
        Err(error) if !error.is_instance_of::<PyTypeError>(axis.py()) => return Err(error),
        Err(_) if is_text(axis) || attempted(axis.py(), axis.try_iter())?.is_none() => {
            return Err(PyTypeError::new_err(format!(
                "{op}: axis is {}, expected an integer or several",
                shown(axis)
            )));
        }
        Err(_) => items(op, "axis", axis, desc.layout.ndim())?,
    };
    let count = desc.layout.ndim();
    named
        .into_iter()
        .map(|Int(axis)| {
            let from_front = if axis < 0 { axis + count as i128 } else { axis };
            match usize::try_from(from_front) {
                Ok(found) if found < count => Ok(found),
                _ => Err(Error::index(format!("{op} axis"), axis, count)).py(),
            }
        })
        .collect()
}
