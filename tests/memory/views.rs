//! Views of arrays by textures: other formats, some of the levels and layers.

use ulib_core::ErrorKind;
use ulib_device::sys::CUDA_RESOURCE_VIEW_DESC;
use ulib_device::texture::{
    Array, ArrayDescriptor, Blocks, FilterMode, Format, MipmappedArray, ReadMode, Sampling,
    TextureObject, TextureSource, View, ViewFormat,
};
use ulib_device::{DeviceBytes, Stream};

use crate::setup::{Card, card};

fn array(card: &Card, descriptor: ArrayDescriptor) -> TextureSource {
    TextureSource::Array(Array::new(&card.device, descriptor).unwrap())
}

fn of(format: ViewFormat) -> View {
    View {
        format,
        ..View::default()
    }
}

/// What the driver says about the view of a texture.
#[allow(unsafe_code, reason = "asks the driver")]
fn asked(card: &Card, texture: &TextureObject) -> CUDA_RESOURCE_VIEW_DESC {
    let table = card.device.driver().table();
    let ask = table.cuTexObjectGetResourceViewDesc.unwrap();
    let _context = card.device.bind().unwrap();
    // SAFETY: all-zero is a value of it; the call writes one structure about a living object.
    unsafe {
        let mut found: CUDA_RESOURCE_VIEW_DESC = core::mem::zeroed();
        assert_eq!(ask(&raw mut found, texture.handle()).0, 0);
        found
    }
}

#[test]
fn a_view_has_the_sizes_of_its_array() {
    let Some(card) = card() else { return };
    let colours = ArrayDescriptor::plane(16, 8, Format::U8, 4);
    let view = of(ViewFormat::Texels(Format::U32, 1));
    let texture =
        TextureObject::with_view(array(&card, colours), &Sampling::default(), &view).unwrap();
    assert_eq!(*texture.view(), view);
    let found = asked(&card, &texture);
    assert_eq!((found.format.0, found.width, found.height), (13, 16, 8));
    assert_eq!((found.depth, found.firstLayer, found.lastLayer), (0, 0, 0));

    // A block is four by four texels.
    let blocks = ArrayDescriptor::plane(16, 8, Format::U32, 4);
    let sampling = Sampling {
        filter: FilterMode::Linear,
        read: ReadMode::NormalizedFloat,
        ..Sampling::default()
    };
    let view = of(ViewFormat::Blocks(Blocks::Bc7));
    let texture = TextureObject::with_view(array(&card, blocks), &sampling, &view).unwrap();
    let found = asked(&card, &texture);
    assert_eq!((found.format.0, found.width, found.height), (34, 64, 32));
}

#[test]
fn levels_and_layers_are_chosen() {
    let Some(card) = card() else { return };
    let descriptor = ArrayDescriptor::layered_plane(16, 16, 6, Format::F32, 1);
    let levels = MipmappedArray::new(&card.device, descriptor, 5).unwrap();
    let view = View {
        levels: Some((1, 3)),
        layers: Some((2, 5)),
        ..View::default()
    };
    let source = TextureSource::Mipmaps(levels);
    let texture = TextureObject::with_view(source.clone(), &Sampling::default(), &view).unwrap();
    let found = asked(&card, &texture);
    assert_eq!((found.firstMipmapLevel, found.lastMipmapLevel), (1, 3));
    assert_eq!((found.firstLayer, found.lastLayer), (2, 5));
    assert_eq!((found.width, found.height, found.depth), (16, 16, 6));
    // All of what is not chosen.
    let view = View {
        layers: Some((3, 3)),
        ..View::default()
    };
    let texture = TextureObject::with_view(source, &Sampling::default(), &view).unwrap();
    let found = asked(&card, &texture);
    assert_eq!((found.firstMipmapLevel, found.lastMipmapLevel), (0, 4));
    assert_eq!((found.firstLayer, found.lastLayer), (3, 3));
}

#[test]
fn views_that_fit_no_array_are_refused() {
    let Some(card) = card() else { return };
    let floats = ArrayDescriptor::plane(16, 8, Format::F32, 1);
    let layers = ArrayDescriptor::layered_plane(16, 8, 3, Format::F32, 1);
    let part = |levels, layers| View {
        levels,
        layers,
        ..View::default()
    };
    let bytes = DeviceBytes::allocate(&Stream::legacy(&card.device), 4096).unwrap();
    let linear = TextureSource::Linear {
        memory: bytes.into(),
        offset: 0,
        width: 16,
        format: Format::F32,
        channels: 1,
    };
    let levels = MipmappedArray::new(&card.device, floats, 2).unwrap();
    let texels = |format, channels| of(ViewFormat::Texels(format, channels));
    for (source, view, words) in [
        (
            array(&card, floats),
            texels(Format::U8, 2),
            "expected one of 4 bytes",
        ),
        (array(&card, floats), texels(Format::U8, 3), "channels is 3"),
        (
            array(&card, floats),
            of(ViewFormat::Blocks(Blocks::Bc1)),
            "expected 2 numbers of U32 in the array",
        ),
        (
            array(&card, floats),
            part(Some((0, 0)), None),
            "none of an array without levels",
        ),
        (
            array(&card, floats),
            part(None, Some((0, 0))),
            "none of an array without layers",
        ),
        (
            array(&card, layers),
            part(None, Some((1, 3))),
            "layers is (1, 3), expected the first and the last of 0 to 2",
        ),
        (
            array(&card, layers),
            part(None, Some((2, 1))),
            "layers is (2, 1)",
        ),
        (
            TextureSource::Mipmaps(levels),
            part(Some((0, 2)), None),
            "levels is (0, 2)",
        ),
        (linear, texels(Format::U32, 1), "one of linear memory"),
    ] {
        let made = TextureObject::with_view(source, &Sampling::default(), &view);
        let error = made.map(drop).unwrap_err();
        assert!(error.to_string().contains(words), "{error}\n{words}");
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    }
    // What may be interpolated follows from what is seen.
    let smooth = Sampling {
        filter: FilterMode::Linear,
        ..Sampling::default()
    };
    let view = texels(Format::I32, 1);
    assert!(TextureObject::with_view(array(&card, floats), &smooth, &view).is_err());
    let numbers = ArrayDescriptor::plane(16, 8, Format::I32, 1);
    let view = texels(Format::F32, 1);
    TextureObject::with_view(array(&card, numbers), &smooth, &view).unwrap();
}
