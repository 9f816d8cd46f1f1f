//! Documents: files of objects under names.

use std::any::Any;
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ulib_core::words::with_article;
use ulib_core::{Error, ErrorKind};
use ulib_math::scene::{
    self, Classes, DocumentWriter, ReportWriter, SaveOptions, SceneObject, read_document,
};
use ulib_math::{
    EventTable as Table, FloatCollection as Floats, GeantEventCollection as Events,
    LineCollection as Lines, MultiVoxImage as MultiImage, MuonScatterCollection as Muons,
    VoxImage as Image, VoxelValue, VoxelValueCount,
};

use super::proxy::own;
use crate::errors::IntoPyResult;
use crate::objects::event_table::EventTable;
use crate::objects::float_collection::FloatCollection;
use crate::objects::geant_event_collection::GeantEventCollection;
use crate::objects::line_collection::LineCollection;
use crate::objects::multi_vox_image::MultiVoxImage;
use crate::objects::muon_scatter_collection::MuonScatterCollection;
use crate::objects::recipe::Recipe;
use crate::objects::vox_image::{AnyImage, VoxImage};
use crate::placement::Placed;

/// The names and the objects of a document, in order. Runs nothing of what is inside.
#[pyfunction]
#[pyo3(signature = (path))]
pub(crate) fn load_document(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<Vec<(String, Bound<'_, PyAny>)>> {
    let objects = py.detach(|| read_document(&path, &Classes::new())).py()?;
    objects
        .into_iter()
        .map(|(name, object)| Ok((name, wrapped(py, object)?)))
        .collect()
}

/// Writes objects under their names to a document. Each is held while it is written, one after the other.
#[pyfunction]
#[pyo3(signature = (path, objects))]
pub(crate) fn save_document(
    py: Python<'_>,
    path: PathBuf,
    objects: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<()> {
    let objects = objects
        .iter()
        .map(|(name, object)| Ok((name, placed(object)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let mut document = py
        .detach(|| DocumentWriter::create(&path, SaveOptions::default()))
        .py()?;
    for (name, object) in objects {
        py.check_signals()?;
        object
            .get()
            .holder
            .read(py, |object| document.add(name, object.scene()))
            .py()?;
    }
    py.detach(|| document.finish()).py()
}

/// Writes a page that shows objects under their names, each as it is when it is read, and the lines of a log, of which some
/// begin a step.
#[pyfunction]
#[pyo3(signature = (path, title, objects, log))]
pub(crate) fn write_report(
    py: Python<'_>,
    path: PathBuf,
    title: &str,
    objects: Vec<(String, Bound<'_, PyAny>)>,
    log: Vec<(bool, String)>,
) -> PyResult<()> {
    let mut report = ReportWriter::new(title);
    for (name, object) in &objects {
        py.check_signals()?;
        placed(object)?
            .get()
            .holder
            .read(py, |object| report.object(name, object.scene()))
            .py()?;
    }
    for (step, text) in &log {
        match step {
            true => report.step(text),
            false => report.log(text),
        }
    }
    py.detach(|| report.write(&path)).py()
}

/// The size of an object as people say it: ``32 x 32 x 32 voxels``.
#[pyfunction]
#[pyo3(signature = (object))]
pub(crate) fn size_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let placed = placed(object)?;
    let holder = &placed.get().holder;
    holder
        .peek(object.py(), |object| Ok(object.scene().size()))
        .py()
}

/// The name of an object's class, after `a` or `an`.
#[pyfunction]
#[pyo3(signature = (object, /))]
pub(crate) fn class_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(with_article(&object.get_type().name()?.to_string()))
}

fn placed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Placed>> {
    own::<Placed>(object)?.ok_or_else(|| {
        let found = match object.get_type().fully_qualified_name() {
            Ok(name) => with_article(&name.to_string()),
            Err(error) => return error,
        };
        PyTypeError::new_err(format!("scene: {found} is no object of uLib"))
    })
}

/// An object in the class that Python has for it.
fn wrapped(py: Python<'_>, object: Box<dyn SceneObject>) -> PyResult<Bound<'_, PyAny>> {
    let class = object.class().name;
    let object: Box<dyn Any> = object;
    macro_rules! try_types {
        ($object:ident: $($type:ty: $found:ident => $init:expr;)*) => {$(
            let $object = match $object.downcast::<$type>() {
                Ok($found) => return Ok(Bound::new(py, $init)?.into_any()),
                Err(other) => other,
            };
        )*};
    }
    try_types! { object:
        Image<VoxelValueCount>: image => VoxImage::init(AnyImage::ValueCount(*image));
        Image<VoxelValue>: image => VoxImage::init(AnyImage::Value(*image));
        MultiImage: image => MultiVoxImage::init(*image);
        Table: table => EventTable::init(*table);
        Floats: floats => FloatCollection::init(*floats);
        Lines: lines => LineCollection::init(*lines);
        Muons: muons => MuonScatterCollection::init(*muons);
        Events: events => GeantEventCollection::init(*events);
        scene::Recipe: recipe => Recipe::init(*recipe);
    }
    drop(object);
    let message = format!("reading: Python has no class for {}", with_article(class));
    Err(Error::new(ErrorKind::Format, message)).py()
}
