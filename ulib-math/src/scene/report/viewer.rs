//! A volume as the page's slice viewer has it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ulib_core::{Error, Result};

use crate::memory::zeros;
use crate::ops;
use crate::picture::{Axis, ColourMap, Volume, finite_range};
use crate::scene::section::encode;

/// The longest side that is embedded, in voxels.
const LONGEST: usize = 128;

/// The viewer of a volume that has voxels.
pub(super) fn html(volume: &dyn Volume) -> Result<String> {
    let grid = volume.grid();
    let dims = grid.dims();
    let steps = dims.map(|side| side.div_ceil(LONGEST));
    let mut shape = dims;
    for (side, step) in shape.iter_mut().zip(steps) {
        *side = side.div_ceil(step);
    }
    let values = means(volume, steps, shape)?;
    let range = finite_range(values.iter().copied());
    let (low, high) = range.unwrap_or((0.0, 0.0));
    let codes: Vec<u8> = values.iter().map(|&value| code(value, low, high)).collect();
    let corner = grid.world_from_local([0.0; 3]);
    let facts = format!(
        "{{\"shape\":{shape:?},\"dims\":{dims:?},\"step\":{steps:?},\"spacing\":{:?},\"corner\":{corner:?},\"low\":{low:?},\"high\":{high:?}}}",
        grid.spacing(),
    );
    let mut html = format!(
        "<div class=\"viewer\" data-volume=\"{}\">\n<div class=\"panes\">\n",
        crate::picture::escaped(&facts)
    );
    for axis in [Axis::Z, Axis::Y, Axis::X] {
        let side = shape[axis.index()];
        html.push_str(&format!(
            "<figure data-axis=\"{}\"><div class=\"pane\"><canvas></canvas></div><figcaption><span>{axis}</span>\
             <input type=\"range\" min=\"0\" max=\"{}\" value=\"{}\" aria-label=\"slice along {axis}\"><output></output></figcaption></figure>\n",
            axis.index(),
            side - 1,
            side / 2,
        ));
    }
    html.push_str(
        "</div>\n<div class=\"controls\">\
         <label>low <input class=\"low\" type=\"range\" min=\"0\" max=\"1000\" value=\"0\"><output></output></label>\
         <label>high <input class=\"high\" type=\"range\" min=\"0\" max=\"1000\" value=\"1000\"><output></output></label>\
         <label>colours <select>",
    );
    for map in ColourMap::ALL {
        html.push_str(&format!("<option>{map}</option>"));
    }
    html.push_str("</select></label><span class=\"here\"></span></div>\n");
    if steps != [1; 3] {
        let [x, y, z] = steps;
        html.push_str(&format!(
            "<p>what is shown are the means of {x} x {y} x {z} voxels</p>\n"
        ));
    }
    html.push_str(&format!(
        "<noscript>The slices need JavaScript.</noscript>\n<script type=\"text/plain\">{}</script>\n</div>\n",
        encode(&codes).map_err(|error| Error::io("zlib", error))?
    ));
    Ok(html)
}

/// The means of blocks of so many voxels along x, y and z, x fastest; the last ones along an axis may be of fewer. Computed where the
/// volume is.
fn means(volume: &dyn Volume, steps: [usize; 3], shape: [usize; 3]) -> Result<Vec<f64>> {
    let dims = volume.grid().dims();
    let mut values = zeros(shape.iter().product())?;
    // Along an axis: the whole blocks, and what is left behind them.
    let parts = |axis: usize| {
        let (side, step) = (dims[axis], steps[axis]);
        let whole = side / step;
        [(0, whole, step), (whole, 1, side - whole * step)]
            .into_iter()
            .filter(|&(_, count, size)| count * size > 0)
    };
    for (z, deep, size_z) in parts(2) {
        for (y, high, size_y) in parts(1) {
            for (x, wide, size_x) in parts(0) {
                let view = volume
                    .grid_view()?
                    .slice_axis(0, z * steps[2], z * steps[2] + deep * size_z, 1)?
                    .slice_axis(1, y * steps[1], y * steps[1] + high * size_y, 1)?
                    .slice_axis(2, x * steps[0], x * steps[0] + wide * size_x, 1)?
                    .reshape(&[deep, size_z, high, size_y, wide, size_x])?;
                let means = ops::mean(&view, &[1, 3, 5])?;
                for (number, row) in means.into_raw_vec_and_offset().0.chunks(wide).enumerate() {
                    let (k, j) = (z + number / high, y + number % high);
                    let start = (k * shape[1] + j) * shape[0] + x;
                    values[start..start + wide].copy_from_slice(row);
                }
            }
        }
    }
    Ok(values)
}

/// 0 for NaN, else 1 to 255 from the low end to the high one.
fn code(value: f64, low: f64, high: f64) -> u8 {
    if value.is_nan() {
        0
    } else if low == high && value == low {
        128
    } else {
        // Of a single number the infinities are still at the ends. No overflow: both ends are in the range of `f32`.
        let place = if low == high {
            value - low
        } else {
            (value - low) / (high - low)
        };
        1 + (place.clamp(0.0, 1.0) * 254.0).round() as u8
    }
}

/// The colours of each map at 256 places, as a program's object.
pub(super) fn colour_maps() -> String {
    let maps: Vec<String> = ColourMap::ALL
        .into_iter()
        .map(|map| {
            let colours: Vec<u8> = (0..=255_u8)
                .flat_map(|place| map.colour(f64::from(place) / 255.0))
                .collect();
            format!("{map}:'{}'", STANDARD.encode(colours))
        })
        .collect();
    format!("{{{}}}", maps.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn codes_of_numbers() {
        let codes = |values: &[f32], low, high| -> Vec<u8> {
            values
                .iter()
                .map(|&value| code(value.into(), low, high))
                .collect()
        };
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert_eq!(
            codes(&[-1.0, 0.0, 1.0, nan, inf, -inf], -1.0, 1.0),
            [1, 128, 255, 0, 255, 1]
        );
        assert_eq!(codes(&[7.0, nan, inf, -inf], 7.0, 7.0), [128, 0, 255, 1]);
        let (low, high) = (f64::from(f32::MIN), f64::from(f32::MAX));
        assert_eq!(codes(&[f32::MIN, 0.0, f32::MAX], low, high), [1, 128, 255]);
    }
}
