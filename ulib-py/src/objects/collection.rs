//! What the collections have in common.

use pyo3::prelude::*;
use ulib_core::{DType, DeviceStorable, Residency, Result, bytemuck};
use ulib_math::scene::SceneObject;
use ulib_math::{BulkArray, Collection, Placed};

use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::zeros;
use crate::source::{AnyViewMut, Object, Which};

impl<T: DeviceStorable> Object for Collection<T>
where
    Collection<T>: SceneObject,
{
    fn placed(&self) -> &dyn Placed {
        self
    }

    fn scene(&self) -> &dyn SceneObject {
        self
    }

    fn arrays(&self) -> Option<&dyn BulkArray> {
        Some(self)
    }

    fn view_mut(&mut self, which: &Which) -> Result<AnyViewMut<'_>> {
        let dtype = which.dtype(self)?;
        Ok(match (dtype, which) {
            (DType::F32, Which::Field(name)) => AnyViewMut::F32(self.field_view_mut(name)?),
            (DType::F32, _) => AnyViewMut::F32(self.view_mut()?),
            (other, _) => AnyViewMut::Other(other),
        })
    }

    fn change_bytes(
        &mut self,
        overwrite: bool,
        change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        if overwrite && self.block().residency() == Residency::DeviceNewer {
            let mut elements = zeros::<T>(self.len())?;
            change(bytemuck::cast_slice_mut(&mut elements))?;
            return self.set_all(&elements);
        }
        let mut elements = self.elements_mut()?;
        change(bytemuck::cast_slice_mut(&mut elements))?;
        elements.commit()
    }
}

/// `<uLib.NAME n WHAT, LOCATION>`.
pub(crate) fn repr<T: DeviceStorable>(
    py: Python<'_>,
    shared: &Shared<Collection<T>>,
    name: &str,
    what: &str,
) -> PyResult<String>
where
    Collection<T>: SceneObject,
{
    shared
        .read(py, |items| {
            Ok(format!(
                "<uLib.{name} {} {what}, {}>",
                items.len(),
                items.location()
            ))
        })
        .py()
}

/// Three numbers of a point or a direction.
pub(crate) type Triple = [f32; 3];
