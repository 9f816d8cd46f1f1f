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
/// Only the text itself is looked at, not the headers that it includes. A source that has a `texture` or `surface` of its own is
/// left alone.
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
    let words = ["texture", "surface"];
    if !words.iter().any(|word| source.contains(word)) {
        return None;
    }
    let code = without_comments(source);
    let mut text = None;
    for word in words {
        if declares(&code, word) {
            let text = text.get_or_insert_with(|| String::from(HEADER));
            text.push_str(&format!("#define {word} __device__ ulib_{word}\n"));
        }
    }
    text
}

/// Whether `word` is used as a template that the code does not declare itself.
fn declares(code: &str, word: &str) -> bool {
    let mut found = false;
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
            return false;
        }
        let member = [".", "->", "::"].iter().any(|mark| before.ends_with(mark));
        found |= after.starts_with('<') && !after.starts_with("<<") && !member;
    }
    found
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
}
