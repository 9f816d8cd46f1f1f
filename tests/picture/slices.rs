//! Slices and projections: which voxel is where, in which colour, how large.

use ulib::core::ErrorKind;
use ulib::math::picture::{Axis, ColourMap, Picture, Projection, Render};
use ulib::math::{DataOrder, MultiVoxImage, VoxImage, VoxelValue};

use crate::support::{decode, fields, greys, image};

#[test]
fn x_goes_right_and_y_up() {
    // Voxels 0 and 1 are below 2 and 3.
    let square = image([2, 2, 1], &[0.0, 1.0, 2.0, 3.0]);
    let picture = Render::new().image(&square).unwrap();
    assert_eq!((picture.width(), picture.height()), (256, 256));
    assert_eq!(greys(&picture, 2, 2), [[170, 255], [0, 85]]);
    // The order in memory is not that of the picture.
    let mut turned: VoxImage<VoxelValue> = VoxImage::with_order([2, 2, 1], DataOrder::Yxz).unwrap();
    turned.set_values(&[0.0, 2.0, 1.0, 3.0]).unwrap();
    assert_eq!(Render::new().image(&turned).unwrap(), picture);
}

#[test]
fn each_axis_has_its_slices() {
    // The value of a voxel is 100 z + 10 y + x: 2 x 3 x 4.
    let mut values = Vec::new();
    for z in 0..4 {
        for y in 0..3 {
            values.extend((0..2).map(|x| (100 * z + 10 * y + x) as f32));
        }
    }
    let image = image([2, 3, 4], &values);
    let show = |axis, index| {
        let render = Render::new().axis(axis).slice(index).window(0.0, 510.0);
        render.image(&image).unwrap()
    };
    // Half the value, rounded half away from zero.
    assert_eq!(
        greys(&show(Axis::Z, 2), 2, 3),
        [[110, 111], [105, 106], [100, 101]]
    );
    assert_eq!(
        greys(&show(Axis::Y, 1), 2, 4),
        [[155, 156], [105, 106], [55, 56], [5, 6]]
    );
    assert_eq!(
        greys(&show(Axis::X, 1), 3, 4),
        [[151, 156, 161], [101, 106, 111], [51, 56, 61], [1, 6, 11]]
    );
    // Without an index it is the middle one: 1 of 3, 2 of 4.
    assert_eq!(
        Render::new()
            .axis(Axis::Y)
            .window(0.0, 510.0)
            .image(&image)
            .unwrap(),
        show(Axis::Y, 1)
    );
    assert_eq!(
        Render::new().window(0.0, 510.0).image(&image).unwrap(),
        show(Axis::Z, 2)
    );
}

#[test]
fn projections_of_what_is_behind() {
    let deep = image([2, 1, 3], &[4.0, -1.0, 0.0, 0.0, 2.0, -5.0]);
    let show = |projection| {
        let render = Render::new().projection(projection).window(-5.0, 5.0);
        greys(&render.image(&deep).unwrap(), 2, 1)
    };
    // 4 and 0, 2 and -2, 0 and -5 of -5 to 5.
    assert_eq!(show(Projection::Maximum), [[230, 128]]);
    assert_eq!(show(Projection::Mean), [[179, 77]]);
    assert_eq!(show(Projection::Minimum), [[128, 0]]);
    let along_x = Render::new().axis(Axis::X).projection(Projection::Maximum);
    // One voxel wide (y), three high (z), the first one at the bottom: 2, 0, 4.
    assert_eq!(
        greys(&along_x.image(&deep).unwrap(), 1, 3),
        [[128], [0], [255]]
    );
}

#[test]
fn windows_clamp_and_nan_stands_out() {
    let row = image(
        [6, 1, 1],
        &[f32::NEG_INFINITY, -1.0, 0.0, 3.0, f32::INFINITY, f32::NAN],
    );
    let red = [200, 30, 30];
    let grey = |level| [level; 3];
    // The range of what is finite: -1 to 3.
    assert_eq!(
        fields(&Render::new().image(&row).unwrap(), 6, 1),
        [[grey(0), grey(0), grey(64), grey(255), grey(255), red]]
    );
    let narrow = Render::new().window(0.0, 1.0).nan_colour([0, 0, 255]);
    assert_eq!(
        fields(&narrow.image(&row).unwrap(), 6, 1),
        [[grey(0), grey(0), grey(0), grey(255), grey(255), [0, 0, 255]]]
    );
    let step = Render::new().window(0.0, 0.0);
    assert_eq!(
        fields(&step.image(&row).unwrap(), 6, 1),
        [[grey(0), grey(0), grey(128), grey(255), grey(255), red]]
    );
    // The widest window there is.
    let wide = Render::new().window(f64::MIN, f64::MAX);
    assert_eq!(
        fields(&wide.image(&row).unwrap(), 6, 1),
        [[grey(0), grey(128), grey(128), grey(128), grey(255), red]]
    );
    // Nothing finite, and all the same.
    let nothing = image([2, 1, 1], &[f32::NAN, f32::INFINITY]);
    assert_eq!(
        fields(&Render::new().image(&nothing).unwrap(), 2, 1),
        [[red, grey(255)]]
    );
    let constant = image([2, 1, 1], &[7.0; 2]);
    assert_eq!(
        greys(&Render::new().image(&constant).unwrap(), 2, 1),
        [[128, 128]]
    );
    // NaN behind a pixel shows.
    let behind = image([1, 1, 2], &[1.0, f32::NAN]);
    for projection in [Projection::Maximum, Projection::Mean, Projection::Minimum] {
        let picture = Render::new().projection(projection).image(&behind).unwrap();
        assert_eq!(fields(&picture, 1, 1), [[red]]);
    }
}

#[test]
fn colour_maps_have_their_published_ends() {
    let ends = image([2, 1, 1], &[0.0, 1.0]);
    // The first and last entries of the tables of matplotlib, and of the blog post on Turbo.
    for (map, low, high) in [
        (ColourMap::Greys, [0, 0, 0], [255, 255, 255]),
        (ColourMap::Viridis, [68, 1, 84], [253, 231, 37]),
        (ColourMap::Inferno, [0, 0, 4], [252, 255, 164]),
        (ColourMap::Magma, [0, 0, 4], [252, 253, 191]),
    ] {
        let picture = Render::new().colours(map).image(&ends).unwrap();
        assert_eq!(fields(&picture, 2, 1), [[low, high]], "{map}");
        assert_eq!(map.name().parse::<ColourMap>().unwrap(), map);
    }
    // Turbo goes from nearly black over green to dark red.
    let [low, middle, high] = [0.0, 0.5, 1.0].map(|at| ColourMap::Turbo.colour(at));
    assert!(low.iter().all(|part| *part < 64), "{low:?}");
    assert!(
        middle[1] > 200 && middle[0] < middle[1] && middle[2] < middle[1],
        "{middle:?}"
    );
    assert!(high[0] > 100 && high[1] < 20 && high[2] < 20, "{high:?}");
    assert!("jet".parse::<ColourMap>().is_err());
}

#[test]
fn pixels_are_square_in_the_world() {
    let mut long = image([4, 5, 3], &[0.0; 60]);
    long.set_spacing([1.0, 1.0, 3.0]).unwrap();
    let size = |render: Render, image: &VoxImage| {
        let picture = render.image(image).unwrap();
        (picture.width(), picture.height())
    };
    // 4 x 9, 29 times; 5 x 9; 4 x 5, 52 times.
    assert_eq!(size(Render::new().axis(Axis::Y), &long), (116, 261));
    assert_eq!(size(Render::new().axis(Axis::X), &long), (145, 261));
    assert_eq!(size(Render::new(), &long), (208, 260));
    // Factors are whole, or pictures smaller than the volume.
    assert_eq!(size(Render::new().axis(Axis::Y).size(100), &long), (44, 99));
    assert_eq!(size(Render::new().axis(Axis::Y).size(6), &long), (3, 6));
    assert_eq!(size(Render::new().axis(Axis::Y).size(1), &long), (1, 1));
    // A spacing that is no multiple: 4 x 7.5 pixels are 140 x 262.5.
    long.set_spacing([1.0, 1.0, 2.5]).unwrap();
    assert_eq!(size(Render::new().axis(Axis::Y), &long), (140, 263));
    // Spacings that are worlds apart.
    long.set_spacing([1e-300, 1.0, 1e300]).unwrap();
    assert_eq!(size(Render::new().axis(Axis::Y), &long), (1, 1024));
    // Large volumes as they are, up to the limit.
    let large = VoxImage::<VoxelValue>::new([3000, 500, 1]).unwrap();
    let picture = Render::new().size(4000).image(&large).unwrap();
    assert_eq!((picture.width(), picture.height()), (3000, 500));
    let picture = Render::new().image(&large).unwrap();
    assert_eq!((picture.width(), picture.height()), (1024, 171));
}

#[test]
fn a_smaller_picture_shows_the_nearest_voxels() {
    // 0 to 7 in a row, in four pixels with their middles at 1, 3, 5, 7.
    let row = image([8, 1, 1], &std::array::from_fn::<f32, 8, _>(|i| i as f32));
    let picture = Render::new()
        .size(4)
        .window(0.0, 255.0)
        .image(&row)
        .unwrap();
    assert_eq!(greys(&picture, 4, 1), [[1, 3, 5, 7]]);
}

#[test]
fn the_active_values_of_a_multi_image() {
    let mut multi = MultiVoxImage::new([2, 1, 1], 1, 2).unwrap();
    for (voxel, component, value) in [(0, 0, 1.0), (1, 0, 2.0), (0, 1, 9.0), (1, 1, 3.0)] {
        multi.set_active(0, component).unwrap();
        multi.set_value(voxel, value).unwrap();
    }
    assert_eq!(
        greys(&Render::new().image(&multi).unwrap(), 2, 1),
        [[255, 0]]
    );
    multi.set_active(0, 0).unwrap();
    assert_eq!(
        greys(&Render::new().image(&multi).unwrap(), 2, 1),
        [[0, 255]]
    );
}

#[test]
fn what_is_refused() {
    let cube = image([2, 3, 4], &[0.0; 24]);
    for (axis, sides) in [(Axis::X, 2), (Axis::Y, 3), (Axis::Z, 4)] {
        let error = Render::new()
            .axis(axis)
            .slice(sides)
            .image(&cube)
            .unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Index);
        assert_eq!(
            error.to_string(),
            format!("slice along {axis}: index {sides} is out of range for length {sides}")
        );
    }
    for (low, high) in [
        (f64::NAN, 1.0),
        (0.0, f64::NAN),
        (1.0, 0.5),
        (0.0, f64::INFINITY),
        (f64::NEG_INFINITY, 0.0),
    ] {
        let error = Render::new().window(low, high).image(&cube).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
        assert!(
            error
                .to_string()
                .contains(&format!("window is {low} to {high}")),
            "{error}"
        );
    }
    for size in [0, Picture::LONGEST + 1] {
        let error = Render::new().size(size).image(&cube).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    }
    let empty: VoxImage = VoxImage::empty().unwrap();
    for render in [
        Render::new(),
        Render::new().projection(Projection::Maximum),
        Render::new().slice(0),
    ] {
        let error = render.image(&empty).unwrap_err();
        assert_eq!(
            error.to_string(),
            "render: image is without voxels, expected at least one voxel"
        );
    }
    assert!(Picture::filled(0, 1, [0; 3]).is_err());
    let error = "w".parse::<Axis>().unwrap_err();
    assert_eq!(error.to_string(), "axis: name is 'w', expected x, y or z");
}

#[test]
fn files_appear_whole() {
    let path = std::env::temp_dir().join(format!("ulib-picture-{}.png", std::process::id()));
    let picture = Render::new()
        .image(&image([2, 2, 1], &[0.0, 1.0, 2.0, 3.0]))
        .unwrap();
    picture.write_png(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(bytes, picture.to_png().unwrap());
    assert_eq!(decode(&bytes), (256, 256, picture.pixels().to_vec()));
    let nowhere = path.join("below/a.png");
    let error = picture.write_png(&nowhere).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Io);
    assert!(error.to_string().contains("below/a.png"), "{error}");
}
