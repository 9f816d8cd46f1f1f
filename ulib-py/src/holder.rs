//! [`Holder`]: an object behind its lock, whose type is forgotten.

use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind, Result};

use crate::args::Place;
use crate::cell::{Patience, Shared};
use crate::source::{Object, no_image};

/// A question to an object, run under its lock.
pub(crate) type Question<'a> = &'a mut (dyn FnMut(&dyn Object) + Send);
/// A change to an object, run under its lock.
pub(crate) type Change<'a> = &'a mut (dyn FnMut(&mut dyn Object) + Send);

/// A [`Shared`] object whose type is forgotten.
pub(crate) trait Holder: Send + Sync {
    fn peek_dyn(&self, py: Python<'_>, question: Question<'_>) -> Result<()>;
    fn read_dyn(&self, py: Python<'_>, question: Question<'_>) -> Result<()>;
    fn write_dyn(&self, py: Python<'_>, change: Change<'_>) -> Result<()>;

    /// See [`Shared::at_hand`].
    fn at_hand_dyn(&self, question: &mut dyn FnMut(&dyn Object));

    /// The value of one voxel of an image.
    fn value(&self, py: Python<'_>, place: Place) -> Result<f32>;

    /// Sets the value of one voxel of an image.
    fn set_value(&self, py: Python<'_>, place: Place, value: f32) -> Result<()>;

    /// See [`Shared::patience`].
    fn patience(&self) -> Result<Patience>;
    /// See [`Shared::read_detached`].
    fn read_detached(&self, patience: Patience, question: Question<'_>) -> Result<()>;
    /// See [`Shared::write_detached`].
    fn write_detached(&self, patience: Patience, change: Change<'_>) -> Result<()>;
}

impl<T: Object> Holder for Shared<T> {
    fn peek_dyn(&self, py: Python<'_>, question: Question<'_>) -> Result<()> {
        self.peek(py, |object| {
            question(object);
            Ok(())
        })
    }

    fn read_dyn(&self, py: Python<'_>, question: Question<'_>) -> Result<()> {
        self.read(py, |object| {
            question(object);
            Ok(())
        })
    }

    fn write_dyn(&self, py: Python<'_>, change: Change<'_>) -> Result<()> {
        self.write(py, |object| {
            change(object);
            Ok(())
        })
    }

    fn at_hand_dyn(&self, question: &mut dyn FnMut(&dyn Object)) {
        self.at_hand(|object| question(object));
    }

    fn value(&self, py: Python<'_>, place: Place) -> Result<f32> {
        self.glance(
            |object| {
                let image = object.image_mut().ok_or_else(no_image)?;
                let index = place.flat(image.grid())?;
                image.value_at_hand(index)
            },
            || {
                self.read(py, |object| {
                    let image = object.image().ok_or_else(no_image)?;
                    image.value(place.flat(image.grid())?)
                })
            },
        )
    }

    fn set_value(&self, py: Python<'_>, place: Place, value: f32) -> Result<()> {
        self.glance(
            |object| {
                let image = object.image_mut().ok_or_else(no_image)?;
                let index = place.flat(image.grid())?;
                Ok(image.set_value_at_hand(index, value)?.then_some(()))
            },
            || {
                self.write(py, |object| {
                    let image = object.image_mut().ok_or_else(no_image)?;
                    let index = place.flat(image.grid())?;
                    image.set_value(index, value)
                })
            },
        )
    }

    fn patience(&self) -> Result<Patience> {
        self.patience()
    }

    fn read_detached(&self, patience: Patience, question: Question<'_>) -> Result<()> {
        self.read_detached(patience, |object| {
            question(object);
            Ok(())
        })
    }

    fn write_detached(&self, patience: Patience, change: Change<'_>) -> Result<()> {
        self.write_detached(patience, |object| {
            change(object);
            Ok(())
        })
    }
}

/// The answer a question left behind. A holder runs each question exactly once, so there is one.
fn answer<R>(slot: Option<Result<R>>) -> Result<R> {
    slot.unwrap_or_else(|| Err(Error::new(ErrorKind::Busy, "the object did not answer")))
}

impl dyn Holder {
    /// See [`Shared::peek`].
    pub(crate) fn peek<R: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&dyn Object) -> Result<R> + Send,
    ) -> Result<R> {
        let (mut question, mut slot) = (Some(question), None);
        self.peek_dyn(py, &mut |object| {
            slot = question.take().map(|question| question(object));
        })?;
        answer(slot)
    }

    /// See [`Shared::at_hand`]; `None` where it was not asked, too.
    pub(crate) fn at_hand<R>(&self, question: impl FnOnce(&dyn Object) -> Option<R>) -> Option<R> {
        let (mut question, mut answer) = (Some(question), None);
        self.at_hand_dyn(&mut |object| {
            answer = question.take().and_then(|question| question(object));
        });
        answer
    }

    /// See [`Shared::read`].
    pub(crate) fn read<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Object) -> Result<R> + Send,
    ) -> Result<R> {
        let (mut work, mut slot) = (Some(work), None);
        self.read_dyn(py, &mut |object| {
            slot = work.take().map(|work| work(object));
        })?;
        answer(slot)
    }

    /// See [`Shared::write`].
    pub(crate) fn write<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Object) -> Result<R> + Send,
    ) -> Result<R> {
        let (mut work, mut slot) = (Some(work), None);
        self.write_dyn(py, &mut |object| {
            slot = work.take().map(|work| work(object));
        })?;
        answer(slot)
    }
}
