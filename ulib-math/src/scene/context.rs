//! [`Context`]: what a recipe written in Rust works with, the same as what one in Python is given.

use std::fmt::{self, Display};
use std::str::FromStr;

use ulib_core::{Error, Result};

use super::Scene;
use super::object::SceneObject;

/// A recipe written in Rust. Closures that take a [`Context`] are some.
pub trait NativeRecipe {
    /// Works on the scene.
    ///
    /// # Errors
    /// Whatever goes wrong; what was done until then stays in the scene.
    fn run(&self, ctx: &mut Context<'_>) -> Result<()>;
}

impl<F: Fn(&mut Context<'_>) -> Result<()>> NativeRecipe for F {
    fn run(&self, ctx: &mut Context<'_>) -> Result<()> {
        self(ctx)
    }
}

/// Who watches a run: a program's window, a console, nobody (`()`).
pub trait Observer {
    /// The recipe says something.
    fn log(&mut self, _text: &str) {}

    /// So much of the work is done. Answers whether to go on.
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        true
    }

    /// The recipe has refreshed the scene.
    fn refreshed(&mut self, _scene: &Scene) {}
}

impl Observer for () {}

/// The scene as a recipe sees it while it runs.
pub struct Context<'a> {
    scene: &'a mut Scene,
    parameters: Vec<(String, String)>,
    observer: &'a mut dyn Observer,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        scene: &'a mut Scene,
        parameters: Vec<(String, String)>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Context {
            scene,
            parameters,
            observer,
        }
    }

    /// The scene itself.
    pub fn scene(&mut self) -> &mut Scene {
        self.scene
    }

    /// The object of this name and type.
    ///
    /// # Errors
    /// As [`Scene::get`].
    pub fn object<T: SceneObject>(&self, name: &str) -> Result<&T> {
        self.scene.get(name)
    }

    /// As [`object`](Context::object), for changing it.
    ///
    /// # Errors
    /// As [`Scene::get`].
    pub fn object_mut<T: SceneObject>(&mut self, name: &str) -> Result<&mut T> {
        self.scene.get_mut(name)
    }

    /// The parameter of this name as it is set in the scene's [`Recipe`](super::Recipe), or `default`.
    ///
    /// # Errors
    /// `InvalidArgument` when what is set is no `T`.
    pub fn parameter<T: FromStr<Err: Display>>(&self, name: &str, default: T) -> Result<T> {
        match self.parameters.iter().find(|(own, _)| own == name) {
            None => Ok(default),
            Some((_, text)) => text.parse().map_err(|error: T::Err| {
                Error::invalid(
                    "parameter",
                    name.to_owned(),
                    format_args!("'{text}'"),
                    error.to_string(),
                )
            }),
        }
    }

    /// Puts the numbers of every object where they are preferred, and tells the observer.
    ///
    /// # Errors
    /// As [`Scene::refresh`].
    pub fn refresh(&mut self) -> Result<()> {
        self.scene.refresh()?;
        self.observer.refreshed(self.scene);
        Ok(())
    }

    /// Says something to whoever watches.
    pub fn log(&mut self, text: impl Display) {
        self.observer.log(&text.to_string());
    }

    /// Says how much of the work is done.
    ///
    /// # Errors
    /// `Interrupted` when whoever watches wants it to stop.
    pub fn progress(&mut self, done: u64, total: u64) -> Result<()> {
        if self.observer.progress(done, total) {
            Ok(())
        } else {
            Err(Error::interrupted("recipe"))
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("scene", &self.scene)
            .field("parameters", &self.parameters)
            .finish()
    }
}
