//! A program translated by NVRTC: what stands before it, the options, and what comes out.

use super::extern_c::in_extern_c;
use super::failure::{CompileFailure, missing_header, with_lines};
use super::headers;
use super::held::Held;
use super::image::{Image, ImageKind};
use super::includes::{Folder, Headers};
use super::library::{COMPILATION, INVALID_OPTION, Nvrtc, SUCCESS};
use super::options::NvccOptions;
use super::program::Program;
use super::target::Target;
use crate::module::Signatures;
use crate::texture::references;
use std::borrow::Cow;
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;
use ulib_core::{Error, ErrorKind, Result};

impl Program<'_> {
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

    pub(super) fn translate(
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

fn c_text(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid("compile", what, "one with NUL in it", "text without NUL"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::{Cache, Compiler};

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
