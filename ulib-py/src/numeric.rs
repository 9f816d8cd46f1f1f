//! [`Numeric`]: an object whose numbers the operations work on.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::compute;
use crate::compute::elementwise::{self, Target};
use crate::compute::operand::{Value, is_number};
use crate::placement::Placed;
use crate::scene::proxy::own;
use crate::source::Source;
use crate::view::ArrayView;

/// An object whose numbers are worked on where they are, on the host or a device, with the same result.
///
/// Without ``out`` an operation changes the object; with it the object is left alone. An operand is a number, an object of
/// uLib in the same place, or an array of another library there.
#[pyclass(frozen, subclass, extends = Placed, module = "uLib")]
pub(crate) struct Numeric {
    pub(crate) source: Source,
}

type Any<'py> = Bound<'py, PyAny>;
type Out<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
type One = fn(Python<'_>, &Source, &Target) -> PyResult<()>;
type Two = fn(Python<'_>, &Source, [Value<'_, '_>; 2], &Target) -> PyResult<()>;

/// The other side of an operator: a number, or an object of ours. Python asks the other side about anything else.
struct Term<'py>(Any<'py>);

impl<'a, 'py> FromPyObject<'a, 'py> for Term<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if own::<Numeric>(&object)?.is_some() || is_number(&object)? {
            return Ok(Term(object.to_owned()));
        }
        Err(PyTypeError::new_err(
            "neither a number nor an object of uLib",
        ))
    }
}

impl Numeric {
    fn one(&self, py: Python<'_>, run: One, op: &str, out: Out<'_, '_>) -> PyResult<()> {
        run(py, &self.source, &Target::of(op, &self.source, out)?)
    }

    fn two(&self, run: Two, op: &str, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        let values = [Value::This(&self.source), Value::Given("other", other)];
        let target = Target::of(op, &self.source, out)?;
        run(other.py(), &self.source, values, &target)
    }

    /// A copy of the object, changed by `run`.
    fn changed<'py>(
        slf: &Bound<'py, Self>,
        run: impl FnOnce(&Source, &Target) -> PyResult<()>,
    ) -> PyResult<Any<'py>> {
        if slf.cast::<ArrayView>().is_ok() {
            return Err(PyTypeError::new_err(
                "a view cannot be copied: give its method an out, or work on GetValues()",
            ));
        }
        let copy = slf.call_method0(intern!(slf.py(), "__copy__"))?;
        let source = &copy.cast::<Numeric>()?.get().source;
        run(source, &Target::own(source))?;
        Ok(copy)
    }

    /// `slf run other`, new.
    fn with<'py>(slf: &Bound<'py, Self>, run: Two, other: &Term<'py>) -> PyResult<Any<'py>> {
        Self::changed(slf, |source, target| {
            let values = [Value::This(source), Value::Given("other", &other.0)];
            run(slf.py(), source, values, target)
        })
    }

    /// `other run slf`, new.
    fn after<'py>(slf: &Bound<'py, Self>, run: Two, other: &Term<'py>) -> PyResult<Any<'py>> {
        Self::changed(slf, |source, target| {
            let values = [Value::Given("other", &other.0), Value::This(source)];
            run(slf.py(), source, values, target)
        })
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl Numeric {
    /// Scalars of NumPy leave an operator to us, as numbers do; its arrays do not.
    #[classattr]
    fn __array_priority__() -> f64 {
        -1.0
    }

    /// Sets every element to ``value``, where the array is.
    #[pyo3(signature = (value))]
    fn Fill(&self, py: Python<'_>, value: &Any<'_>) -> PyResult<()> {
        compute::fill(py, &self.source, value)
    }

    /// Multiplies every element by ``factor``, where the array is.
    #[pyo3(signature = (factor))]
    fn Scale(&self, py: Python<'_>, factor: &Any<'_>) -> PyResult<()> {
        compute::scale(py, &self.source, factor)
    }

    /// Adds ``other``. Integers wrap.
    #[pyo3(signature = (other, out=None))]
    fn Add(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::add, "Add", other, out)
    }

    /// Subtracts ``other``. Integers wrap.
    #[pyo3(signature = (other, out=None))]
    fn Subtract(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::subtract, "Subtract", other, out)
    }

    /// Multiplies by ``other``. Integers wrap.
    #[pyo3(signature = (other, out=None))]
    fn Multiply(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::multiply, "Multiply", other, out)
    }

    /// Divides by ``other``. Integers truncate, and by zero give 0.
    #[pyo3(signature = (other, out=None))]
    fn Divide(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::divide, "Divide", other, out)
    }

    /// The smaller of every element and ``other``; NaN if one is.
    #[pyo3(signature = (other, out=None))]
    fn Minimum(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::minimum, "Minimum", other, out)
    }

    /// The larger of every element and ``other``; NaN if one is.
    #[pyo3(signature = (other, out=None))]
    fn Maximum(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::maximum, "Maximum", other, out)
    }

    /// Raises every element to the power ``other``; floats only.
    #[pyo3(signature = (other, out=None))]
    fn Power(&self, other: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.two(elementwise::power, "Power", other, out)
    }

    /// The magnitude of every element.
    #[pyo3(signature = (out=None))]
    fn Abs(&self, py: Python<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.one(py, elementwise::abs, "Abs", out)
    }

    /// Every element with the other sign. Integers wrap.
    #[pyo3(signature = (out=None))]
    fn Negate(&self, py: Python<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.one(py, elementwise::negate, "Negate", out)
    }

    /// The square root of every element; floats only.
    #[pyo3(signature = (out=None))]
    fn Sqrt(&self, py: Python<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.one(py, elementwise::sqrt, "Sqrt", out)
    }

    /// e to the power of every element; floats only.
    #[pyo3(signature = (out=None))]
    fn Exp(&self, py: Python<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.one(py, elementwise::exp, "Exp", out)
    }

    /// The natural logarithm of every element; floats only.
    #[pyo3(signature = (out=None))]
    fn Log(&self, py: Python<'_>, out: Out<'_, '_>) -> PyResult<()> {
        self.one(py, elementwise::log, "Log", out)
    }

    /// Limits every element to the range from ``low`` to ``high``, which are operands, too.
    #[pyo3(signature = (low, high, out=None))]
    fn Clamp(&self, low: &Any<'_>, high: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        let this = Value::This(&self.source);
        let values = [this, Value::Given("low", low), Value::Given("high", high)];
        let target = Target::of("Clamp", &self.source, out)?;
        elementwise::clamp(low.py(), &self.source, values, &target)
    }

    /// Multiplies by ``b`` and adds ``c``, with one rounding.
    #[pyo3(signature = (b, c, out=None))]
    fn Fma(&self, b: &Any<'_>, c: &Any<'_>, out: Out<'_, '_>) -> PyResult<()> {
        let this = Value::This(&self.source);
        let values = [this, Value::Given("b", b), Value::Given("c", c)];
        let target = Target::of("Fma", &self.source, out)?;
        elementwise::fma(b.py(), &self.source, values, &target)
    }

    /// Adds ``factor * x``, with one rounding.
    #[pyo3(signature = (factor, x))]
    fn Axpy(&self, py: Python<'_>, factor: &Any<'_>, x: &Any<'_>) -> PyResult<()> {
        elementwise::axpy(py, &self.source, factor, x)
    }

    /// ``inside`` where an element meets a condition, ``outside`` elsewhere: ``Threshold('<', 3)``.
    ///
    /// Conditions: ``'<'``, ``'<='``, ``'>'``, ``'>='``, ``'=='``, ``'!='`` with a number, ``'between'`` with two that belong to
    /// the range, ``'nan'``, ``'finite'``.
    #[pyo3(
        signature = (condition, *limits, inside=None, outside=None, out=None),
        text_signature = "($self, condition, *limits, inside=1, outside=0, out=None)"
    )]
    fn Threshold(
        &self,
        py: Python<'_>,
        condition: &str,
        limits: &Bound<'_, PyTuple>,
        inside: Option<&Any<'_>>,
        outside: Option<&Any<'_>>,
        out: Out<'_, '_>,
    ) -> PyResult<()> {
        let target = Target::of("Threshold", &self.source, out)?;
        let numbers = [inside, outside];
        elementwise::threshold(py, &self.source, condition, limits, numbers, &target)
    }

    /// Keeps every element where ``mask`` is not zero, and sets the others to ``outside``.
    ///
    /// A mask is an array of numbers or truth values of any type.
    #[pyo3(
        signature = (mask, outside=None, out=None),
        text_signature = "($self, mask, outside=0, out=None)"
    )]
    fn Mask(
        &self,
        py: Python<'_>,
        mask: &Any<'_>,
        outside: Option<&Any<'_>>,
        out: Out<'_, '_>,
    ) -> PyResult<()> {
        let target = Target::of("Mask", &self.source, out)?;
        elementwise::mask(py, &self.source, mask, outside, &target)
    }

    /// Takes the numbers of ``other``, converted to the type of this array: towards zero and into the range of integers.
    #[pyo3(signature = (other))]
    fn CopyFrom(&self, py: Python<'_>, other: &Any<'_>) -> PyResult<()> {
        elementwise::copy_from(py, &self.source, other)
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::with(slf, elementwise::add, &other)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::after(slf, elementwise::add, &other)
    }

    fn __iadd__(&self, other: &Any<'_>) -> PyResult<()> {
        self.Add(other, None)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::with(slf, elementwise::subtract, &other)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::after(slf, elementwise::subtract, &other)
    }

    fn __isub__(&self, other: &Any<'_>) -> PyResult<()> {
        self.Subtract(other, None)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::with(slf, elementwise::multiply, &other)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::after(slf, elementwise::multiply, &other)
    }

    fn __imul__(&self, other: &Any<'_>) -> PyResult<()> {
        self.Multiply(other, None)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::with(slf, elementwise::divide, &other)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: Term<'py>) -> PyResult<Any<'py>> {
        Self::after(slf, elementwise::divide, &other)
    }

    fn __itruediv__(&self, other: &Any<'_>) -> PyResult<()> {
        self.Divide(other, None)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: Term<'py>,
        modulo: &Any<'py>,
    ) -> PyResult<Any<'py>> {
        no_modulo(modulo)?;
        Self::with(slf, elementwise::power, &other)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: Term<'py>,
        modulo: &Any<'py>,
    ) -> PyResult<Any<'py>> {
        no_modulo(modulo)?;
        Self::after(slf, elementwise::power, &other)
    }

    fn __ipow__(&self, other: &Any<'_>, modulo: &Any<'_>) -> PyResult<()> {
        no_modulo(modulo)?;
        self.Power(other, None)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Any<'py>> {
        Self::changed(slf, |source, target| {
            elementwise::negate(slf.py(), source, target)
        })
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Any<'py>> {
        Self::changed(slf, |source, target| {
            elementwise::abs(slf.py(), source, target)
        })
    }
}

/// Refuses the third argument of ``pow``.
fn no_modulo(modulo: &Any<'_>) -> PyResult<()> {
    match modulo.is_none() {
        true => Ok(()),
        false => Err(PyTypeError::new_err("pow: a modulo is for whole numbers")),
    }
}
