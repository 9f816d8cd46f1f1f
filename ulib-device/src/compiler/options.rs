//! Options in nvcc's spelling, for NVRTC.

use super::target::Target;
use std::path::PathBuf;
use ulib_core::{Error, Result};

/// Options as nvcc takes them, sorted by what they mean here.
///
/// What only concerns a host compiler or files (`-Xcompiler`, `-ccbin`, `-m64`, ...) means nothing to NVRTC and is listed in
/// [`ignored`](Self::ignored). What is not known here is passed on, and NVRTC names it if it does not know it either.
///
/// # Examples
/// ```
/// use ulib_device::compiler::NvccOptions;
///
/// let options = NvccOptions::parse(&["-O3", "-I", "include", "-arch=sm_90", "-use_fast_math", "-Xcompiler", "-fPIC"])?;
/// assert_eq!(options.options, ["-use_fast_math"]);
/// assert_eq!(options.includes, [std::path::PathBuf::from("include")]);
/// assert_eq!(options.target.map(|target| target.to_string()).as_deref(), Some("sm_90"));
/// assert_eq!(options.ignored, ["-Xcompiler -fPIC"]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NvccOptions {
    /// What NVRTC gets.
    pub options: Vec<String>,
    /// Folders of headers.
    pub includes: Vec<PathBuf>,
    /// Headers that are read before the program.
    pub before: Vec<String>,
    /// What `-arch`, `-code` or `-gencode` ask for.
    pub target: Option<Target>,
    /// Libraries of `-l`.
    pub libraries: Vec<String>,
    /// Whether `--keep` was there.
    pub keep: bool,
    /// Options that have no meaning here and might matter elsewhere.
    pub ignored: Vec<String>,
}

/// Options with a value: nvcc's names, and what becomes of it.
const VALUED: &[(&[&str], Meaning)] = &[
    (
        &[
            "-I",
            "--include-path",
            "-include-path",
            "-isystem",
            "--system-include",
        ],
        Meaning::Include,
    ),
    (&["-include", "--pre-include"], Meaning::Before),
    (
        &["-D", "--define-macro", "-define-macro"],
        Meaning::Joined("-D"),
    ),
    (
        &["-U", "--undefine-macro", "-undefine-macro"],
        Meaning::Joined("-U"),
    ),
    (
        &["-arch", "--gpu-architecture", "-gpu-architecture"],
        Meaning::Arch,
    ),
    (&["-code", "--gpu-code", "-gpu-code"], Meaning::Code),
    (
        &["-gencode", "--generate-code", "-generate-code"],
        Meaning::Generate,
    ),
    (&["-std", "--std"], Meaning::Joined("--std=")),
    (
        &["-maxrregcount", "--maxrregcount"],
        Meaning::Joined("--maxrregcount="),
    ),
    (
        &["-Xptxas", "--ptxas-options", "-ptxas-options"],
        Meaning::Joined("--ptxas-options="),
    ),
    (
        &["-Xcudafe", "--cudafe-options", "-cudafe-options"],
        Meaning::FrontEnd,
    ),
    (
        &["-diag-suppress", "--diag-suppress"],
        Meaning::Joined("--diag-suppress="),
    ),
    (
        &["-diag-error", "--diag-error"],
        Meaning::Joined("--diag-error="),
    ),
    (
        &["-diag-warn", "--diag-warn"],
        Meaning::Joined("--diag-warn="),
    ),
    (&["-l", "--library", "-library"], Meaning::Library),
    (
        &[
            "-Xcompiler",
            "--compiler-options",
            "-compiler-options",
            "-Xlinker",
            "--linker-options",
            "-ccbin",
            "--compiler-bindir",
            "-compiler-bindir",
            "-L",
            "--library-path",
            "-Xnvlink",
            "--nvlink-options",
            "-Werror",
            "--Werror",
            "-Xarchive",
        ],
        Meaning::Ignore,
    ),
    (
        &[
            "-m",
            "--machine",
            "-odir",
            "--output-directory",
            "-x",
            "-t",
            "--threads",
            "-o",
            "--output-file",
        ],
        Meaning::Drop,
    ),
];

/// Options without a value that say nothing about the result of compiling in memory.
const DROPPED: &[&str] = &[
    "-m64",
    "-O",
    "-O2",
    "-O3",
    "-Wno-deprecated-gpu-targets",
    "--Wno-deprecated-gpu-targets",
    "-cubin",
    "--cubin",
    "-ptx",
    "--ptx",
    "-c",
    "--compile",
    "-v",
    "--verbose",
    "-allow-unsupported-compiler",
    "--allow-unsupported-compiler",
    "-expt-relaxed-constexpr",
    "--expt-relaxed-constexpr",
    "-extended-lambda",
    "--extended-lambda",
    "-expt-extended-lambda",
    "--expt-extended-lambda",
];

/// The same, where somebody may have counted on it.
const IGNORED: &[&str] = &[
    "-g",
    "--debug",
    "-pg",
    "-save-temps",
    "--save-temps",
    "-clean",
    "--clean",
    "-dryrun",
    "--dryrun",
    "-shared",
    "--shared",
];

#[derive(Clone, Copy)]
enum Meaning {
    Include,
    Before,
    /// NVRTC's option with the value behind it.
    Joined(&'static str),
    Arch,
    Code,
    Generate,
    FrontEnd,
    Library,
    Ignore,
    Drop,
}

impl NvccOptions {
    /// Sorts options, each of which may have its value behind it, behind `=`, or in the next entry.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for an option whose value is missing, for an architecture that is none, and for options that ask
    /// for a fatbin.
    pub fn parse<S: AsRef<str>>(given: &[S]) -> Result<Self> {
        let mut sorted = Self::default();
        let mut code = None;
        let mut rest = given.iter().map(|text| text.as_ref().trim());
        while let Some(text) = rest.next() {
            if text.is_empty() {
                continue;
            }
            if let Some((name, meaning, inline)) = valued(text) {
                let value = match inline {
                    Some(value) => value.to_owned(),
                    None => rest
                        .next()
                        .ok_or_else(|| {
                            Error::invalid("compile", "the option", text, "a value behind it")
                        })?
                        .to_owned(),
                };
                sorted.take(name, meaning, value, &mut code)?;
            } else {
                sorted.take_plain(text)?;
            }
        }
        // `-arch=compute_90 -code=sm_90` is machine code; a list of codes begins with the one that matters here.
        if let Some(code) = code {
            sorted.target = Some(code);
        }
        Ok(sorted)
    }

    fn take(
        &mut self,
        name: &str,
        meaning: Meaning,
        value: String,
        code: &mut Option<Target>,
    ) -> Result<()> {
        match meaning {
            Meaning::Include => self.includes.push(PathBuf::from(value)),
            Meaning::Before => self.before.push(value),
            Meaning::Joined(theirs) => self.options.push(format!("{theirs}{value}")),
            Meaning::Arch => self.target = Some(Target::parse(&value)?),
            Meaning::Code => *code = Some(first_code(&value)?),
            Meaning::Generate => {
                let arch = value
                    .split(',')
                    .find_map(|part| part.trim().strip_prefix("arch="));
                let codes = value.split_once("code=").map(|(_, codes)| codes);
                self.target = Some(match (codes, arch) {
                    (Some(codes), _) => first_code(codes.trim_matches(['[', ']']))?,
                    (None, Some(arch)) => Target::parse(arch)?,
                    (None, None) => {
                        return Err(Error::invalid(
                            "compile",
                            name.to_owned(),
                            value,
                            "arch=...,code=...",
                        ));
                    }
                });
            }
            Meaning::FrontEnd => match value.split_once("diag_suppress=") {
                Some((_, number)) => self.options.push(format!("--diag-suppress={number}")),
                None => self.ignored.push(format!("{name} {value}")),
            },
            Meaning::Library => self.libraries.push(value),
            Meaning::Ignore => self.ignored.push(format!("{name} {value}")),
            Meaning::Drop => {}
        }
        Ok(())
    }

    fn take_plain(&mut self, text: &str) -> Result<()> {
        match text {
            "-keep" | "--keep" | "-k" => self.keep = true,
            "-fatbin" | "--fatbin" => {
                return Err(Error::invalid(
                    "compile",
                    "the option",
                    text,
                    "one that does not ask for a fatbin: nvcc makes those",
                ));
            }
            "-O0" | "-O1" => self.options.push(format!("--ptxas-options={text}")),
            "-w" | "--disable-warnings" => self.options.push("-w".to_owned()),
            _ if DROPPED.contains(&text) => {}
            _ if IGNORED.contains(&text) => self.ignored.push(text.to_owned()),
            _ => self.options.push(text.to_owned()),
        }
        Ok(())
    }
}

/// The first of `sm_90,compute_90`.
fn first_code(list: &str) -> Result<Target> {
    Target::parse(list.split(',').next().unwrap_or(list).trim())
}

/// Whether an option has a value: its name, what it means, and the value if it is part of the text.
fn valued(text: &str) -> Option<(&'static str, Meaning, Option<&str>)> {
    for &(names, meaning) in VALUED {
        for &name in names {
            let Some(rest) = text.strip_prefix(name) else {
                continue;
            };
            if rest.is_empty() {
                return Some((name, meaning, None));
            }
            if let Some(value) = rest.strip_prefix('=') {
                return Some((name, meaning, Some(value)));
            }
            // `-Ifolder`, `-DN=4`, `-lcudadevrt`
            if name.len() == 2
                && matches!(name, "-I" | "-D" | "-U" | "-L" | "-l")
                && !text.starts_with("-lineinfo")
                && !text.starts_with("-lto")
            {
                return Some((name, meaning, Some(rest)));
            }
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails by panicking")]
mod tests {
    use super::*;

    fn parse(given: &[&str]) -> NvccOptions {
        NvccOptions::parse(given).unwrap()
    }

    #[test]
    fn values_stand_behind_the_option_or_in_the_next_entry() {
        for given in [
            &[
                "-I",
                "a",
                "-D",
                "N=4",
                "-U",
                "M",
                "-maxrregcount",
                "32",
                "-std",
                "c++17",
            ][..],
            &["-Ia", "-DN=4", "-UM", "--maxrregcount=32", "-std=c++17"],
            &[
                "--include-path=a",
                "--define-macro=N=4",
                "--undefine-macro",
                "M",
                "-maxrregcount=32",
                "--std=c++17",
            ],
        ] {
            let sorted = parse(given);
            assert_eq!(
                sorted.options,
                ["-DN=4", "-UM", "--maxrregcount=32", "--std=c++17"]
            );
            assert_eq!(sorted.includes, [PathBuf::from("a")]);
            assert!(sorted.ignored.is_empty());
        }
    }

    #[test]
    fn architectures_in_every_spelling() {
        let target = |given: &[&str]| parse(given).target.map(|target| target.to_string());
        assert_eq!(target(&["-arch=sm_90a"]).as_deref(), Some("sm_90a"));
        assert_eq!(
            target(&["--gpu-architecture", "compute_80"]).as_deref(),
            Some("compute_80")
        );
        assert_eq!(
            target(&["-arch=compute_80", "-code=sm_86,compute_80"]).as_deref(),
            Some("sm_86")
        );
        assert_eq!(
            target(&["-code", "sm_86", "-arch", "compute_80"]).as_deref(),
            Some("sm_86")
        );
        assert_eq!(
            target(&["-gencode=arch=compute_70,code=sm_70"]).as_deref(),
            Some("sm_70")
        );
        assert_eq!(
            target(&["-gencode", "arch=compute_70,code=[compute_70,sm_70]"]).as_deref(),
            Some("compute_70")
        );
        assert_eq!(target(&[]), None);
        assert!(NvccOptions::parse(&["-arch=volta"]).is_err());
    }

    #[test]
    fn what_means_nothing_here_is_dropped_or_said() {
        let sorted = parse(&[
            "-O3",
            "-m64",
            "--cubin",
            "-g",
            "-Xcompiler",
            "-fPIC,-O2",
            "-lineinfo",
            "-lcudadevrt",
            "--keep",
        ]);
        assert_eq!(sorted.options, ["-lineinfo"]);
        assert_eq!(sorted.ignored, ["-g", "-Xcompiler -fPIC,-O2"]);
        assert_eq!(sorted.libraries, ["cudadevrt"]);
        assert!(sorted.keep);
        assert_eq!(
            parse(&["-Xcudafe", "--diag_suppress=177", "-O0"]).options,
            ["--diag-suppress=177", "--ptxas-options=-O0"]
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = NvccOptions::parse(&["-I"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "compile: the option is -I, expected a value behind it"
        );
        assert!(NvccOptions::parse(&["--fatbin"]).is_err());
    }
}
