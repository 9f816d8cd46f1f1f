//! Writing a `.vtk` file: point data.

use std::io::Write;
use std::path::Path;

use ulib_core::Result;

use super::TYPES;
use crate::io::element::name_of;
use crate::io::source::write_all_at;
use crate::io::store::{Outgoing, Outline};
use crate::io::write::{whole_file, whole_stream};

/// Components that scalars can have.
const MOST_SCALARS: usize = 4;

pub(in crate::io) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    if image.ascii {
        return whole_stream(path, |stream| {
            stream.write_all(head(image).as_bytes())?;
            for array in &image.arrays {
                stream.write_all(title(image, array).as_bytes())?;
                image.write_ascii(array, stream)?;
            }
            Ok(())
        });
    }
    whole_file(path, |file| {
        let mut at = 0;
        let mut text = head(image);
        for array in &image.arrays {
            text += &title(image, array);
            write_all_at(file, at, text.as_bytes())?;
            at += text.len() as u64;
            image.write_at(array, file, at, false)?;
            at += image.bytes(array) as u64;
            text = "\n".to_owned();
        }
        write_all_at(file, at, text.as_bytes())
    })
}

fn head(image: &Outgoing<'_>) -> String {
    let [nx, ny, nz] = image.dims;
    let three = |[x, y, z]: [f64; 3]| format!("{x} {y} {z}");
    format!(
        "# vtk DataFile Version 3.0\nuLib image\n{}\nDATASET STRUCTURED_POINTS\nDIMENSIONS {nx} {ny} {nz}\nSPACING {}\nORIGIN {}\nPOINT_DATA {}\n",
        if image.ascii { "ASCII" } else { "BINARY" },
        three(image.spacing),
        three(image.origin),
        image.voxels(),
    )
}

/// The lines before the numbers of an array.
fn title(image: &Outgoing<'_>, array: &Outline) -> String {
    let (name, components) = (encoded(&array.name), array.components);
    let kind = name_of(TYPES, image.dtype).unwrap_or_default();
    if components <= MOST_SCALARS {
        return format!("SCALARS {name} {kind} {components}\nLOOKUP_TABLE default\n");
    }
    format!(
        "FIELD FieldData 1\n{name} {components} {} {kind}\n",
        image.voxels()
    )
}

/// A name as one word of printable ASCII.
fn encoded(name: &str) -> String {
    let mut word = String::new();
    for byte in name.bytes() {
        match byte {
            b'%' | b'"' => word += &format!("%{byte:02X}"),
            _ if byte.is_ascii_graphic() => word.push(byte.into()),
            _ => word += &format!("%{byte:02X}"),
        }
    }
    word
}
