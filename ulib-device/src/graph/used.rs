//! The memory that the work of a graph uses: a launch of the graph is a use of it, and an operation on the blocks whose it is.

use crate::block::{Alive, Captured, Held};
use crate::memory::{Access, Order, SharedOrder};
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use ulib_core::Result;

/// What is used, by where it is, and what is done with it.
#[derive(Default)]
struct Places {
    memory: BTreeMap<usize, (SharedOrder, Access)>,
    blocks: BTreeMap<usize, Captured>,
}

impl Places {
    fn note(&mut self, order: &SharedOrder, access: Access) {
        let known = self
            .memory
            .entry(Arc::as_ptr(order) as usize)
            .or_insert_with(|| (Arc::clone(order), access));
        if access == Access::Write {
            known.1 = access;
        }
    }

    fn note_block(&mut self, block: &Captured) {
        self.blocks
            .entry(block.place())
            .and_modify(|known| known.and(block))
            .or_insert_with(|| block.clone());
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
        self.lock().note(order, access);
    }

    pub(crate) fn note_block(&self, block: Captured) {
        self.lock().note_block(&block);
    }
}

/// What one launch uses.
#[derive(Default)]
pub(super) struct Together {
    memory: Vec<(SharedOrder, Access)>,
    blocks: Vec<Captured>,
}

impl Together {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Used>) -> Self {
        let mut places = Places::default();
        for used in all {
            let used = used.lock();
            for (order, access) in used.memory.values() {
                places.note(order, *access);
            }
            for block in used.blocks.values() {
                places.note_block(block);
            }
        }
        Self {
            memory: places.memory.into_values().collect(),
            blocks: places.blocks.into_values().collect(),
        }
    }

    /// The blocks that are still there, for [`begun`].
    pub(super) fn blocks(&self) -> Vec<Alive<'_>> {
        self.blocks.iter().filter_map(Captured::alive).collect()
    }

    /// Makes `stream` wait for conflicting work on other streams, and remembers that it uses the memory, by the work that is put
    /// into it before the answer goes.
    pub(super) fn on(&self, stream: &Stream) -> Result<Noted<'_>> {
        let mut orders = self.locked();
        for (order, (_, access)) in orders.iter_mut().zip(&self.memory) {
            order.add(stream, *access)?;
        }
        Ok(Noted(orders))
    }

    /// All of them, locked. Others lock several in other orders, so that none is waited for while another one is held.
    fn locked(&self) -> Vec<MutexGuard<'_, Order>> {
        let mut awaited = None;
        loop {
            drop(awaited.take().map(lock));
            let mut orders = Vec::with_capacity(self.memory.len());
            for (order, _) in &self.memory {
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

/// Makes the launch an operation on the blocks: as long as the answer is there nobody else reads, changes or moves them, and they have
/// their newest values on the device. Where one has given up its device memory, none has changed.
///
/// # Errors
/// Kind `Residency` when a block has given up the device memory that the graph uses; else as an operation on them.
pub(super) fn begun<'a>(blocks: &'a [Alive<'a>]) -> Result<Vec<Held<'a>>> {
    let mut held = held(blocks)?;
    held.iter_mut().try_for_each(Held::check)?;
    held.iter_mut().try_for_each(Held::begin)?;
    Ok(held)
}

/// All of them, locked; as [`Together::locked`], since an operation may lock two at once.
fn held<'a>(blocks: &'a [Alive<'a>]) -> Result<Vec<Held<'a>>> {
    loop {
        let mut held = Vec::with_capacity(blocks.len());
        let mut awaited = None;
        for block in blocks {
            match block.hold_at_hand() {
                Some(hold) => held.push(hold),
                None => {
                    awaited = Some(block);
                    break;
                }
            }
        }
        let Some(awaited) = awaited else {
            return Ok(held);
        };
        drop(held);
        awaited.wait()?;
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
