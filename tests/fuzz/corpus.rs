//! Small files of every format and variant to begin with.

use ulib::core::DType;
use ulib::math::MultiVoxImage;
use ulib::math::io::{Format, WriteImage};

/// Some good files of this format.
pub(crate) fn of(format: Format) -> Vec<Vec<u8>> {
    let mut files = written(format);
    match format {
        Format::Nifti => files.extend([nifti(1), nifti(2)]),
        Format::Vti => files.extend(vti()),
        Format::Vtk => files.push(vtk()),
        Format::Nrrd => files.push(
            b"NRRD0005\n# c\ntype: short\ndimension: 4\nsizes: 2 2 1 2\nkinds: domain domain domain list\nspacings: 1 2 3 nan\n\
              endian: big\nencoding: raw\nline skip: 1\nbyte skip: 1\n\nline\n!0123456789abcdef"
                .to_vec(),
        ),
        Format::MetaImage => files.push(
            b"ObjectType = Image\nNDims = 2\nElementByteOrderMSB = True\nHeaderSize = -1\nElementSize = 2 3\nPosition = 1 2\n\
              TransformMatrix = 1 0 0 1\nDimSize = 2 2\nElementNumberOfChannels = 2\nElementType = MET_USHORT\nElementDataFile = LOCAL\n\
              skipped 0123456789abcdef"
                .to_vec(),
        ),
        Format::Npy => {
            let header = b"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2, 1, 2)}";
            files.push([b"\x93NUMPY\x02\0", &62_u32.to_le_bytes()[..], header, b"0123456789abcdef"].concat());
        }
        _ => {}
    }
    files
}

/// What is written in each way that the format has.
fn written(format: Format) -> Vec<Vec<u8>> {
    let mut image = MultiVoxImage::new([3, 2, 2], 2, 2).unwrap();
    for (number, value) in image.elements_mut().unwrap().iter_mut().enumerate() {
        *value = number as f32 - 3.5;
    }
    image.set_spacing([0.5, 1.0, 2.0]).unwrap();
    let path = std::env::temp_dir().join(format!("ulib-corpus-{}-{format}", std::process::id()));
    let plain = WriteImage::new().format(format);
    let ways = [
        plain.clone(),
        plain.clone().compressed(true),
        plain.clone().ascii(true),
        plain.dtype(DType::U16),
    ];
    let files = ways
        .into_iter()
        .filter_map(|way| {
            way.multi_image(&image, &path)
                .is_ok()
                .then(|| std::fs::read(&path).unwrap())
        })
        .collect();
    let _ = std::fs::remove_file(&path);
    files
}

/// A NIfTI file of 2 x 2 x 1 shorts, scaled, with a qform.
fn nifti(version: u8) -> Vec<u8> {
    let first = version == 1;
    let mut bytes = vec![0; if first { 352 } else { 544 }];
    let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
    let sides = [3_i16, 2, 2, 1];
    if first {
        put(0, &348_i32.to_le_bytes());
        put(344, b"n+1\0");
        put(70, &4_i16.to_le_bytes());
        put(108, &352_f32.to_le_bytes());
        put(112, &2_f32.to_le_bytes());
        put(252, &1_i16.to_le_bytes());
    } else {
        put(0, &540_i32.to_le_bytes());
        put(4, b"n+2\0\r\n\x1a\n");
        put(12, &4_i16.to_le_bytes());
        put(168, &544_i64.to_le_bytes());
        put(348, &1_i32.to_le_bytes());
        for diagonal in [400, 440, 480] {
            put(diagonal, &1.5_f64.to_le_bytes());
        }
    }
    for (axis, side) in sides.iter().enumerate() {
        if first {
            put(40 + 2 * axis, &side.to_le_bytes());
            put(76 + 4 * axis, &1_f32.to_le_bytes());
        } else {
            put(16 + 8 * axis, &i64::from(*side).to_le_bytes());
            put(104 + 8 * axis, &1_f64.to_le_bytes());
        }
    }
    bytes.extend(b"abcdefgh");
    bytes
}

/// Files with base64, plain and in blocks, of 12 floats.
fn vti() -> [Vec<u8>; 2] {
    let file = |attribute: &str, data: &str| {
        format!(
            "<?xml version=\"1.0\"?><VTKFile type=\"ImageData\" byte_order=\"LittleEndian\" header_type=\"UInt32\"{attribute}>\
             <ImageData WholeExtent=\"1 4 0 2 0 2\" Origin=\"0 0 0\" Spacing=\"1 1 1\" Direction=\"1 0 0 0 1 0 0 0 1\">\
             <Piece Extent=\"1 4 0 2 0 2\"><PointData/><CellData Scalars=\"v\"><DataArray type=\"Float32\" Name=\"v\" format=\"binary\">\n\
             {data}\n<InformationKey name=\"L2\">1</InformationKey></DataArray></CellData></Piece></ImageData></VTKFile>"
        )
        .into_bytes()
    };
    [
        file(
            "",
            "MAAAAAAAAD8AAIC/AAAQQAAAQEAAAMB/AACgQAAAwEAAAOBAAAAAQQAAEEEAACBByvJJcQ==",
        ),
        file(
            " compressor=\"vtkZLibDataCompressor\"",
            "AwAAABQAAAAIAAAAGgAAABkAAAAQAAAAeJxjYGCwZ2Bo2M/AIODAwOAAxAfqARyVA454nGNgWODAwHAAiB8AMYMjA4OAIwAp+gOTeJxjYFBwPPXJsxAACQ4C2A==",
        ),
    ]
}

/// Binary points and cells with several kinds of attributes.
fn vtk() -> Vec<u8> {
    [
        &b"# vtk DataFile Version 3.0\nt\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 1\nORIGIN 0 0 0\nSPACING 1 1 1\n\
           FIELD FieldData 1\ntime 1 1 int\n0123\nMETADATA\nx\n\nPOINT_DATA 4\nSCALARS s short 2\nLOOKUP_TABLE t\n0123456789abcdef\n\
           LOOKUP_TABLE t 1\nrgba\nCELL_DATA 1\nVECTORS v unsigned_char\nxyz\nCOLOR_SCALARS c 3\nrgb\nFIELD more 1\na%20b 1 1 long\n01234567\n"[..],
    ]
    .concat()
}
