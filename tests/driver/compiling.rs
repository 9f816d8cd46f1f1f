//! Compiling programs, the headers they include, and the cache; without a GPU, with an NVRTC where one is installed.

use crate::common;
use crate::common::folder::Folder;
use crate::support::{compiler, ptx, text};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use ulib_core::ErrorKind;
use ulib_device::compiler::{
    Cache, CompileFailure, Compiler, Image, ImageKind, NoCompiler, Program, Target,
};

const NOTHING: &str = "extern \"C\" __global__ void nothing() {}\n";

/// The number that a program's kernel stores.
fn stored(program: &Program<'_>) -> String {
    let text = text(program);
    let line = text.lines().find(|line| line.contains("mov.u32")).unwrap();
    line.split(',')
        .nth(1)
        .unwrap()
        .trim_matches([' ', ';'])
        .to_owned()
}

/// A program that stores what the macro `V` of `header` says.
fn storing(header: &str) -> String {
    format!("#include {header}\nextern \"C\" __global__ void f(int *a) {{ *a = V; }}\n")
}

#[test]
fn machine_code_for_what_it_knows_and_ptx_for_the_rest() {
    let Some(compiler) = compiler() else { return };
    let (major, _) = compiler.version().unwrap();
    assert!(major >= 11);
    let known = compiler.architectures().unwrap();
    assert!(known.contains(&80), "{known:?}");
    let compile = |target: Target| compiler.program("n.cu", NOTHING).compile(target);
    let image = compile(Target::Cubin("80".into())).unwrap();
    assert_eq!(image.kind(), ImageKind::Cubin);
    assert!(image.as_bytes().starts_with(b"\x7fELF"));
    let image = compile(Target::Ptx("80".into())).unwrap();
    let text = String::from_utf8_lossy(image.as_bytes()).into_owned();
    assert!(
        text.contains(".target sm_80") && text.contains(".entry nothing("),
        "{text}"
    );
    assert!(!image.as_bytes().contains(&0));
    // A device of the future: PTX that its driver translates.
    let image = compile(Target::Cubin("990".into())).unwrap();
    assert_eq!(image.kind(), ImageKind::Ptx);
    let newest = format!(".target sm_{}", known.last().unwrap());
    assert!(String::from_utf8_lossy(image.as_bytes()).contains(&newest));
    let error = compile(Target::Cubin("20".into())).unwrap_err();
    assert!(error.to_string().contains("not for sm_20"), "{error}");
}

#[test]
fn a_refused_program_shows_its_lines() {
    let Some(compiler) = compiler() else { return };
    let source = "__global__ void f(float *a) {\n  a[0] = missing;\n}\n";
    for program in [
        compiler.program("k.cu", source),
        compiler.program("k.cu", source).extern_c(),
    ] {
        let error = program.compile(ptx()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
        let message = error.to_string();
        assert!(
            message.starts_with("compile: k.cu does not compile\nk.cu(2): error: "),
            "{message}"
        );
        assert!(message.contains("\"missing\" is undefined"), "{message}");
        assert!(
            message.ends_with(">    2 |   a[0] = missing;\n     3 | }"),
            "{message}"
        );
        let failure =
            std::error::Error::source(&error).and_then(|e| e.downcast_ref::<CompileFailure>());
        assert!(
            failure
                .unwrap()
                .options
                .contains(&"--gpu-architecture=compute_80".to_owned())
        );
    }
    let error = compiler
        .program("k.cu", NOTHING)
        .option("--frobnicate")
        .compile(ptx())
        .unwrap_err();
    assert!(error.to_string().contains("--frobnicate"), "{error}");
    let error = compiler
        .program("k.cu", "int a;\0")
        .compile(ptx())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "compile: the source is one with NUL in it, expected text without NUL"
    );
}

#[test]
fn names_of_templates_are_looked_up() {
    let Some(compiler) = compiler() else { return };
    let source = "template <typename T, int N> __global__ void scale(T *a) { a[0] *= N; }\n";
    let program = compiler
        .program("t.cu", source)
        .name("scale<float, 3>")
        .name("&scale<double, 4>");
    let image = program.compile(ptx()).unwrap();
    assert_eq!(
        image.lowered("scale<float, 3>"),
        Some("_Z5scaleIfLi3EEvPT_")
    );
    assert_eq!(
        image.lowered("&scale<double, 4>"),
        Some("_Z5scaleIdLi4EEvPT_")
    );
    assert_eq!(image.lowered("scale<int, 3>"), None);
    assert_eq!(image.names().count(), 2);
    assert!(String::from_utf8_lossy(image.as_bytes()).contains(".entry _Z5scaleIfLi3EEvPT_("));
}

#[test]
fn options_reach_the_compiler_in_nvccs_spelling() {
    let Some(compiler) = compiler() else { return };
    let source = "extern \"C\" __global__ void f(float *a) { a[0] = sinf(a[0]) + N; }\n";
    let program = compiler
        .program("o.cu", source)
        .options(["-O3", "-D", "N=2", "-std=c++14"]);
    assert!(!text(&program).contains("sin.approx"));
    assert!(text(&program.clone().option("-use_fast_math")).contains("sin.approx"));
    assert!(text(&program.clone().option("-lineinfo")).contains(".loc"));
    assert!(text(&program.clone().option("-arch=compute_75")).contains(".target sm_75"));
}

#[test]
fn the_same_program_is_compiled_once() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let cache = Cache::at(folder.path().join("made/when/needed"));
    let program = compiler.program("n.cu", NOTHING).cache(cache);
    let first = program.compile(ptx()).unwrap();
    assert!(!first.from_cache());
    let second = program.compile(ptx()).unwrap();
    assert!(second.from_cache());
    assert_eq!(first.as_bytes(), second.as_bytes());
    for other in [
        program.clone().option("-DX=1"),
        program.clone().extern_c(),
        program.clone().name("nothing"),
        program.clone().include("elsewhere"),
    ] {
        assert!(!other.compile(ptx()).unwrap().from_cache());
        assert!(other.compile(ptx()).unwrap().from_cache());
    }
    assert!(
        !program
            .compile(Target::Ptx("90".into()))
            .unwrap()
            .from_cache()
    );
    assert!(
        !compiler
            .program("n.cu", "extern \"C\" __global__ void nothing() { }\n")
            .cache(Cache::at(folder.path().join("made/when/needed")))
            .compile(ptx())
            .unwrap()
            .from_cache()
    );
}

#[test]
fn a_changed_header_is_noticed() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let (near, far) = (folder.path().join("near"), folder.path().join("far"));
    fs::create_dir_all(&near).unwrap();
    fs::create_dir_all(&far).unwrap();
    let cache = Cache::at(folder.path().join("cache"));
    let source = storing("<outer.h>");
    let program = compiler
        .program("i.cu", &source)
        .include(&near)
        .include(&far)
        .cache(cache);
    let from_cache = || program.compile(ptx()).unwrap().from_cache();
    let write = |name: &str, text: &str, seconds: u64| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
            .unwrap();
    };
    write("far/outer.h", "#include \"inner.h\"\n", 90);
    write("far/inner.h", "#define V 1\n", 90);
    assert_eq!(stored(&program), "1");
    assert!(from_cache());
    // Of the same size.
    write("far/inner.h", "#define V 2\n", 80);
    assert!(!from_cache());
    assert_eq!(stored(&program), "2");
    // Touched, and otherwise the same.
    write("far/inner.h", "#define V 2\n", 70);
    assert!(from_cache());
    // Back to what it was before: known.
    write("far/inner.h", "#define V 1\n", 60);
    assert!(from_cache());
    assert_eq!(stored(&program), "1");
    // One that comes first now.
    write("near/outer.h", "#define V 7\n", 50);
    assert_eq!(stored(&program), "7");
    fs::remove_file(near.join("outer.h")).unwrap();
    assert_eq!(stored(&program), "1");
    // A header of the user's own instead of ours.
    let source = storing("<stdint.h>");
    let program = compiler.program("i.cu", &source).include(&near);
    write("near/stdint.h", "#define V 9\n", 40);
    assert_eq!(stored(&program), "9");
}

#[test]
fn a_header_with_a_computed_name_is_never_taken_from_the_cache() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let include = folder.path().join("h");
    fs::create_dir_all(&include).unwrap();
    let source =
        "#define H \"v.h\"\n#include H\nextern \"C\" __global__ void f(int *a) { *a = V; }\n";
    let program = compiler
        .program("i.cu", source)
        .include(&include)
        .cache(Cache::at(folder.path().join("c")));
    for value in ["3", "4"] {
        fs::write(include.join("v.h"), format!("#define V {value}\n")).unwrap();
        assert_eq!(stored(&program), value);
    }
}

/// The files of a cache.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

#[test]
fn a_damaged_entry_is_made_anew() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let program = compiler
        .program("n.cu", NOTHING)
        .cache(Cache::at(folder.path()));
    let whole = program.compile(ptx()).unwrap().into_bytes();
    let [path] = &files(folder.path())[..] else {
        panic!("one entry")
    };
    let good = fs::read(path).unwrap();
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damage: [Damage<'_>; 5] = [
        &|bytes| bytes.clear(),
        &|bytes| bytes.truncate(20),
        &|bytes| {
            bytes.pop();
        },
        &|bytes| bytes[good.len() / 2] ^= 1,
        &|bytes| bytes.push(0),
    ];
    for damage in damage {
        let mut bytes = good.clone();
        damage(&mut bytes);
        fs::write(path, bytes).unwrap();
        let image = program.compile(ptx()).unwrap();
        assert!(!image.from_cache());
        assert_eq!(image.as_bytes(), whole);
        assert!(program.compile(ptx()).unwrap().from_cache());
    }
}

#[test]
fn a_cache_is_bounded_and_the_oldest_goes_first() {
    let folder = Folder::new();
    let cache = Cache::at(folder.path()).with_limit(1000);
    for (age, bytes) in [(50_u64, 400), (40, 400), (30, 300)] {
        let path = folder.path().join(format!("{age:032x}.image"));
        fs::write(&path, vec![0; bytes]).unwrap();
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age))
            .unwrap();
    }
    fs::write(folder.path().join("somebody-elses.txt"), vec![0; 5000]).unwrap();
    cache.trim();
    let left: Vec<String> = files(folder.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        left,
        [
            format!("{:032x}.image", 30),
            format!("{:032x}.image", 40),
            "somebody-elses.txt".to_owned()
        ]
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_an_empty_cache() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let file = folder.path().join("a-file");
    fs::write(&file, "").unwrap();
    let program = compiler
        .program("n.cu", NOTHING)
        .cache(Cache::at(file.join("below")));
    assert!(!program.compile(ptx()).unwrap().from_cache());
    assert!(!program.compile(ptx()).unwrap().from_cache());
}

#[test]
fn threads_share_a_cache() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    let images: Vec<Image> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let program = compiler
                    .program("n.cu", NOTHING)
                    .cache(Cache::at(folder.path()));
                scope.spawn(move || program.compile(ptx()).unwrap())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        images
            .iter()
            .all(|image| image.as_bytes() == images[0].as_bytes())
    );
    assert_eq!(files(folder.path()).len(), 1, "no temporary file is left");
}

#[test]
fn absence_has_a_reason() {
    const TEST: &str = "compiling::absence_has_a_reason";
    common::alone(TEST, &[("ULIB_NVRTC", "none")], || {
        let error = Compiler::find().unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert_eq!(
            error.to_string(),
            "the CUDA compiler is disabled by ULIB_NVRTC"
        );
    });
    let error = Compiler::at("/nowhere/libnvrtc.so.12")
        .version()
        .unwrap_err();
    let reason = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<NoCompiler>());
    assert_eq!(
        reason,
        Some(&NoCompiler::NotFound {
            tried: vec!["/nowhere/libnvrtc.so.12".into()]
        })
    );
    let folder = Folder::new();
    let path = folder.path().join("libnvrtc.so.12");
    fs::write(&path, "no library").unwrap();
    let error = Compiler::at(&path)
        .program("n.cu", NOTHING)
        .compile(ptx())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the CUDA compiler cannot be loaded: "),
        "{error}"
    );
    let error = Compiler::at("libm.so.6").version().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the CUDA compiler libm.so.6 lacks nvrtcVersion"
    );
}
