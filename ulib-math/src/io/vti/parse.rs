//! Reading the XML part of a `.vti` file.

use std::io::BufReader;

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use ulib_core::Result;

use super::data::{Header, check_length};
use super::xml::{DEEPEST, Xml, after_underscore, attribute, content, damaged, required};
use super::{FORMAT, TYPES};
use crate::grid::DataOrder;
use crate::io::element::type_named;
use crate::io::text::{integers, numbers};
use crate::io::volume::{
    Array, Data, Encoding, Input, bad, broken, check_directions, checked_grid,
};

/// Arrays of one file.
const MOST_ARRAYS: usize = 1 << 16;

/// The arrays of a file and which of them is the default.
pub(in crate::io) fn parse(input: &Input<'_>) -> Result<(Vec<Array>, usize)> {
    let mut parser = Parser {
        header: Header {
            wide: false,
            little: true,
        },
        compressed: false,
        image: None,
        piece: None,
        group: None,
        found: Vec::new(),
        appended: None,
    };
    let mut xml = Reader::from_reader(BufReader::new(input.all()));
    parser.run(&mut xml)?;
    parser.finish(input)
}

/// Whether an array is of the cells or of the points.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Cells,
    Points,
}

struct Parser {
    header: Header,
    compressed: bool,
    image: Option<Image>,
    /// The extent of the piece.
    piece: Option<[i64; 6]>,
    /// The group that is open and the name of its active array.
    group: Option<(Group, Option<String>)>,
    found: Vec<Found>,
    /// Whether the appended data is base64, and where it starts.
    appended: Option<(bool, u64)>,
}

/// What the element of the image says.
struct Image {
    origin: [f64; 3],
    spacing: [f64; 3],
    /// By rows.
    direction: Option<Vec<f64>>,
}

/// An array as its element describes it.
struct Found {
    group: Group,
    active: bool,
    name: String,
    kind: String,
    components: String,
    place: Place,
}

enum Place {
    Ascii(u64, u64),
    Base64(u64, u64),
    Appended(u64),
}

impl Parser {
    fn run(&mut self, xml: &mut Xml<'_>) -> Result<()> {
        let mut depth = 0_usize;
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match xml.read_event_into(&mut buffer).map_err(damaged)? {
                Event::Start(tag) if tag.name().as_ref() == "AppendedData" => {
                    let base64 = match attribute(&tag, "encoding")?.as_deref() {
                        Some("raw") => false,
                        Some("base64") => true,
                        other => {
                            return Err(bad(
                                FORMAT,
                                "encoding of AppendedData",
                                other.unwrap_or("not given"),
                                "raw or base64",
                            ));
                        }
                    };
                    self.appended = Some((base64, after_underscore(xml)?));
                    // What follows is data; nothing after it is of interest.
                    return Ok(());
                }
                Event::Start(tag) => {
                    let tag = tag.into_owned();
                    depth += 1;
                    if depth > DEEPEST {
                        return Err(broken(
                            FORMAT,
                            format!("elements are more than {DEEPEST} deep inside each other"),
                        ));
                    }
                    if tag.name().as_ref() == "DataArray" && self.group.is_some() {
                        let content = content(xml)?;
                        self.data_array(&tag, Some(content))?;
                        depth -= 1;
                    } else {
                        self.open(&tag)?;
                    }
                }
                Event::Empty(tag) if tag.name().as_ref() == "DataArray" => {
                    self.data_array(&tag, None)?
                }
                Event::Empty(tag) if !matches!(tag.name().as_ref(), "CellData" | "PointData") => {
                    self.open(&tag)?
                }
                Event::End(tag) => {
                    depth = depth.saturating_sub(1);
                    if matches!(tag.name().as_ref(), "CellData" | "PointData") {
                        self.group = None;
                    }
                }
                Event::DocType(_) => {
                    return Err(broken(
                        FORMAT,
                        "it has a DOCTYPE, which VTK's files have not",
                    ));
                }
                Event::Eof if depth > 0 => {
                    return Err(broken(FORMAT, "the file ends inside an element"));
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        match tag.name().as_ref() {
            "VTKFile" => self.file(tag),
            "ImageData" => {
                self.image = Some(Image {
                    origin: attribute(tag, "Origin")?
                        .map_or(Ok([0.0; 3]), |text| numbers(FORMAT, "Origin", &text))?,
                    spacing: attribute(tag, "Spacing")?
                        .map_or(Ok([1.0; 3]), |text| numbers(FORMAT, "Spacing", &text))?,
                    direction: attribute(tag, "Direction")?
                        .map(|text| numbers::<9>(FORMAT, "Direction", &text).map(Vec::from))
                        .transpose()?,
                });
                Ok(())
            }
            "Piece" => {
                if self.piece.is_some() {
                    return Err(broken(
                        FORMAT,
                        "it has several pieces: only whole images are read",
                    ));
                }
                let extent = required(tag, "Extent")?;
                self.piece = Some(integers(FORMAT, "Extent", &extent)?);
                Ok(())
            }
            "CellData" => {
                self.group = Some((Group::Cells, attribute(tag, "Scalars")?));
                Ok(())
            }
            "PointData" => {
                self.group = Some((Group::Points, attribute(tag, "Scalars")?));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn file(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        let kind = required(tag, "type")?;
        if kind != "ImageData" {
            return Err(bad(FORMAT, "type of VTKFile", kind, "ImageData"));
        }
        self.header.little = match attribute(tag, "byte_order")?.as_deref() {
            None | Some("LittleEndian") => true,
            Some("BigEndian") => false,
            Some(other) => {
                return Err(bad(
                    FORMAT,
                    "byte_order",
                    other,
                    "LittleEndian or BigEndian",
                ));
            }
        };
        self.header.wide = match attribute(tag, "header_type")?.as_deref() {
            None | Some("UInt32") => false,
            Some("UInt64") => true,
            Some(other) => return Err(bad(FORMAT, "header_type", other, "UInt32 or UInt64")),
        };
        self.compressed = match attribute(tag, "compressor")?.as_deref() {
            None | Some("") => false,
            Some("vtkZLibDataCompressor") => true,
            Some(other) => return Err(bad(FORMAT, "compressor", other, "vtkZLibDataCompressor")),
        };
        Ok(())
    }

    fn data_array(&mut self, tag: &BytesStart<'_>, content: Option<(u64, u64)>) -> Result<()> {
        let Some((group, active)) = &self.group else {
            return Ok(());
        };
        let name = attribute(tag, "Name")?.unwrap_or_default();
        let text = |content: Option<(u64, u64)>| {
            content.ok_or_else(|| bad(FORMAT, "DataArray", &name, "an element with numbers in it"))
        };
        let format = attribute(tag, "format")?;
        let place = match format.as_deref() {
            None | Some("ascii") => text(content).map(|(start, end)| Place::Ascii(start, end))?,
            Some("binary") => text(content).map(|(start, end)| Place::Base64(start, end))?,
            Some("appended") => {
                let offset = required(tag, "offset")?;
                Place::Appended(
                    offset
                        .trim()
                        .parse()
                        .map_err(|_| bad(FORMAT, "offset", offset, "a number of bytes"))?,
                )
            }
            Some(other) => {
                return Err(bad(
                    FORMAT,
                    "format of DataArray",
                    other,
                    "ascii, binary or appended",
                ));
            }
        };
        if self.found.len() == MOST_ARRAYS {
            return Err(broken(
                FORMAT,
                format!("there are more than {MOST_ARRAYS} arrays"),
            ));
        }
        self.found.push(Found {
            group: *group,
            active: active.as_ref() == Some(&name),
            name,
            kind: required(tag, "type")?,
            components: attribute(tag, "NumberOfComponents")?.unwrap_or_else(|| "1".into()),
            place,
        });
        Ok(())
    }

    fn finish(self, input: &Input<'_>) -> Result<(Vec<Array>, usize)> {
        let missing = |what: &'static str| broken(FORMAT, format!("there is no element {what}"));
        let image = self.image.as_ref().ok_or_else(|| missing("ImageData"))?;
        let extent = self.piece.ok_or_else(|| missing("Piece"))?;
        if let Some(rows) = &image.direction {
            let columns =
                std::array::from_fn(|axis| std::array::from_fn(|row| rows[3 * row + axis]));
            check_directions(input, FORMAT, "Direction", columns)?;
        }
        let mut arrays = Vec::new();
        for found in &self.found {
            arrays.push(self.array(input, image, extent, found)?);
        }
        let by = |group: Group, active: bool| {
            self.found
                .iter()
                .position(|found| found.group == group && (found.active || !active))
        };
        let default = by(Group::Cells, true)
            .or_else(|| by(Group::Points, true))
            .or_else(|| by(Group::Cells, false))
            .unwrap_or(0);
        Ok((arrays, default))
    }

    fn array(
        &self,
        input: &Input<'_>,
        image: &Image,
        extent: [i64; 6],
        found: &Found,
    ) -> Result<Array> {
        let bad_extent = || {
            bad(
                FORMAT,
                "Extent",
                format!("{extent:?}"),
                "three ascending pairs",
            )
        };
        let mut dims = [0; 3];
        for (axis, side) in dims.iter_mut().enumerate() {
            let length = extent[2 * axis + 1]
                .checked_sub(extent[2 * axis])
                .ok_or_else(bad_extent)?;
            let length = u64::try_from(length).map_err(|_| bad_extent())?;
            *side = match found.group {
                Group::Points => length + 1,
                // A flat image has cells, too.
                Group::Cells => length.max(1),
            };
        }
        let origin = std::array::from_fn(|axis| {
            image.origin[axis] + extent[2 * axis] as f64 * image.spacing[axis]
        });
        let dtype = type_named(TYPES, &found.kind).ok_or_else(|| {
            bad(
                FORMAT,
                "type of DataArray",
                &found.kind,
                "an integer or a float of VTK",
            )
        })?;
        let components = found.components.trim().parse().map_err(|_| {
            bad(
                FORMAT,
                "NumberOfComponents",
                &found.components,
                "a number of at least 1",
            )
        })?;
        let grid = checked_grid(
            FORMAT,
            dims,
            DataOrder::Xyz,
            components,
            dtype.size(),
            image.spacing,
            origin,
        )?;
        let data = |encoding, start, len| Data {
            file: None,
            little: self.header.little,
            encoding,
            start,
            len,
        };
        let base64 = Encoding::VtkBase64 {
            header: self.header,
            compressed: self.compressed,
        };
        let data = match found.place {
            Place::Ascii(start, end) => {
                data(Encoding::Ascii { fractions: false }, start, end - start)
            }
            Place::Base64(start, end) => data(base64, start, end - start),
            Place::Appended(offset) => {
                let (is_base64, start) = self.appended.ok_or_else(|| {
                    broken(
                        FORMAT,
                        "an array has an offset, and there is no AppendedData",
                    )
                })?;
                let start = start.saturating_add(offset);
                match (is_base64, self.compressed) {
                    (true, _) => data(base64, start, u64::MAX),
                    (false, true) => data(
                        Encoding::VtkBlocks {
                            header: self.header,
                        },
                        start,
                        u64::MAX,
                    ),
                    (false, false) => data(Encoding::Raw, start, u64::MAX),
                }
            }
        };
        let mut array = Array::new(found.name.clone(), dtype, components, grid, data);
        if let Encoding::Raw = array.data.encoding {
            let mut length = [0; 8];
            let length = &mut length[..self.header.size()];
            input
                .source
                .read_exact_at(array.data.start, length)
                .map_err(|_| {
                    bad(
                        FORMAT,
                        "offset",
                        format!("{:?}", offset_of(found)),
                        "one inside the file",
                    )
                })?;
            check_length(self.header.get(length), array.bytes())?;
            array.data.start += length.len() as u64;
        }
        Ok(array)
    }
}

fn offset_of(found: &Found) -> u64 {
    match found.place {
        Place::Appended(offset) => offset,
        Place::Ascii(start, _) | Place::Base64(start, _) => start,
    }
}
