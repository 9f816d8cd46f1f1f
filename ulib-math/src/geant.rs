//! Geant events: elements that own text, and can therefore never be on a device.

use ulib_core::{Error, Result, Storable};

use crate::placed::{Bulk, HostPlacement, Placed};

/// One simulated event: where its file is and what it is called.
///
/// Its bytes are not the whole of it, since the text lives elsewhere. It is [`Storable`] and not
/// `DeviceStorable`:
///
/// ```compile_fail
/// fn on_a_device<T: ulib_core::DeviceStorable>() {}
/// on_a_device::<ulib_math::GeantEvent>();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GeantEvent {
    /// The file of the event.
    pub path: String,
    /// The name of the event.
    pub name: String,
}

impl Storable for GeantEvent {}

impl GeantEvent {
    /// An event of this name in the file at `path`.
    pub fn new(path: impl Into<String>, name: impl Into<String>) -> Self {
        GeantEvent {
            path: path.into(),
            name: name.into(),
        }
    }
}

/// Geant events, one after the other, always in host memory.
///
/// # Placement
/// A preference is recorded as for every object; `Device` is never honoured, and the location then
/// reads `Host (these events cannot be copied to a device)`.
///
/// ```
/// use ulib_math::{GeantEvent, GeantEventCollection, Placed};
///
/// let mut events = GeantEventCollection::new();
/// events.push(GeantEvent::new("run-7.root", "mu+"));
/// assert_eq!(events.get(0)?.name, "mu+");
/// assert!(events.get(1).is_err());
/// assert!(!events.can_use_device());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GeantEventCollection {
    events: Vec<GeantEvent>,
    placement: HostPlacement,
}

impl GeantEventCollection {
    /// A collection without events.
    pub fn new() -> Self {
        GeantEventCollection {
            events: Vec::new(),
            placement: HostPlacement::new("events"),
        }
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds one event at the end.
    pub fn push(&mut self, event: GeantEvent) {
        self.events.push(event);
    }

    /// The event at `index`.
    ///
    /// # Errors
    /// `Index` when `index` is not below [`len`](GeantEventCollection::len).
    pub fn get(&self, index: usize) -> Result<&GeantEvent> {
        self.events
            .get(index)
            .ok_or_else(|| Error::index("event", index, self.events.len()))
    }

    /// Replaces the event at `index`.
    ///
    /// # Errors
    /// `Index` when `index` is not below [`len`](GeantEventCollection::len).
    pub fn set(&mut self, index: usize, event: GeantEvent) -> Result<()> {
        let len = self.events.len();
        *self
            .events
            .get_mut(index)
            .ok_or_else(|| Error::index("event", index, len))? = event;
        Ok(())
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// The events in order.
    pub fn iter(&self) -> std::slice::Iter<'_, GeantEvent> {
        self.events.iter()
    }
}

impl Default for GeantEventCollection {
    fn default() -> Self {
        GeantEventCollection::new()
    }
}

impl Extend<GeantEvent> for GeantEventCollection {
    fn extend<I: IntoIterator<Item = GeantEvent>>(&mut self, events: I) {
        self.events.extend(events);
    }
}

impl FromIterator<GeantEvent> for GeantEventCollection {
    fn from_iter<I: IntoIterator<Item = GeantEvent>>(events: I) -> Self {
        let mut collection = GeantEventCollection::new();
        collection.extend(events);
        collection
    }
}

impl<'a> IntoIterator for &'a GeantEventCollection {
    type Item = &'a GeantEvent;
    type IntoIter = std::slice::Iter<'a, GeantEvent>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Placed for GeantEventCollection {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::HostOnly(&self.placement)
    }

    fn what(&self) -> &'static str {
        self.placement.what()
    }
}
