//! Arrays: what there can be, what goes in comes out, and copies of blocks.

use ulib_core::ErrorKind;
use ulib_device::copy::{
    Extent, Pitch, Source, Target, copy_between_arrays, copy_from_array, copy_to_array,
};
use ulib_device::memory::{Access, DeviceBytes, DeviceMemory};
use ulib_device::texture::{Array, ArrayDescriptor, ArrayKind, Format, MipmappedArray, Texel};
use ulib_device::{Device, Stream, copy};

use crate::setup::{Card, card, fake_card, pattern};

fn back_and_forth<T: Texel + PartialEq + std::fmt::Debug>(
    card: &Card,
    descriptor: ArrayDescriptor,
    kind: ArrayKind,
) {
    assert_eq!(descriptor.kind(), kind);
    let array = Array::new(&card.device, descriptor).unwrap();
    assert_eq!(*array.descriptor(), descriptor);
    let count = descriptor.texels().unwrap();
    let bytes = pattern(count * size_of::<T>(), kind as u64 + 1);
    let texels: Vec<T> = ulib_core::bytemuck::pod_collect_to_vec(&bytes);
    array.upload(&texels, &card.stream).unwrap();
    assert!(
        array.to_vec::<T>(&card.stream).unwrap() == texels,
        "{descriptor:?}"
    );
}

#[test]
fn what_goes_in_comes_out_of_every_kind() {
    let Some(card) = card() else { return };
    use ArrayDescriptor as D;
    back_and_forth::<f32>(&card, D::line(37, Format::F32, 1), ArrayKind::Line);
    back_and_forth::<[u8; 4]>(&card, D::plane(37, 29, Format::U8, 4), ArrayKind::Plane);
    let volume = D::volume(7, 5, 3, Format::I16, 2).with_surface();
    back_and_forth::<[i16; 2]>(&card, volume, ArrayKind::Volume);
    let lines = D::layered_line(19, 4, Format::U32, 1);
    back_and_forth::<u32>(&card, lines, ArrayKind::LayeredLine);
    let planes = D::layered_plane(9, 8, 5, Format::I32, 4);
    back_and_forth::<[i32; 4]>(&card, planes, ArrayKind::LayeredPlane);
    back_and_forth::<u16>(&card, D::cubemap(8, Format::U16, 1), ArrayKind::Cubemap);
    let cubes = D::layered_cubemap(4, 2, Format::I8, 1);
    back_and_forth::<i8>(&card, cubes, ArrayKind::LayeredCubemap);
}

#[test]
fn arrays_that_cannot_be_are_refused_by_name() {
    let Some(card) = card() else { return };
    use ArrayDescriptor as D;
    let refused = |descriptor: D, words: &str| {
        let error = Array::new(&card.device, descriptor).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        *error.kind() == ErrorKind::InvalidArgument
    };
    assert!(refused(D::line(0, Format::F32, 1), "width is 0"));
    assert!(refused(
        D::plane(4, 4, Format::F32, 3),
        "channels is 3, expected 1, 2 or 4"
    ));
    assert!(refused(
        D {
            height: 0,
            ..D::volume(4, 4, 4, Format::F32, 1)
        },
        "height is 0"
    ));
    assert!(refused(
        D::layered_plane(4, 4, 0, Format::F32, 1),
        "depth is 0, expected at least one layer"
    ));
    assert!(refused(
        D {
            height: 5,
            ..D::cubemap(4, Format::F32, 1)
        },
        "height is 5"
    ));
    assert!(refused(
        D {
            depth: 7,
            ..D::cubemap(4, Format::F32, 1)
        },
        "depth is 7"
    ));
    assert!(refused(
        D::line(9, Format::F32, 1).with_gather(),
        "flags is"
    ));
    assert!(refused(
        D::plane(1 << 30, 1, Format::U8, 1),
        "width is 1073741824, expected at most "
    ));
    assert!(refused(
        D::volume(4, 4, 1 << 20, Format::U8, 1),
        "depth is 1048576, expected at most "
    ));
    let huge = D::layered_plane(usize::MAX / 2, 8, 8, Format::F32, 4);
    let error = Array::new(&card.device, huge).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Overflow);
}

#[test]
fn texels_of_another_type_or_number_are_refused() {
    let Some(card) = card() else { return };
    let array = Array::new(&card.device, ArrayDescriptor::plane(3, 2, Format::F32, 1)).unwrap();
    let error = array.upload(&[1_i32; 6], &card.stream).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Array::upload: texel is 1 of I32, expected 1 of F32, as the array has"
    );
    assert!(array.to_vec::<[f32; 2]>(&card.stream).is_err());
    let error = array.upload(&[1.0_f32; 5], &card.stream).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Shape);
    assert!(array.download(&mut [0.0_f32; 7], &card.stream).is_err());
}

/// Byte `(x, y, z)` of a block in memory.
fn at(bytes: &[u8], pitch: Pitch, x: usize, y: usize, z: usize) -> u8 {
    bytes[pitch.offset + z * pitch.plane + y * pitch.row + x]
}

#[test]
fn blocks_go_where_origin_and_pitch_say() {
    let Some(card) = card() else { return };
    let (stream, descriptor) = (
        &card.stream,
        ArrayDescriptor::volume(6, 5, 4, Format::U16, 1),
    );
    let array = Array::new(&card.device, descriptor).unwrap();
    let other = Array::new(&card.device, descriptor).unwrap();
    array.upload(&[0_u16; 120], stream).unwrap();
    let host = pattern(400, 3);
    // 3 texels, 2 rows, 2 slices; the plane pitch is no whole number of rows.
    let (extent, pitch) = (
        Extent {
            width: 6,
            height: 2,
            depth: 2,
        },
        Pitch {
            offset: 11,
            row: 20,
            plane: 95,
        },
    );
    let origin = [4, 1, 1];
    copy_to_array(&array, origin, Source::Host(&host), pitch, extent, stream).unwrap();
    let whole: Vec<u8> =
        ulib_core::bytemuck::pod_collect_to_vec(&array.to_vec::<u16>(stream).unwrap());
    for z in 0..4 {
        for y in 0..5 {
            for x in 0..12 {
                let inside = (4..10).contains(&x) && (1..3).contains(&y) && (1..3).contains(&z);
                let expected = if inside {
                    at(&host, pitch, x - 4, y - 1, z - 1)
                } else {
                    0
                };
                assert_eq!(whole[(z * 5 + y) * 12 + x], expected, "{x} {y} {z}");
            }
        }
    }
    // From array to array, to device memory with other pitches, and home.
    other.upload(&[7_u16; 120], stream).unwrap();
    copy_between_arrays(&other, [0, 3, 2], &array, origin, extent, stream).unwrap();
    let memory = DeviceBytes::allocate(stream, 300).unwrap();
    copy::fill(&memory, 0, 300, &[9], stream).unwrap();
    let wide = Pitch {
        offset: 5,
        row: 32,
        plane: 128,
    };
    copy_from_array(
        Target::Device(&memory),
        wide,
        &other,
        [0, 3, 2],
        extent,
        stream,
    )
    .unwrap();
    let mut back = vec![0; 300];
    copy::download(&memory, 0, &mut back, stream).unwrap();
    let mut seen = 0;
    for z in 0..2 {
        for y in 0..2 {
            for x in 0..6 {
                assert_eq!(at(&back, wide, x, y, z), at(&host, pitch, x, y, z));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 24);
    // And from device memory into an array.
    let target = Array::new(&card.device, ArrayDescriptor::plane(3, 2, Format::U16, 1)).unwrap();
    let flat = Extent { depth: 1, ..extent };
    copy_to_array(&target, [0; 3], Source::Device(&memory), wide, flat, stream).unwrap();
    let mut plane = [0; 12];
    let packed = target.packed();
    copy_from_array(
        Target::Host(&mut plane),
        packed,
        &target,
        [0; 3],
        flat,
        stream,
    )
    .unwrap();
    for y in 0..2 {
        for x in 0..6 {
            assert_eq!(plane[y * 6 + x], at(&host, pitch, x, y, 0));
        }
    }
}

#[test]
fn blocks_outside_a_side_or_of_half_texels_are_refused() {
    let Some(card) = card() else { return };
    let (stream, bytes) = (&card.stream, [0; 64]);
    let array = Array::new(&card.device, ArrayDescriptor::plane(4, 3, Format::U16, 1)).unwrap();
    let extent = |width, height, depth| Extent {
        width,
        height,
        depth,
    };
    let copy = |origin, size, row| {
        let pitch = Pitch {
            offset: 0,
            row,
            plane: 0,
        };
        copy_to_array(&array, origin, Source::Host(&bytes), pitch, size, stream)
    };
    copy([2, 0, 0], extent(6, 3, 1), 8).unwrap();
    for (origin, size, row, kind, words) in [
        (
            [4, 0, 0],
            extent(6, 1, 1),
            8,
            ErrorKind::Index,
            "6 bytes of a row from 4 exceed the 8",
        ),
        (
            [0, 1, 0],
            extent(8, 3, 1),
            8,
            ErrorKind::Index,
            "3 rows from 1 exceed the 3",
        ),
        (
            [0, 0, 1],
            extent(8, 1, 1),
            8,
            ErrorKind::Index,
            "1 slices from 1 exceed the 1",
        ),
        (
            [1, 0, 0],
            extent(4, 1, 1),
            8,
            ErrorKind::InvalidArgument,
            "x is 1 bytes",
        ),
        (
            [0, 0, 0],
            extent(3, 1, 1),
            8,
            ErrorKind::InvalidArgument,
            "width is 3 bytes",
        ),
        (
            [0, 0, 0],
            extent(8, 3, 1),
            7,
            ErrorKind::InvalidArgument,
            "row pitch is 7",
        ),
        (
            [0, 0, 0],
            extent(8, 3, 1),
            30,
            ErrorKind::Index,
            "exceed the 64 bytes of the source",
        ),
        (
            [usize::MAX, 0, 0],
            extent(8, 1, 1),
            8,
            ErrorKind::InvalidArgument,
            "x is",
        ),
    ] {
        let error = copy(origin, size, row).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(*error.kind(), kind, "{error}");
    }
    // Nothing to do is no error, wherever it is.
    copy([99, 99, 99], extent(0, 1, 1), 0).unwrap();
    let whole = array.whole();
    let error = copy_between_arrays(&array, [0, 1, 0], &array, [0; 3], extent(8, 2, 1), stream);
    assert!(error.unwrap_err().to_string().contains("does not overlap"));
    copy_between_arrays(&array, [0, 2, 0], &array, [0; 3], extent(8, 1, 1), stream).unwrap();
    assert_eq!(whole, extent(8, 3, 1));
}

#[test]
fn copies_wait_for_each_other_across_streams() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let other = Stream::non_blocking(&card.device).unwrap();
    let array = Array::new(&card.device, ArrayDescriptor::plane(4, 2, Format::U8, 1)).unwrap();
    let source = DeviceMemory::from_slice(&[1_u8, 2, 3, 4, 5, 6, 7, 8], &card.stream).unwrap();
    fake.deferred(true);
    let (whole, packed) = (array.whole(), array.packed());
    let from = Source::Device(source.as_bytes());
    copy_to_array(&array, [0; 3], from, packed, whole, &other).unwrap();
    assert!(fake.pending() > 0);
    // On another stream: it has to wait for the first.
    assert_eq!(
        array.to_vec::<u8>(&card.stream).unwrap(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    let again = Source::Device(source.as_bytes());
    copy_to_array(&array, [0; 3], again, packed, whole, &other).unwrap();
    drop(array);
    drop(source);
    fake.deferred(false);
    assert_eq!(fake.faults(), [""; 0]);
}

#[test]
fn arrays_go_with_the_last_user() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let array = Array::new(&card.device, ArrayDescriptor::line(16, Format::F32, 1)).unwrap();
    let clone = array.clone();
    assert!(clone.is(&array));
    drop(array);
    assert_eq!(fake.count("cuArrayDestroy"), 0);
    // Somebody got the handle: nobody knows when they are done.
    assert!(!clone.handle().is_null());
    fake.reset_counts();
    std::thread::spawn(move || drop(clone)).join().unwrap();
    assert_eq!(fake.count("cuCtxSynchronize"), 1);
    assert_eq!(fake.count("cuArrayDestroy"), 1);
    assert!(card.device.errors().is_empty());
}

#[test]
fn levels_of_a_mipmapped_array_are_arrays() {
    let Some(card) = card() else { return };
    let descriptor = ArrayDescriptor::plane(8, 5, Format::F32, 1);
    let whole = MipmappedArray::new(&card.device, descriptor, 4).unwrap();
    assert_eq!(whole.levels().len(), 4);
    let sizes: Vec<_> = whole
        .levels()
        .iter()
        .map(|level| (level.descriptor().width, level.descriptor().height))
        .collect();
    assert_eq!(sizes, [(8, 5), (4, 2), (2, 1), (1, 1)]);
    let second = whole.level(1).unwrap().clone();
    assert_eq!(*whole.level(4).unwrap_err().kind(), ErrorKind::Index);
    drop(whole);
    let texels: Vec<f32> = (0..8).map(|n| n as f32).collect();
    second.upload(&texels, &card.stream).unwrap();
    assert_eq!(second.to_vec::<f32>(&card.stream).unwrap(), texels);
    drop(second);
    if let Some(fake) = card.fake() {
        assert_eq!(fake.count("cuMipmappedArrayDestroy"), 1);
    }
    for levels in [0, 5] {
        let error = MipmappedArray::new(&card.device, descriptor, levels).unwrap_err();
        assert!(error.to_string().contains("expected 1 to 4"), "{error}");
    }
    // Layers are not halved, so they make no more levels.
    let layers = ArrayDescriptor::layered_plane(4, 4, 64, Format::U8, 1);
    assert!(MipmappedArray::new(&card.device, layers, 4).is_err());
    let whole = MipmappedArray::new(&card.device, layers, 3).unwrap();
    assert_eq!(whole.level(2).unwrap().descriptor().depth, 64);
}

#[test]
fn a_stream_or_memory_of_another_device_is_refused() {
    let Some(card) = fake_card() else { return };
    let there = Device::new(1).unwrap();
    let away = Stream::non_blocking(&there).unwrap();
    let array = Array::new(&card.device, ArrayDescriptor::line(4, Format::U8, 1)).unwrap();
    assert!(array.upload(&[0_u8; 4], &away).is_err());
    let memory = DeviceBytes::allocate(&away, 4).unwrap();
    let from = Source::Device(&memory);
    let error = copy_to_array(
        &array,
        [0; 3],
        from,
        array.packed(),
        array.whole(),
        &card.stream,
    );
    assert!(error.unwrap_err().to_string().contains("different devices"));
    array
        .queue_on(&card.stream, Access::Read, || Ok(()))
        .unwrap();
}
