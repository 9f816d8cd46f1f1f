//! Pictures of volumes and tables: thin functions over `ulib_math::picture`.

use std::any::Any;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ulib_core::Result;
use ulib_core::words::with_article;
use ulib_math::picture::{Axis, Plot, Profile, Render};
use ulib_math::scene::SceneObject;
use ulib_math::{
    EventTable as Table, MultiVoxImage as MultiImage, VoxImage, VoxelValue, VoxelValueCount,
};

use crate::args::{Int, count};
use crate::errors::IntoPyResult;
use crate::placement::Placed;
use crate::scene::proxy::own;

/// Runs an expression on the image that the object is, whichever type it has; `None` for what is no image.
macro_rules! with_image {
    ($object:expr, $image:ident => $body:expr) => {{
        let any: &dyn Any = $object;
        if let Some($image) = any.downcast_ref::<VoxImage<VoxelValueCount>>() {
            Some($body)
        } else if let Some($image) = any.downcast_ref::<VoxImage<VoxelValue>>() {
            Some($body)
        } else if let Some($image) = any.downcast_ref::<MultiImage>() {
            Some($body)
        } else {
            None
        }
    }};
}

/// Asks the object of ours that `object` is or stands for, detached. What answers `None` is of the wrong class.
fn ask<R: Send>(
    op: &str,
    wanted: &str,
    object: &Bound<'_, PyAny>,
    question: impl FnOnce(&dyn SceneObject) -> Option<Result<R>> + Send,
) -> PyResult<R> {
    let answer = match own::<Placed>(object)? {
        Some(placed) => {
            let holder = &placed.get().holder;
            holder
                .read(object.py(), |object| question(object.scene()).transpose())
                .py()?
        }
        None => None,
    };
    answer.ok_or_else(|| {
        let found = match object.get_type().fully_qualified_name() {
            Ok(name) => with_article(&name.to_string()),
            Err(error) => return error,
        };
        PyTypeError::new_err(format!("{op}: {found} is no {wanted}"))
    })
}

/// A slice or a projection of an image, as the bytes of a PNG file.
#[pyfunction]
#[pyo3(signature = (image, axis, index, projection, window, colours, size))]
pub(crate) fn render_image<'py>(
    image: &Bound<'py, PyAny>,
    axis: &str,
    index: Option<Int>,
    projection: Option<&str>,
    window: Option<(f64, f64)>,
    colours: &str,
    size: Int,
) -> PyResult<Bound<'py, PyBytes>> {
    const OP: &str = "picture";
    let size = u32::try_from(count(OP, "size", size)?).unwrap_or(u32::MAX);
    let mut render = Render::new()
        .axis(axis.parse().py()?)
        .colours(colours.parse().py()?)
        .size(size);
    if let Some(index) = index {
        render = render.slice(count(OP, "index", index)?);
    }
    if let Some(projection) = projection {
        render = render.projection(projection.parse().py()?);
    }
    if let Some((low, high)) = window {
        render = render.window(low, high);
    }
    let png = ask(
        OP,
        "image",
        image,
        |object| with_image!(object, image => render.image(image).and_then(|picture| picture.to_png())),
    )?;
    Ok(PyBytes::new(image.py(), &png))
}

/// A plot as the bytes of a PNG file, or of an SVG element.
fn drawn(plot: &Plot, svg: bool) -> Result<Vec<u8>> {
    match svg {
        true => Ok(plot.svg().into_bytes()),
        false => plot.picture()?.to_png(),
    }
}

/// Columns of a table over another one, or over the number of the row.
#[pyfunction]
#[pyo3(signature = (table, x, columns, title, svg))]
pub(crate) fn plot_table<'py>(
    table: &Bound<'py, PyAny>,
    x: Option<&str>,
    columns: Vec<String>,
    title: &str,
    svg: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let drawing = ask("plot", "EventTable", table, |object| {
        let any: &dyn Any = object;
        let table = any.downcast_ref::<Table>()?;
        let plot = Plot::of_table(table, x, &columns).map(|plot| plot.title(title));
        Some(plot.and_then(|plot| drawn(&plot, svg)))
    })?;
    Ok(PyBytes::new(table.py(), &drawing))
}

/// The means of the slices of an image along an axis.
#[pyfunction]
#[pyo3(signature = (image, axis, title, svg))]
pub(crate) fn plot_profile<'py>(
    image: &Bound<'py, PyAny>,
    axis: &str,
    title: &str,
    svg: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let axis: Axis = axis.parse().py()?;
    let drawing = ask("profile", "image", image, |object| {
        let profile = with_image!(object, image => Profile::of(image, axis))?;
        Some(profile.and_then(|profile| drawn(&profile.plot().title(title), svg)))
    })?;
    Ok(PyBytes::new(image.py(), &drawing))
}
