//! Objects of OpenGL on the software driver, with a stand-in for the library that has the context.
#![allow(unsafe_code, reason = "loads the stand-in and calls it")]

use crate::common::{self, folder::Folder};
use crate::support::device;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use ulib_core::ErrorKind;
use ulib_device::gl::{Registered, Usage, devices};
use ulib_device::texture::{Sampling, SurfaceObject, TextureObject, TextureSource};
use ulib_device::{Stream, copy};

/// EGL and the questions that are asked of OpenGL: numbers up to 9 are buffers, 10 to 19 textures, 20 to 29 renderbuffers.
const EGL: &str = r#"
#include <string.h>
static __thread void *current;
static unsigned destroyed;
void *eglGetCurrentContext(void) { return current; }
void stand_in(int on, unsigned gone) { current = on ? &current : 0; destroyed = gone; }
static int there(unsigned name, unsigned first) { return name >= first && name < first + 10 && name != destroyed && name; }
static unsigned char is_buffer(unsigned name) { return there(name, 0); }
static unsigned char is_texture(unsigned name) { return there(name, 10); }
static unsigned char is_renderbuffer(unsigned name) { return there(name, 20); }
void (*eglGetProcAddress(const char *name))(void)
{
    if (!strcmp(name, "glIsBuffer")) return (void (*)(void))is_buffer;
    if (!strcmp(name, "glIsTexture")) return (void (*)(void))is_texture;
    return (void (*)(void))is_renderbuffer;
}
"#;

/// The stand-in, loaded for the whole process; nothing where there is no C compiler.
fn egl() -> Option<&'static libloading::Library> {
    static LIBRARY: OnceLock<Option<libloading::Library>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let folder = Folder::new();
        let (source, library) = (
            folder.path().join("egl.c"),
            folder.path().join("libEGL.so.1"),
        );
        std::fs::write(&source, EGL).unwrap();
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wl,-soname,libEGL.so.1", "-o"])
            .args([&library, &source] as [&Path; 2])
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("SKIP: {}: no C compiler", common::test_name());
            return None;
        }
        // SAFETY: it does nothing when it is loaded.
        Some(unsafe { libloading::Library::new(&library) }.unwrap())
    });
    library.as_ref()
}

/// Makes a context current on this thread, or none; one object may be destroyed.
fn context(on: bool, destroyed: u32) {
    let library = egl().unwrap();
    // SAFETY: the function above.
    unsafe {
        let set = library
            .get::<unsafe extern "C" fn(i32, u32)>("stand_in")
            .unwrap();
        set(i32::from(on), destroyed);
    }
}

#[test]
fn a_buffer_is_device_memory_while_it_is_mapped() {
    let Some(session) = common::fake_only() else {
        return;
    };
    if egl().is_none() {
        return;
    }
    context(true, 0);
    let (device, stream) = (device(), Stream::new(&device()).unwrap());
    assert_eq!(devices().unwrap(), vec![device.clone()]);
    let buffer = Registered::buffer(&device, 3, Usage::ANY).unwrap();
    assert_eq!(buffer.name(), 3);
    for _ in 0..2 {
        let mapping = buffer.map(&stream).unwrap();
        let (address, len) = mapping.pointer().unwrap();
        assert_eq!(len, 4096);
        // SAFETY: the buffer is mapped.
        unsafe { copy::raw::fill(address, copy::raw::Element::D8(7), len, &stream) }.unwrap();
        assert!(matches!(
            mapping.array(0, 0).unwrap_err().kind(),
            ErrorKind::Driver { code: 212, .. }
        ));
        assert_eq!(*buffer.map(&stream).unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(*buffer.unregister().unwrap_err().kind(), ErrorKind::Busy);
        mapping.unmap().unwrap();
        mapping.unmap().unwrap();
        assert!(matches!(
            mapping.pointer().unwrap_err().kind(),
            ErrorKind::Driver { code: 211, .. }
        ));
        assert_eq!(session.peek(address, 4).unwrap(), [7; 4]);
    }
    drop(buffer.map(&stream).unwrap());
    buffer.unregister().unwrap();
    for error in [
        buffer.unregister().unwrap_err(),
        buffer.map(&stream).map(drop).unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("buffer 3 of OpenGL, which has been unregistered"),
            "{error}"
        );
    }
    drop((buffer, stream));
    assert!(device.errors().is_empty());
    assert_eq!(session.live(), []);
}

#[test]
fn a_picture_is_an_array_until_it_is_unmapped() {
    let Some(session) = common::fake_only() else {
        return;
    };
    if egl().is_none() {
        return;
    }
    context(true, 0);
    let (device, stream) = (device(), Stream::new(&device()).unwrap());
    let image = Registered::image(&device, 12, 0x0DE1, Usage::SURFACE).unwrap();
    let mapping = image.map(&stream).unwrap();
    assert!(mapping.pointer().is_err() && mapping.array(1, 0).is_err());
    let array = mapping.array(0, 0).unwrap();
    assert_eq!(
        (array.descriptor().width, array.descriptor().height),
        (16, 8)
    );
    let texels = [[1_u8, 2, 3, 4]; 128];
    array.upload(&texels, &stream).unwrap();
    let source = || TextureSource::Array(array.clone());
    let texture = TextureObject::new(source(), &Sampling::default()).unwrap();
    let surface = SurfaceObject::new(&array).unwrap();
    mapping.unmap_in(&Stream::legacy(&device)).unwrap();
    let texts = [
        array.upload(&texels, &stream).unwrap_err(),
        TextureObject::new(source(), &Sampling::default())
            .map(drop)
            .unwrap_err(),
        SurfaceObject::new(&array).map(drop).unwrap_err(),
    ];
    for error in texts {
        assert!(
            error.to_string().contains("a mapping that has ended"),
            "{error}"
        );
    }
    drop((texture, surface, array));
    let again = image.map(&stream).unwrap().array(0, 0).unwrap();
    assert!(
        again.to_vec::<[u8; 4]>(&stream).is_err(),
        "its mapping was dropped"
    );
    drop(again);
    drop((mapping, image, stream));
    assert!(device.errors().is_empty());
    assert_eq!(session.live(), []);
}

#[test]
fn without_a_context_or_an_object_nothing_is_asked_of_the_driver() {
    let Some(session) = common::fake_only() else {
        return;
    };
    if egl().is_none() {
        return;
    }
    context(false, 0);
    let (device, stream) = (device(), Stream::new(&device()).unwrap());
    let buffer = |name| Registered::buffer(&device, name, Usage::READ_ONLY);
    for error in [buffer(3).unwrap_err(), devices().unwrap_err()] {
        assert!(
            error
                .to_string()
                .contains("no OpenGL context is current on this thread"),
            "{error}"
        );
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    }
    context(true, 0);
    let error = buffer(13).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("buffer is 13, expected a buffer that OpenGL has"),
        "{error}"
    );
    let error = Registered::image(&device, 5, 0x0DE1, Usage::ANY).unwrap_err();
    assert!(error.to_string().contains("texture is 5"), "{error}");
    let error = Registered::image(&device, 5, 0x8D41, Usage::ANY).unwrap_err();
    assert!(error.to_string().contains("renderbuffer is 5"), "{error}");
    assert_eq!(session.count("cuGraphicsGLRegisterBuffer"), 0);
    let kept = buffer(4).unwrap();
    context(true, 4);
    let error = kept.map(&stream).unwrap_err();
    assert!(error.to_string().contains("buffer is 4"), "{error}");
    context(true, 0);
    let mapping = kept.map(&stream).unwrap();
    context(false, 0);
    assert!(mapping.unmap().is_err() && kept.map(&stream).is_err());
    assert_eq!(session.count("cuGraphicsUnmapResources"), 0);
    // Another thread has no context either: what is dropped there is left, and on record.
    std::thread::spawn(move || drop((mapping, kept)))
        .join()
        .unwrap();
    let texts: Vec<_> = device.errors().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].starts_with("unmapping the buffer 4 of OpenGL: "),
        "{texts:?}"
    );
    assert!(
        texts[1].starts_with("giving up the buffer 4 of OpenGL: "),
        "{texts:?}"
    );
    assert_eq!(session.count("cuGraphicsUnregisterResource"), 0);
}
