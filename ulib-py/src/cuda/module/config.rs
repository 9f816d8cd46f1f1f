//! What a call says besides its values, and what it need not say.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use ulib_device::LaunchConfig;
use ulib_device::launch::Shape;

use super::function::Function;
use super::prepared::Prepared;
use crate::args::{Int, caused, shown};
use crate::cuda::errors::logic;

/// What a call says besides its values.
pub(super) struct Call<'a, 'py> {
    pub(super) grid: Option<&'a Bound<'py, PyAny>>,
    pub(super) block: Option<&'a Bound<'py, PyAny>>,
    pub(super) stream: Option<&'a Bound<'py, PyAny>>,
    pub(super) shared: Int,
    pub(super) shape: Shape,
    pub(super) texrefs: Option<&'a Bound<'py, PyAny>>,
}

/// What calls need not say, under one lock: each costs as much as a good part of a launch.
#[derive(Default)]
pub(super) struct Usual {
    pub(super) prepared: Option<Py<Prepared>>,
    /// Texture and surface references that every call uses.
    pub(super) references: Vec<Py<PyAny>>,
    /// The block of calls that say none.
    pub(super) block: Option<[u32; 3]>,
    pub(super) last_grid: Said,
    pub(super) last_block: Said,
}

/// The tuple of numbers that the last call said for a grid or a block, and its numbers: most programs say the same tuple again and
/// again.
#[derive(Default)]
pub(super) struct Said(Option<(Py<PyTuple>, [u32; 3])>);

impl Said {
    /// The numbers of `given`, if they are known.
    fn sizes(&self, given: Option<&Bound<'_, PyAny>>) -> Option<[u32; 3]> {
        let (known, sizes) = self.0.as_ref()?;
        known.is(given?).then_some(*sizes)
    }
}

/// How a kernel is called.
pub(super) struct Called<'py> {
    pub(super) config: LaunchConfig,
    pub(super) prepared: Option<Bound<'py, Prepared>>,
    /// Texture and surface references that every call uses.
    pub(super) references: Vec<Bound<'py, PyAny>>,
}

impl<'py> Call<'_, 'py> {
    /// What the call says, and what it need not say.
    pub(super) fn called(&self, py: Python<'py>, function: &Function) -> PyResult<Called<'py>> {
        let usual = function.usual();
        let known_grid = usual.last_grid.sizes(self.grid);
        let known_block = usual.last_block.sizes(self.block);
        let usual_block = usual.block;
        let prepared = usual.prepared.as_ref().map(|it| it.bind(py).clone());
        let references = usual.references.iter().map(|it| it.bind(py).clone());
        let references = references.collect();
        drop(usual);
        let block = match (known_block, self.block.filter(|block| !block.is_none())) {
            (Some(sizes), _) => sizes,
            (None, Some(block)) => {
                function.learnt("block", block, |usual| &mut usual.last_block)?
            }
            (None, None) => usual_block
                .ok_or_else(|| PyValueError::new_err("must specify block size: block=(x, y, z)"))?,
        };
        let grid = match (known_grid, self.grid.filter(|grid| !grid.is_none())) {
            (Some(sizes), _) => sizes,
            (None, Some(grid)) => function.learnt("grid", grid, |usual| &mut usual.last_grid)?,
            (None, None) => [1; 3],
        };
        Ok(Called {
            config: LaunchConfig {
                grid,
                block,
                shared_bytes: shared_bytes(self.shared)?,
            },
            prepared,
            references,
        })
    }
}

impl Function {
    /// The numbers of a grid or a block, which are known from now on where a tuple says them.
    fn learnt(
        &self,
        what: &str,
        given: &Bound<'_, PyAny>,
        place: fn(&mut Usual) -> &mut Said,
    ) -> PyResult<[u32; 3]> {
        let sizes = extents(what, given)?;
        // Of these the numbers never change.
        if let Ok(tuple) = given.cast_exact::<PyTuple>()
            && tuple
                .iter_borrowed()
                .all(|item| item.is_exact_instance_of::<PyInt>())
        {
            let known = Some((tuple.clone().unbind(), sizes));
            let before = std::mem::replace(&mut place(&mut self.usual()).0, known);
            drop(before);
        }
        Ok(sizes)
    }
}

/// One to three numbers, in a tuple or list, or one alone.
pub(crate) fn extents(what: &str, given: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let number = |object: &Bound<'_, PyAny>| -> PyResult<u32> {
        let number = object.extract::<Int>().map_err(|error| {
            caused(object.py(), error, |_| {
                PyTypeError::new_err(format!(
                    "launch: {what} is {}, expected one to three integers",
                    shown(given)
                ))
            })
        })?;
        u32::try_from(number.0).map_err(|_| {
            logic(format!(
                "launch: {what} has {number}, which is no number of blocks or threads"
            ))
        })
    };
    let mut sizes = [1_u32; 3];
    let wrong = |count: usize| {
        PyTypeError::new_err(format!(
            "launch: {what} has {count} numbers, expected one to three"
        ))
    };
    if let Ok(tuple) = given.cast::<PyTuple>() {
        if tuple.is_empty() || tuple.len() > 3 {
            return Err(wrong(tuple.len()));
        }
        for (slot, item) in sizes.iter_mut().zip(tuple.iter_borrowed()) {
            *slot = number(&item)?;
        }
    } else if let Ok(list) = given.cast::<PyList>() {
        if list.is_empty() || list.len() > 3 {
            return Err(wrong(list.len()));
        }
        for (slot, item) in sizes.iter_mut().zip(list.iter()) {
            *slot = number(&item)?;
        }
    } else {
        sizes[0] = number(given)?;
    }
    Ok(sizes)
}

/// A number of bytes of shared memory.
pub(crate) fn shared_bytes(given: Int) -> PyResult<u32> {
    u32::try_from(given.0).map_err(|_| {
        logic(format!(
            "launch: shared is {given}, which is no number of bytes"
        ))
    })
}
