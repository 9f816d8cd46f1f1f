//! [`Classes`]: which objects documents can hold, and how those of this crate are saved and loaded.

use std::collections::BTreeMap;
use std::fmt;

use ulib_core::words::counted;
use ulib_core::{DType, DeviceStorable, Error, PreferredDevice, Result, byte_count, bytemuck};

use super::content::{Content, Rows};
use super::object::{Class, ObjectReader, ObjectWriter, SceneObject};
use super::recipe::Recipe;
use crate::collections::{Collection, FloatCollection, Line, LineCollection};
use crate::event_table::EventTable;
use crate::geant::{GeantEvent, GeantEventCollection};
use crate::grid::{DataOrder, Grid, IndexMap};
use crate::multi_vox_image::MultiVoxImage;
use crate::muon_scatter::{MuonScatter, MuonScatterCollection};
use crate::vox_image::VoxImage;
use crate::voxel::{Voxel, VoxelValue, VoxelValueCount};

/// Makes an object of what a document says of it.
type Load = fn(&ObjectReader<'_>) -> Result<Box<dyn SceneObject>>;

/// The classes of objects that a document may have, and the types of voxels.
///
/// ```
/// use ulib_core::device_storable;
/// use ulib_math::scene::{Classes, Scene};
/// use ulib_math::{Voxel, VoxImage};
///
/// device_storable! {
///     #[derive(Debug, Default, PartialEq)]
///     pub struct Weighted { pub Value: f32, pub Weight: f32 }
/// }
/// impl Voxel for Weighted {}
///
/// let path = std::env::temp_dir().join(format!("ulib-classes-{}.gcx", std::process::id()));
/// let mut scene = Scene::new();
/// scene.insert("density", VoxImage::<Weighted>::new([2, 2, 2])?)?;
/// scene.save(&path)?;
///
/// let error = Scene::load(&path).unwrap_err();
/// assert!(error.to_string().contains("Value:<f4,Weight:<f4"));
/// let scene = Scene::load_with(&path, &Classes::new().with_voxel::<Weighted>())?;
/// assert_eq!(scene.get::<VoxImage<Weighted>>("density")?.dims(), [2, 2, 2]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Classes {
    classes: BTreeMap<&'static str, (Class, Load)>,
    voxels: Vec<(String, Load)>,
}

impl Classes {
    /// Those of this crate.
    #[must_use]
    pub fn new() -> Self {
        let none = Classes {
            classes: BTreeMap::new(),
            voxels: Vec::new(),
        };
        none.with(MULTI_VOX_IMAGE, load_multi_vox_image)
            .with(EVENT_TABLE, load_event_table)
            .with(FloatCollection::CLASS, load_collection::<f32>)
            .with(LineCollection::CLASS, load_collection::<Line>)
            .with(MuonScatterCollection::CLASS, load_collection::<MuonScatter>)
            .with(GEANT_EVENT_COLLECTION, load_geant_events)
            .with(Recipe::CLASS, Recipe::load)
            .with_voxel::<VoxelValueCount>()
            .with_voxel::<VoxelValue>()
    }

    /// With one more class, or another way to load one.
    #[must_use]
    pub fn with(mut self, class: Class, load: Load) -> Self {
        self.classes.insert(class.name, (class, load));
        self
    }

    /// With images of one more type of voxels.
    #[must_use]
    pub fn with_voxel<V: Voxel>(mut self) -> Self {
        self.voxels.push((voxel_name::<V>(), load_vox_image::<V>));
        self
    }

    /// The object that a document describes, on the host, and where it is preferred.
    pub(super) fn load(
        &self,
        reader: &ObjectReader<'_>,
    ) -> Result<(Box<dyn SceneObject>, PreferredDevice)> {
        let (class, load) = self.find(reader)?;
        if reader.version > class.version || reader.version == 0 {
            return Err(Error::malformed(
                "gcx",
                format!("version of class {}", class.name),
                reader.version,
                format!("1 to {}, which is what this uLib knows", class.version),
            ));
        }
        let preferred = reader.preferred(class.preference_since)?;
        let object = load(reader)?;
        reader.check_all_used()?;
        Ok((object, preferred))
    }

    fn find(&self, reader: &ObjectReader<'_>) -> Result<(Class, Load)> {
        if reader.class == VOX_IMAGE.name {
            if reader.version > VOX_IMAGE.version {
                // Whatever its voxels are: the version is what is to be told of.
                return Ok((VOX_IMAGE, load_vox_image::<VoxelValue>));
            }
            let voxel = reader.text("Voxel")?;
            let found = self.voxels.iter().rev().find(|(name, _)| name == voxel);
            return match found {
                Some((_, load)) => Ok((VOX_IMAGE, *load)),
                None => Err(unknown(
                    "voxel",
                    voxel,
                    self.voxels.iter().map(|(name, _)| name.as_str()),
                )),
            };
        }
        match self.classes.get(reader.class.as_str()) {
            Some(found) => Ok(*found),
            None => Err(unknown(
                "class",
                &reader.class,
                self.classes.keys().copied().chain([VOX_IMAGE.name]),
            )),
        }
    }
}

impl Default for Classes {
    fn default() -> Self {
        Classes::new()
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let voxels = self.voxels.iter().map(|(name, _)| name);
        f.debug_set()
            .entries(self.classes.keys())
            .entries(voxels)
            .finish()
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    Error::malformed(
        "gcx",
        what.to_owned(),
        format_args!("'{}'", super::object::shortened(name)),
        format!("one of {}", known.collect::<Vec<_>>().join("; ")),
    )
}

/// A class whose objects have a preferred device since version 2.
const fn placed(name: &'static str) -> Class {
    Class {
        name,
        version: 2,
        preference_since: 2,
    }
}

const VOX_IMAGE: Class = placed("VoxImage");
const MULTI_VOX_IMAGE: Class = placed("MultiVoxImage");
const EVENT_TABLE: Class = placed("EventTable");
const GEANT_EVENT_COLLECTION: Class = placed("GeantEventCollection");

/// The fields of a voxel: names and types, separated by commas.
fn voxel_name<V: Voxel>() -> String {
    match V::dtype() {
        DType::Record(record) => {
            let field =
                |field: &ulib_core::Field| format!("{}:{}", field.name, field.dtype.typestr());
            record
                .fields
                .iter()
                .map(field)
                .collect::<Vec<_>>()
                .join(",")
        }
        dtype => dtype.typestr(),
    }
}

fn save_grid(grid: &Grid, out: &mut ObjectWriter<'_>) -> Result<()> {
    out.numbers("Dims", &grid.dims())?;
    out.property("DataOrder", grid.order())?;
    out.numbers("Spacing", &grid.spacing())?;
    out.numbers("Origin", &grid.origin())?;
    out.numbers("Position", &grid.position())
}

fn load_grid(reader: &ObjectReader<'_>) -> Result<Grid> {
    let dims: [usize; 3] = reader.numbers("Dims")?;
    let order: DataOrder = reader.property("DataOrder")?;
    let mut grid = if dims == [0; 3] {
        Grid::empty().with_map(IndexMap::empty(order))
    } else {
        Grid::with_order(dims, order)?
    };
    grid.set_spacing(reader.numbers("Spacing")?)?;
    grid.set_origin(reader.numbers("Origin")?)?;
    grid.set_position(reader.numbers("Position")?)?;
    Ok(grid)
}

fn voxels_of([nx, ny, nz]: [usize; 3]) -> String {
    format!("{nx} x {ny} x {nz} voxels")
}

impl<V: Voxel> SceneObject for VoxImage<V> {
    fn class(&self) -> Class {
        VOX_IMAGE
    }

    fn size(&self) -> String {
        voxels_of(self.dims())
    }

    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
        out.property("Voxel", voxel_name::<V>())?;
        save_grid(self.grid(), out)?;
        out.data("Voxels", bytemuck::cast_slice(&self.voxels()?))
    }

    fn content(&self, _limit: usize) -> Result<Content<'_>> {
        Ok(Content::Volume(self))
    }
}

fn load_vox_image<V: Voxel>(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>> {
    let grid = load_grid(reader)?;
    reader.data("Voxels", byte_count(grid.len(), size_of::<V>())?)?;
    let mut image = VoxImage::<V>::with_grid(grid)?;
    let mut voxels = image.voxels_mut()?;
    reader.read("Voxels", bytemuck::cast_slice_mut(&mut voxels))?;
    voxels.commit()?;
    Ok(Box::new(image))
}

impl SceneObject for MultiVoxImage {
    fn class(&self) -> Class {
        MULTI_VOX_IMAGE
    }

    fn size(&self) -> String {
        let (channels, components) = (self.channels(), self.components());
        format!("{}, {channels} x {components}", voxels_of(self.dims()))
    }

    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
        out.property("Channels", self.channels())?;
        out.property("Components", self.components())?;
        let (channel, component) = self.active();
        out.numbers("Active", &[channel, component])?;
        save_grid(self.grid(), out)?;
        out.data("Values", bytemuck::cast_slice(&self.elements()?))
    }

    fn content(&self, _limit: usize) -> Result<Content<'_>> {
        Ok(Content::Volume(self))
    }
}

fn load_multi_vox_image(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>> {
    let grid = load_grid(reader)?;
    let (channels, components) = (reader.property("Channels")?, reader.property("Components")?);
    let [channel, component] = reader.numbers("Active")?;
    let voxel = byte_count(byte_count(channels, components)?, size_of::<f32>())?;
    reader.data("Values", byte_count(grid.len(), voxel)?)?;
    let mut image = MultiVoxImage::with_grid(grid, channels, components)?;
    image.set_active(channel, component)?;
    let mut elements = image.elements_mut()?;
    reader.read("Values", bytemuck::cast_slice_mut(&mut elements))?;
    elements.commit()?;
    Ok(Box::new(image))
}

impl SceneObject for EventTable {
    fn class(&self) -> Class {
        EVENT_TABLE
    }

    fn size(&self) -> String {
        format!(
            "{} x {}",
            counted(self.rows(), "row"),
            counted(self.columns().len(), "column")
        )
    }

    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
        out.property("Columns", self.columns().join(","))?;
        out.property("Rows", self.rows())?;
        out.data("Cells", bytemuck::cast_slice(&self.cells()?))
    }

    fn content(&self, _limit: usize) -> Result<Content<'_>> {
        Ok(Content::Table(self))
    }
}

fn load_event_table(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>> {
    let mut table = EventTable::new(reader.text("Columns")?)?;
    let rows = reader.property("Rows")?;
    let row = byte_count(table.columns().len(), size_of::<f64>())?;
    reader.data("Cells", byte_count(rows, row)?)?;
    table.resize(rows)?;
    let mut cells = table.cells_mut()?;
    reader.read("Cells", bytemuck::cast_slice_mut(&mut cells))?;
    cells.commit()?;
    Ok(Box::new(table))
}

/// Elements of which there are collections with a class of their own.
trait Collected: DeviceStorable {
    const CLASS: Class;
    /// What they are called.
    const WHAT: &'static str;
}

macro_rules! collected {
    ($($element:ty: $class:literal, $what:literal, $rows:ident;)*) => {$(
        impl Collected for $element {
            const CLASS: Class = placed($class);
            const WHAT: &'static str = $what;
        }

        impl Collection<$element> {
            const CLASS: Class = <$element as Collected>::CLASS;
        }

        impl SceneObject for Collection<$element> {
            fn class(&self) -> Class {
                Self::CLASS
            }

            fn size(&self) -> String {
                format!("{} {}", self.len(), <$element as Collected>::WHAT)
            }

            fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
                out.property("Count", self.len())?;
                out.data("Elements", bytemuck::cast_slice(&self.elements()?))
            }

            fn content(&self, limit: usize) -> Result<Content<'_>> {
                Ok(Content::Rows(Rows::$rows(self, limit)?))
            }
        }
    )*};
}

collected! {
    f32: "FloatCollection", "floats", of_floats;
    Line: "LineCollection", "lines", of_lines;
    MuonScatter: "MuonScatterCollection", "muons", of_muons;
}

fn load_collection<T>(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>>
where
    T: Collected,
    Collection<T>: SceneObject,
{
    let count = reader.property("Count")?;
    reader.data("Elements", byte_count(count, size_of::<T>())?)?;
    let mut collection = Collection::<T>::new()?;
    collection.resize(count)?;
    let mut elements = collection.elements_mut()?;
    reader.read("Elements", bytemuck::cast_slice_mut(&mut elements))?;
    elements.commit()?;
    Ok(Box::new(collection))
}

impl SceneObject for GeantEventCollection {
    fn class(&self) -> Class {
        GEANT_EVENT_COLLECTION
    }

    fn size(&self) -> String {
        counted(self.len(), "event")
    }

    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()> {
        self.iter()
            .try_for_each(|event| out.item(&event.name, &event.path))
    }

    fn content(&self, limit: usize) -> Result<Content<'_>> {
        Ok(Content::Rows(Rows::of_events(self, limit)))
    }
}

fn load_geant_events(reader: &ObjectReader<'_>) -> Result<Box<dyn SceneObject>> {
    let event = |(name, path): &(String, String)| GeantEvent::new(path.as_str(), name.as_str());
    let events: GeantEventCollection = reader.items().iter().map(event).collect();
    Ok(Box::new(events))
}
