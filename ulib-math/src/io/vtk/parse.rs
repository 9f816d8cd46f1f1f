//! Reading the lines of a `.vtk` file, and passing over its numbers.

use ulib_core::{DType, Result};

use super::{FORMAT, TYPES};
use crate::grid::DataOrder;
use crate::io::element::type_named;
use crate::io::text::{Lines, numbers, words};
use crate::io::volume::{Array, Data, Encoding, Input, bad, broken, checked_grid};

/// Arrays of one file.
const MOST_ARRAYS: usize = 1 << 16;

/// The arrays of a file and which of them is the default.
pub(in crate::io) fn parse(input: &Input<'_>) -> Result<(Vec<Array>, usize)> {
    let mut lines = Lines::new(FORMAT, input.all());
    let mut next = || {
        lines
            .next()?
            .ok_or_else(|| broken(FORMAT, "the file ends in its header"))
    };
    let first = next()?;
    if !first.starts_with("# vtk DataFile") {
        return Err(bad(
            FORMAT,
            "the first line",
            first,
            "# vtk DataFile Version",
        ));
    }
    next()?;
    let kind = next()?;
    let ascii = match kind.trim().to_ascii_uppercase().as_str() {
        "ASCII" => true,
        "BINARY" => false,
        _ => return Err(bad(FORMAT, "the third line", kind, "ASCII or BINARY")),
    };
    let mut parser = Parser {
        lines,
        ascii,
        dims: None,
        origin: [0.0; 3],
        spacing: [1.0; 3],
        is_points: false,
        group: None,
        arrays: Vec::new(),
        scalars: None,
    };
    parser.run()?;
    let default = parser.scalars.unwrap_or(0);
    Ok((parser.arrays, default))
}

/// What the arrays that follow belong to.
#[derive(Clone, Copy)]
struct Group {
    dims: [u64; 3],
    count: u64,
}

struct Parser<'a> {
    lines: Lines<'a>,
    ascii: bool,
    /// Points along x, y and z.
    dims: Option<[u64; 3]>,
    origin: [f64; 3],
    spacing: [f64; 3],
    is_points: bool,
    group: Option<Group>,
    arrays: Vec<Array>,
    /// The first array that is called scalars.
    scalars: Option<usize>,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<()> {
        while let Some(line) = self.lines.next()? {
            let (keyword, rest) = line
                .trim()
                .split_once(char::is_whitespace)
                .unwrap_or((line.trim(), ""));
            self.line(&keyword.to_ascii_uppercase(), rest.trim())?;
        }
        Ok(())
    }

    fn line(&mut self, keyword: &str, rest: &str) -> Result<()> {
        match keyword {
            "" => Ok(()),
            "DATASET" => {
                self.is_points = rest.eq_ignore_ascii_case("STRUCTURED_POINTS");
                if self.is_points {
                    Ok(())
                } else {
                    Err(bad(FORMAT, "DATASET", rest, "STRUCTURED_POINTS"))
                }
            }
            "DIMENSIONS" => {
                self.dims = Some(words(FORMAT, "DIMENSIONS", rest)?);
                Ok(())
            }
            "ORIGIN" => {
                self.origin = numbers(FORMAT, "ORIGIN", rest)?;
                Ok(())
            }
            "SPACING" | "ASPECT_RATIO" => {
                self.spacing = numbers(FORMAT, "SPACING", rest)?;
                Ok(())
            }
            "POINT_DATA" => self.begin("POINT_DATA", rest, Some),
            // A flat volume has cells, too.
            "CELL_DATA" => self.begin("CELL_DATA", rest, |side| Some(side.checked_sub(1)?.max(1))),
            "SCALARS" => self.scalars(rest),
            "VECTORS" | "NORMALS" => self.attribute(rest, 3),
            "TENSORS" => self.attribute(rest, 9),
            "TENSORS6" => self.attribute(rest, 6),
            "GLOBAL_IDS" | "PEDIGREE_IDS" | "EDGE_FLAGS" => self.attribute(rest, 1),
            "TEXTURE_COORDINATES" => {
                let [name, components, kind] = parts(rest, "TEXTURE_COORDINATES")?;
                self.array(name, kind, components)
            }
            "COLOR_SCALARS" => {
                let [name, components] = parts(rest, "COLOR_SCALARS")?;
                self.array(name, "unsigned_char", components)?;
                if let (true, Some(array)) = (self.ascii, self.arrays.last_mut()) {
                    array.data.encoding = Encoding::Ascii { fractions: true };
                }
                Ok(())
            }
            "LOOKUP_TABLE" => {
                let [_, colours] = parts(rest, "LOOKUP_TABLE")?;
                let colours = count("LOOKUP_TABLE", colours)?;
                self.pass(colours.saturating_mul(4), 1)
            }
            "FIELD" => {
                let [_, arrays] = parts(rest, "FIELD")?;
                self.fields(count("FIELD", arrays)?)
            }
            "METADATA" => self.metadata(),
            _ => Err(bad(FORMAT, "keyword", keyword, "one of structured points")),
        }
    }

    fn begin(
        &mut self,
        keyword: &'static str,
        rest: &str,
        side: impl Fn(u64) -> Option<u64>,
    ) -> Result<()> {
        let (Some(points), true) = (self.dims, self.is_points) else {
            return Err(broken(
                FORMAT,
                format!("{keyword} comes before DATASET STRUCTURED_POINTS and DIMENSIONS"),
            ));
        };
        let mut dims = [0; 3];
        for (own, &point) in dims.iter_mut().zip(&points) {
            *own = side(point).ok_or_else(|| {
                bad(
                    FORMAT,
                    "DIMENSIONS",
                    format!("{points:?}"),
                    "sides of at least 1",
                )
            })?;
        }
        let given = count(keyword, rest)?;
        let needs = dims
            .iter()
            .try_fold(1_u64, |product, &side| product.checked_mul(side));
        if needs != Some(given) {
            return Err(bad(
                FORMAT,
                keyword,
                format!("{given} for sides {dims:?}"),
                "their product",
            ));
        }
        self.group = Some(Group { dims, count: given });
        Ok(())
    }

    fn scalars(&mut self, rest: &str) -> Result<()> {
        let given: Vec<&str> = rest.split_ascii_whitespace().collect();
        let (name, kind, components) = match *given.as_slice() {
            [name, kind] => (name, kind, "1"),
            [name, kind, components] => (name, kind, components),
            _ => {
                return Err(bad(
                    FORMAT,
                    "SCALARS",
                    rest,
                    "a name, a type and perhaps a number of components",
                ));
            }
        };
        let table = self.lines.next()?.unwrap_or_default();
        if !table
            .trim_start()
            .to_ascii_uppercase()
            .starts_with("LOOKUP_TABLE")
        {
            return Err(bad(FORMAT, "the line after SCALARS", table, "LOOKUP_TABLE"));
        }
        let number = self.arrays.len();
        self.array(name, kind, components)?;
        self.scalars.get_or_insert(number);
        Ok(())
    }

    fn attribute(&mut self, rest: &str, components: u64) -> Result<()> {
        let [name, kind] = parts(rest, "an attribute")?;
        self.array(name, kind, &components.to_string())
    }

    /// An array of the group, whose numbers come next.
    fn array(&mut self, name: &str, kind: &str, components: &str) -> Result<()> {
        let group = self
            .group
            .ok_or_else(|| broken(FORMAT, "an array comes before POINT_DATA and CELL_DATA"))?;
        let dtype = dtype(kind)?;
        let components = count("number of components", components)?;
        let whole = usize::try_from(components)
            .map_err(|_| bad(FORMAT, "number of components", components, "fewer"))?;
        let grid = checked_grid(
            FORMAT,
            group.dims,
            DataOrder::Xyz,
            whole,
            dtype.size(),
            self.spacing,
            self.origin,
        )?;
        if self.arrays.len() == MOST_ARRAYS {
            return Err(broken(
                FORMAT,
                format!("there are more than {MOST_ARRAYS} arrays"),
            ));
        }
        let data = Data {
            file: None,
            little: self.ascii,
            encoding: if self.ascii {
                Encoding::Ascii { fractions: false }
            } else {
                Encoding::Raw
            },
            start: self.lines.position,
            len: u64::MAX,
        };
        self.arrays
            .push(Array::new(decoded(name), dtype, whole, grid, data));
        // The product fits, as the grid was checked.
        self.pass(group.count * components, dtype.size())
    }

    /// The arrays of a field: those with a row for each element are arrays as others, the rest is passed over.
    fn fields(&mut self, arrays: u64) -> Result<()> {
        for _ in 0..arrays {
            let line = loop {
                let line = self
                    .lines
                    .next()?
                    .ok_or_else(|| broken(FORMAT, "the file ends in a FIELD"))?;
                match line.trim() {
                    "" => {}
                    "METADATA" => self.metadata()?,
                    text => break text.to_owned(),
                }
            };
            let [name, components, rows, kind] = parts(&line, "an array of a FIELD")?;
            let given = count("rows of a FIELD", rows)?;
            if self.group.is_some_and(|group| group.count == given) {
                self.array(name, kind, components)?;
            } else {
                let numbers = count("components of a FIELD", components)?.saturating_mul(given);
                self.pass(numbers, dtype(kind)?.size())?;
            }
        }
        Ok(())
    }

    /// Lines up to an empty one.
    fn metadata(&mut self) -> Result<()> {
        while self
            .lines
            .next()?
            .is_some_and(|line| !line.trim().is_empty())
        {}
        Ok(())
    }

    /// Passes over numbers. The last ones of a file may be missing: whoever reads them finds out.
    fn pass(&mut self, numbers: u64, item: usize) -> Result<()> {
        if self.ascii {
            self.lines.skip_words(numbers)
        } else {
            self.lines.skip(numbers.saturating_mul(item as u64))
        }
    }
}

fn dtype(kind: &str) -> Result<DType> {
    type_named(TYPES, &kind.to_ascii_lowercase()).ok_or_else(|| {
        bad(
            FORMAT,
            "type of an array",
            kind,
            "an integer or a float of VTK of at least 8 bits",
        )
    })
}

fn count(field: &'static str, text: &str) -> Result<u64> {
    text.parse()
        .map_err(|_| bad(FORMAT, field, text, "a number"))
}

fn parts<'a, const N: usize>(text: &'a str, field: &'static str) -> Result<[&'a str; N]> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    parts
        .try_into()
        .map_err(|_| bad(FORMAT, field, text, "its name and what else belongs to it"))
}

/// A name, in which VTK writes blanks and others as `%20`.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|code| std::str::from_utf8(code).ok())
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
