//! Texture and surface references: sources that declare them compile, and their variables are bound before launches.

use crate::common;
use crate::common::folder::Folder;
use crate::support::{compiler, device};
use std::fs;
use ulib_core::ErrorKind;
use ulib_device::compiler::{Cache, CompileFailure, Target};
use ulib_device::texture::references::ReferenceVariable;
use ulib_device::texture::{
    Array, ArrayDescriptor, Format, Sampling, SurfaceObject, TextureObject, TextureSource,
};
use ulib_device::{Module, Stream};

/// Every kind of declaration, with every function that takes it.
const EVERYTHING: &str = r#"
#include <stdint.h>
texture<float, 2> tex;
texture<unsigned char, 2, cudaReadModeNormalizedFloat> bytes;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> colours;
texture<int, 1> numbers;
texture<float2, 1, cudaReadModeElementType> pairs;
texture<float, 3> volume;
texture<short, cudaTextureType2DLayered> planes;
texture<float, cudaTextureType1DLayered> lines;
texture<float, cudaTextureTypeCubemap> cube;
texture<float, cudaTextureTypeCubemapLayered> cubes;
texture<unsigned int> plain;
surface<void, 1> line;
surface<void, 2> surf;
surface<void, 3> block;
surface<void, cudaSurfaceType1DLayered> line_layers;
surface<void, cudaSurfaceType2DLayered> layers;
surface<void, cudaSurfaceTypeCubemap> faces;
surface<void, cudaSurfaceTypeCubemapLayered> many_faces;

__global__ void everything(float *out, cudaTextureObject_t object, cudaSurfaceObject_t other)
{
    int i = threadIdx.x;
    float2 d = make_float2(1, 0);
    float4 e = make_float4(1, 0, 0, 0);
    float sum = tex2D(tex, i, 2.0f) + tex2DLod(tex, i, 2, 1) + tex2DGrad(tex, i, 2, d, d) + tex2Dgather(tex, 1, 2).x;
    sum += tex2D(bytes, i, 0) + tex2D(colours, i, i).w + tex2Dgather(colours, 1, 2, 3).y;
    sum += tex1Dfetch(numbers, i) + tex1Dfetch(pairs, i).y + tex1D(pairs, 0.5f).x + tex1Dfetch(plain, i);
    sum += tex1DLod(plain, i, 0) + tex1DGrad(plain, i, 0, 0);
    sum += tex3D(volume, 1, 2, 3) + tex3DLod(volume, 1, 2, 3, 0) + tex3DGrad(volume, 1, 2, 3, e, e);
    sum += tex2DLayered(planes, 1, 2, 3) + tex2DLayeredLod(planes, 1, 2, 3, 0) + tex2DLayeredGrad(planes, 1, 2, 3, d, d);
    sum += tex1DLayered(lines, 1, 2) + tex1DLayeredLod(lines, 1, 2, 0) + tex1DLayeredGrad(lines, 1, 2, 0, 0);
    sum += texCubemap(cube, 1, 0, 0) + texCubemapLod(cube, 1, 0, 0, 0);
    sum += texCubemapLayered(cubes, 1, 0, 0, 1) + texCubemapLayeredLod(cubes, 1, 0, 0, 1, 0);
    float read;
    surf2Dread(&read, surf, i * 4, 1);
    surf2Dwrite(read + 1, surf, i * 4, 1, cudaBoundaryModeClamp);
    sum += surf2Dread<float>(surf, 4, 4) + surf1Dread<float>(line, 0) + surf1DLayeredread<float>(line_layers, 0, 1);
    sum += surf2DLayeredread<float>(layers, 0, 1, 2) + surfCubemapread<float>(faces, 0, 1, 2);
    sum += surfCubemapLayeredread<float>(many_faces, 0, 1, 2) + surf3Dread<int2>(block, 0, 1, 2).x;
    surf1Dwrite(sum, line, 0);
    surf3Dwrite(make_int2(1, 2), block, 8, 1, 2);
    surf1DLayeredwrite(sum, line_layers, 0, 1);
    surf2DLayeredwrite(sum, layers, 0, 1, 2);
    surfCubemapwrite(sum, faces, 0, 1, 2);
    surfCubemapLayeredwrite(sum, many_faces, 0, 1, 2);
    // Objects beside references.
    surf2Dwrite(tex2D<float>(object, 1, 2), other, 0, 0);
    out[i] = sum;
}
"#;

const HELPERS: &str = r#"
#include <pycuda-helpers.hpp>
texture<fp_tex_float, 1> floats;
texture<fp_tex_double, 2> doubles;
texture<fp_tex_cfloat, 3, cudaReadModeElementType> complexes;
texture<fp_tex_cdouble, 1> wide;
texture<fp_tex_double, cudaTextureType1DLayered> lines;
texture<fp_tex_double, cudaTextureType2DLayered> layers;
texture<fp_tex_double, cudaTextureTypeCubemap> cube;
texture<fp_tex_double, cudaTextureTypeCubemapLayered> cubes;
surface<void, 1> line;
surface<void, 2> surf;
surface<void, 3> block;
surface<void, cudaSurfaceType1DLayered> line_layers;
surface<void, cudaSurfaceType2DLayered> written;
surface<void, cudaSurfaceTypeCubemap> faces;
surface<void, cudaSurfaceTypeCubemapLayered> many_faces;

__global__ void helpers(double *d, pycuda::complex<float> *c, pycuda::complex<double> *z, float *f)
{
    int i = threadIdx.x;
    f[i] = fp_tex1Dfetch(floats, i) + fp_tex1D(floats, 0.5f);
    d[i] = fp_tex2D(doubles, i, 1) + fp_tex1DLayered(lines, i, 0) + fp_tex2DLayered(layers, i, 1, 0);
    d[i] += fp_texCubemap(cube, 1, 0, 0) + fp_texCubemapLayered(cubes, 1, 0, 0, 1);
    c[i] = fp_tex3D(complexes, i, 1, 2);
    z[i] = fp_tex1Dfetch(wide, i);
    fp_surf2DLayeredread(d, written, i, 0, 0);
    fp_surf2DLayeredwrite(d[1], written, i, 0, 0);
    fp_surf3Dread(z, block, i, 1, 2);
    fp_surf3Dwrite(z[1], block, i, 1, 2, cudaBoundaryModeClamp);
    fp_surf2Dread(c, surf, i, 1);
    fp_surf2Dwrite(c[1], surf, i, 1);
    fp_surf1Dread(f, line, i);
    fp_surf1Dwrite(f[1], line, i);
    fp_surf1DLayeredread(f, line_layers, i, 1);
    fp_surf1DLayeredwrite(f[2], line_layers, i, 2);
    fp_surfCubemapread(d, faces, i, 0, 1);
    fp_surfCubemapwrite(d[2], faces, i, 0, 1);
    fp_surfCubemapLayeredread(d, many_faces, i, 0, 1);
    fp_surfCubemapLayeredwrite(d[3], many_faces, i, 0, 1);
}
"#;

#[test]
fn sources_with_references_compile_for_every_architecture() {
    let Some(compiler) = compiler() else { return };
    let known = compiler.architectures().unwrap();
    for architecture in known.iter().filter(|&&number| (60..=90).contains(&number)) {
        for (source, variables) in [
            (
                EVERYTHING,
                &["tex", "colours", "cubes", "surf", "many_faces"][..],
            ),
            (HELPERS, &["doubles", "wide", "written"][..]),
        ] {
            let program = compiler.program("k.cu", source).extern_c();
            let image = program
                .compile(Target::Ptx(architecture.to_string()))
                .unwrap();
            let text = String::from_utf8(image.into_bytes()).unwrap();
            for name in variables {
                assert!(
                    text.contains(&format!(".global .align 8 .b8 {name}[8]")),
                    "{architecture} {name}"
                );
            }
        }
    }
}

#[test]
fn errors_in_sources_with_references_have_their_own_lines() {
    let Some(compiler) = compiler() else { return };
    let source = "texture<float, 2> tex;\n__global__ void f(float *a)\n{\n    a[0] = missing;\n}\n";
    let program = compiler
        .program("k.cu", source)
        .extern_c()
        .cache(Cache::none());
    let error = program.compile(Target::Ptx("80".into()));
    let error = error.map(drop).unwrap_err();
    let failure = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<CompileFailure>());
    let log = &failure.expect("what the compiler says").log;
    assert!(log.contains("k.cu(4): error"), "{log}");
    // A fetch that fits no declaration.
    let source =
        "texture<float, 2> tex;\n__global__ void f(float *a) { a[0] = tex3D(tex, 1, 2, 3); }\n";
    assert!(
        compiler
            .program("k.cu", source)
            .compile(Target::Ptx("80".into()))
            .is_err()
    );
}

#[test]
fn headers_may_have_the_declarations() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::new();
    fs::create_dir(folder.join("deep")).unwrap();
    fs::write(
        folder.join("tables.h"),
        "#pragma once\n#include \"deep/more.h\"\ntexture<float, 2> table;\n",
    )
    .unwrap();
    let more = folder.join("deep/more.h");
    fs::write(&more, "surface<void, 2> written;\n").unwrap();
    let source = "#include <tables.h>\n__global__ void f(float *a)\n{\n    a[0] = tex2D(table, 0, 0);\n    surf2Dwrite(a[0], written, 0, 0);\n}\n";
    for cache in [
        Cache::none(),
        Cache::at(folder.join("cache")),
        Cache::at(folder.join("cache")),
    ] {
        let program = compiler
            .program("k.cu", source)
            .extern_c()
            .include(folder.path())
            .cache(cache);
        let image = program.compile(Target::Ptx("80".into())).unwrap();
        let text = String::from_utf8(image.into_bytes()).unwrap();
        for name in ["table", "written"] {
            assert!(
                text.contains(&format!(".global .align 8 .b8 {name}[8]")),
                "{text}"
            );
        }
    }
    // A template of the program's own stays what it is, and an image of before is not taken for the new one.
    fs::write(
        &more,
        "template <class T> struct surface { T x; };\n__device__ surface<float> plain(float x);\n",
    )
    .unwrap();
    let source = "#include <tables.h>\n__device__ surface<float> written;\n__global__ void f(float *a) { a[0] = written.x; }\n";
    let program = compiler
        .program("k.cu", source)
        .include(folder.path())
        .cache(Cache::at(folder.join("cache")));
    let text = String::from_utf8(
        program
            .compile(Target::Ptx("80".into()))
            .unwrap()
            .into_bytes(),
    )
    .unwrap();
    assert!(
        text.contains(".b8 table[8]") && !text.contains(".b8 written[8]"),
        "{text}"
    );
}

const PTX: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .global .align 8 .b8 tex[8];
.visible .global .align 4 .b8 narrow[4];
.visible .entry ulib_test_nothing()
{
    ret;
}
";

fn read(address: u64, session: &fakecuda::Session) -> u64 {
    let bytes = session.peek(address, 8).unwrap();
    u64::from_ne_bytes(bytes.try_into().unwrap())
}

#[test]
fn a_reference_holds_the_number_of_what_is_bound() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let module = Module::load(&device, PTX).unwrap();
    let (address, _) = module.global("tex").unwrap();
    let mut tex = ReferenceVariable::find(&module, "tex").unwrap();
    assert_eq!(tex.name(), "tex");
    let error = ReferenceVariable::find(&module, "narrow").unwrap_err();
    assert!(
        error.to_string().contains("a variable of 4 bytes"),
        "{error}"
    );
    assert!(ReferenceVariable::find(&module, "missing").is_err());
    drop(module);
    let (one, two) = (
        Stream::new(&device).unwrap(),
        Stream::non_blocking(&device).unwrap(),
    );
    let error = tex.queue_on(&one, || Ok(())).unwrap_err();
    assert!(error.to_string().contains("nothing bound to it"), "{error}");
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    let descriptor = ArrayDescriptor::plane(4, 4, Format::F32, 1).with_surface();
    let array = Array::new(&device, descriptor).unwrap();
    let surface = SurfaceObject::new(&array).unwrap();
    let texture = TextureObject::new(TextureSource::Array(array), &Sampling::default()).unwrap();
    session.deferred(true);
    tex.bind_texture(&texture, &one).unwrap();
    assert_ne!(
        read(address, &session),
        texture.handle(),
        "it is in the stream"
    );
    // Work on another stream waits for it.
    tex.queue_on(&two, || Ok(())).unwrap();
    two.synchronize().unwrap();
    assert_eq!(read(address, &session), texture.handle());
    tex.bind_surface(&surface, &two).unwrap();
    one.synchronize().unwrap();
    assert_eq!(read(address, &session), texture.handle());
    two.synchronize().unwrap();
    assert_eq!(read(address, &session), surface.handle());
    session.deferred(false);
    let number = surface.handle();
    drop((texture, surface));
    assert_eq!(session.count("cuSurfObjectDestroy"), 0, "{number} is bound");
    assert_eq!(session.count("cuModuleUnload"), 0);
    drop(tex);
    assert_eq!(session.count("cuSurfObjectDestroy"), 1);
    assert_eq!(session.count("cuModuleUnload"), 1);
    drop((one, two));
    assert_eq!(session.live(), []);
}
