//! Reading the header of a NRRD file.

use ulib_core::{DType, Result};

use super::{FORMAT, TYPES};
use crate::grid::DataOrder;
use crate::io::element::type_named;
use crate::io::source::{Disk, Section, Source};
use crate::io::text::{Lines, list};
use crate::io::volume::{
    Array, Data, Encoding, Input, bad, broken, check_directions, checked_grid,
};

/// Axes of an array that is read.
const MOST_AXES: usize = 4;

/// Kinds of axes along which there is space; all others are along the numbers of a voxel.
const SPACE_KINDS: [&str; 3] = ["domain", "space", "time"];

/// The fields of a header that matter, as text.
#[derive(Default)]
struct Fields {
    kind: Option<String>,
    dimension: Option<String>,
    sizes: Option<String>,
    encoding: Option<String>,
    endian: Option<String>,
    data_file: Option<String>,
    line_skip: Option<String>,
    byte_skip: Option<String>,
    spacings: Option<String>,
    directions: Option<String>,
    origin: Option<String>,
    kinds: Option<String>,
}

pub(in crate::io) fn parse(input: &Input<'_>) -> Result<Array> {
    let mut lines = Lines::new(FORMAT, input.all());
    let first = lines.next_of_header()?.unwrap_or_default();
    if !first.starts_with("NRRD000") {
        return Err(bad(FORMAT, "the first line", first, "NRRD0001 to NRRD0005"));
    }
    let mut fields = Fields::default();
    // A header whose data is elsewhere may end with the file.
    while let Some(line) = lines
        .next_of_header()?
        .filter(|line| !line.trim().is_empty())
    {
        if line.starts_with('#') || line.contains(":=") {
            continue;
        }
        let (field, value) = line
            .split_once(':')
            .map(|(field, value)| (field.trim().to_ascii_lowercase(), value.trim()))
            .ok_or_else(|| bad(FORMAT, "a line of the header", &line, "field: value"))?;
        fields.set(&field, value)?;
    }
    fields.array(input, lines.position)
}

impl Fields {
    fn set(&mut self, field: &str, value: &str) -> Result<()> {
        let place = match field {
            "type" => &mut self.kind,
            "dimension" => &mut self.dimension,
            "sizes" => &mut self.sizes,
            "encoding" => &mut self.encoding,
            "endian" => &mut self.endian,
            "data file" | "datafile" => &mut self.data_file,
            "line skip" | "lineskip" => &mut self.line_skip,
            "byte skip" | "byteskip" => &mut self.byte_skip,
            "spacings" => &mut self.spacings,
            "space directions" => &mut self.directions,
            "space origin" => &mut self.origin,
            "kinds" => &mut self.kinds,
            // Others describe what an image has not.
            _ => return Ok(()),
        };
        if place.is_some() {
            return Err(bad(
                FORMAT,
                "a field of the header",
                field,
                "one of its name",
            ));
        }
        *place = Some(value.to_owned());
        Ok(())
    }

    fn array(&self, input: &Input<'_>, after_header: u64) -> Result<Array> {
        let given = |field: &'static str, value: &Option<String>| {
            value
                .clone()
                .ok_or_else(|| broken(FORMAT, format!("the header has no field '{field}'")))
        };
        let sizes: Vec<u64> = list(FORMAT, "sizes", &given("sizes", &self.sizes)?, MOST_AXES)?;
        let dimension = given("dimension", &self.dimension)?;
        if dimension.parse() != Ok(sizes.len()) {
            return Err(bad(
                FORMAT,
                "dimension",
                dimension,
                "as many as there are sizes",
            ));
        }
        let kind = given("type", &self.kind)?;
        let dtype = type_named(TYPES, &kind.to_ascii_lowercase())
            .ok_or_else(|| bad(FORMAT, "type", kind, "an integer or a float of NRRD"))?;
        let vector = self.vector_axis(sizes.len())?;
        let axes: Vec<usize> = (0..sizes.len())
            .filter(|&axis| Some(axis) != vector)
            .collect();
        let components = vector.map_or(1, |axis| sizes[axis]);
        let components = usize::try_from(components)
            .map_err(|_| bad(FORMAT, "sizes", components, "fewer components"))?;
        let mut dims = [1; 3];
        for (side, &axis) in dims.iter_mut().zip(&axes) {
            *side = sizes[axis];
        }
        let (spacing, origin) = self.place(input, &axes, sizes.len())?;
        let grid = checked_grid(
            FORMAT,
            dims,
            DataOrder::Xyz,
            components,
            dtype.size(),
            spacing,
            origin,
        )?;
        let data = self.data(input, after_header, dtype)?;
        let mut array = Array::new("", dtype, components, grid, data);
        array.interleaved = components == 1 || vector == Some(0);
        Ok(array)
    }

    /// Which axis is along the numbers of a voxel: the first one or the last.
    fn vector_axis(&self, axes: usize) -> Result<Option<usize>> {
        let mut marks: Vec<Option<bool>> = vec![None; axes];
        if let Some(text) = &self.kinds {
            for (mark, word) in marks.iter_mut().zip(text.split_ascii_whitespace()) {
                let word = word.to_ascii_lowercase();
                *mark = (word != "???" && word != "none")
                    .then(|| !SPACE_KINDS.contains(&word.as_str()));
            }
        }
        if let Some(text) = &self.directions {
            for (mark, vector) in marks.iter_mut().zip(vectors(text)?) {
                *mark = Some(vector.is_none());
            }
        } else if let (Some(text), MOST_AXES) = (&self.spacings, axes) {
            // Of three axes it may be that a spacing is not known.
            for (mark, word) in marks.iter_mut().zip(text.split_ascii_whitespace()) {
                if word.eq_ignore_ascii_case("nan") {
                    mark.get_or_insert(true);
                }
            }
        }
        let vectors: Vec<usize> = (0..axes)
            .filter(|&axis| marks[axis] == Some(true))
            .collect();
        match vectors.as_slice() {
            [] if axes < MOST_AXES => Ok(None),
            &[axis] if axis == 0 || axis + 1 == axes => Ok(Some(axis)),
            _ => Err(bad(
                FORMAT,
                "kinds",
                self.kinds.as_deref().unwrap_or("not given"),
                "at most three axes of space, and for the numbers of a voxel the first or the last one",
            )),
        }
    }

    /// The spacing along the axes of space, and the origin.
    fn place(&self, input: &Input<'_>, axes: &[usize], all: usize) -> Result<([f64; 3], [f64; 3])> {
        let (mut spacing, mut origin) = ([1.0; 3], [0.0; 3]);
        if let Some(text) = &self.directions {
            let all_vectors = vectors(text)?;
            if all_vectors.len() != all {
                return Err(bad(FORMAT, "space directions", text, "one for each axis"));
            }
            let mut columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            for (number, &axis) in axes.iter().enumerate() {
                let vector = all_vectors[axis].as_deref().unwrap_or_default();
                if vector.is_empty() || vector.len() > 3 {
                    return Err(bad(
                        FORMAT,
                        "space directions",
                        text,
                        "vectors of up to three numbers",
                    ));
                }
                columns[number] = [0.0; 3];
                columns[number][..vector.len()].copy_from_slice(vector);
                spacing[number] = vector.iter().map(|c| c * c).sum::<f64>().sqrt();
            }
            check_directions(input, FORMAT, "space directions", columns)?;
        } else if let Some(text) = &self.spacings {
            let given: Vec<f64> = list(FORMAT, "spacings", text, MOST_AXES)?;
            if given.len() != all {
                return Err(bad(FORMAT, "spacings", text, "one for each axis"));
            }
            for (own, &axis) in spacing.iter_mut().zip(axes) {
                // NaN says that there is none.
                *own = if given[axis].is_nan() {
                    1.0
                } else {
                    given[axis]
                };
            }
        }
        if let Some(text) = &self.origin {
            match vectors(text)?.as_slice() {
                [Some(given)] if (1..=3).contains(&given.len()) => {
                    origin[..given.len()].copy_from_slice(given)
                }
                _ => {
                    return Err(bad(
                        FORMAT,
                        "space origin",
                        text,
                        "one vector of up to three numbers",
                    ));
                }
            }
        }
        Ok((spacing, origin))
    }

    fn data(&self, input: &Input<'_>, after_header: u64, dtype: DType) -> Result<Data> {
        let number = |field: &'static str, text: &Option<String>| match text {
            None => Ok(0),
            Some(text) => text
                .parse::<i64>()
                .map_err(|_| bad(FORMAT, field, text, "a number")),
        };
        let byte_skip = number("byte skip", &self.byte_skip)?;
        let line_skip = number("line skip", &self.line_skip)?;
        let line_skip = u64::try_from(line_skip)
            .map_err(|_| bad(FORMAT, "line skip", line_skip, "at least 0"))?;
        let file = match self.data_file.as_deref() {
            None => None,
            Some(name) if name.starts_with("LIST") || name.contains('%') => {
                return Err(bad(
                    FORMAT,
                    "data file",
                    name,
                    "one file: lists of slices are not read",
                ));
            }
            Some(name) => Some(input.beside(FORMAT, "data file", name)?),
        };
        let mut start = if file.is_some() { 0 } else { after_header };
        if line_skip > 0 {
            let other = file.as_deref().map(Disk::open).transpose()?;
            let source = other
                .as_ref()
                .map_or(input.source, |file| file as &dyn Source);
            start += lines_of(source, start, line_skip)?;
        }
        let encoding = self
            .encoding
            .as_deref()
            .unwrap_or("raw")
            .to_ascii_lowercase();
        let bytes = u64::try_from(byte_skip);
        let encoding = match (encoding.as_str(), bytes) {
            ("raw", Ok(bytes)) => {
                start = start.saturating_add(bytes);
                Encoding::Raw
            }
            ("raw", Err(_)) if byte_skip == -1 => Encoding::RawAtEnd,
            ("gzip" | "gz", Ok(skip)) => Encoding::Gzip { skip },
            ("ascii" | "text" | "txt", Ok(bytes)) => {
                start = start.saturating_add(bytes);
                Encoding::Ascii { fractions: false }
            }
            ("raw" | "gzip" | "gz" | "ascii" | "text" | "txt", Err(_)) => {
                return Err(bad(
                    FORMAT,
                    "byte skip",
                    byte_skip,
                    "at least 0, or -1 for raw data",
                ));
            }
            (other, _) => return Err(bad(FORMAT, "encoding", other, "raw, gzip or ascii")),
        };
        let little = match self
            .endian
            .as_deref()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("little") => true,
            Some("big") => false,
            None if dtype.size() == 1 || matches!(encoding, Encoding::Ascii { .. }) => true,
            other => {
                return Err(bad(
                    FORMAT,
                    "endian",
                    other.unwrap_or("not given"),
                    "little or big",
                ));
            }
        };
        Ok(Data {
            file,
            little,
            encoding,
            start,
            len: u64::MAX,
        })
    }
}

/// The bytes of so many lines.
fn lines_of(source: &dyn Source, start: u64, count: u64) -> Result<u64> {
    let mut lines = Lines::new(FORMAT, Section::new(source, start, u64::MAX));
    for _ in 0..count {
        if lines.next()?.is_none() {
            return Err(bad(
                FORMAT,
                "line skip",
                count,
                "no more lines than there are",
            ));
        }
    }
    Ok(lines.position)
}

/// Vectors like `(1,0,0) none (0,0,1)`.
fn vectors(text: &str) -> Result<Vec<Option<Vec<f64>>>> {
    let fail = || {
        bad(
            FORMAT,
            "space directions",
            text,
            "vectors like (1,0,0), or none",
        )
    };
    let mut vectors = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && vectors.len() <= MOST_AXES {
        if let Some(after) = rest.strip_prefix("none") {
            vectors.push(None);
            rest = after.trim_start();
            continue;
        }
        let (inside, after) = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .ok_or_else(fail)?;
        let numbers: Option<Vec<f64>> = inside
            .split(',')
            .map(|word| word.trim().parse().ok())
            .collect();
        vectors.push(Some(numbers.ok_or_else(fail)?));
        rest = after.trim_start();
    }
    Ok(vectors)
}
