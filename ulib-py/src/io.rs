//! Volumes and tables in files: thin functions over `ulib_math::io`.

use std::any::Any;
use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_core::words::with_article;
use ulib_core::{DType, Result};
use ulib_math::io::{self, Format, ReadImage, WriteImage};
use ulib_math::scene::SceneObject;
use ulib_math::{
    EventTable as Table, MultiVoxImage as MultiImage, VoxImage as Image, VoxelValue,
    VoxelValueCount,
};

use crate::args::Int;
use crate::errors::IntoPyResult;
use crate::objects::event_table::EventTable;
use crate::objects::image::Image as AnyImageClass;
use crate::objects::multi_vox_image::MultiVoxImage;
use crate::objects::vox_image::{AnyImage, VoxImage};
use crate::placement::Placed;
use crate::scene::proxy::own;

/// The format of this name.
fn format_of(name: &str) -> PyResult<Format> {
    let found = Format::ALL.into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        PyValueError::new_err(format!("format: {name:?} is none of {}", known.join(", ")))
    })
}

/// What to read, of what callers said.
fn reader(
    format: Option<&str>,
    scale: f64,
    arrays: Vec<String>,
    component: Option<Int>,
    any_orientation: bool,
) -> PyResult<ReadImage> {
    let mut reader = ReadImage::new()
        .scale(scale)
        .any_orientation(any_orientation);
    if let Some(format) = format {
        reader = reader.format(format_of(format)?);
    }
    for name in arrays {
        reader = reader.array(name);
    }
    if let Some(component) = component {
        reader = reader.component(crate::args::count("read_image", "component", component)?);
    }
    Ok(reader)
}

/// The image in a file.
#[pyfunction]
#[pyo3(signature = (path, *, scale=1.0, array=None, component=None, any_orientation=false, format=None, voxel_bytes=8))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn read_image<'py>(
    py: Python<'py>,
    path: PathBuf,
    scale: f64,
    array: Option<String>,
    component: Option<Int>,
    any_orientation: bool,
    format: Option<&str>,
    #[pyo3(from_py_with = crate::args::whole)] voxel_bytes: i128,
) -> PyResult<Bound<'py, VoxImage>> {
    let reader = reader(
        format,
        scale,
        array.into_iter().collect(),
        component,
        any_orientation,
    )?;
    let bytes = AnyImage::check_voxel_bytes("read_image", voxel_bytes)?;
    let image = py
        .detach(|| -> Result<AnyImage> {
            Ok(if bytes == size_of::<VoxelValue>() {
                AnyImage::Value(reader.image(&path)?)
            } else {
                AnyImage::ValueCount(reader.image(&path)?)
            })
        })
        .py()?;
    Bound::new(py, VoxImage::init(image))
}

/// The image in a file with all components of several arrays.
#[pyfunction]
#[pyo3(signature = (path, *, arrays, scale=1.0, any_orientation=false, format=None))]
pub(crate) fn read_multi_image<'py>(
    py: Python<'py>,
    path: PathBuf,
    arrays: Vec<String>,
    scale: f64,
    any_orientation: bool,
    format: Option<&str>,
) -> PyResult<Bound<'py, MultiVoxImage>> {
    let reader = reader(format, scale, arrays, None, any_orientation)?;
    let image = py.detach(|| reader.multi_image(&path)).py()?;
    Bound::new(py, MultiVoxImage::init(image))
}

/// Writes the values of an image to a file.
#[pyfunction]
#[pyo3(signature = (image, path, *, array, scale=1.0, dtype="<f4", compressed=false, ascii=false, format=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn write_image(
    image: &Bound<'_, PyAny>,
    path: PathBuf,
    array: Vec<String>,
    scale: f64,
    dtype: &str,
    compressed: bool,
    ascii: bool,
    format: Option<&str>,
) -> PyResult<()> {
    let Some(found) = own::<AnyImageClass>(image)? else {
        return Err(PyTypeError::new_err(format!(
            "write_image: {} is no image of uLib",
            with_article(&image.get_type().fully_qualified_name()?.to_string())
        )));
    };
    let mut writer = WriteImage::new()
        .scale(scale)
        .dtype(DType::from_typestr(dtype).py()?)
        .compressed(compressed)
        .ascii(ascii);
    if let Some(format) = format {
        writer = writer.format(format_of(format)?);
    }
    for name in array {
        writer = writer.array(name);
    }
    let placed = found.into_any().cast_into::<Placed>()?;
    let holder = &placed.get().holder;
    holder
        .read(image.py(), |object| write(&writer, object.scene(), &path))
        .py()
}

/// Writes whichever image the object is.
fn write(writer: &WriteImage, object: &dyn SceneObject, path: &std::path::Path) -> Result<()> {
    let any: &dyn Any = object;
    if let Some(image) = any.downcast_ref::<Image<VoxelValueCount>>() {
        return writer.image(image, path);
    }
    if let Some(image) = any.downcast_ref::<Image<VoxelValue>>() {
        return writer.image(image, path);
    }
    match any.downcast_ref::<MultiImage>() {
        Some(image) => writer.multi_image(image, path),
        None => Err(crate::source::no_image()),
    }
}

/// The table in a file, or those of its columns that are named.
#[pyfunction]
#[pyo3(signature = (path, columns=None))]
pub(crate) fn read_table(
    py: Python<'_>,
    path: PathBuf,
    columns: Option<Vec<String>>,
) -> PyResult<Bound<'_, EventTable>> {
    let table = py
        .detach(|| match &columns {
            None => io::read_table(&path),
            Some(columns) => {
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                io::read_columns(&path, &columns)
            }
        })
        .py()?;
    Bound::new(py, EventTable::init(table))
}

/// Writes a table to a file whose name says the format.
#[pyfunction]
#[pyo3(signature = (table, path))]
pub(crate) fn write_table(table: &Bound<'_, PyAny>, path: PathBuf) -> PyResult<()> {
    let Some(found) = own::<EventTable>(table)? else {
        return Err(PyTypeError::new_err(format!(
            "write_table: {} is no EventTable",
            with_article(&table.get_type().fully_qualified_name()?.to_string())
        )));
    };
    let placed = found.into_any().cast_into::<Placed>()?;
    let holder = &placed.get().holder;
    holder
        .read(table.py(), |object| {
            let any: &dyn Any = object.scene();
            match any.downcast_ref::<Table>() {
                Some(table) => io::write_table(table, &path),
                None => Err(crate::source::no_array()),
            }
        })
        .py()
}

/// What a file holds, without the numbers: its format, and of each array the name, type, components, sides and place.
#[pyfunction]
#[pyo3(signature = (path, *, format=None))]
pub(crate) fn image_info<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let reader = reader(format, 1.0, Vec::new(), None, true)?;
    let info = py.detach(|| reader.info(&path)).py()?;
    let dict = PyDict::new(py);
    dict.set_item("format", info.format.name())?;
    let arrays = info
        .arrays
        .iter()
        .map(|array| {
            let entry = PyDict::new(py);
            entry.set_item("name", &array.name)?;
            entry.set_item("typestr", array.dtype.typestr())?;
            entry.set_item("components", array.components)?;
            entry.set_item("dims", <(usize, usize, usize)>::from(array.dims))?;
            entry.set_item("spacing", <(f64, f64, f64)>::from(array.spacing))?;
            entry.set_item("origin", <(f64, f64, f64)>::from(array.origin))?;
            Ok(entry)
        })
        .collect::<PyResult<Vec<_>>>()?;
    dict.set_item("arrays", arrays)?;
    dict.set_item("default", info.default)?;
    Ok(dict)
}
