//! The little that is read of PTX: version, target, entries and global variables.

use crate::gate::{Outcome, code};

/// A loaded PTX text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// PTX version, major times ten plus minor.
    pub(crate) version: u32,
    /// The architecture number in the target.
    pub(crate) target: u32,
    pub(crate) entries: Vec<String>,
    /// Offset and size in bytes of each parameter, for each entry.
    pub(crate) parameters: Vec<Vec<(usize, usize)>>,
    /// Global and constant variables with their sizes in bytes.
    pub(crate) globals: Vec<(String, u64)>,
}

impl Program {
    /// Offset and size of each parameter of an entry.
    pub(crate) fn parameters_of(&self, entry: &str) -> &[(usize, usize)] {
        let at = self.entries.iter().position(|name| name == entry);
        at.and_then(|at| self.parameters.get(at))
            .map_or(&[], Vec::as_slice)
    }

    /// Reads a text for a driver that takes PTX up to `newest` on a device of architecture `arch`.
    pub(crate) fn read(text: &str, newest: u32, arch: u32) -> Outcome<Self> {
        let text = without_comments(text);
        let signatures = signatures(&text)?;
        let mut words = text
            .split(|c: char| {
                c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';' | '{' | '}' | '=')
            })
            .filter(|word| !word.is_empty())
            .peekable();
        let mut program = Self::default();
        while let Some(word) = words.next() {
            match word {
                ".version" => {
                    let (major, minor) = words
                        .next()
                        .and_then(|v| v.split_once('.'))
                        .ok_or(code::INVALID_PTX)?;
                    let parse = |part: &str| part.parse::<u32>().map_err(|_| code::INVALID_PTX);
                    program.version = parse(major)? * 10 + parse(minor)?;
                }
                ".target" => {
                    let digits = words
                        .next()
                        .and_then(|target| target.strip_prefix("sm_"))
                        .ok_or(code::INVALID_PTX)?;
                    let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
                    program.target = digits.parse().map_err(|_| code::INVALID_PTX)?;
                }
                ".entry" => {
                    let name = words.next().ok_or(code::INVALID_PTX)?.to_owned();
                    let at = program.entries.len();
                    program.entries.push(name);
                    program
                        .parameters
                        .push(signatures.get(at).cloned().unwrap_or_default());
                }
                ".global" | ".const" => {
                    let mut size = 0;
                    while let Some(next) = words.next() {
                        if next == ".align" {
                            words.next();
                        } else if let Some(of_type) = next.strip_prefix('.') {
                            size = size_of(of_type).unwrap_or(size);
                        } else {
                            if size > 0 {
                                program.globals.push(variable(next, size)?);
                            }
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        if program.version == 0 || program.target == 0 {
            return Err(code::INVALID_PTX);
        }
        if program.version > newest {
            return Err(code::UNSUPPORTED_PTX_VERSION);
        }
        if program.target > arch {
            return Err(code::NO_BINARY_FOR_GPU);
        }
        Ok(program)
    }
}

/// Bytes of parameters that a kernel may have.
const PARAMETERS: usize = 32_764;

/// The parameters of every entry of a text, in order.
fn signatures(text: &str) -> Outcome<Vec<Vec<(usize, usize)>>> {
    text.split(".entry")
        .skip(1)
        .map(|rest| {
            let list = rest
                .split_once('(')
                // A body that begins first means that there is no list.
                .filter(|(before, _)| !before.contains('{'))
                .and_then(|(_, rest)| rest.split_once(')'))
                .map_or("", |(list, _)| list);
            let mut end = 0_usize;
            list.split(',')
                .filter_map(|one| parameter(one).transpose())
                .map(|found| {
                    let (align, size) = found?;
                    let offset = end.checked_next_multiple_of(align);
                    let fits = |end: &usize| *end <= PARAMETERS;
                    let next = offset.and_then(|offset| offset.checked_add(size).filter(fits));
                    end = next.ok_or(code::INVALID_PTX)?;
                    Ok((end - size, size))
                })
                .collect()
        })
        .collect()
}

/// Alignment and bytes of `.param .u64 name` or `.param .align 8 .b8 name[24]`.
fn parameter(text: &str) -> Outcome<Option<(usize, usize)>> {
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != ".param")
        .skip(1);
    let mut align = None;
    loop {
        let Some(word) = words.next() else {
            return Ok(None);
        };
        if word == ".align" {
            align = words.next().and_then(|word| word.parse().ok());
        } else if let Some(size) = word.strip_prefix('.').and_then(size_of) {
            let (_, bytes) = variable(words.last().ok_or(code::INVALID_PTX)?, size)?;
            return Ok(Some((align.unwrap_or(size as usize), bytes as usize)));
        }
    }
}

/// Name and bytes of a variable written `name` or `name[3]` or `name[2][4]`.
fn variable(text: &str, element: u64) -> Outcome<(String, u64)> {
    let mut parts = text.split('[');
    let name = parts.next().unwrap_or(text).to_owned();
    let bytes = parts.try_fold(element, |bytes, part| match part.trim_end_matches(']') {
        "" => Some(bytes),
        length => bytes.checked_mul(length.parse().ok()?),
    });
    Ok((name, bytes.ok_or(code::INVALID_PTX)?))
}

/// Bytes of a PTX type such as `f32` or `b8`.
fn size_of(of_type: &str) -> Option<u64> {
    let bits: u64 = of_type.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok()?;
    Some(bits / 8)
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(at) = rest.find('/') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            kept.push('/');
            Some(1)
        };
        rest = end.map_or("", |end| &rest[end..]);
    }
    kept.push_str(rest);
    kept
}

/// The newest PTX version that a driver of this CUDA version takes.
pub(crate) fn newest(driver: i32) -> u32 {
    match driver {
        13_000.. => 90,
        12_090.. => 88,
        12_080.. => 87,
        12_050.. => 85,
        12_040.. => 84,
        12_030.. => 83,
        12_020.. => 82,
        12_010.. => 81,
        12_000.. => 80,
        11_080.. => 78,
        11_040.. => 74,
        11_020.. => 72,
        _ => 70,
    }
}
