//! `GeantEventCollection`: a path and a name per event, which can never be on a device.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyType};
use ulib_core::words::counted;
use ulib_core::{Error, PreferredDevice, Result};
use ulib_math::scene::SceneObject;
use ulib_math::{BulkArray, GeantEvent, GeantEventCollection as Events, Placed as _};

use crate::args::{Int, index_in};
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::{items, reserve};
use crate::placement::Placed;
use crate::source::{AnyViewMut, Object, Which};

impl Object for Events {
    fn placed(&self) -> &dyn ulib_math::Placed {
        self
    }

    fn scene(&self) -> &dyn SceneObject {
        self
    }

    fn arrays(&self) -> Option<&dyn BulkArray> {
        None
    }

    fn view_mut(&mut self, _which: &Which) -> Result<AnyViewMut<'_>> {
        Err(no_bytes())
    }

    fn change_bytes(
        &mut self,
        _overwrite: bool,
        _change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        Err(no_bytes())
    }
}

fn no_bytes() -> Error {
    Error::residency("array", "these events are more than their bytes")
}

/// Simulated events: where the file of each is and what it is called. They stay on the host: a
/// preference for a device is recorded, and ``GetDataLocation()`` says why it is not honoured.
#[pyclass(frozen, extends = Placed, module = "uLib")]
pub(crate) struct GeantEventCollection {
    shared: Arc<Shared<Events>>,
}

/// Path and name of one event.
type Event = (String, String);

fn pair(event: &GeantEvent) -> Event {
    (event.path.clone(), event.name.clone())
}

impl GeantEventCollection {
    pub(crate) fn init(events: Events) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(events));
        PyClassInitializer::from(Placed {
            holder: shared.clone(),
        })
        .add_subclass(GeantEventCollection { shared })
    }

    /// All events, and the preference at the same moment.
    fn events(&self, py: Python<'_>) -> PyResult<(Vec<Event>, PreferredDevice)> {
        self.shared
            .peek(py, |events| {
                let mut pairs = Vec::new();
                reserve(&mut pairs, events.len())?;
                pairs.extend(events.iter().map(pair));
                Ok((pairs, events.preferred_device()))
            })
            .py()
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl GeantEventCollection {
    #[new]
    #[pyo3(signature = (events=None))]
    fn new(events: Option<&Bound<'_, PyAny>>) -> PyResult<PyClassInitializer<Self>> {
        let events: Vec<Event> = match events {
            Some(events) => items("GeantEventCollection", "events", events, usize::MAX)?,
            None => Vec::new(),
        };
        let events = events
            .into_iter()
            .map(|(path, name)| GeantEvent::new(path, name));
        Ok(GeantEventCollection::init(events.collect()))
    }

    /// Adds an event at the end.
    #[pyo3(signature = (path, name))]
    fn Append(&self, py: Python<'_>, path: String, name: String) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |events| {
                events.push(GeantEvent::new(path, name));
                Ok(())
            })
            .py()
    }

    /// Path and name of the event at ``index``.
    #[pyo3(signature = (index))]
    fn GetEvent(&self, py: Python<'_>, index: Int) -> PyResult<Event> {
        self.shared
            .peek(py, |events| {
                events
                    .get(index_in("event", index, events.len())?)
                    .map(pair)
            })
            .py()
    }

    /// Replaces the event at ``index``.
    #[pyo3(signature = (index, path, name))]
    fn SetEvent(&self, py: Python<'_>, index: Int, path: String, name: String) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |events| {
                let index = index_in("event", index, events.len())?;
                events.set(index, GeantEvent::new(path, name))
            })
            .py()
    }

    /// Removes all events.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |events| {
                events.clear();
                Ok(())
            })
            .py()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.peek(py, |events| Ok(events.len())).py()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.events(py)?.0)?.try_iter()
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.peek(py, |events| Ok(events.clone())).py()?;
        Bound::new(py, GeantEventCollection::init(copy))
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, (Vec<Event>,), String)> {
        let (events, preferred) = self.events(py)?;
        Ok((py.get_type::<Self>(), (events,), preferred.to_string()))
    }

    #[pyo3(signature = (preferred, /))]
    fn __setstate__(&self, py: Python<'_>, preferred: &str) -> PyResult<()> {
        let preferred: PreferredDevice = preferred.parse().py()?;
        self.shared
            .peek(py, |events| events.set_preferred_device(preferred))
            .py()
            .map(|_there| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .peek(py, |events| {
                Ok(format!(
                    "<uLib.GeantEventCollection {}, {}>",
                    counted(events.len(), "event"),
                    events.location()
                ))
            })
            .py()
    }
}
