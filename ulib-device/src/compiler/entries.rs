//! What entries of the cache hold, as bytes: images, and the headers of a program.

use super::image::{Image, ImageKind};
use super::includes::{Headers, Stamp};
use crate::module::{Declared, ParameterKind};
use std::path::PathBuf;

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads what [`put_bytes`] and its like wrote.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// As many items as a number says; each takes bytes, so a wrong number ends soon.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }
}

/// The form in which images are written, in the place where the first form had 0 or 1; others are made anew.
const FORM: u64 = 2;

/// Kinds of parameters by their numbers in entries.
const KINDS: [ParameterKind; 4] = [
    ParameterKind::Unknown,
    ParameterKind::Integer,
    ParameterKind::Float,
    ParameterKind::Struct,
];

pub(super) fn image_bytes(image: &Image) -> Vec<u8> {
    let mut out = Vec::with_capacity(image.bytes.len() + image.log.len() + 64);
    out.extend_from_slice(&FORM.to_le_bytes());
    out.extend_from_slice(&u64::from(image.kind == ImageKind::Ptx).to_le_bytes());
    put_bytes(&mut out, &image.bytes);
    put_bytes(&mut out, image.log.as_bytes());
    out.extend_from_slice(&(image.names.len() as u64).to_le_bytes());
    for (name, lowered) in &image.names {
        put_bytes(&mut out, name.as_bytes());
        put_bytes(&mut out, lowered.as_bytes());
    }
    let signatures = image.signatures.sorted();
    out.extend_from_slice(&(signatures.len() as u64).to_le_bytes());
    for (name, parameters) in signatures {
        put_bytes(&mut out, name.as_bytes());
        out.extend_from_slice(&(parameters.len() as u64).to_le_bytes());
        for declared in parameters {
            let kind = KINDS.iter().position(|kind| *kind == declared.kind);
            out.push(kind.unwrap_or(0) as u8);
            out.extend_from_slice(&declared.size.to_le_bytes());
            out.extend_from_slice(&declared.align.to_le_bytes());
        }
    }
    out
}

fn declared_from(reader: &mut Reader<'_>) -> Option<Declared> {
    let [kind] = reader.array()?;
    Some(Declared {
        kind: *KINDS.get(usize::from(kind))?,
        size: u32::from_le_bytes(reader.array()?),
        align: u32::from_le_bytes(reader.array()?),
    })
}

pub(super) fn image_from(bytes: &[u8]) -> Option<Image> {
    let mut reader = Reader(bytes);
    if reader.number()? != FORM {
        return None;
    }
    let kind = match reader.number()? {
        0 => ImageKind::Cubin,
        1 => ImageKind::Ptx,
        _ => return None,
    };
    let image = Image {
        kind,
        bytes: reader.bytes()?.to_vec(),
        log: reader.text()?,
        names: reader.list(|reader| Some((reader.text()?, reader.text()?)))?,
        signatures: reader
            .list(|reader| {
                let name = reader.text()?.into_boxed_str();
                Some((name, reader.list(declared_from)?.into_boxed_slice()))
            })?
            .into_iter()
            .collect(),
        cached: false,
    };
    reader.0.is_empty().then_some(image)
}

pub(super) fn headers_bytes(headers: &Headers) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&headers.content.to_le_bytes());
    out.extend_from_slice(&(headers.files.len() as u64).to_le_bytes());
    for (path, stamp) in &headers.files {
        put_bytes(&mut out, path.as_os_str().as_encoded_bytes());
        out.extend_from_slice(&stamp.size.to_le_bytes());
        out.extend_from_slice(&stamp.nanoseconds.to_le_bytes());
    }
    out.extend_from_slice(&(headers.absent.len() as u64).to_le_bytes());
    for path in &headers.absent {
        put_bytes(&mut out, path.as_os_str().as_encoded_bytes());
    }
    out.extend_from_slice(&(headers.own.len() as u64).to_le_bytes());
    for name in &headers.own {
        put_bytes(&mut out, name.as_bytes());
    }
    out
}

/// A path that is no UTF-8 is not found again, and the program is looked through anew.
pub(super) fn headers_from(bytes: &[u8]) -> Option<Headers> {
    let mut reader = Reader(bytes);
    let headers = Headers {
        content: u128::from_le_bytes(reader.array()?),
        files: reader.list(|reader| {
            let path = PathBuf::from(reader.text()?);
            let stamp = Stamp {
                size: reader.number()?,
                nanoseconds: reader.number()?,
            };
            Some((path, stamp))
        })?,
        absent: reader.list(|reader| reader.text().map(PathBuf::from))?,
        own: reader.list(Reader::text)?,
        unknown: false,
    };
    reader.0.is_empty().then_some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Signatures;

    #[test]
    fn images_and_headers_are_read_as_they_were_written() {
        let image = Image {
            kind: ImageKind::Ptx,
            bytes: b".version 7.0".to_vec(),
            names: vec![("f<int>".into(), "_Z1fIiEvv".into())],
            signatures: Signatures::of(
                ".entry f(.param .f32 a, .param .align 8 .b8 b[16]) .entry g",
            ),
            log: "a warning".into(),
            cached: false,
        };
        let bytes = image_bytes(&image);
        assert_eq!(image_from(&bytes), Some(image));
        let headers = Headers {
            files: vec![(
                PathBuf::from("/a/b.h"),
                Stamp {
                    size: 3,
                    nanoseconds: 7,
                },
            )],
            absent: vec![PathBuf::from("c.h")],
            own: vec!["stdint.h".into()],
            content: 12345,
            unknown: false,
        };
        assert_eq!(headers_from(&headers_bytes(&headers)), Some(headers));
        for end in 0..bytes.len() {
            assert_eq!(image_from(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(image_from(&bytes[8..]), None, "as it was written before");
    }
}
