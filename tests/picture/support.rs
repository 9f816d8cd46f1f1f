//! PNG files read by the decoder, and images of a few voxels.

use ulib::math::VoxImage;
use ulib::math::picture::Picture;

/// Width, height and pixels of PNG bytes.
pub(crate) fn decode(bytes: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    let pixels = pixels.as_chunks::<3>().0.to_vec();
    assert_eq!(pixels.len(), (info.width * info.height) as usize);
    (info.width, info.height, pixels)
}

/// The colours of a picture that has `columns x rows` equal fields, one of each, rows from the top. Every pixel of a
/// field has to have its colour.
#[track_caller]
pub(crate) fn fields(picture: &Picture, columns: u32, rows: u32) -> Vec<Vec<[u8; 3]>> {
    let (width, height, pixels) = decode(&picture.to_png().unwrap());
    assert_eq!(
        (width % columns, height % rows),
        (0, 0),
        "{width} x {height}"
    );
    let at = |x: u32, y: u32| pixels[(y * width + x) as usize];
    let (wide, high) = (width / columns, height / rows);
    for y in 0..height {
        for x in 0..width {
            assert_eq!(at(x, y), at(x / wide * wide, y / high * high), "({x}, {y})");
        }
    }
    (0..rows)
        .map(|row| {
            (0..columns)
                .map(|column| at(column * wide, row * high))
                .collect()
        })
        .collect()
}

/// The red of fields that are grey.
#[track_caller]
pub(crate) fn greys(picture: &Picture, columns: u32, rows: u32) -> Vec<Vec<u8>> {
    let grey = |[r, g, b]: [u8; 3]| {
        assert!(r == g && g == b, "{r} {g} {b}");
        r
    };
    fields(picture, columns, rows)
        .into_iter()
        .map(|row| row.into_iter().map(grey).collect())
        .collect()
}

/// An image of these values, x fastest.
pub(crate) fn image(dims: [usize; 3], values: &[f32]) -> VoxImage {
    let mut image = VoxImage::new(dims).unwrap();
    image.set_values(values).unwrap();
    image
}
