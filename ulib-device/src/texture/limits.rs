//! What devices allow: the sizes of arrays of each kind.

use ulib_core::{Error, Result};

use super::{ArrayDescriptor, ArrayKind};
use crate::Device;
use crate::sys::CUdevice_attribute as Attribute;

impl ArrayDescriptor {
    /// Checks the sizes against one of several bounds.
    pub(super) fn check_limits(
        &self,
        op: &'static str,
        device: &Device,
        bounds: &[Bounds],
    ) -> Result<()> {
        let mut first = Ok(());
        for bound in bounds {
            let checked = self.check_bound(op, device, bound);
            if checked.is_ok() {
                return Ok(());
            }
            first = first.and(checked);
        }
        first
    }

    fn check_bound(&self, op: &'static str, device: &Device, bounds: &Bounds) -> Result<()> {
        let sizes = [
            ("width", self.width),
            ("height", self.height),
            ("depth", self.depth),
        ];
        for ((name, size), attribute) in sizes.into_iter().zip(bounds) {
            if let Some(attribute) = attribute {
                check_most(op, name, size, device, *attribute)?;
            }
        }
        Ok(())
    }
}

/// `size` is at most what the device's attribute says. A device that does not say leaves it to the driver.
pub(super) fn check_most(
    op: &'static str,
    name: &'static str,
    size: usize,
    device: &Device,
    attribute: Attribute,
) -> Result<()> {
    let most = device.attribute(attribute).unwrap_or(0);
    match usize::try_from(most) {
        Ok(most) if most > 0 && size > most => {
            let expected = format!("at most {most} on {device}");
            Err(Error::invalid(op, name, size, expected))
        }
        _ => Ok(()),
    }
}

/// The attributes that bound width, height and depth.
pub(super) type Bounds = [Option<Attribute>; 3];

macro_rules! bounds {
    ($($name:ident)*) => { [$(bounds!(@ $name)),*] };
    (@ NONE) => { None };
    (@ $name:ident) => { Some(Attribute::$name) };
}

pub(super) const GATHER: [Bounds; 1] = [bounds!(
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT
    NONE
)];

/// The bounds of a kind of array; any one of them is enough.
pub(super) fn bounds(kind: ArrayKind) -> &'static [Bounds] {
    match kind {
        ArrayKind::Line => {
            const { &[bounds!(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH NONE NONE)] }
        }
        ArrayKind::Plane => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT
                    NONE
                )]
            }
        }
        ArrayKind::Volume => {
            const {
                &[
                    bounds!(
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH
                    ),
                    bounds!(
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE
                    ),
                ]
            }
        }
        ArrayKind::LayeredLine => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH
                    NONE
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS
                )]
            }
        }
        ArrayKind::LayeredPlane => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS
                )]
            }
        }
        ArrayKind::Cubemap => {
            const { &[bounds!(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH NONE NONE)] }
        }
        ArrayKind::LayeredCubemap => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
                    NONE
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
                )]
            }
        }
    }
}

/// [`bounds`] of arrays that kernels write.
pub(super) fn surface_bounds(kind: ArrayKind) -> &'static [Bounds] {
    match kind {
        ArrayKind::Line => {
            const { &[bounds!(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH NONE NONE)] }
        }
        ArrayKind::Plane => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT
                    NONE
                )]
            }
        }
        ArrayKind::Volume => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH
                )]
            }
        }
        ArrayKind::LayeredLine => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH
                    NONE
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS
                )]
            }
        }
        ArrayKind::LayeredPlane => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS
                )]
            }
        }
        ArrayKind::Cubemap => {
            const { &[bounds!(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH NONE NONE)] }
        }
        ArrayKind::LayeredCubemap => {
            const {
                &[bounds!(
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH
                    NONE
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS
                )]
            }
        }
    }
}
