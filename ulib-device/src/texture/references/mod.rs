//! Texture and surface references in source: `texture<float, 2> tex;` and `surface<void, 2> surf;` at file scope.
//!
//! Compilers have lost them with CUDA 12. With the text that [`prefix`] gives before the source, each such declaration is a device
//! variable of 64 bits under its own name ([`Module::global`](crate::Module::global) finds it), and the functions that took
//! references read the number of a [`TextureObject`](super::TextureObject) or [`SurfaceObject`](super::SurfaceObject) from it.
//! [`ReferenceVariable`] writes it there before a launch.

mod variable;

pub use variable::ReferenceVariable;

/// The templates and functions.
pub(crate) const HEADER: &str = include_str!("references.cuh");

/// What stands before a source that declares texture or surface references; `None` for any other. A program has it put
/// there by itself.
///
/// A source that has a `texture` or `surface` of its own is left alone.
///
/// # Examples
/// ```
/// use ulib_device::texture::references::prefix;
///
/// assert!(prefix("texture<float, 2> tex;").is_some());
/// assert!(prefix("__global__ void f(cudaTextureObject_t texture) {}").is_none());
/// ```
#[must_use]
pub fn prefix(source: &str) -> Option<String> {
    prefix_of(&[source])
}

/// [`prefix`] of a source with the headers that it includes: any of the texts may have the declarations, or a `texture` or `surface`
/// of its own.
///
/// # Examples
/// ```
/// use ulib_device::texture::references::prefix_of;
///
/// let source = "#include \"tables.h\"\n__global__ void f(float *x) { *x = tex2D(table, 0, 0); }";
/// assert!(prefix_of(&[source, "texture<float, 2> table;"]).is_some());
/// ```
#[must_use]
pub fn prefix_of(texts: &[&str]) -> Option<String> {
    let words = ["texture", "surface"];
    let named = |text: &&&str| words.iter().any(|word| text.contains(word));
    let codes: Vec<_> = texts
        .iter()
        .filter(named)
        .map(|text| without_comments(text))
        .collect();
    let mut prefix = None;
    for word in words {
        let uses: Vec<_> = codes.iter().map(|code| Use::of(code, word)).collect();
        if uses.contains(&Use::Reference) && !uses.contains(&Use::Own) {
            let prefix = prefix.get_or_insert_with(|| String::from(HEADER));
            prefix.push_str(&format!("#define {word} __device__ ulib_{word}\n"));
        }
    }
    prefix
}

/// What a word is in a text.
#[derive(PartialEq, Eq)]
enum Use {
    /// Something that the text declares itself.
    Own,
    /// A template that comes from somewhere else.
    Reference,
    Other,
}

impl Use {
    fn of(code: &str, word: &str) -> Self {
        let mut found = Self::Other;
        let mut from = 0;
        while let Some(at) = code[from..].find(word) {
            let (start, end) = (from + at, from + at + word.len());
            from = end;
            let (before, after) = (code[..start].trim_end(), code[end..].trim_start());
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            if code[..start].ends_with(is_name) || code[end..].starts_with(is_name) {
                continue;
            }
            let own = ["struct", "class", "define", "using", "union", "enum"];
            if own.iter().any(|own| before.ends_with(own)) {
                return Self::Own;
            }
            let member = [".", "->", "::"].iter().any(|mark| before.ends_with(mark));
            if after.starts_with('<') && !after.starts_with("<<") && !member {
                found = Self::Reference;
            }
        }
        found
    }
}

/// The source with blanks in the place of comments and of what stands in quotes.
fn without_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with('/') {
            code.push('/');
            rest = &rest[1..];
            continue;
        } else {
            quoted(rest)
        };
        code.push(' ');
        rest = &rest[len..];
    }
    code.push_str(rest);
    code
}

/// The length of what `text` begins with, to the closing quote or the end of its line.
fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        if byte == bytes[0] {
            return at + 1;
        }
        if byte == b'\n' {
            return at;
        }
        at += if byte == b'\\' { 2 } else { 1 };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defines(source: &str) -> Vec<String> {
        let text = prefix(source).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("#define "));
        lines
            .filter(|line| line.contains("__device__ ulib_"))
            .map(str::to_owned)
            .collect()
    }

    const TEXTURE: &str = "#define texture __device__ ulib_texture";
    const SURFACE: &str = "#define surface __device__ ulib_surface";

    #[test]
    fn declarations_are_seen() {
        for source in [
            "texture<float, 2> tex;",
            "extern \"C\" {\n  texture < uchar4 , 2, cudaReadModeNormalizedFloat> t;\n}",
            "static texture\n<int> t;",
            "/* a */texture<float>a;//x",
            "char c = '\\''; texture<float> t; // don't",
        ] {
            assert_eq!(defines(source), [TEXTURE], "{source}");
        }
        assert_eq!(defines("surface<void, 2> s;"), [SURFACE]);
        let both = "texture<float, 2> t; surface<void, 2> s;";
        assert_eq!(defines(both), [TEXTURE, SURFACE]);
    }

    #[test]
    fn what_declares_none_is_left_alone() {
        for source in [
            "",
            "// texture<float, 2> tex;",
            "/* texture<float> t; \n surface<void> s; */ int x;",
            "const char *s = \"texture<float>\";",
            "template <typename T> struct texture { T x; }; texture<float> t;",
            "#define texture my_texture\n texture<float> t;",
            "my_texture<float> t; texture_of<int> u;",
            "a.texture<float>(); std::texture<float> t;",
            "__global__ void f(int texture, int n) { if (texture << 2) n = 1; }",
            "__global__ void f(cudaSurfaceObject_t surface) {}",
            "/* unfinished texture<float>",
            "\" unfinished texture<float>",
            "'\\",
        ] {
            assert_eq!(prefix(source), None, "{source}");
        }
    }

    #[test]
    fn headers_count_as_the_source_does() {
        let header = "#pragma once\ntexture<float, 2> t;";
        assert_eq!(prefix_of(&["float f();", header]), prefix(header));
        assert!(prefix(header).is_some());
        let own = "template <class T> class texture {};";
        assert_eq!(prefix_of(&[header, own]), None);
        assert_eq!(prefix_of(&["#include <t.h>", "// texture<int> t;"]), None);
    }
}
