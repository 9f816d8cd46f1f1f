//! What is written: bytes, round trips of every format, and what is refused.

use ulib::core::{DType, ErrorKind};
use ulib::math::io::{Format, ReadImage, WriteImage, read_image, write_image};
use ulib::math::{DataOrder, Grid, MultiVoxImage, Placed, VoxImage, VoxelValueCount};

use crate::common;
use crate::support::{Folder, NUMBERS, assert_values, big, elements, hex, join, little};

/// An image of 3 x 2 x 2 with [`NUMBERS`], its voxels in this order in memory, and counts that files do not have.
fn sample(order: DataOrder) -> VoxImage {
    let mut grid = Grid::with_order([3, 2, 2], order).unwrap();
    grid.set_spacing([0.1, 0.25, 3.0]).unwrap();
    grid.set_origin([-1.5, 2.0, 0.1]).unwrap();
    grid.set_position([1.0, 0.0, -0.1]).unwrap();
    let mut image: VoxImage = VoxImage::with_grid(grid).unwrap();
    for (number, value) in NUMBERS.into_iter().enumerate() {
        let triple = [number % 3, number / 3 % 2, number / 6];
        let flat = image.map().map(triple).unwrap();
        image
            .set_voxel(
                flat,
                VoxelValueCount {
                    Value: value,
                    Count: 7,
                },
            )
            .unwrap();
    }
    image
}

/// Every way to write an image: name of the file, and the settings.
fn ways() -> Vec<(&'static str, WriteImage)> {
    let plain = WriteImage::new();
    let mut ways: Vec<(&str, WriteImage)> = [
        "a.vti", "a.vtk", "a.mha", "a.mhd", "a.nrrd", "a.nhdr", "a.npy", "a.npz",
    ]
    .map(|name| (name, plain.clone()))
    .into();
    for name in ["b.vti", "b.mha", "b.mhd", "b.nrrd", "b.nhdr", "b.npz"] {
        ways.push((name, plain.clone().compressed(true)));
    }
    for name in ["c.vti", "c.vtk", "c.mha", "c.mhd", "c.nrrd", "c.nhdr"] {
        ways.push((name, plain.clone().ascii(true)));
    }
    ways
}

#[test]
fn every_way_there_and_back_from_every_order() {
    let folder = Folder::new();
    for (name, way) in ways() {
        for order in DataOrder::ALL {
            let path = folder.join(name);
            way.image(&sample(order), &path).unwrap();
            let back = read_image(&path).unwrap();
            if name.starts_with('c') {
                // Text has one NaN.
                let values = back.to_values().unwrap();
                assert!(values[4].is_nan());
                assert_eq!(
                    (&values[..4], &values[5..]),
                    (&NUMBERS[..4], &NUMBERS[5..]),
                    "{name} {order}"
                );
            } else {
                assert_values(&back, &NUMBERS);
            }
            let place = (
                back.grid().spacing(),
                back.grid().origin(),
                back.grid().position(),
            );
            let expected = if name.contains(".np") {
                ([1.0; 3], [0.0; 3], [0.0; 3])
            } else {
                ([0.1, 0.25, 3.0], [-0.5, 2.0, 0.0], [0.0; 3])
            };
            assert_eq!(place, expected, "{name}");
        }
    }
    let names = folder.names();
    for data in ["a.raw", "b.raw.gz", "b.zraw", "c.txt"] {
        assert!(names.contains(&data.to_owned()), "{names:?}");
    }
    assert!(
        !names.iter().any(|name| name.ends_with(".tmp")),
        "{names:?}"
    );
}

#[test]
fn every_type_there_and_back() {
    let folder = Folder::new();
    let mut image: VoxImage = VoxImage::new([5, 1, 1]).unwrap();
    image.set_values(&[0.5, 1.5, -2.6, f32::NAN, 1e30]).unwrap();
    let integers: [(DType, [f32; 5]); 8] = [
        (DType::I8, [0.0, 2.0, -3.0, 0.0, 127.0]),
        (DType::U8, [0.0, 2.0, 0.0, 0.0, 255.0]),
        (DType::I16, [0.0, 2.0, -3.0, 0.0, 32767.0]),
        (DType::U16, [0.0, 2.0, 0.0, 0.0, 65535.0]),
        (DType::I32, [0.0, 2.0, -3.0, 0.0, 2147483648.0]),
        (DType::U32, [0.0, 2.0, 0.0, 0.0, 4294967296.0]),
        (DType::I64, [0.0, 2.0, -3.0, 0.0, 9223372036854775808.0]),
        (DType::U64, [0.0, 2.0, 0.0, 0.0, 18446744073709551616.0]),
    ];
    for (name, way) in ways() {
        for (dtype, expected) in integers {
            let path = folder.join(name);
            way.clone().dtype(dtype).image(&image, &path).unwrap();
            assert_values(&read_image(&path).unwrap(), &expected);
            assert_eq!(
                ReadImage::new().info(&path).unwrap().array().dtype,
                dtype,
                "{name}"
            );
        }
        let path = folder.join(name);
        way.clone().dtype(DType::F64).image(&image, &path).unwrap();
        let values = read_image(&path).unwrap().to_values().unwrap();
        assert_eq!(
            (values[2], values[3].is_nan(), values[4]),
            (-2.6, true, 1e30),
            "{name}"
        );
        // Scaled before it is rounded.
        way.clone()
            .dtype(DType::I16)
            .scale(10.0)
            .image(&image, &path)
            .unwrap();
        assert_values(
            &read_image(&path).unwrap(),
            &[5.0, 15.0, -26.0, 0.0, 32767.0],
        );
    }
    for name in ["h.npy", "h.npz"] {
        WriteImage::new()
            .dtype(DType::F16)
            .image(&image, folder.join(name))
            .unwrap();
        assert_eq!(
            read_image(folder.join(name)).unwrap().value(1).unwrap(),
            1.5
        );
    }
}

#[test]
fn channels_and_components() {
    let folder = Folder::new();
    let mut grid = Grid::with_order([2, 2, 1], DataOrder::Yxz).unwrap();
    grid.set_spacing([2.0; 3]).unwrap();
    let mut image = MultiVoxImage::with_grid(grid, 2, 3).unwrap();
    let mut expected = Vec::new();
    for y in 0..2 {
        for x in 0..2 {
            for number in 0..6 {
                let value = (100 * x + 10 * y + number) as f32;
                let flat = image.map().map([x, y, 0]).unwrap();
                image
                    .set_value_of(flat, number / 3, number % 3, value)
                    .unwrap();
                expected.push(value);
            }
        }
    }
    for (name, way) in ways() {
        let path = folder.join(name);
        way.clone().multi_image(&image, &path).unwrap();
        let back = ReadImage::new().multi_image(&path).unwrap();
        assert_eq!(elements(&back), expected, "{name}");
        let named = [".vti", ".vtk", ".npz"]
            .iter()
            .any(|end| name.ends_with(end));
        assert_eq!(
            (back.channels(), back.components()),
            if named { (2, 3) } else { (1, 6) },
            "{name}"
        );
        if named {
            way.array("left & <right>")
                .array("100% \"é\"")
                .multi_image(&image, &path)
                .unwrap();
            let back = ReadImage::new()
                .array("100% \"é\"")
                .component(2)
                .image::<VoxelValueCount>(&path)
                .unwrap();
            assert_values(&back, &[5.0, 105.0, 15.0, 115.0]);
        }
    }
    // More components than scalars have.
    let five = MultiVoxImage::new([2, 1, 1], 1, 5).unwrap();
    for ascii in [false, true] {
        let path = folder.join("five.vtk");
        WriteImage::new()
            .ascii(ascii)
            .multi_image(&five, &path)
            .unwrap();
        assert_eq!(ReadImage::new().info(&path).unwrap().array().components, 5);
    }
}

#[test]
fn the_bytes_of_each_format() {
    let folder = Folder::new();
    let image = sample(DataOrder::Zyx);
    let written = |name: &str, way: WriteImage| {
        let path = folder.join(name);
        way.image(&image, &path).unwrap();
        std::fs::read(path).unwrap()
    };
    let npy = written("a.npy", WriteImage::new());
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }";
    let head = format!("{header:<117}\n");
    assert_eq!(
        npy,
        join(&[
            b"\x93NUMPY\x01\x00\x76\x00",
            head.as_bytes(),
            &little(&NUMBERS)
        ])
    );

    let vtk = written("a.vtk", WriteImage::new());
    let head = "# vtk DataFile Version 3.0\nuLib image\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 3 2 2\nSPACING 0.1 0.25 3\n\
         ORIGIN -0.5 2 0\nPOINT_DATA 12\nSCALARS Value float 1\nLOOKUP_TABLE default\n";
    assert_eq!(vtk, join(&[head.as_bytes(), &big(&NUMBERS), b"\n"]));

    let text = written("t.vtk", WriteImage::new().ascii(true).dtype(DType::I8));
    assert!(
        String::from_utf8(text).unwrap().ends_with(
            "SCALARS Value char 1\nLOOKUP_TABLE default\n0 -1 2\n3 0 5\n6 7 8\n9 10 127\n"
        )
    );

    let vti = written("a.vti", WriteImage::new().array("Dichte"));
    let head = "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  \
         <ImageData WholeExtent=\"0 3 0 2 0 2\" Origin=\"-0.5 2 0\" Spacing=\"0.1 0.25 3\">\n    \
         <Piece Extent=\"0 3 0 2 0 2\">\n      <PointData>\n      </PointData>\n      <CellData Scalars=\"Dichte\">\n        \
         <DataArray type=\"Float32\" Name=\"Dichte\" NumberOfComponents=\"1\" format=\"appended\" offset=\"0                   \"/>\n      \
         </CellData>\n    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n   _";
    let tail = b"\n  </AppendedData>\n</VTKFile>\n";
    assert_eq!(
        vti,
        join(&[
            head.as_bytes(),
            &48_u64.to_le_bytes(),
            &little(&NUMBERS),
            tail
        ])
    );

    let mha = written("a.mha", WriteImage::new().dtype(DType::F64));
    let head = "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n\
         TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = -0.5 2 0\nCenterOfRotation = 0 0 0\nElementSpacing = 0.1 0.25 3\n\
         DimSize = 3 2 2\nElementType = MET_DOUBLE\nElementDataFile = LOCAL\n";
    assert!(mha.starts_with(head.as_bytes()));
    assert_eq!(mha.len(), head.len() + 96);
    assert_eq!(
        mha[head.len()..][..16],
        hex("000000000000e03f 000000000000f0bf")
    );

    // Other readers take as many compressed bytes as the header says.
    let packed = written("z.mha", WriteImage::new().compressed(true));
    let text = String::from_utf8_lossy(&packed);
    let (head, _) = text.split_once("LOCAL\n").unwrap();
    let (_, size) = head.split_once("CompressedDataSize = ").unwrap();
    let size: usize = size.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(head.len() + "LOCAL\n".len() + size, packed.len());

    let nrrd = written("a.nrrd", WriteImage::new());
    let head = "NRRD0004\ntype: float\ndimension: 3\nspace dimension: 3\nsizes: 3 2 2\n\
         space directions: (0.1,0,0) (0,0.25,0) (0,0,3)\nkinds: domain domain domain\nendian: little\nencoding: raw\nspace origin: (-0.5,2,0)\n\n";
    assert_eq!(nrrd, join(&[head.as_bytes(), &little(&NUMBERS)]));
}

#[test]
fn many_voxels_go_in_pieces() {
    let folder = Folder::new();
    let ways = [
        // More than a task of reading and a buffer of writing, not a multiple of either.
        ("a.npy", WriteImage::new(), [131, 101, 81]),
        ("b.vtk", WriteImage::new().dtype(DType::F64), [131, 101, 81]),
        (
            "c.vti",
            WriteImage::new().compressed(true).dtype(DType::F64),
            [67, 71, 73],
        ),
        ("d.nrrd", WriteImage::new().compressed(true), [67, 71, 73]),
        ("e.npz", WriteImage::new(), [67, 71, 73]),
    ];
    let value = |[x, y, z]: [usize; 3]| (x + 150 * (y + 150 * z)) as f32;
    for (name, way, dims) in ways {
        let mut image: VoxImage = VoxImage::with_order(dims, DataOrder::Zxy).unwrap();
        let map = *image.map();
        let mut voxels = vec![VoxelValueCount::default(); map.len()];
        for (flat, voxel) in voxels.iter_mut().enumerate() {
            voxel.Value = value(map.unmap(flat).unwrap());
        }
        image.set_voxels(&voxels).unwrap();
        let path = folder.join(name);
        way.image(&image, &path).unwrap();
        let back = read_image(&path).unwrap();
        let values = back.to_values().unwrap();
        let wrong =
            (0..values.len()).find(|&flat| values[flat] != value(back.map().unmap(flat).unwrap()));
        assert_eq!(wrong, None, "{name}");
        let back: VoxImage<ulib::math::VoxelValue> =
            ReadImage::new().scale(2.0).image(&path).unwrap();
        let last = dims.map(|side| side - 1);
        assert_eq!(back.value_at(last).unwrap(), 2.0 * value(last), "{name}");
    }
}

#[test]
fn a_device_image_comes_home_once() {
    let driver = common::driver();
    let folder = Folder::new();
    let mut image = sample(DataOrder::Xyz);
    if !image
        .set_preferred_device("Device".parse().unwrap())
        .unwrap()
    {
        assert!(!driver.has_device());
        return;
    }
    ulib::math::ops::fill(image.values_view_mut().unwrap(), 2.5).unwrap();
    let before = image.block().transfers();
    write_image(&image, folder.join("a.vti")).unwrap();
    let after = image.block().transfers();
    assert_eq!(after.downloads - before.downloads, 1);
    assert_eq!(after.uploads, before.uploads);
    assert_eq!(
        read_image(folder.join("a.vti"))
            .unwrap()
            .to_values()
            .unwrap(),
        [2.5; 12]
    );
}

#[test]
fn what_is_refused_leaves_nothing() {
    let folder = Folder::new();
    let image = sample(DataOrder::Xyz);
    let plain = WriteImage::new;
    let cases = [
        (
            "a.xyz",
            plain(),
            "one that ends in .vtk, .vti, .mha, .mhd, .nrrd, .nhdr, .npy, .npz",
        ),
        ("a.nii", plain(), "NIfTI is read only"),
        (
            "a.npy",
            plain().compressed(true),
            "the format has no compression",
        ),
        (
            "a.vtk",
            plain().compressed(true),
            "the format has no compression",
        ),
        ("a.npz", plain().ascii(true), "the format is binary"),
        (
            "a.vti",
            plain().ascii(true).compressed(true),
            "ascii is true",
        ),
        ("a.vti", plain().scale(f64::NAN), "scale is NaN"),
        ("a.vti", plain().array(""), "arrays is"),
        ("a.vti", plain().array("a\nb"), "arrays is"),
        (
            "a.vti",
            plain().array("a").array("b"),
            "a name for each channel",
        ),
        ("a\nb.mhd", plain(), "a name that a header can have in it"),
    ];
    for (name, way, expected) in cases {
        let error = way.image(&image, folder.join(name)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("writing {}", folder.join(name).display())),
            "{error}"
        );
    }
    let error = plain()
        .dtype(DType::Complex64)
        .image(&image, folder.join("a.npy"))
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::DType);
    let error = plain()
        .dtype(DType::F16)
        .image(&image, folder.join("a.vti"))
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::DType);
    let empty: VoxImage = VoxImage::empty().unwrap();
    assert_eq!(
        write_image(&empty, folder.join("a.npy"))
            .unwrap_err()
            .kind(),
        &ErrorKind::InvalidArgument
    );
    let twice = plain().array("a").array("a").multi_image(
        &MultiVoxImage::new([1; 3], 2, 1).unwrap(),
        folder.join("a.vti"),
    );
    assert_eq!(twice.unwrap_err().kind(), &ErrorKind::InvalidArgument);
    assert_eq!(
        write_image(&image, folder.join("no/a.npy"))
            .unwrap_err()
            .kind(),
        &ErrorKind::Io
    );
    assert!(folder.names().is_empty(), "{:?}", folder.names());

    // A folder where the data file should be: the header is not written either.
    std::fs::create_dir(folder.join("a.raw")).unwrap();
    assert!(write_image(&image, folder.join("a.mhd")).is_err());
    assert!(folder.join("a.raw").is_dir());
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn the_content_says_the_format() {
    let folder = Folder::new();
    for (name, way) in ways() {
        if name.ends_with("mhd") || name.ends_with("nhdr") {
            continue;
        }
        let path = folder.join(name);
        way.image(&sample(DataOrder::Xyz), &path).unwrap();
        let other = folder.join("renamed.bin");
        std::fs::rename(&path, &other).unwrap();
        let info = ReadImage::new().info(&other).unwrap();
        assert_eq!(info.format, Format::from_path(name).unwrap());
        assert!(ReadImage::new().format(Format::Nifti).info(&other).is_err());
    }
    let unknown = folder.file("a.bin", "nothing");
    let error = ReadImage::new().info(&unknown).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    let named = folder.file("a.vti", "nothing");
    assert_eq!(
        ReadImage::new().info(&named).unwrap_err().kind(),
        &ErrorKind::Format
    );
    assert_eq!(
        ReadImage::new()
            .info(folder.join("none.vti"))
            .unwrap_err()
            .kind(),
        &ErrorKind::Io
    );
    assert_eq!(
        ReadImage::new().info(folder.path()).unwrap_err().kind(),
        &ErrorKind::Io
    );
}
