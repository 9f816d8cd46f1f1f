//! Floats, lines, muons and user records, one after the other.

use ulib::core::{DType, DeviceStorable, Layout, Result, device_storable};
use ulib::math::{
    BulkArray, Collection, FloatCollection, GeantEvent, GeantEventCollection, Line, LineCollection,
    MuonScatter, MuonScatterCollection, Vector4,
};

use crate::common;

fn numbers(layout: &Layout) -> (Vec<usize>, Vec<isize>, usize) {
    (
        layout.shape().to_vec(),
        layout.strides().to_vec(),
        layout.offset(),
    )
}

#[test]
fn floats_grow_and_shrink() -> Result<()> {
    let _driver = common::driver();
    let mut floats = FloatCollection::new()?;
    assert!(floats.is_empty());
    floats.push(1.0)?;
    floats.extend_from_slice(&[2.0, 3.0])?;
    floats.extend_from_slice(&[])?;
    floats.set(0, 5.0)?;
    assert_eq!((floats.len(), floats.get(0)?), (3, 5.0));
    floats.resize(4)?;
    floats.resize(2)?;
    floats.resize(3)?;
    assert_eq!(&*floats.elements()?, [5.0, 2.0, 0.0]);
    floats.elements_mut()?[2] = 7.0;
    floats.set_all(&[1.0, 2.0, 3.0])?;
    assert_eq!(
        (floats.dtype(), numbers(&floats.layout()?)),
        (DType::F32, (vec![3], vec![1], 0))
    );
    assert_eq!(ulib::math::ops::sum_all(&floats.view::<f32>()?)?, 6.0);
    assert!(floats.field("Value").is_err() && floats.field_names().is_empty());
    let copy = floats.try_clone()?;
    floats.clear()?;
    assert_eq!((floats.len(), copy.len()), (0, 3));
    Ok(())
}

#[test]
fn lines_are_two_by_four() -> Result<()> {
    let _driver = common::driver();
    let lines = LineCollection::from_slice(&[
        Line::new([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
        Line::default(),
    ])?;
    assert_eq!(lines.dtype(), DType::F32);
    assert_eq!(numbers(&lines.layout()?), (vec![2, 2, 4], vec![8, 4, 1], 0));
    let (dtype, directions) = lines.field("direction")?;
    assert_eq!(
        (dtype, numbers(&directions)),
        (DType::F32, (vec![2, 4], vec![8, 1], 4))
    );
    let (_, w) = lines.field("origin.w")?;
    assert_eq!(numbers(&w), (vec![2], vec![8], 3));
    assert_eq!(lines.get(0)?.origin, Vector4::from([1.0, 2.0, 3.0, 1.0]));
    assert_eq!(lines.field_names(), ["origin", "direction"]);
    Ok(())
}

#[test]
fn a_muon_has_the_documented_bytes() {
    assert_eq!(
        (size_of::<MuonScatter>(), MuonScatter::dtype().size()),
        (144, 144)
    );
    let offset = |name| ulib::core::field_of::<MuonScatter>(name).unwrap().offset;
    let expected = [
        ("LineIn.origin", 0),
        ("LineIn.direction", 16),
        ("LineOut.origin", 32),
        ("LineOut.direction", 48),
        ("ErrorIn.position", 64),
        ("ErrorIn.direction", 80),
        ("ErrorOut.position", 96),
        ("ErrorOut.direction", 112),
        ("Momentum", 128),
        ("MomentumPrime", 132),
        ("Padding", 136),
    ];
    for (name, byte) in expected {
        assert_eq!(offset(name), byte, "{name}");
    }
    let line = Line::new([1.0; 3], [1.0; 3]);
    let muon = MuonScatter {
        Momentum: 1.0,
        ..MuonScatter::new(line, line)
    };
    assert_eq!(bytemuck::bytes_of(&muon)[136..], [0; 8]);
}

#[test]
fn muons_are_bytes_with_strided_fields() -> Result<()> {
    let _driver = common::driver();
    let mut muons = MuonScatterCollection::new()?;
    for i in 0..3_u8 {
        let i = f32::from(i);
        let line = Line::new([i, 10.0 + i, 20.0 + i], [0.0, -1.0, 0.0]);
        muons.push(MuonScatter {
            Momentum: 3.0 + i,
            ..MuonScatter::new(line, line)
        })?;
    }
    assert_eq!(muons.dtype(), DType::U8);
    assert_eq!(numbers(&muons.layout()?), (vec![3 * 144], vec![1], 0));
    let momentum = muons.field_view::<f32>("Momentum")?;
    assert_eq!(numbers(momentum.layout()), (vec![3], vec![36], 32));
    assert_eq!(ulib::math::ops::sum_all(&momentum)?, 12.0);
    for name in ["LineIn.origin", "LineInOrigin"] {
        let origin = muons.field_view::<f32>(name)?;
        assert_eq!(numbers(origin.layout()), (vec![3, 4], vec![36, 1], 0));
        let sums = ulib::math::ops::sum(&origin, &[0])?;
        assert_eq!(sums.as_slice(), Some(&[3.0, 33.0, 63.0, 3.0][..]));
    }
    let (_, line) = muons.field("LineOut")?;
    assert_eq!(numbers(&line), (vec![3, 2, 4], vec![36, 4, 1], 8));
    let (dtype, padding) = muons.field("Padding")?;
    assert_eq!(
        (dtype, numbers(&padding)),
        (DType::U8, (vec![3, 8], vec![144, 1], 136))
    );
    ulib::math::ops::scale(muons.field_view_mut::<f32>("Momentum")?, 2.0)?;
    assert_eq!(
        (muons.get(2)?.Momentum, muons.get(2)?.LineIn.origin.z),
        (10.0, 22.0)
    );
    let names = muons.field_names();
    for name in &names {
        muons.field(name)?;
    }
    assert!(names.contains(&"LineIn.origin".to_owned()));
    Ok(())
}

device_storable! {
    #[derive(Debug, Default, PartialEq)]
    struct Hit { Time: f64, Channel: u32, Charge: f32 }
}

#[test]
fn records_of_the_user() -> Result<()> {
    let _driver = common::driver();
    let mut hits = Collection::<Hit>::from_slice(&[Hit {
        Time: 1.5,
        Channel: 2,
        Charge: 3.5,
    }])?;
    hits.push(Hit::default())?;
    assert_eq!(
        (hits.dtype(), numbers(&hits.layout()?)),
        (DType::U8, (vec![32], vec![1], 0))
    );
    assert_eq!(
        numbers(hits.field_view::<f64>("Time")?.layout()),
        (vec![2], vec![2], 0)
    );
    assert_eq!(
        numbers(hits.field_view::<f32>("Charge")?.layout()),
        (vec![2], vec![4], 3)
    );
    assert_eq!(
        ulib::math::ops::sum_all(&hits.field_view::<u32>("Channel")?)?,
        2
    );
    Ok(())
}

#[test]
fn geant_events_stay_on_the_host() -> Result<()> {
    let mut events: GeantEventCollection = (0..3)
        .map(|i| GeantEvent::new(format!("run-{i}.root"), "mu+"))
        .collect();
    events.set(1, GeantEvent::new("x", "y"))?;
    assert_eq!((events.len(), events.get(1)?.path.as_str()), (3, "x"));
    assert_eq!(events.iter().filter(|event| event.name == "mu+").count(), 2);
    events.clear();
    assert!(events.is_empty());
    Ok(())
}
