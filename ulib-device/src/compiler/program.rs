//! A program to be compiled: its text, what it is called, and how to compile it.

use super::cache::Cache;
use super::image::Image;
use super::includes::{Folder, Headers, includes_anything};
use super::library::Compiler;
use super::options::NvccOptions;
use super::target::Target;
use crate::texture::references;
use std::path::PathBuf;
use twox_hash::XxHash3_128;
use ulib_core::Result;

/// Changes whenever the same request would give another image.
const RULES: &str = "uLib programs 2";

/// A program and how it is to be compiled; made by [`Compiler::program`].
///
/// Options are taken in nvcc's spelling, see [`NvccOptions`]. Programs may include headers of the folders given, of the
/// toolkit where it is installed, and small ones of the C library (`stdint.h`, `stdio.h`, `math.h`, ...) everywhere. They may
/// declare texture and surface references, see [`references`].
#[derive(Clone, Debug)]
pub struct Program<'a> {
    pub(super) compiler: Compiler,
    pub(super) name: &'a str,
    pub(super) source: &'a str,
    options: Vec<String>,
    includes: Vec<PathBuf>,
    pub(super) names: Vec<String>,
    pub(super) extern_c: bool,
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
    /// Kind `InvalidArgument` for a program that does not compile, with a [`CompileFailure`](super::CompileFailure) as its
    /// source; for options that are wrong, and an architecture that this compiler does not know; kind `Unavailable` when there
    /// is no compiler.
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
