//! The memory that the work of a graph uses: a launch of the graph is a use of it.

use crate::memory::{Access, Order, SharedOrder};
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use ulib_core::Result;

/// Memory by where its uses are remembered, and what is done with it.
type Places = BTreeMap<usize, (SharedOrder, Access)>;

fn note(places: &mut Places, order: &SharedOrder, access: Access) {
    let known = places
        .entry(Arc::as_ptr(order) as usize)
        .or_insert_with(|| (Arc::clone(order), access));
    if access == Access::Write {
        known.1 = access;
    }
}

/// What some of the work uses.
#[derive(Default)]
pub(crate) struct Used(Mutex<Places>);

impl Used {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, order: &SharedOrder, access: Access) {
        note(&mut self.lock(), order, access);
    }
}

/// What one launch uses.
#[derive(Default)]
pub(super) struct Together(Vec<(SharedOrder, Access)>);

impl Together {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Used>) -> Self {
        let mut places = Places::new();
        for used in all {
            for (order, access) in used.lock().values() {
                note(&mut places, order, *access);
            }
        }
        Self(places.into_values().collect())
    }

    /// Makes `stream` wait for conflicting work on other streams, and remembers that it uses the memory, by the work that is put
    /// into it before the answer goes.
    pub(super) fn on(&self, stream: &Stream) -> Result<Noted<'_>> {
        let mut orders = self.locked();
        for (order, (_, access)) in orders.iter_mut().zip(&self.0) {
            order.add(stream, *access)?;
        }
        Ok(Noted(orders))
    }

    /// All of them, locked. Others lock several in other orders, so that none is waited for while another one is held.
    fn locked(&self) -> Vec<MutexGuard<'_, Order>> {
        let mut awaited = None;
        loop {
            drop(awaited.take().map(lock));
            let mut orders = Vec::with_capacity(self.0.len());
            for (order, _) in &self.0 {
                match order.try_lock() {
                    Ok(order) => orders.push(order),
                    Err(TryLockError::Poisoned(poisoned)) => orders.push(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => {
                        awaited = Some(order);
                        break;
                    }
                }
            }
            if awaited.is_none() {
                return orders;
            }
        }
    }
}

fn lock(order: &SharedOrder) -> MutexGuard<'_, Order> {
    order.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody else uses the memory as long as this is there.
pub(super) struct Noted<'a>(Vec<MutexGuard<'a, Order>>);

impl Noted<'_> {
    /// The use on `stream` is over at `event`, after which the stream may be gone.
    pub(super) fn ends_at(&mut self, stream: &Stream, event: &Arc<crate::Event>) {
        for order in &mut self.0 {
            order.ends_at(stream, event);
        }
    }
}
