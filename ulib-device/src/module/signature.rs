//! What the kernels of a PTX text take: the kinds and sizes of their parameters.
//!
//! Read carefully, and only as far as it is understood: a kernel whose parameters are written in a way that is not known here is
//! left out, and then checked by what the driver tells alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a parameter of a kernel is, or a value given for one.
///
/// # Examples
/// ```
/// use ulib_device::module::ParameterKind;
///
/// assert!(ParameterKind::Float.takes(ParameterKind::Float));
/// assert!(!ParameterKind::Float.takes(ParameterKind::Integer));
/// assert!(ParameterKind::Struct.takes(ParameterKind::Integer));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParameterKind {
    /// Not known: a program that is not PTX, nor compiled here; a value that is plain bytes.
    #[default]
    Unknown,
    /// An integer, a character, a bool, or an address: PTX does not tell them apart.
    Integer,
    /// A floating-point number.
    Float,
    /// Several numbers: a struct (half precision, complex numbers and vectors among them) or an array.
    Struct,
}

impl ParameterKind {
    /// Whether a parameter of this kind takes a value of the other one, of the right size.
    #[must_use]
    pub fn takes(self, value: Self) -> bool {
        match self {
            Self::Integer => !matches!(value, Self::Float | Self::Struct),
            Self::Float => !matches!(value, Self::Integer | Self::Struct),
            Self::Unknown | Self::Struct => true,
        }
    }

    /// What stands in messages for a parameter, or a value, of so many bytes.
    #[must_use]
    pub fn describe(self, bytes: usize) -> String {
        match self {
            Self::Unknown => format!("{bytes} bytes"),
            Self::Integer => format!("an integer of {bytes} bytes"),
            Self::Float => format!("a floating-point number of {bytes} bytes"),
            Self::Struct => format!("a struct of {bytes} bytes"),
        }
    }
}

/// A parameter as PTX declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) kind: ParameterKind,
    pub(crate) size: u32,
    pub(crate) align: u32,
}

/// The parameters of the kernels of a program, by their names. Clones are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signatures(Arc<HashMap<Box<str>, Box<[Declared]>>>);

/// What begins a kernel.
const WORD: &str = ".entry";

/// Bytes of a parameter beyond which nothing is believed; kernels have far less for all of them.
const MOST: u32 = 1 << 20;

impl Signatures {
    /// Those of a PTX text.
    pub(crate) fn of(ptx: &str) -> Self {
        let text = without_long_comments(ptx);
        let mut found = HashMap::new();
        let mut rest = &*text;
        // Whether what follows on this line is a comment, or may be a string.
        let mut commented = false;
        while let Some(at) = rest.find(WORD) {
            let (before, after) = (&rest[..at], &rest[at + WORD.len()..]);
            rest = after;
            let line = match before.rsplit_once('\n') {
                Some((_, line)) => {
                    commented = false;
                    line
                }
                None => before,
            };
            commented |= line.contains("//") || line.contains('"');
            let alone = before.chars().next_back().is_none_or(char::is_whitespace)
                && after.starts_with(char::is_whitespace);
            if commented || !alone {
                continue;
            }
            let Some((name, parameters, behind)) = entry(after) else {
                break;
            };
            rest = behind;
            if let Some(parameters) = parameters {
                found.entry(name.into()).or_insert(parameters);
            }
        }
        Self(Arc::new(found))
    }

    /// Those of an image: of PTX, or of none.
    pub(crate) fn of_image(image: &[u8]) -> Self {
        let text = image.strip_suffix(b"\0").unwrap_or(image);
        // A binary begins with bytes that are no text.
        match core::str::from_utf8(text) {
            Ok(text) => Self::of(text),
            Err(_) => Self::default(),
        }
    }

    /// These and others.
    pub(crate) fn extend(&mut self, other: &Self) {
        Arc::make_mut(&mut self.0).extend(
            other
                .0
                .iter()
                .map(|(name, parameters)| (name.clone(), parameters.clone())),
        );
    }

    /// The parameters of a kernel, if they are known.
    pub(crate) fn get(&self, name: &str) -> Option<&[Declared]> {
        self.0.get(name).map(|found| &**found)
    }

    /// All kernels in the order of their names.
    pub(crate) fn sorted(&self) -> Vec<(&str, &[Declared])> {
        let mut all: Vec<_> = self.0.iter().map(|(name, p)| (&**name, &**p)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }
}

impl FromIterator<(Box<str>, Box<[Declared]>)> for Signatures {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Box<[Declared]>)>>(all: I) -> Self {
        Self(Arc::new(all.into_iter().collect()))
    }
}

fn without_long_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        kept.push_str(&rest[..at]);
        kept.push(' ');
        let inside = &rest[at + 2..];
        rest = inside.find("*/").map_or("", |end| &inside[end + 2..]);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The parameters of a kernel, if they are understood.
type Known = Option<Box<[Declared]>>;

/// Name and parameters of an entry, if they are understood, and what follows them, from behind `.entry`; nothing if the text ends
/// before.
fn entry(text: &str) -> Option<(&str, Known, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')))?;
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Some((name, None, rest));
    }
    let Some(list) = rest.trim_start().strip_prefix('(') else {
        return Some((name, Some(Box::default()), rest));
    };
    let (list, behind) = list.split_once(')')?;
    let mut code = String::with_capacity(list.len());
    for line in list.lines() {
        code.push_str(line.split_once("//").map_or(line, |(code, _)| code));
        code.push(' ');
    }
    let parameters = if code.trim().is_empty() {
        Some(Box::default())
    } else {
        code.split(',').map(parameter).collect()
    };
    Some((name, parameters, behind))
}

/// `.param .u64 .ptr .global .align 8 name` or `.param .align 8 .b8 name[24]`, if it is understood.
fn parameter(text: &str) -> Option<Declared> {
    let mut align = None;
    let mut lanes = 1;
    let mut number = None;
    let mut words = words(text).into_iter();
    if words.next()? != ".param" {
        return None;
    }
    let name = loop {
        match words.next()? {
            ".align" if number.is_none() => align = Some(words.next()?.parse::<u32>().ok()?),
            // What it points to, and how that is aligned.
            ".align" => {
                words.next()?;
            }
            ".ptr" | ".global" | ".const" | ".shared" | ".local" | ".generic"
                if number.is_some() => {}
            ".v2" if number.is_none() => lanes = 2,
            ".v4" if number.is_none() => lanes = 4,
            word if word.starts_with('.') && number.is_none() => number = Some(number_of(word)?),
            word if !word.starts_with('.') => break word,
            _ => return None,
        }
    };
    let (kind, bytes) = number?;
    let mut size = bytes * lanes;
    let mut kind = if lanes > 1 {
        ParameterKind::Struct
    } else {
        kind
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%')) {
        return None;
    }
    while let Some(word) = words.next() {
        if word != "[" {
            return None;
        }
        let count: u32 = words.next()?.parse().ok()?;
        size = size.checked_mul(count).filter(|size| *size <= MOST)?;
        kind = ParameterKind::Struct;
        if words.next()? != "]" {
            return None;
        }
    }
    let align = align.unwrap_or(bytes * lanes);
    align
        .is_power_of_two()
        .then_some(Declared { kind, size, align })
}

/// A text in words: each dot begins one, and brackets are words.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (at, c) in text.char_indices() {
        if at > begin && (c.is_whitespace() || matches!(c, '.' | '[' | ']')) {
            found.push(&text[begin..at]);
            begin = at;
        }
        if c.is_whitespace() {
            begin = at + c.len_utf8();
        } else if matches!(c, '[' | ']') {
            found.push(&text[at..=at]);
            begin = at + 1;
        }
    }
    if begin < text.len() {
        found.push(&text[begin..]);
    }
    found
}

/// Kind and bytes of a type of one number.
fn number_of(word: &str) -> Option<(ParameterKind, u32)> {
    use ParameterKind::{Float, Integer, Struct, Unknown};
    Some(match word {
        ".u8" | ".s8" => (Integer, 1),
        ".u16" | ".s16" => (Integer, 2),
        ".u32" | ".s32" => (Integer, 4),
        ".u64" | ".s64" => (Integer, 8),
        ".f16" => (Float, 2),
        ".f32" => (Float, 4),
        ".f64" => (Float, 8),
        ".b8" => (Unknown, 1),
        ".b16" => (Unknown, 2),
        ".b32" => (Unknown, 4),
        ".b64" => (Unknown, 8),
        ".f16x2" => (Struct, 4),
        ".b128" => (Struct, 16),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::ParameterKind::{Float, Integer, Struct, Unknown};
    use super::*;

    fn declared(text: &str, name: &str) -> Option<Vec<(ParameterKind, u32, u32)>> {
        let found = Signatures::of(text);
        let found = found.get(name)?;
        Some(found.iter().map(|d| (d.kind, d.size, d.align)).collect())
    }

    #[test]
    fn kinds_sizes_and_alignments_are_those_of_the_text() {
        let text = "
.version 8.0
.visible .entry _Z1kIfEvPT_(
	.param .u64 .ptr .global .align 16 a,
	.param .f32 b, // , .param .u64 commented
	.param .align 2 .b8 half[2],
	.param .align 8 .b8 pair[16],
	.param.s8 c,
	.param .b16 bits,
	.param .v2 .f32 lanes,
	.param .f64 table [2] [3]
)
.maxntid 128, 1, 1
{
    ret;
}
.visible .entry none() { ret; }
.weak .entry bare { ret; }
";
        assert_eq!(
            declared(text, "_Z1kIfEvPT_"),
            Some(vec![
                (Integer, 8, 8),
                (Float, 4, 4),
                (Struct, 2, 2),
                (Struct, 16, 8),
                (Integer, 1, 1),
                (Unknown, 2, 2),
                (Struct, 8, 8),
                (Struct, 48, 8),
            ])
        );
        assert_eq!(declared(text, "none"), Some(vec![]));
        assert_eq!(declared(text, "bare"), Some(vec![]));
        assert_eq!(declared(text, "missing"), None);
    }

    #[test]
    fn comments_and_strings_are_not_read() {
        let text = "
// .visible .entry a(.param .u32 x) .entry a2(.param .u32 x)
/* .entry b(.param .u32 x)
   .entry c() */
.file 1 \"/home/a .entry d( .param .u32 x )/k.cu\"
.entry e /* ( */ ( .param .f64 /* .u32 */ x )
x.entry f()
.entryg()
";
        for name in ["a", "a2", "b", "c", "d", "f", "g"] {
            assert_eq!(declared(text, name), None, "{name}");
        }
        assert_eq!(declared(text, "e"), Some(vec![(Float, 8, 8)]));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        for list in [
            ".param .texref t",
            ".param .u32",
            ".param u32 x",
            ".reg .u32 x",
            ".param .u32 x y",
            ".param .u32 x[",
            ".param .u32 x[n]",
            ".param .u32 x[4294967295]",
            ".param .align 3 .b8 x[3]",
            ".param .u32 x,",
            ".param .u32 5",
            "x",
        ] {
            let text = format!(".entry k({list}) {{ }}\n.entry other() {{ }}");
            assert_eq!(declared(&text, "k"), None, "{list}");
            assert_eq!(declared(&text, "other"), Some(vec![]), "{list}");
        }
        for text in [
            "",
            ".entry",
            ".entry ",
            ".entry k",
            ".entry k(",
            ".entry é()",
            "/*",
        ] {
            assert_eq!(declared(text, "k"), None, "{text}");
        }
    }

    #[test]
    fn texts_that_repeat_themselves_are_read_in_one_go() {
        // Each of these would take hours if every entry were looked for from its beginning to the end of the text.
        let many = 300_000;
        for piece in [
            ".entry ",
            ".entry a(",
            ".entry a(.param .u32 x, ",
            "// .entry a(",
            "/* .entry",
        ] {
            assert_eq!(declared(&piece.repeat(many), "a"), None, "{piece}");
            let closed = piece.repeat(many) + ")";
            assert!(declared(&closed, "b").is_none(), "{piece}");
        }
    }
}
