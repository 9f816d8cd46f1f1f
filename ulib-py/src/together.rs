//! Several objects held at once, for operations on more than one.
//!
//! Their locks are taken in the order of their addresses, each once, so that two threads that hold the same objects in two roles
//! never wait for each other.

use std::sync::Arc;

use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind, Result};

use crate::cell::Patience;
use crate::log;
use crate::source::{Holder, Object, Source};

/// The most objects of one operation.
const MOST: usize = 4;

/// The objects that are held: one to be changed, if any, and those to be read.
#[derive(Default)]
pub(crate) struct Objects<'a> {
    changed: Option<(usize, &'a mut dyn Object)>,
    read: [Option<(usize, &'a dyn Object)>; MOST],
}

/// Those of [`Objects`] that are to be read only.
pub(crate) struct Others<'a>([Option<(usize, &'a dyn Object)>; MOST]);

impl<'a> Objects<'a> {
    /// The object behind `source`.
    pub(crate) fn get(&self, source: &Source) -> Result<&dyn Object> {
        match &self.changed {
            Some((address, object)) if *address == source.address() => Ok(&**object),
            _ => find(&self.read, source),
        }
    }

    /// The object to be changed, and the others.
    pub(crate) fn split(self) -> Result<(&'a mut dyn Object, Others<'a>)> {
        let (_, changed) = self.changed.ok_or_else(not_held)?;
        Ok((changed, Others(self.read)))
    }

    /// The objects to be read only.
    pub(crate) fn others(&self) -> Others<'a> {
        Others(self.read)
    }

    /// The same for a shorter time.
    fn shortened<'b>(self) -> Objects<'b>
    where
        'a: 'b,
    {
        Objects {
            changed: match self.changed {
                Some((address, object)) => Some((address, object)),
                None => None,
            },
            read: self.read,
        }
    }
}

impl Others<'_> {
    /// The object behind `source`.
    pub(crate) fn get(&self, source: &Source) -> Result<&dyn Object> {
        find(&self.0, source)
    }
}

fn find<'a>(
    read: &[Option<(usize, &'a dyn Object)>; MOST],
    source: &Source,
) -> Result<&'a dyn Object> {
    read.iter()
        .flatten()
        .find(|(address, _)| *address == source.address())
        .map(|(_, object)| *object)
        .ok_or_else(not_held)
}

fn not_held() -> Error {
    Error::new(ErrorKind::Busy, "the object is not held")
}

/// One lock to take.
struct Entry<'a> {
    address: usize,
    holder: &'a Arc<dyn Holder>,
    change: bool,
}

/// Runs `work` with the object behind `changed` to be changed and those behind `read` to be read, detached from the
/// interpreter.
pub(crate) fn hold<'a, R: Send>(
    py: Python<'_>,
    changed: Option<&'a Source>,
    read: impl IntoIterator<Item = &'a Source>,
    work: impl FnOnce(Objects<'_>) -> Result<R> + Send,
) -> Result<R> {
    let mut entries: Vec<Entry<'a>> = Vec::with_capacity(MOST);
    let mut patience = Patience::Waits;
    let all = changed.into_iter().map(|source| (source, true));
    for (source, change) in all.chain(read.into_iter().map(|source| (source, false))) {
        let address = source.address();
        if entries.iter().all(|entry| entry.address != address) {
            let holder = &source.holder;
            patience = holder.patience()?;
            entries.push(Entry {
                address,
                holder,
                change,
            });
        }
    }
    entries.sort_unstable_by_key(|entry| entry.address);
    let (mut work, mut slot) = (Some(work), None);
    let taken = py.detach(|| {
        take(&entries, patience, Objects::default(), &mut |objects| {
            slot = work.take().map(|work| work(objects));
        })
    });
    log::deliver();
    taken?;
    slot.unwrap_or_else(|| Err(not_held()))
}

/// Takes the locks of `entries` one inside the other, and runs `work` with all of them.
fn take(
    entries: &[Entry<'_>],
    patience: Patience,
    held: Objects<'_>,
    work: &mut (dyn FnMut(Objects<'_>) + Send),
) -> Result<()> {
    let Some((entry, rest)) = entries.split_first() else {
        work(held);
        return Ok(());
    };
    let (mut held, mut inner) = (Some(held), Ok(()));
    let outer = if entry.change {
        entry.holder.write_detached(patience, &mut |object| {
            let mut objects = held.take().unwrap_or_default().shortened();
            objects.changed = Some((entry.address, object));
            inner = take(rest, patience, objects, work);
        })
    } else {
        entry.holder.read_detached(patience, &mut |object| {
            let mut objects = held.take().unwrap_or_default().shortened();
            if let Some(free) = objects.read.iter_mut().find(|slot| slot.is_none()) {
                *free = Some((entry.address, object));
            }
            inner = take(rest, patience, objects, work);
        })
    };
    outer.and(inner)
}
