//! Profiles and plots: numbers by hand, where a line's pixels are, and SVG that a parser accepts.

use ulib::core::ErrorKind;
use ulib::math::picture::{Axis, Picture, Plot, Profile};
use ulib::math::{EventTable, MultiVoxImage, VoxImage};

use crate::support::{decode, image};

/// The first colours of lines.
const BLUE: [u8; 3] = [0x1f, 0x77, 0xb4];
const ORANGE: [u8; 3] = [0xff, 0x7f, 0x0e];

/// The pixels of this colour: (x, y) from the top left.
fn places(picture: &Picture, colour: [u8; 3]) -> Vec<(u32, u32)> {
    let (width, _, pixels) = decode(&picture.to_png().unwrap());
    (0..)
        .zip(&pixels)
        .filter(|(_, pixel)| **pixel == colour)
        .map(|(place, _)| (place % width, place / width))
        .collect()
}

/// A plot of one line without a name, so that nothing else has its colour.
fn alone(x: &[f64], y: &[f64]) -> Plot {
    Plot::new().line("", x, y)
}

#[test]
fn means_of_slices_in_the_world() {
    let mut image = image([3, 2, 2], &std::array::from_fn::<f32, 12, _>(|i| i as f32));
    image.set_spacing([2.0, 1.0, 0.5]).unwrap();
    image.set_origin([10.0, 0.0, 0.0]).unwrap();
    image.set_position([0.25, 0.0, -1.0]).unwrap();
    let along = |axis| {
        let profile = Profile::of(&image, axis).unwrap();
        assert_eq!(profile.axis(), axis);
        (profile.positions().to_vec(), profile.means().to_vec())
    };
    assert_eq!(
        along(Axis::X),
        (vec![11.25, 13.25, 15.25], vec![4.5, 5.5, 6.5])
    );
    assert_eq!(along(Axis::Y), (vec![0.5, 1.5], vec![4.0, 7.0]));
    assert_eq!(along(Axis::Z), (vec![-0.75, -0.25], vec![2.5, 8.5]));
    let mut multi = MultiVoxImage::new([1, 1, 2], 2, 1).unwrap();
    multi.set_active(1, 0).unwrap();
    multi.set_value(1, 6.0).unwrap();
    assert_eq!(Profile::of(&multi, Axis::Z).unwrap().means(), [0.0, 6.0]);
    let empty: VoxImage = VoxImage::empty().unwrap();
    let error = Profile::of(&empty, Axis::Y).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
}

#[test]
fn a_level_line_is_a_level_band() {
    let blue = places(&alone(&[0.0, 10.0], &[3.0, 3.0]).picture().unwrap(), BLUE);
    let rows: std::collections::BTreeSet<u32> = blue.iter().map(|place| place.1).collect();
    assert!((1..=3).contains(&rows.len()), "{rows:?}");
    // A constant is in the middle of the height, and the line has the whole width of the plot, without gaps.
    let row = *rows.first().unwrap();
    assert!((150..220).contains(&row), "{row}");
    let columns: Vec<u32> = blue
        .iter()
        .filter(|place| place.1 == row)
        .map(|place| place.0)
        .collect();
    assert!(columns.len() > 650, "{}", columns.len());
    assert!(columns.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn a_rising_line_rises() {
    let picture = alone(&[0.0, 1.0, 2.0], &[-5.0, 0.0, 5.0])
        .picture()
        .unwrap();
    let blue = places(&picture, BLUE);
    let (left, right) = (blue.iter().min().unwrap(), blue.iter().max().unwrap());
    assert!(left.1 > 300 && right.1 < 60, "{left:?} {right:?}");
    // Straight: the middle of both ends is on the line.
    let middle = ((left.0 + right.0) / 2, (left.1 + right.1) / 2);
    assert!(
        blue.iter()
            .any(|place| place.0.abs_diff(middle.0) < 2 && place.1.abs_diff(middle.1) < 2)
    );
}

#[test]
fn numbers_that_are_not_finite_make_gaps() {
    let y = [1.0, 1.0, f64::NAN, 1.0, 1.0, f64::INFINITY, 1.0];
    let x: Vec<f64> = (0..7).map(f64::from).collect();
    let blue = places(&alone(&x, &y).picture().unwrap(), BLUE);
    let mut columns: Vec<u32> = blue.iter().map(|place| place.0).collect();
    columns.sort_unstable();
    columns.dedup();
    let gaps = columns
        .windows(2)
        .filter(|pair| pair[1] > pair[0] + 50)
        .count();
    assert_eq!(gaps, 2);
    // Nothing to draw is no error.
    assert!(places(&alone(&[f64::NAN], &[1.0]).picture().unwrap(), BLUE).is_empty());
    assert!(places(&alone(&[], &[]).picture().unwrap(), BLUE).is_empty());
    assert!(!Plot::new().svg().contains("NaN"));
    // Nor are the largest numbers there are.
    let huge = alone(&[f64::MIN, f64::MAX], &[f64::MIN, f64::MAX]);
    assert!(places(&huge.picture().unwrap(), BLUE).len() > 500);
    assert!(!huge.svg().contains("NaN") && !huge.svg().contains("inf"));
}

#[test]
fn no_peak_is_lost_among_many_points() {
    let count = 100_000;
    let x: Vec<f64> = (0..count).map(f64::from).collect();
    let mut y = vec![0.0; count as usize];
    y[77_777] = 1.0;
    let plot = alone(&x, &y);
    let blue = places(&plot.picture().unwrap(), BLUE);
    assert!(blue.iter().map(|place| place.1).min().unwrap() < 60);
    let svg = plot.svg();
    assert!(svg.len() < 40_000, "{}", svg.len());
}

#[test]
fn columns_of_a_table() {
    let mut table = EventTable::new("slice,total,<b>&\"mean'").unwrap();
    table.add_rows(&[0.0, 10.0, 4.0, 1.0, 30.0, 2.0]).unwrap();
    let plot = Plot::of_table(&table, Some("slice"), &[]).unwrap();
    let same = Plot::new()
        .x_label("slice")
        .line("total", &[0.0, 1.0], &[10.0, 30.0])
        .line("<b>&\"mean'", &[0.0, 1.0], &[4.0, 2.0]);
    assert_eq!(plot, same);
    let picture = plot.picture().unwrap();
    assert!(places(&picture, BLUE).len() > 500 && places(&picture, ORANGE).len() > 500);
    let rows = Plot::of_table(&table, None, &["total"]).unwrap();
    assert_eq!(
        rows,
        Plot::new()
            .x_label("row")
            .line("total", &[0.0, 1.0], &[10.0, 30.0])
    );
    let error = Plot::of_table(&table, Some("x"), &[]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert!(Plot::of_table(&table, None, &["total", "none"]).is_err());
    // What strangers call their columns is text.
    let svg = plot.title("</svg><script>").svg();
    assert!(
        svg.contains("&lt;b&gt;&amp;&quot;mean&#39;</text>"),
        "{svg}"
    );
    assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;"));
    assert_eq!(svg.matches("</svg>").count(), 1);
    assert!(!svg.contains("<script") && !svg.contains("<b>"));
}

#[test]
fn the_axes_have_numbers() {
    let svg = alone(&[0.0, 10.0], &[0.0, 1.0]).x_label("x").svg();
    for label in ["0", "2", "4", "6", "8", "10", "x"] {
        assert!(svg.contains(&format!(">{label}</text>")), "{label}: {svg}");
    }
    // The line begins at the left end of the axis and ends at the right one, in the units of the drawing.
    assert!(svg.contains("viewBox=\"0 0 800 400\""));
    let picture = alone(&[0.0, 10.0], &[0.0, 1.0])
        .size(200, 100)
        .picture()
        .unwrap();
    assert_eq!((picture.width(), picture.height()), (200, 100));
    for (width, height) in [(1, 1), (30, 400), (400, 30)] {
        let tiny = alone(&[0.0, 10.0], &[0.0, 1.0])
            .title("title")
            .size(width, height);
        assert_eq!(tiny.picture().unwrap().width(), width);
        assert!(!tiny.svg().is_empty());
    }
    assert!(alone(&[], &[]).size(0, 10).picture().is_err());
}
