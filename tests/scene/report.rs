//! Reports and fragments: what they show, what they escape, and that a browser makes slices of them.

use std::path::Path;
use std::process::Command;

use base64::Engine;
use ulib::core::ErrorKind;
use ulib::math::scene::{Recipe, ReportWriter, Scene, html};
use ulib::math::{
    EventTable, FloatCollection, GeantEvent, GeantEventCollection, Line, LineCollection,
    MultiVoxImage, MuonScatter, MuonScatterCollection, Placed, VoxImage, VoxelValue,
};

use crate::Folder;
use crate::common;

const HOSTILE: &str =
    "</script><script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=2>&\u{0}";

/// A voxel of 1 and one of NaN in nothing; `tests/browser/look.py` knows where.
fn phantom() -> VoxImage {
    let mut image: VoxImage = VoxImage::new([40, 30, 20]).unwrap();
    image.set_spacing([1.0, 1.0, 2.0]).unwrap();
    image.set_value_at([5, 7, 3], 1.0).unwrap();
    image.set_value_at([0, 0, 0], f32::NAN).unwrap();
    image
}

/// Everything that there is, with names and texts of somebody who means harm.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.insert("phantom", phantom()).unwrap();
    let mut soft = VoxImage::<VoxelValue>::new([200, 60, 40]).unwrap();
    let mut values = soft.to_values().unwrap();
    for (place, value) in values.iter_mut().enumerate() {
        let (x, y, z) = (place % 200, place / 200 % 60, place / 12_000);
        let away = |at: usize, middle: f32, wide: f32| ((at as f32 - middle) / wide).powi(2);
        *value = (-away(x, 80.0, 40.0) - away(y, 30.0, 14.0) - away(z, 22.0, 9.0)).exp()
            + 0.1 * (x as f32 / 9.0).sin();
    }
    soft.set_values(&values).unwrap();
    soft.set_preferred_device("Device".parse().unwrap())
        .unwrap();
    scene.insert("soft", soft).unwrap();
    scene
        .insert(HOSTILE, MultiVoxImage::new([4, 4, 4], 2, 1).unwrap())
        .unwrap();
    let mut table = EventTable::new("slice,total,<script>window.hacked=3</script>").unwrap();
    for row in 0..64 {
        let at = f64::from(row);
        table
            .add_row(&[at, 10.0 + (at / 5.0).sin(), at / 7.0])
            .unwrap();
    }
    scene.insert("profile", table).unwrap();
    scene
        .insert("floats", FloatCollection::from_slice(&[0.1, 1e-7]).unwrap())
        .unwrap();
    let line = Line::new([1.0, 2.5, 3.0], [0.0, -1.0, 0.0]);
    scene
        .insert("lines", LineCollection::from_slice(&[line]).unwrap())
        .unwrap();
    let muon = MuonScatter {
        Momentum: 3.5,
        ..MuonScatter::new(line, line)
    };
    scene
        .insert(
            "muons",
            MuonScatterCollection::from_slice(&[muon; 30]).unwrap(),
        )
        .unwrap();
    let events = GeantEventCollection::from_iter([GeantEvent::new(HOSTILE, "mu+")]);
    events
        .set_preferred_device("Device".parse().unwrap())
        .unwrap();
    scene.insert("events", events).unwrap();
    let mut recipe = Recipe::new(format!("def run(ctx):\n    ctx.log('{HOSTILE}')\n"));
    recipe.set_parameter("side", HOSTILE);
    scene.insert("recipe", recipe).unwrap();
    scene
}

fn report() -> ReportWriter {
    let mut report = ReportWriter::new(format!("A scene {HOSTILE}"));
    let scene = scene();
    for (name, object) in scene.iter() {
        report.object(name, object).unwrap();
    }
    report.step("recipe: sums of slices");
    report.log(&format!("64 slices, {HOSTILE}"));
    report
}

/// The texts of the elements that are opened by `<tag>`.
fn texts<'a>(page: &'a str, tag: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let rest = page.split(open.as_str()).skip(1);
    rest.filter_map(|rest| rest.split(close.as_str()).next())
        .collect()
}

#[test]
fn a_page_of_everything() {
    let _driver = common::driver();
    let page = report().to_string();
    for text in [
        "<td>VoxImage</td><td>40 x 30 x 20 voxels</td><td>Host</td>",
        "<td>EventTable</td><td>64 rows x 3 columns</td>",
        "Host (these events cannot be copied to a device)",
        "the first 20 of 64",
        "the first 20 of 30",
        "<td>1, 2.5, 3</td><td>0, -1, 0</td>",
        "<td>0.1</td>",
        "<td>1e-7</td>",
        "def run(ctx):\n",
        "<h3>recipe: sums of slices</h3>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Two of the scripts are ours: the page's, and those that hold the numbers of three volumes.
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.matches("</script>").count(), 4);
    assert!(!page.contains("<img") && !page.contains('\0'));
    // The only address is the name of SVG.
    let addresses = page.matches("http").count() - page.matches("http-equiv").count();
    assert_eq!(
        addresses,
        page.matches("\"http://www.w3.org/2000/svg\"").count()
    );
}

/// The numbers of 8 bits of the only volume of a page.
fn codes(page: &str) -> Vec<u8> {
    let rest = page.split("<script type=\"text/plain\">").nth(1).unwrap();
    let packed = base64::engine::general_purpose::STANDARD
        .decode(rest.split('<').next().unwrap())
        .unwrap();
    let mut codes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[..]), &mut codes)
        .unwrap();
    codes
}

#[test]
fn the_numbers_of_a_volume_are_in_the_page() {
    let mut image: VoxImage = VoxImage::new([100, 2, 1]).unwrap();
    let values: Vec<f32> = (0..200).map(|place| (place % 100) as f32 - 1.0).collect();
    image.set_values(&values).unwrap();
    let mut report = ReportWriter::new("numbers");
    report.object("ramp", &image).unwrap();
    let page = report.to_string();
    let codes = codes(&page);
    assert_eq!(codes.len(), 200);
    assert_eq!((codes[0], codes[99], codes[100]), (1, 255, 1));
    // 1 + 254 * 50 / 99 is 129.28.
    assert_eq!(codes[50], 129);
    assert!(page.contains("&quot;low&quot;:-1.0,&quot;high&quot;:98.0"));
    assert!(page.contains("&quot;shape&quot;:[100, 2, 1]"));
}

#[test]
fn a_large_volume_is_shown_as_means_of_blocks() {
    let _driver = common::driver();
    let dims = [299, 131, 3];
    let at = |x: usize, y: usize, z: usize| (x * x + 7 * y + 100 * z) % 251;
    // The last blocks along x are of 2 voxels, those along y of 1.
    let mut blocks = vec![(0, 0); 100 * 66 * 3];
    let mut values = Vec::new();
    for z in 0..dims[2] {
        for y in 0..dims[1] {
            for x in 0..dims[0] {
                values.push(at(x, y, z) as f32);
                let (sum, count) = &mut blocks[(z * 66 + y / 2) * 100 + x / 3];
                *sum += at(x, y, z);
                *count += 1;
            }
        }
    }
    assert_eq!(
        (blocks[0].1, blocks[99].1, blocks[65 * 100 + 99].1),
        (6, 4, 2)
    );
    // Infinities lie at the ends; of a block with a NaN there is no mean.
    for (place, value) in [(0, f32::NAN), (3, f32::INFINITY), (298, f32::NEG_INFINITY)] {
        values[place] = value;
    }
    let means: Vec<f64> = blocks
        .iter()
        .map(|&(sum, count)| sum as f64 / f64::from(count))
        .collect();
    let finite = || (0..means.len()).filter(|place| ![0, 1, 99].contains(place));
    let low = finite()
        .map(|place| means[place])
        .fold(f64::INFINITY, f64::min);
    let high = finite().map(|place| means[place]).fold(0.0, f64::max);
    let mut expected: Vec<u8> = means
        .iter()
        .map(|mean| 1 + (254.0 * (mean - low) / (high - low)).round() as u8)
        .collect();
    (expected[0], expected[1], expected[99]) = (0, 255, 1);

    let mut image: VoxImage = VoxImage::new(dims).unwrap();
    image.set_values(&values).unwrap();
    for device in ["Host", "Device"] {
        image.set_preferred_device(device.parse().unwrap()).unwrap();
        image.update().unwrap();
        let mut report = ReportWriter::new("blocks");
        report.object("large", &image).unwrap();
        let page = report.to_string();
        assert!(page.contains("&quot;shape&quot;:[100, 66, 3],&quot;dims&quot;:[299, 131, 3],&quot;step&quot;:[3, 2, 1]"));
        assert!(page.contains(&format!(
            "&quot;low&quot;:{low:?},&quot;high&quot;:{high:?}"
        )));
        assert_eq!(codes(&page), expected, "{device}");
    }
}

#[test]
fn objects_without_anything() {
    let mut report = ReportWriter::new("nothing");
    assert!(!report.to_string().contains("<table"));
    report
        .object("none", &VoxImage::<VoxelValue>::empty().unwrap())
        .unwrap();
    report
        .object("columns", &EventTable::new("").unwrap())
        .unwrap();
    report
        .object("rows", &EventTable::new("a,b").unwrap())
        .unwrap();
    report
        .object("floats", &FloatCollection::new().unwrap())
        .unwrap();
    let page = report.to_string();
    assert!(page.contains("<p>no voxels</p>"));
    assert_eq!(texts(&page, "h2"), ["none", "columns", "rows", "floats"]);
}

#[test]
fn a_page_is_a_file() {
    let folder = Folder::new();
    let path = folder.join("report.html");
    let mut report = ReportWriter::new("a file");
    report.log("hello");
    report.write(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), report.to_string());
    let error = report.write(folder.join("none/report.html")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Io);
    assert_eq!(folder.names(), ["report.html"]);
}

#[test]
fn fragments_are_bounded_and_escaped() {
    let _driver = common::driver();
    for (name, object) in scene().iter() {
        let fragment = html::fragment(object);
        assert!(fragment.len() < 400_000, "{name}: {}", fragment.len());
        assert!(
            fragment.contains(object.class().name) && fragment.contains(&object.size()),
            "{name}"
        );
        assert!(
            !fragment.contains("<script") && !fragment.contains("<img src=x"),
            "{fragment}"
        );
    }
    let mut wide = EventTable::new(
        &(0..50)
            .map(|i| format!("c{i}"))
            .collect::<Vec<_>>()
            .join(","),
    )
    .unwrap();
    wide.add_rows(&[1.5; 5000]).unwrap();
    let fragment = html::fragment(&wide);
    assert_eq!(texts(&fragment, "td").len(), 10 * 13);
    assert!(fragment.contains("<p>the first 10 of 100</p>"));
    let recipe = Recipe::new("x".repeat(100_000) + &"\nline".repeat(100_000));
    assert!(html::fragment(&recipe).len() < 1000);
    let empty = html::fragment(&VoxImage::<VoxelValue>::empty().unwrap());
    assert!(empty.contains("no voxels"));
}

#[test]
fn a_volume_of_which_not_every_voxel_is_shown_says_so() {
    let page = |dims| {
        let mut report = ReportWriter::new("");
        let image: VoxImage = VoxImage::new(dims).unwrap();
        report.object("volume", &image).unwrap();
        report.to_string()
    };
    let note = "<p>what is shown are the means of 3 x 2 x 1 voxels</p>";
    assert!(page([300, 129, 128]).contains(note));
    assert!(!page([128, 128, 3]).contains("the means of"));
}

#[test]
fn a_fragment_has_the_middle_slice() {
    let mut image: VoxImage = VoxImage::new([4, 2, 3]).unwrap();
    image.set_value_at([1, 0, 1], 1.0).unwrap();
    let fragment = html::fragment(&image);
    let rest = fragment.split("data:image/png;base64,").nth(1).unwrap();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(rest.split('"').next().unwrap())
        .unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (256, 128));
    for (place, pixel) in pixels.as_chunks::<3>().0.iter().enumerate() {
        let here = place % 256 / 64 == 1 && place / 256 / 64 == 1;
        assert_eq!(*pixel, if here { [255; 3] } else { [0; 3] }, "{place}");
    }
}

#[test]
fn what_cannot_be_read_says_so() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut image: VoxImage = VoxImage::new([16, 16, 16]).unwrap();
    image
        .set_preferred_device("Device".parse().unwrap())
        .unwrap();
    ulib::math::Compute::fill(&mut image, 2.0).unwrap();
    session.break_device(0, 700);
    let mut report = ReportWriter::new("broken");
    let before = report.to_string();
    let error = report.object("lost", &image).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Driver { code: 700, .. }));
    assert!(error.to_string().starts_with("showing object 'lost': "));
    assert_eq!(report.to_string(), before);
    let fragment = html::fragment(&image);
    assert!(fragment.contains("16 x 16 x 16 voxels") && !fragment.contains("<img"));
    assert!(
        fragment.contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{fragment}"
    );
}

#[test]
fn a_device_is_asked_for_no_more_than_is_shown() {
    let Some(_driver) = common::gpu() else { return };
    let mut image: VoxImage = VoxImage::new([16, 16, 16]).unwrap();
    image
        .set_preferred_device("Device".parse().unwrap())
        .unwrap();
    ulib::math::Compute::fill(&mut image, 2.0).unwrap();
    let before = image.transfers();
    let fragment = html::fragment(&image);
    assert!(fragment.contains("badge device") && fragment.contains("prefers Device"));
    assert_eq!(image.transfers(), before);
}

#[test]
fn a_browser_shows_the_slices() {
    let _driver = common::driver();
    let folder = Folder::new();
    let page = folder.join("report.html");
    report().write(&page).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/look.py");
    if !Path::new(script).exists() {
        println!(
            "SKIP: {}: the tests run without their sources",
            common::test_name()
        );
        return;
    }
    let mut look = Command::new("python3");
    look.arg(script).arg(&page);
    // A picture of the page, for people.
    look.args(std::env::var_os("ULIB_TEST_SCREENSHOT"));
    let Ok(seen) = look.output() else {
        println!("SKIP: {}: no python3 on PATH", common::test_name());
        return;
    };
    if seen.status.code() == Some(77) {
        println!("SKIP: {}: no Chromium on PATH", common::test_name());
        return;
    }
    let said = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success(), "{said}");
}
