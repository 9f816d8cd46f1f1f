//! Scenes: objects under names, saved as documents, and the recipes that work on them.
//!
//! A [`Scene`] holds objects of any class, in order, each under a name. [`Scene::save`] writes them to a `.gcx` document, an
//! XML file with the small numbers inside and the large ones in files beside it; [`Scene::load`] reads one. The preferred
//! device of an object is saved, its location never: that is a fact about one machine. The format is described in
//! `docs/gcx.md`.
//!
//! A [`Recipe`] is the source text of a program in Python, kept in the document. Loading never runs one. A [`NativeRecipe`]
//! is the same in Rust, with the same [`Context`]; [`Scene::run`] runs it.
//!
//! ```
//! use ulib_math::scene::{Context, Scene};
//! use ulib_math::{Compute, EventTable, Placed, VoxImage};
//!
//! let mut scene = Scene::new();
//! let mut phantom: VoxImage = VoxImage::new([8, 8, 8])?;
//! phantom.set_preferred_device("Device".parse()?)?;
//! phantom.fill(0.5)?;
//! scene.insert("phantom", phantom)?;
//! scene.insert("profile", EventTable::new("slice,total")?)?;
//!
//! scene.run("sum of slices", &|ctx: &mut Context<'_>| {
//!     let totals = ctx.object::<VoxImage>("phantom")?.sum_axes(&[1, 2])?;
//!     let table = ctx.object_mut::<EventTable>("profile")?;
//!     for (slice, total) in totals.iter().enumerate() {
//!         table.add_row(&[slice as f64, *total])?;
//!     }
//!     ctx.refresh()
//! }, &mut ())?;
//!
//! let path = std::env::temp_dir().join(format!("ulib-scene-{}.gcx", std::process::id()));
//! scene.save(&path)?;
//! let again = Scene::load(&path)?;
//! assert_eq!(again.get::<EventTable>("profile")?.row(7)?, [7.0, 32.0]);
//! assert_eq!(again.get::<VoxImage>("phantom")?.preferred_device().to_string(), "Device");
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), ulib_core::Error>(())
//! ```

mod beside;
mod classes;
mod content;
mod context;
mod document;
pub mod html;
mod object;
mod recipe;
mod report;
mod section;
mod xml;

use std::any::type_name;
use std::fmt;
use std::path::Path;

use ulib_core::words::with_article;
use ulib_core::{Error, ErrorKind, Result};

pub use classes::Classes;
pub use content::{Content, Rows};
pub use context::{Context, NativeRecipe, Observer};
pub use document::{DocumentWriter, SaveOptions, read_document};
pub use object::{Class, ObjectReader, ObjectWriter, SceneObject};
pub use recipe::Recipe;
pub use report::ReportWriter;
pub use section::Section;

/// Objects under names, in the order in which they were put in.
#[derive(Default)]
pub struct Scene {
    objects: Vec<(String, Box<dyn SceneObject>)>,
}

impl Scene {
    /// A scene without objects.
    #[must_use]
    pub fn new() -> Self {
        Scene::default()
    }

    /// The scene in a document of the classes of this crate, with every object where it is preferred if that can be done.
    ///
    /// # Errors
    /// As [`read_document`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Scene::load_with(path, &Classes::new())
    }

    /// As [`load`](Scene::load), for documents with classes and voxels of the caller's own.
    ///
    /// # Errors
    /// As [`read_document`].
    pub fn load_with(path: impl AsRef<Path>, classes: &Classes) -> Result<Self> {
        let objects = read_document(path.as_ref(), classes)?;
        Ok(Scene { objects })
    }

    /// Writes the scene to a document, which replaces what has this name in one step, or stays away after an error.
    ///
    /// # Errors
    /// As [`DocumentWriter::add`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut document = DocumentWriter::create(path.as_ref(), SaveOptions::default())?;
        for (name, object) in self.iter() {
            document.add(name, object)?;
        }
        document.finish()
    }

    /// Puts an object at the end, or in the place of the one that has this name, which is returned.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty name.
    pub fn insert(
        &mut self,
        name: &str,
        object: impl SceneObject,
    ) -> Result<Option<Box<dyn SceneObject>>> {
        check_name(name)?;
        let object = Box::new(object);
        match self.position(name) {
            Ok(at) => Ok(Some(std::mem::replace(&mut self.objects[at].1, object))),
            Err(_) => {
                self.objects.push((name.to_owned(), object));
                Ok(None)
            }
        }
    }

    /// Takes an object out.
    ///
    /// # Errors
    /// `Index` when there is no such object.
    pub fn remove(&mut self, name: &str) -> Result<Box<dyn SceneObject>> {
        let at = self.position(name)?;
        Ok(self.objects.remove(at).1)
    }

    /// The object of this name.
    ///
    /// # Errors
    /// `Index` when there is no such object, naming those there are.
    pub fn object(&self, name: &str) -> Result<&dyn SceneObject> {
        Ok(self.objects[self.position(name)?].1.as_ref())
    }

    /// The object of this name and type.
    ///
    /// # Errors
    /// `Index` when there is no such object, `InvalidArgument` when it is of another type.
    pub fn get<T: SceneObject>(&self, name: &str) -> Result<&T> {
        let object = self.object(name)?;
        (object as &dyn std::any::Any)
            .downcast_ref()
            .ok_or_else(|| other_type::<T>(name, object))
    }

    /// As [`get`](Scene::get), for changing it.
    ///
    /// # Errors
    /// As [`get`](Scene::get).
    pub fn get_mut<T: SceneObject>(&mut self, name: &str) -> Result<&mut T> {
        let at = self.position(name)?;
        self.get::<T>(name)?;
        (self.objects[at].1.as_mut() as &mut dyn std::any::Any)
            .downcast_mut()
            .ok_or_else(|| Error::invalid("scene", "object", name, type_name::<T>()))
    }

    /// The names and the objects, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &dyn SceneObject)> {
        self.objects
            .iter()
            .map(|(name, object)| (name.as_str(), object.as_ref()))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Puts the numbers of every object where they are preferred, as after a change on the host.
    ///
    /// # Errors
    /// As [`Placed::update`](crate::Placed::update); the other objects are updated before the first error is returned.
    pub fn refresh(&self) -> Result<()> {
        let mut first = Ok(());
        for (name, object) in self.iter() {
            if let Err(error) = object.update() {
                first = first.and(Err(error.context(format!("refreshing '{name}'"))));
            }
        }
        first
    }

    /// Runs a recipe written in Rust. Where the scene has a [`Recipe`] object called `name`, its parameters are those of the
    /// run. What it did until an error stays.
    ///
    /// # Errors
    /// What the recipe returns, with its name.
    pub fn run(
        &mut self,
        name: &str,
        recipe: &(impl NativeRecipe + ?Sized),
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let parameters = match self.get::<Recipe>(name) {
            Ok(recipe) => recipe.parameters().to_vec(),
            Err(_) => Vec::new(),
        };
        recipe
            .run(&mut Context::new(self, parameters, observer))
            .map_err(|error| error.context(format!("recipe '{name}'")))
    }

    fn position(&self, name: &str) -> Result<usize> {
        let found = self.objects.iter().position(|(own, _)| own == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.objects.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() {
                "it has no objects".to_owned()
            } else {
                format!("only {}", known.join(", "))
            };
            let message = format!("the scene has no object '{}', {known}", name.escape_debug());
            Error::new(ErrorKind::Index, message)
        })
    }
}

impl fmt::Debug for dyn SceneObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.class().name)
            .field("size", &self.size())
            .field("location", &self.location().to_string())
            .finish()
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// What every name of an object has to be.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("scene", "name", "empty", "a name"));
    }
    Ok(())
}

fn other_type<T>(name: &str, object: &dyn SceneObject) -> Error {
    Error::invalid(
        "scene",
        format!("object '{name}'"),
        format_args!("{}, {}", with_article(object.class().name), object.size()),
        type_name::<T>(),
    )
}
