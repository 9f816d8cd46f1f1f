//! A volume as the page's slice viewer has it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ulib_core::{Error, Result};

use crate::picture::{Axis, ColourMap, Volume, finite_range, numbers};
use crate::scene::section::encode;

/// The longest side that is embedded, in voxels.
const LONGEST: usize = 128;

/// The viewer of a volume that has voxels.
pub(super) fn html(volume: &dyn Volume) -> Result<String> {
    let grid = volume.grid();
    let dims = grid.dims();
    // Of each so many voxels the one in the middle.
    let steps = dims.map(|side| side.div_ceil(LONGEST));
    let firsts = steps.map(|step| step / 2);
    let mut view = volume.grid_view()?;
    for axis in Axis::ALL {
        let (step, first) = (steps[axis.index()], firsts[axis.index()]);
        let first = first.min(dims[axis.index()] - 1);
        view = view.slice_axis(axis.of_array(), first, dims[axis.index()], step as isize)?;
    }
    let shape = [view.shape()[2], view.shape()[1], view.shape()[0]];
    let values = numbers(&view)?;
    let range = finite_range(values.iter().copied().map(f64::from));
    let (low, high) = range.unwrap_or((0.0, 0.0));
    let codes: Vec<u8> = values.iter().map(|&value| code(value, low, high)).collect();
    let corner = grid.world_from_local([0.0; 3]);
    let facts = format!(
        "{{\"shape\":{shape:?},\"dims\":{dims:?},\"step\":{steps:?},\"first\":{firsts:?},\"spacing\":{:?},\"corner\":{corner:?},\"low\":{low:?},\"high\":{high:?}}}",
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
            "<p>one voxel of every {x} x {y} x {z} is shown</p>\n"
        ));
    }
    html.push_str(&format!(
        "<noscript>The slices need JavaScript.</noscript>\n<script type=\"text/plain\">{}</script>\n</div>\n",
        encode(&codes).map_err(|error| Error::io("zlib", error))?
    ));
    Ok(html)
}

/// 0 for NaN, else 1 to 255 from the low end to the high one.
fn code(value: f32, low: f64, high: f64) -> u8 {
    let value = f64::from(value);
    if value.is_nan() {
        0
    } else if low == high && value == low {
        128
    } else {
        // Of a single number the infinities are still at the ends. No overflow: both ends are `f32`.
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
            values.iter().map(|&value| code(value, low, high)).collect()
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
