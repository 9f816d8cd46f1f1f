//! Files that are cut, that lie about their size, and that are something else.

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use ulib::core::ErrorKind;
use ulib::math::io::{Format, ReadImage, WriteImage};
use ulib::math::{MultiVoxImage, VoxImage};

use crate::support::{Folder, join, refusal};

/// Small files of every format and way.
fn files() -> Vec<(Format, Vec<u8>)> {
    let folder = Folder::new();
    let mut image = MultiVoxImage::new([3, 2, 2], 2, 2).unwrap();
    for (number, value) in image.elements_mut().unwrap().iter_mut().enumerate() {
        *value = number as f32 + 0.25;
    }
    let plain = WriteImage::new();
    let ways = [
        ("a.vti", plain.clone()),
        ("a.vti", plain.clone().compressed(true)),
        ("a.vti", plain.clone().ascii(true)),
        ("a.vtk", plain.clone()),
        ("a.vtk", plain.clone().ascii(true)),
        ("a.mha", plain.clone()),
        ("a.mha", plain.clone().compressed(true)),
        ("a.mha", plain.clone().ascii(true)),
        ("a.nrrd", plain.clone()),
        ("a.nrrd", plain.clone().compressed(true)),
        ("a.nrrd", plain.clone().ascii(true)),
        ("a.npy", plain.clone()),
        ("a.npz", plain.clone()),
        ("a.npz", plain.compressed(true)),
    ];
    ways.into_iter()
        .map(|(name, way)| {
            let path = folder.join(name);
            way.multi_image(&image, &path).unwrap();
            (
                Format::from_path(name).unwrap(),
                std::fs::read(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn files_cut_anywhere_are_refused() {
    for (format, bytes) in files() {
        let reader = ReadImage::new().format(format);
        let whole = reader.multi_image_from_bytes(&bytes).unwrap();
        let mut refused = 0;
        for len in 0..bytes.len() {
            match reader.multi_image_from_bytes(&bytes[..len]) {
                Err(error) => {
                    assert_eq!(error.kind(), &ErrorKind::Format, "{format} {len}: {error}");
                    refused += 1;
                }
                // What is cut is the end of the XML, a line's end, digits of the last number, or whole arrays.
                Ok(image) => {
                    let elements = image.elements().unwrap();
                    let step = image.channels() * image.components();
                    for (voxel, numbers) in elements.chunks(step).enumerate().take(11) {
                        let expected = &whole.elements().unwrap()[voxel * 4..][..step];
                        assert_eq!(numbers, expected, "{format} {len} of {}", bytes.len());
                    }
                }
            }
        }
        assert!(
            refused > bytes.len() / 2,
            "{format}: {refused} of {}",
            bytes.len()
        );
    }
}

/// A zlib, gzip or deflate stream of that many zeros.
fn zeros(count: u64, kind: &str) -> Vec<u8> {
    let mut source = std::io::Read::take(std::io::repeat(0), count);
    macro_rules! pack {
        ($encoder:ident) => {{
            let mut stream = $encoder::new(Vec::new(), Compression::best());
            std::io::copy(&mut source, &mut stream).unwrap();
            stream.finish().unwrap()
        }};
    }
    match kind {
        "zlib" => pack!(ZlibEncoder),
        "gzip" => pack!(GzEncoder),
        _ => pack!(DeflateEncoder),
    }
}

#[test]
fn compressed_files_that_declare_more_than_they_can_hold() {
    let mha = |side: u64| {
        format!(
            "NDims = 3\nCompressedData = True\nDimSize = {side} {side} {side}\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
        )
    };
    let nrrd = |side: u64| {
        format!(
            "NRRD0004\ntype: uchar\ndimension: 3\nsizes: {side} {side} {side}\nencoding: gzip\n\n"
        )
    };
    let (zlib, gzip) = (zeros(1000, "zlib"), zeros(1000, "gzip"));
    for side in [1000, 100_000, 2_000_000] {
        let message = refusal(Format::MetaImage, &join(&[mha(side).as_bytes(), &zlib]));
        assert!(
            message.contains("take at least") || message.contains("dimensions"),
            "{message}"
        );
        let message = refusal(Format::Nrrd, &join(&[nrrd(side).as_bytes(), &gzip]));
        assert!(
            message.contains("take at least") || message.contains("dimensions"),
            "{message}"
        );
    }
    // Possible in as many bytes, and not there.
    let message = refusal(Format::MetaImage, &join(&[mha(11).as_bytes(), &zlib]));
    assert!(message.contains("the file ends too early"), "{message}");
    // The densest there is reads.
    let dense = zeros(1 << 20, "zlib");
    assert!((1 << 20) / dense.len() > 900);
    let image: VoxImage = ReadImage::new()
        .format(Format::MetaImage)
        .image_from_bytes(&join(&[mha(101).as_bytes(), &dense]))
        .unwrap();
    assert_eq!(image.len(), 101 * 101 * 101);
}

#[test]
fn arrays_that_lie_on_each_other() {
    let array = |name: usize| {
        format!("<DataArray type=\"UInt8\" Name=\"{name}\" format=\"appended\" offset=\"0\"/>")
    };
    let file = |count: usize| {
        let arrays: String = (0..count).map(array).collect();
        let head = format!(
            "<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\"><ImageData><Piece Extent=\"0 1000 0 1 0 1\"><CellData>{arrays}\
             </CellData></Piece></ImageData><AppendedData encoding=\"raw\">_"
        );
        join(&[head.as_bytes(), &1000_u32.to_le_bytes(), &[7; 1000]])
    };
    assert!(ReadImage::new().multi_image_from_bytes(&file(1)).is_ok());
    let message = refusal(Format::Vti, &file(50));
    assert!(
        message.contains("50 arrays take at least 50000 bytes together"),
        "{message}"
    );
    // One of them is what it says.
    let one: VoxImage = ReadImage::new()
        .array("49")
        .image_from_bytes(&file(50))
        .unwrap();
    assert_eq!(one.value(999).unwrap(), 7.0);
}

#[test]
fn blocks_that_lie_about_themselves() {
    let block = zeros(8, "zlib");
    let file = |count: u64, size: u64, last: u64, sizes: &[u64]| {
        let head = "<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\
             <ImageData><Piece Extent=\"0 8 0 1 0 1\"><CellData><DataArray type=\"UInt8\" format=\"appended\" offset=\"0\"/></CellData>\
             </Piece></ImageData><AppendedData encoding=\"raw\">_";
        let table: Vec<u8> = [&[count, size, last], sizes]
            .concat()
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        join(&[head.as_bytes(), &table, &block])
    };
    let len = block.len() as u64;
    assert!(
        ReadImage::new()
            .image_from_bytes::<ulib::math::VoxelValue>(&file(1, 8, 0, &[len]))
            .is_ok()
    );
    assert!(
        ReadImage::new()
            .image_from_bytes::<ulib::math::VoxelValue>(&file(1, 64, 8, &[len]))
            .is_ok()
    );
    for lie in [
        file(u64::MAX, 8, 0, &[len]),
        file(u64::MAX, u64::MAX, u64::MAX, &[len]),
        file(1 << 40, 0, 8, &[len]),
        file(8, 1, 0, &[len]),
        file(0, 8, 8, &[len]),
        file(2, 4, 4, &[len, u64::MAX]),
        file(1, 8, 0, &[u64::MAX - 7]),
        file(1, 8, 0, &[len - 1]),
    ] {
        if let Ok(image) = ReadImage::new().image_from_bytes::<ulib::math::VoxelValue>(&lie) {
            // More bytes than there are for a block that is whole: nothing was wrong with the numbers.
            assert_eq!(image.to_values().unwrap(), [0.0; 8]);
        }
    }
    refusal(Format::Vti, &file(1, 8, 0, &[len - 1]));
    refusal(Format::Vti, &file(u64::MAX, 8, 0, &[len]));
    refusal(Format::Vti, &file(1 << 40, 0, 8, &[len]));
}

#[test]
fn nothing_of_any_format() {
    let nonsense: [&[u8]; 5] = [b"", b"\0", b"\xff\xfe\xfd", b"\x1f\x8b", &[b'a'; 100_000]];
    for format in Format::ALL {
        for bytes in nonsense {
            let error = ReadImage::new()
                .format(format)
                .multi_image_from_bytes(bytes)
                .unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Format, "{format}: {error}");
        }
    }
    assert_eq!(
        ReadImage::new()
            .multi_image_from_bytes(b"?")
            .unwrap_err()
            .kind(),
        &ErrorKind::InvalidArgument
    );
}

#[test]
fn long_lines_headers_and_lists_end_somewhere() {
    let line = join(&[b"NRRD0004\n", &[b'x'; 200_000]]);
    assert!(refusal(Format::Nrrd, &line).contains("longer than"));
    let header = join(&[
        b"NRRD0004\n",
        &b"# a comment that goes on\n".repeat(100_000),
    ]);
    assert!(refusal(Format::Nrrd, &header).contains("the header is longer"));
    let header = b"Comment = a comment that goes on\n".repeat(100_000);
    assert!(refusal(Format::MetaImage, &header).contains("the header is longer"));
    let arrays = "<DataArray type=\"UInt8\" Name=\"a\">1</DataArray>".repeat(70_000);
    let file = format!(
        "<VTKFile type=\"ImageData\"><ImageData><Piece Extent=\"0 1 0 1 0 1\"><CellData>{arrays}</CellData></Piece></ImageData></VTKFile>"
    );
    assert!(refusal(Format::Vti, file.as_bytes()).contains("more than 65536 arrays"));
    // Attributes without end.
    let attributes: String = (0..100_000)
        .map(|number| format!("a{number}=\"\" "))
        .collect();
    let file = format!("<VTKFile {attributes}type=\"ImageData\"></VTKFile>");
    assert!(refusal(Format::Vti, file.as_bytes()).contains("no element ImageData"));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let error = ReadImage::new()
        .format(Format::Npy)
        .info("/dev/zero")
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Io);
    assert!(error.to_string().contains("not a regular file"), "{error}");
}
