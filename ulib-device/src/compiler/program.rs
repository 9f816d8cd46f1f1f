//! A program to be compiled: its text, what it is called, and how to compile it.

use super::cache::Cache;
use super::failure::{CompileFailure, missing_header, with_lines};
use super::headers;
use super::held::Held;
use super::image::{Image, ImageKind};
use super::includes::{Folder, Headers, includes_anything};
use super::library::{COMPILATION, Compiler, INVALID_OPTION, Nvrtc, SUCCESS};
use super::options::NvccOptions;
use super::target::Target;
use crate::module::Signatures;
use crate::texture::references;
use std::borrow::Cow;
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;
use twox_hash::XxHash3_128;
use ulib_core::{Error, ErrorKind, Result};

/// Changes whenever the same request would give another image.
const RULES: &str = "uLib programs 2";

/// A program and how it is to be compiled; made by [`Compiler::program`].
///
/// Options are taken in nvcc's spelling, see [`NvccOptions`]. Programs may include headers of the folders given, of the
/// toolkit where it is installed, and small ones of the C library (`stdint.h`, `stdio.h`, `math.h`, ...) everywhere. They may
/// declare texture and surface references, see [`references`].
#[derive(Clone, Debug)]
pub struct Program<'a> {
    compiler: Compiler,
    name: &'a str,
    source: &'a str,
    options: Vec<String>,
    includes: Vec<PathBuf>,
    names: Vec<String>,
    extern_c: bool,
    cache: Cache,
}

impl<'a> Program<'a> {
    pub(super) fn new(compiler: Compiler, name: &'a str, source: &'a str) -> Self {
        Self {
            compiler,
            name,
            source,
            options: Vec::new(),
            includes: Vec::new(),
            names: Vec::new(),
            extern_c: false,
            cache: Cache::none(),
        }
    }

    /// One more option.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// More options; one and its value may be two entries.
    #[must_use]
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Defines a macro.
    #[must_use]
    pub fn define(self, name: &str, value: impl std::fmt::Display) -> Self {
        self.option(format!("-D{name}={value}"))
    }

    /// One more folder of headers.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Asks for a C++ name such as `twice<float>`: a template is instantiated by it, and [`Image::lowered`] tells what the
    /// kernel is called in the image.
    #[must_use]
    pub fn name(mut self, expression: impl Into<String>) -> Self {
        self.names.push(expression.into());
        self
    }

    /// Puts the program into `extern "C"`, so that its kernels keep their names; includes at its beginning stay outside.
    #[must_use]
    pub fn extern_c(mut self) -> Self {
        self.extern_c = true;
        self
    }

    /// Keeps the image there, and takes it from there. Without this, nothing is kept.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Compiles the program, or takes it from the cache. An architecture among the options counts more than `target`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for a program that does not compile, with a [`CompileFailure`] as its source; for options that
    /// are wrong, and an architecture that this compiler does not know; kind `Unavailable` when there is no compiler.
    pub fn compile(&self, target: Target) -> Result<Image> {
        let sorted = NvccOptions::parse(&self.options)?;
        let target = sorted.target.clone().unwrap_or(target);
        self.make(&sorted, target)
    }

    /// As [`compile`](Self::compile), for `target` whatever the options say.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_for(&self, target: Target) -> Result<Image> {
        self.make(&NvccOptions::parse(&self.options)?, target)
    }

    fn make(&self, sorted: &NvccOptions, target: Target) -> Result<Image> {
        let folders = self.folders(sorted);
        let key = self.key(sorted, &folders, &target);
        let headers = self.headers(key, sorted, &folders);
        let key = match &headers {
            Some(headers) => hash_of(&[&key.to_le_bytes(), &headers.content.to_le_bytes()]),
            None => key,
        };
        let kept = headers.as_ref().is_none_or(|headers| !headers.unknown);
        if kept && let Some(image) = self.cache.image(key) {
            return Ok(image);
        }
        let headers = headers.unwrap_or_default();
        let image = self.translate(sorted, &folders, &target, &headers)?;
        if kept {
            self.cache.keep_image(key, &image);
        }
        Ok(image)
    }

    fn folders(&self, sorted: &NvccOptions) -> Vec<Folder> {
        let given = self
            .includes
            .iter()
            .chain(&sorted.includes)
            .map(|path| Folder {
                path: path.clone(),
                toolkit: false,
            });
        let found = self.compiler.header_folders().iter().map(|path| Folder {
            path: path.clone(),
            toolkit: true,
        });
        given.chain(found).collect()
    }

    /// A hash of everything that the image depends on, but for what stands in headers.
    fn key(&self, sorted: &NvccOptions, folders: &[Folder], target: &Target) -> u128 {
        let target = target.to_string();
        let mut parts: Vec<&[u8]> = vec![
            RULES.as_bytes(),
            self.compiler.identity().as_bytes(),
            target.as_bytes(),
            self.name.as_bytes(),
            self.source.as_bytes(),
            if self.extern_c { b"C" } else { b"C++" },
        ];
        let prefix = references::prefix(self.source);
        if let Some(prefix) = &prefix {
            parts.extend([b"references", prefix.as_bytes()]);
        }
        for list in [&sorted.options, &sorted.before, &self.names] {
            parts.push(b"list");
            parts.extend(list.iter().map(String::as_bytes));
        }
        parts.push(b"folders");
        parts.extend(
            folders
                .iter()
                .map(|folder| folder.path.as_os_str().as_encoded_bytes()),
        );
        hash_of(&parts)
    }

    /// The headers of the program as they are now; `None` if it has none.
    fn headers(&self, key: u128, sorted: &NvccOptions, folders: &[Folder]) -> Option<Headers> {
        if sorted.before.is_empty() && !includes_anything(self.source) {
            return None;
        }
        if let Some(known) = self.cache.headers(key).filter(Headers::is_current) {
            return Some(known);
        }
        let headers = Headers::scan(self.source, &sorted.before, folders);
        if !headers.unknown {
            self.cache.keep_headers(key, &headers);
        }
        Some(headers)
    }

    /// What stands before the source for the texture and surface references that it or a header of the user's declares.
    fn references(&self, headers: &Headers, folders: &[Folder]) -> Option<String> {
        let is_toolkit = |path: &PathBuf| {
            let mut toolkit = folders.iter().filter(|folder| folder.toolkit);
            toolkit.any(|folder| path.starts_with(&folder.path))
        };
        let files = headers.files.iter().map(|(path, _)| path);
        let texts: Vec<_> = files
            .filter(|path| !is_toolkit(path))
            .filter_map(|path| fs::read(path).ok())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect();
        let texts = texts.iter().map(String::as_str);
        references::prefix_of(
            &std::iter::once(self.source)
                .chain(texts)
                .collect::<Vec<_>>(),
        )
    }

    fn translate(
        &self,
        sorted: &NvccOptions,
        folders: &[Folder],
        target: &Target,
        headers: &Headers,
    ) -> Result<Image> {
        let nvrtc = self.compiler.nvrtc()?;
        let target = known(nvrtc, target)?;
        let text = if self.extern_c {
            Cow::Owned(in_extern_c(self.source, self.name))
        } else {
            Cow::Borrowed(self.source)
        };
        let text = match self.references(headers, folders) {
            Some(prefix) => Cow::Owned(format!("{prefix}#line 1 \"{}\"\n{text}", self.name)),
            None => text,
        };
        let mut options = vec![format!("--gpu-architecture={target}")];
        options.extend(sorted.options.iter().cloned());
        options.extend(
            sorted
                .before
                .iter()
                .map(|name| format!("--pre-include={name}")),
        );
        options.extend(
            folders
                .iter()
                .map(|folder| format!("-I{}", folder.path.display())),
        );
        let own = headers
            .own
            .iter()
            .filter_map(|name| Some((name, headers::find(name)?)))
            .map(|(name, text)| Ok((c_text("a header", name)?, c_text("a header", text)?)))
            .collect::<Result<Vec<_>>>()?;
        let held = Held::new(
            nvrtc,
            &c_text("the source", &text)?,
            &c_text("the name", self.name)?,
            &own,
        )?;
        let names = self
            .names
            .iter()
            .map(|name| c_text("the name expression", name))
            .collect::<Result<Vec<_>>>()?;
        for name in &names {
            held.add_name(name)?;
        }
        let given = options
            .iter()
            .map(|option| c_text("the option", option))
            .collect::<Result<Vec<_>>>()?;
        let status = held.compile(&given)?;
        let log = held.log()?;
        match status {
            SUCCESS => {}
            COMPILATION | INVALID_OPTION => {
                let mut text = with_lines(&log, self.name, self.source);
                if let Some(hint) = missing_header(&log, nvrtc.version.0) {
                    text += "\n\n";
                    text += &hint;
                }
                return Err(CompileFailure {
                    program: self.name.to_owned(),
                    log: text,
                    options,
                }
                .into());
            }
            other => {
                let error = nvrtc.failed("nvrtcCompileProgram", other);
                return Err(if log.is_empty() {
                    error
                } else {
                    error.context(log)
                });
            }
        }
        let cubin = match target {
            Target::Cubin(_) => held.cubin()?,
            Target::Ptx(_) => None,
        };
        let (kind, bytes, signatures) = match cubin {
            Some(bytes) => {
                // The text on the way to the machine code, where this compiler keeps it and there was one.
                let text = held.ptx().unwrap_or_default();
                (ImageKind::Cubin, bytes, Signatures::of_image(&text))
            }
            None => {
                let text = held.ptx()?;
                let signatures = Signatures::of_image(&text);
                (ImageKind::Ptx, text, signatures)
            }
        };
        let lowered = self
            .names
            .iter()
            .zip(&names)
            .map(|(name, text)| Ok((name.clone(), held.lowered(text)?)))
            .collect::<Result<Vec<_>>>()?;
        Ok(Image {
            kind,
            bytes,
            names: lowered,
            signatures,
            log,
            cached: false,
        })
    }
}

/// The target, or PTX for the newest older architecture when this compiler does not know it yet.
fn known(nvrtc: &Nvrtc, target: &Target) -> Result<Target> {
    let list = &nvrtc.architectures;
    let (Some(&oldest), Some(&newest)) = (list.first(), list.last()) else {
        // It does not tell, and has no machine code to give either if it is that old.
        return Ok(match nvrtc.nvrtcGetCUBIN {
            Some(_) => target.clone(),
            None => target.as_ptx(),
        });
    };
    let wanted = target.number();
    if wanted < oldest {
        let (major, minor) = nvrtc.version;
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "compile: NVRTC {major}.{minor} makes code for architectures {oldest} to {newest}, not for {target}"
            ),
        ));
    }
    if list.contains(&wanted) {
        return Ok(target.clone());
    }
    let older = list.iter().rev().find(|&&number| number < wanted);
    Ok(Target::Ptx(older.unwrap_or(&oldest).to_string()))
}

/// One hash for several texts, each with its length.
fn hash_of(parts: &[&[u8]]) -> u128 {
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    XxHash3_128::oneshot(&all)
}

fn c_text(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid("compile", what, "one with NUL in it", "text without NUL"))
}

/// The program in `extern "C"`, every line at its number. What stands before the first declaration stays outside: headers of
/// C++ cannot be in there.
fn in_extern_c(source: &str, name: &str) -> String {
    let at = end_of_preamble(source);
    let (head, body) = source.split_at(at);
    let line = head.matches('\n').count() + 1;
    let marked = if body.trim_start().starts_with('#') {
        format!("\n#line {line} \"{name}\"\n")
    } else {
        String::from(" ")
    };
    format!("{head}extern \"C\" {{{marked}{body}\n}}\n")
}

/// Where the last directive ends of those that come before any declaration.
fn end_of_preamble(source: &str) -> usize {
    let (mut at, mut end, mut depth, mut comment, mut continued) = (0, 0, 0_usize, false, false);
    for line in source.split_inclusive('\n') {
        let mut text = line.trim();
        at += line.len();
        if continued {
            continued = text.ends_with('\\');
            if !continued && depth == 0 {
                end = at;
            }
            continue;
        }
        if comment {
            let Some((_, rest)) = text.split_once("*/") else {
                continue;
            };
            comment = false;
            text = rest.trim();
        }
        while let Some(rest) = text.strip_prefix("/*") {
            match rest.split_once("*/") {
                Some((_, rest)) => text = rest.trim(),
                None => {
                    comment = true;
                    text = "";
                }
            }
        }
        if text.is_empty() || text.starts_with("//") {
            continue;
        }
        let Some(directive) = text.strip_prefix('#') else {
            break;
        };
        let directive = directive.trim_start();
        if directive.starts_with("if") {
            depth += 1;
        } else if directive.starts_with("endif") {
            depth = depth.saturating_sub(1);
        }
        continued = text.ends_with('\\');
        if depth == 0 && !continued && line.ends_with('\n') {
            end = at;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extern_c_begins_behind_the_includes() {
        assert_eq!(
            in_extern_c("__global__ void f() {}", "k.cu"),
            "extern \"C\" { __global__ void f() {}\n}\n"
        );
        assert_eq!(
            in_extern_c(
                "// a\n#include <b.h>\n\nvoid f();\n#include <c.h>\n",
                "k.cu"
            ),
            "// a\n#include <b.h>\nextern \"C\" { \nvoid f();\n#include <c.h>\n\n}\n"
        );
        assert_eq!(
            in_extern_c("#ifdef A\nvoid f();\n#endif\n", "k.cu"),
            "extern \"C\" {\n#line 1 \"k.cu\"\n#ifdef A\nvoid f();\n#endif\n\n}\n"
        );
        let guarded = "/* long\n comment */\n#ifndef A\n#define A \\\n  1\n#endif\nint x;";
        let at = end_of_preamble(guarded);
        assert_eq!(&guarded[at..], "int x;");
        assert_eq!(end_of_preamble("#include <a.h>"), 0);
    }

    #[test]
    fn machine_code_comes_with_the_kinds_of_parameters() {
        use crate::module::ParameterKind::{Float, Integer, Struct};
        let Ok(compiler) = Compiler::find() else {
            println!("SKIP: no NVRTC");
            return;
        };
        let source = "struct S { char a; double b; };\n\
            template <typename T> __global__ void k(T *p, T x, int n, S s, bool b, double d) { *p = x; }\n";
        let folder = std::env::temp_dir().join(format!("ulib-kinds-{}", std::process::id()));
        for cached in [false, true] {
            let image = compiler
                .program("k.cu", source)
                .name("k<float>")
                .cache(Cache::at(&folder))
                .compile(Target::Cubin("80".into()));
            assert!(image.is_ok(), "{image:?}");
            let Ok(image) = image else { return };
            assert_eq!(
                (image.kind(), image.from_cache()),
                (ImageKind::Cubin, cached)
            );
            let name = image.lowered("k<float>").unwrap_or("");
            let signatures = image.signatures();
            let found: Vec<_> = signatures
                .get(name)
                .unwrap_or_default()
                .iter()
                .map(|declared| (declared.kind, declared.size, declared.align))
                .collect();
            let expected = [
                (Integer, 8, 8),
                (Float, 4, 4),
                (Integer, 4, 4),
                (Struct, 16, 8),
                (Integer, 1, 1),
                (Float, 8, 8),
            ];
            assert_eq!(found, expected);
        }
        let _ = std::fs::remove_dir_all(folder);
    }
}
