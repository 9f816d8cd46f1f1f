//! [`Recipe`]: a program in Python as an object of a scene.

use std::collections::BTreeMap;
use std::fmt;

use ulib_core::Result;
use ulib_core::words::counted;

use super::content::Content;
use super::object::{Class, ObjectReader, ObjectWriter, SceneObject};
use crate::placed::{Bulk, HostPlacement, Placed};

/// The source text of a program that works on the scene it is in, and its parameters.
///
/// This crate keeps recipes and never runs them; the Python package runs them when its user says so. The preferred device says
/// where the stage is meant to work, so that a scene reads as what it is; the text itself is always on the host.
///
/// ```
/// use ulib_math::Placed;
/// use ulib_math::scene::Recipe;
///
/// let mut recipe = Recipe::new("def run(ctx):\n    ctx.log('hello')\n");
/// recipe.set_parameter("side", "32");
/// recipe.set_preferred_device("Device".parse()?)?;
/// assert_eq!(recipe.parameters(), [("side".to_owned(), "32".to_owned())]);
/// assert_eq!(recipe.location().to_string(), "Host (these recipes cannot be copied to a device)");
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Recipe {
    source: String,
    parameters: Vec<(String, String)>,
    placement: HostPlacement,
}

impl Recipe {
    pub(super) const CLASS: Class = Class {
        name: "Recipe",
        version: 1,
        preference_since: 1,
    };

    /// A recipe without parameters.
    pub fn new(source: impl Into<String>) -> Self {
        Recipe {
            source: source.into(),
            parameters: Vec::new(),
            placement: HostPlacement::new("recipes"),
        }
    }

    /// The source text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Replaces the source text.
    pub fn set_source(&mut self, source: impl Into<String>) {
        self.source = source.into();
    }

    /// The parameters that are set, in order: names and values as texts. Those that are not set have the defaults that the
    /// program asks for them with.
    #[must_use]
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// Sets a parameter.
    pub fn set_parameter(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.parameters.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = value,
            None => self.parameters.push((name.to_owned(), value)),
        }
    }

    /// Replaces all parameters. Of two with one name the later one stays.
    pub fn set_parameters(&mut self, parameters: impl IntoIterator<Item = (String, String)>) {
        self.parameters.clear();
        let mut places = BTreeMap::new();
        for (name, value) in parameters {
            match places.get(&name) {
                Some(&place) => self.parameters[place] = (name, value),
                None => {
                    places.insert(name.clone(), self.parameters.len());
                    self.parameters.push((name, value));
                }
            }
        }
    }

    pub(super) fn load(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>> {
        let mut recipe = Recipe::new(reader.text("Source")?);
        recipe.set_parameters(reader.items().iter().cloned());
        Ok(Box::new(recipe))
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe")
            .field("size", &self.size())
            .field("parameters", &self.parameters)
            .finish()
    }
}

impl Placed for Recipe {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::HostOnly(&self.placement)
    }

    fn what(&self) -> &'static str {
        self.placement.what()
    }
}

impl SceneObject for Recipe {
    fn class(&self) -> Class {
        Recipe::CLASS
    }

    fn size(&self) -> String {
        counted(self.source.lines().count(), "line")
    }

    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
        for (name, value) in &self.parameters {
            out.item(name, value)?;
        }
        out.property("Source", &self.source)
    }

    fn content(&self, _limit: usize) -> Result<Content<'_>> {
        Ok(Content::Source {
            text: &self.source,
            parameters: &self.parameters,
        })
    }
}
