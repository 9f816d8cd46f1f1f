//! Texture and surface objects: what is refused, what they keep alive, and calls that fail.

use std::sync::Arc;

use fakecuda::Kind;
use ulib_core::{ErrorKind, Result};
use ulib_device::Stream;
use ulib_device::memory::{DeviceBytes, Held};
use ulib_device::report;
use ulib_device::sys::{CUDA_RESOURCE_DESC, CUdevice_attribute as Attribute};
use ulib_device::texture::{
    AddressMode, Array, ArrayDescriptor, Coordinates, FilterMode, Format, MipmappedArray, ReadMode,
    Sampling, SurfaceObject, TextureObject, TextureSource,
};

use crate::common;
use crate::setup::{Card, card, fake_card};

fn plane(card: &Card, format: Format) -> Array {
    let descriptor = ArrayDescriptor::plane(16, 8, format, 1).with_surface();
    Array::new(&card.device, descriptor).unwrap()
}

fn memory(card: &Card, bytes: usize) -> Arc<DeviceBytes> {
    Arc::new(DeviceBytes::allocate(&card.stream, bytes).unwrap())
}

#[test]
fn every_way_of_sampling_makes_a_texture() {
    let Some(card) = card() else { return };
    let array = plane(&card, Format::U8);
    let mut made = 0;
    for address in AddressMode::ALL {
        for filter in FilterMode::ALL {
            for coordinates in [Coordinates::Texels, Coordinates::Normalized] {
                let sampling = Sampling {
                    address: [address; 3],
                    filter,
                    read: ReadMode::NormalizedFloat,
                    coordinates,
                    srgb: true,
                    border: [0.5; 4],
                    max_anisotropy: 16,
                    ..Sampling::default()
                };
                let texture =
                    TextureObject::new(TextureSource::Array(array.clone()), &sampling).unwrap();
                assert_ne!(texture.handle(), 0);
                assert_eq!(*texture.sampling(), sampling);
                made += 1;
            }
        }
    }
    assert_eq!(made, 16);
}

#[test]
fn levels_linear_and_pitched_memory_make_textures() {
    let Some(card) = card() else { return };
    let levels = MipmappedArray::new(
        &card.device,
        ArrayDescriptor::plane(16, 16, Format::F32, 1),
        5,
    )
    .unwrap();
    let sampling = Sampling {
        filter: FilterMode::Linear,
        mipmap_filter: FilterMode::Linear,
        mipmap_bias: 0.25,
        mipmap_levels: [0.0, 4.0],
        coordinates: Coordinates::Normalized,
        exact_trilinear: true,
        ..Sampling::default()
    };
    let texture = TextureObject::new(TextureSource::Mipmaps(levels), &sampling).unwrap();
    texture.queue_on(&card.stream, || Ok(())).unwrap();
    let linear = TextureSource::Linear {
        memory: memory(&card, 4096),
        offset: 512,
        width: 800,
        format: Format::F32,
        channels: 1,
    };
    TextureObject::new(linear, &Sampling::default()).unwrap();
    let pitched = TextureSource::Pitched {
        memory: memory(&card, 4096),
        offset: 0,
        width: 30,
        height: 8,
        pitch: 512,
        format: Format::U8,
        channels: 4,
    };
    TextureObject::new(pitched, &Sampling::default()).unwrap();
}

#[test]
fn what_a_device_cannot_read_is_refused_by_name() {
    let Some(card) = card() else { return };
    let alignment = card
        .device
        .attribute(Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)
        .unwrap();
    let bytes = memory(&card, 1 << 16);
    let linear = |offset, width, channels| TextureSource::Linear {
        memory: Arc::clone(&bytes),
        offset,
        width,
        format: Format::F32,
        channels,
    };
    let pitched = |width, height, pitch| TextureSource::Pitched {
        memory: Arc::clone(&bytes),
        offset: 0,
        width,
        height,
        pitch,
        format: Format::F32,
        channels: 1,
    };
    let nearest = Sampling::default();
    let smooth = Sampling {
        filter: FilterMode::Linear,
        ..nearest
    };
    let aligned = format!("expected a multiple of {alignment} bytes");
    let of = |format| TextureSource::Array(plane(&card, format));
    for (source, sampling, words) in [
        (linear(4, 8, 1), nearest, aligned.as_str()),
        (linear(0, 0, 1), nearest, "size is 0 bytes"),
        (linear(0, 8, 3), nearest, "channels is 3"),
        (linear(0, 1 << 14, 4), nearest, "exceed the 65536 bytes"),
        (
            linear(0, 1 << 30, 1),
            nearest,
            "width is 1073741824, expected at most",
        ),
        (linear(0, 8, 1), smooth, "filter is Linear, expected Point"),
        (
            pitched(8, 8, 16),
            nearest,
            "pitch is 16, expected at least a row",
        ),
        (
            pitched(8, 8, 36),
            nearest,
            "pitch is 0x24, expected a multiple of",
        ),
        (pitched(0, 8, 32), nearest, "width is 0"),
        (pitched(8, 0, 32), nearest, "height is 0"),
        (pitched(8, 65, 1024), nearest, "exceed the 65536 bytes"),
        (
            pitched(8, 1 << 20, 32),
            nearest,
            "height is 1048576, expected at most",
        ),
        (
            of(Format::I32),
            smooth,
            "filter is Linear of I32 read as Element",
        ),
        (
            of(Format::U8),
            Sampling {
                srgb: true,
                ..nearest
            },
            "srgb is true for U8",
        ),
        (
            of(Format::F32),
            Sampling {
                max_anisotropy: 17,
                ..nearest
            },
            "max_anisotropy is 17",
        ),
    ] {
        let error = TextureObject::new(source, &sampling).unwrap_err();
        assert!(error.to_string().contains(words), "{error}\n{words}");
        assert!(matches!(
            error.kind(),
            ErrorKind::InvalidArgument | ErrorKind::Index
        ));
    }
    let readable = Array::new(&card.device, ArrayDescriptor::plane(4, 4, Format::F32, 1)).unwrap();
    let error = SurfaceObject::new(&readable).unwrap_err();
    assert!(error.to_string().contains("SURFACE_LDST"), "{error}");
}

#[test]
fn the_driver_is_told_what_was_asked_for() {
    let Some(card) = fake_card() else { return };
    let bytes = memory(&card, 8192);
    let start = bytes.ptr();
    let source = TextureSource::Pitched {
        memory: bytes,
        offset: 1024,
        width: 5,
        height: 3,
        pitch: 96,
        format: Format::I16,
        channels: 2,
    };
    let texture = TextureObject::new(source, &Sampling::default()).unwrap();
    let ask = card
        .device
        .driver()
        .table()
        .cuTexObjectGetResourceDesc
        .unwrap();
    let _context = card.device.bind().unwrap();
    // SAFETY: all-zero is a value of it; the call writes one structure about a living object; the variant is the one
    // that was asked for.
    unsafe {
        let mut found: CUDA_RESOURCE_DESC = core::mem::zeroed();
        assert_eq!(ask(&raw mut found, texture.handle()).0, 0);
        assert_eq!(found.resType.0, 3);
        let pitched = found.res.pitch2D;
        assert_eq!(pitched.devPtr, start + 1024);
        assert_eq!((pitched.format.0, pitched.numChannels), (9, 2));
        assert_eq!(
            (pitched.width, pitched.height, pitched.pitchInBytes),
            (5, 3, 96)
        );
    }
}

#[test]
fn objects_keep_what_they_use_and_go_before_it() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let array = plane(&card, Format::F32);
    let texture =
        TextureObject::new(TextureSource::Array(array.clone()), &Sampling::default()).unwrap();
    let surface = SurfaceObject::new(&array).unwrap();
    assert!(surface.array().is(&array));
    assert_ne!(surface.handle(), texture.handle());
    drop(array);
    assert_eq!(fake.count("cuArrayDestroy"), 0);
    fake.record(true);
    drop(texture.clone());
    drop(texture);
    drop(surface);
    fake.record(false);
    let destroyed: Vec<_> = fake
        .calls()
        .into_iter()
        .filter(|call| call.ends_with("Destroy") || *call == "cuCtxSynchronize")
        .collect();
    // Both handles were asked for, so each is destroyed after a wait.
    assert_eq!(
        destroyed,
        [
            "cuCtxSynchronize",
            "cuTexObjectDestroy",
            "cuCtxSynchronize",
            "cuSurfObjectDestroy",
            "cuCtxSynchronize",
            "cuArrayDestroy"
        ]
    );
    let left = |kind| fake.live().iter().filter(|live| live.kind == kind).count();
    assert_eq!(
        (left(Kind::Array), left(Kind::Texture), left(Kind::Surface)),
        (0, 0, 0)
    );
    assert_eq!(fake.faults(), [""; 0]);
}

#[test]
fn closing_says_what_went_wrong_and_keeps_what_may_still_be_read() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let descriptor = ArrayDescriptor::plane(8, 4, Format::F32, 1).with_surface();
    let made = || {
        let array = Array::new(&card.device, descriptor).unwrap();
        let source = TextureSource::Array(array.clone());
        let texture = TextureObject::new(source, &Sampling::default()).unwrap();
        (texture, SurfaceObject::new(&array).unwrap())
    };
    let left = |kind| fake.live().iter().filter(|live| live.kind == kind).count();
    // Nothing goes wrong, and nothing happens while a clone needs it.
    let (texture, surface) = made();
    texture.clone().close().unwrap();
    assert_eq!(left(Kind::Texture), 1);
    texture.close().unwrap();
    surface.close().unwrap();
    assert_eq!((left(Kind::Texture), left(Kind::Array)), (0, 0));
    let refused = |error: ulib_core::Error| {
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 999, .. }),
            "{error}"
        );
    };
    let (texture, surface) = made();
    fake.fail("cuTexObjectDestroy", 1, 999);
    refused(texture.close().unwrap_err());
    assert!(card.device.errors().is_empty());
    surface.close().unwrap();
    assert_eq!((left(Kind::Texture), left(Kind::Array)), (1, 1));
    let (texture, surface) = made();
    fake.fail("cuSurfObjectDestroy", 1, 999);
    refused(surface.close().unwrap_err());
    drop(texture);
    assert_eq!((left(Kind::Surface), left(Kind::Array)), (1, 2));
    let array = Array::new(&card.device, descriptor).unwrap();
    array.clone().close().unwrap();
    assert_eq!(left(Kind::Array), 3);
    fake.fail("cuArrayDestroy", 1, 999);
    refused(array.close().unwrap_err());
    let levels = MipmappedArray::new(&card.device, descriptor, 3).unwrap();
    let smallest = levels.level(2).unwrap().clone();
    levels.close().unwrap();
    assert_eq!(left(Kind::MipmappedArray), 1);
    smallest.close().unwrap();
    assert_eq!(left(Kind::MipmappedArray), 0);
    let levels = MipmappedArray::new(&card.device, descriptor, 3).unwrap();
    fake.fail("cuMipmappedArrayDestroy", 1, 999);
    refused(levels.close().unwrap_err());
    // The last that needs something says how that ends.
    let levels = MipmappedArray::new(&card.device, descriptor, 3).unwrap();
    let smallest = levels.level(2).unwrap().clone();
    levels.close().unwrap();
    fake.fail("cuMipmappedArrayDestroy", 1, 999);
    refused(smallest.close().unwrap_err());
    let (texture, surface) = made();
    texture.close().unwrap();
    fake.fail("cuArrayDestroy", 1, 999);
    refused(surface.close().unwrap_err());
    let levels = MipmappedArray::new(&card.device, descriptor, 3).unwrap();
    let texture = TextureObject::new(TextureSource::Mipmaps(levels), &Sampling::default()).unwrap();
    fake.fail("cuMipmappedArrayDestroy", 1, 999);
    refused(texture.close().unwrap_err());
    assert!(card.device.errors().is_empty());
    assert_eq!((left(Kind::MipmappedArray), left(Kind::Array)), (3, 4));
    // A destructor has nobody to tell.
    fake.fail("cuTexObjectDestroy", 1, 999);
    drop(made());
    assert_eq!(card.device.errors().len(), 1);
    assert_eq!((left(Kind::Texture), left(Kind::Array)), (2, 5));
    assert_eq!(fake.faults(), [""; 0]);
    let mut all = fake.live();
    all.sort_by_key(|live| live.kind == Kind::Array);
    for live in all {
        if matches!(
            live.kind,
            Kind::Array | Kind::MipmappedArray | Kind::Texture | Kind::Surface
        ) {
            destroy(&card, live.kind, live.handle);
        }
    }
}

#[test]
fn what_a_kernel_may_still_read_waits_for_captures_of_other_work() {
    let Some(card) = card() else { return };
    let made = || {
        let source = TextureSource::Array(plane(&card, Format::F32));
        let texture = TextureObject::new(source, &Sampling::default()).unwrap();
        // Whoever has the number may have given it to a kernel in any stream.
        assert_ne!(texture.handle(), 0);
        texture
    };
    drop(made());
    let stream = Stream::non_blocking(&card.device).unwrap();
    let before = report::count(report::Kind::Texture);
    let next: [&dyn Fn(); 2] = [&|| drop(memory(&card, 64)), &|| {
        drop(plane(&card, Format::F32))
    }];
    for allocate in next {
        let texture = made();
        let capture = stream.capture().unwrap();
        drop(texture);
        assert_eq!(report::count(report::Kind::Texture), before + 1);
        capture.finish().unwrap().close().unwrap();
        // The next allocation gives up what was kept.
        allocate();
        assert_eq!(report::count(report::Kind::Texture), before);
    }
    assert!(card.device.errors().is_empty());
}

/// A bit of everything, ending with nothing in use.
fn script(card: &Card) -> Result<()> {
    let descriptor = ArrayDescriptor::plane(8, 4, Format::F32, 1).with_surface();
    let array = Array::new(&card.device, descriptor)?;
    let texels: Vec<f32> = (0..32).map(|n| n as f32).collect();
    array.upload(&texels, &card.stream)?;
    let levels = MipmappedArray::new(&card.device, descriptor, 3)?;
    let smooth = Sampling {
        filter: FilterMode::Linear,
        ..Sampling::default()
    };
    let texture = TextureObject::new(TextureSource::Array(array.clone()), &smooth)?;
    let mipmapped = TextureObject::new(TextureSource::Mipmaps(levels), &smooth)?;
    let surface = SurfaceObject::new(&array)?;
    texture.queue_on(&card.stream, || surface.queue_on(&card.stream, || Ok(())))?;
    let _ = (mipmapped.handle(), surface.handle());
    let bytes = Arc::new(DeviceBytes::allocate(&card.stream, 1024)?);
    let source = TextureSource::Linear {
        memory: Arc::clone(&bytes),
        offset: 0,
        width: 256,
        format: Format::F32,
        channels: 1,
    };
    let linear = TextureObject::new(source, &Sampling::default())?;
    let _ = linear.handle();
    assert_eq!(array.to_vec::<f32>(&card.stream)?, texels);
    Ok(())
}

#[test]
fn a_failure_of_any_call_leaks_nothing() {
    // What is not destroyed keeps what it reads for good.
    let test = "textures::a_failure_of_any_call_leaks_nothing";
    common::alone(test, &[], every_call_fails_once);
}

fn every_call_fails_once() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let mut kept = Held::default();
    for code in [2, 12_345] {
        script(&card).unwrap();
        fake.reset_counts();
        script(&card).unwrap();
        let calls = fake.total_calls();
        assert!(calls > 60, "{calls}");
        let (mut failures, faults) = (0, fake.faults().len());
        for nth in 1..=calls {
            fake.fail_any(nth, code);
            let outcome = script(&card);
            fake.fail_nothing();
            failures += u32::from(outcome.is_err());
            // What could not be waited for is kept until the next time memory is asked for.
            drop(DeviceBytes::allocate(&card.stream, 1).unwrap());
            let reported = card.device.errors();
            let mut left: Vec<_> = fake
                .live()
                .into_iter()
                .filter(|live| {
                    matches!(
                        live.kind,
                        Kind::Array | Kind::MipmappedArray | Kind::Texture | Kind::Surface
                    )
                })
                .collect();
            // A destroying call that failed is on record, and what it should have destroyed is left.
            let destroying = reported
                .iter()
                .any(|error| error.to_string().contains("in a destructor"));
            assert!(
                left.is_empty() || destroying,
                "call {nth}: {outcome:?}\n{reported:?}\n{left:?}"
            );
            // A texture or a surface that is not destroyed keeps its array.
            let is_reader = |kind| matches!(kind, Kind::Texture | Kind::Surface);
            left.sort_by_key(|live| !is_reader(live.kind));
            let expected = match left.first() {
                Some(first) if is_reader(first.kind) => 2,
                _ => 1,
            };
            assert!(left.len() <= expected, "call {nth}: {left:?}");
            if matches!(&left[..], [only] if only.kind == Kind::Texture) {
                // That of linear memory, which is as long as it is there.
                kept.bytes += 1024;
                kept.allocations += 1;
            }
            assert_eq!(card.device.held(), kept, "call {nth}: {left:?}");
            for live in left {
                destroy(&card, live.kind, live.handle);
            }
            assert_eq!(fake.faults().len(), faults, "call {nth}");
        }
        assert!(failures > 20, "{failures}");
    }
}

/// Destroys what an injected failure left.
fn destroy(card: &Card, kind: Kind, handle: u64) {
    let _context = card.device.bind().unwrap();
    let table = card.device.driver().table();
    // SAFETY: nothing else knows the handle any more.
    let status = unsafe {
        match kind {
            Kind::Array => table.cuArrayDestroy.unwrap()(handle as *mut _),
            Kind::MipmappedArray => table.cuMipmappedArrayDestroy.unwrap()(handle as *mut _),
            Kind::Texture => table.cuTexObjectDestroy.unwrap()(handle),
            _ => table.cuSurfObjectDestroy.unwrap()(handle),
        }
    };
    assert_eq!(status.0, 0);
}
