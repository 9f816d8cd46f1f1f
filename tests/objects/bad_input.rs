//! What a caller can get wrong, refused by kind and with both sides named.

use ulib::core::{DType, DeviceStorable, Error, ErrorKind, Field, Result, device_storable};
use ulib::math::{
    DataOrder, EventTable, FloatCollection, GeantEvent, GeantEventCollection, Grid, IndexMap,
    MultiVoxImage, MuonScatterCollection, VoxImage, Voxel, VoxelValue,
};

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind().clone()
}

#[test]
fn dimensions() {
    for dims in [[0, 4, 4], [4, 0, 4], [4, 4, 0], [0; 3]] {
        assert_eq!(
            kind(VoxImage::<VoxelValue>::new(dims)),
            ErrorKind::InvalidArgument
        );
        assert_eq!(
            kind(MultiVoxImage::new(dims, 1, 1)),
            ErrorKind::InvalidArgument
        );
        assert_eq!(kind(Grid::new(dims)), ErrorKind::InvalidArgument);
    }
    for dims in [
        [usize::MAX, 1, 1],
        [1 << 32, 1 << 32, 1],
        [1 << 22, 1 << 22, 1 << 22],
        [usize::MAX; 3],
    ] {
        assert_eq!(kind(VoxImage::<VoxelValue>::new(dims)), ErrorKind::Overflow);
        assert_eq!(kind(MultiVoxImage::new(dims, 2, 3)), ErrorKind::Overflow);
    }
    // As many voxels as fit, with too many bytes.
    assert_eq!(
        kind(VoxImage::<VoxelValue>::new([1 << 62, 1, 1])),
        ErrorKind::Overflow
    );
    let message = VoxImage::<VoxelValue>::new([4, 0, 4])
        .unwrap_err()
        .to_string();
    assert!(message.contains("[4, 0, 4]"), "{message}");
}

#[test]
fn signed_dimensions() {
    assert_eq!(IndexMap::checked_dims([1, 2, 3]).unwrap(), [1, 2, 3]);
    for dims in [[-1, 2, 3], [1, i64::MIN, 3], [1, 2, 0]] {
        assert_eq!(
            kind(IndexMap::checked_dims(dims)),
            ErrorKind::InvalidArgument
        );
    }
}

#[test]
fn resizing_to_nothing_or_too_much_changes_nothing() -> Result<()> {
    let _driver = crate::common::driver();
    let mut image = VoxImage::<VoxelValue>::new([2, 1, 1])?;
    image.set_values(&[1.0, 2.0])?;
    assert_eq!(kind(image.resize([0, 1, 1])), ErrorKind::InvalidArgument);
    assert_eq!(kind(image.resize([1 << 40; 3])), ErrorKind::Overflow);
    assert_eq!(
        (image.dims(), image.to_values()?),
        ([2, 1, 1], vec![1.0, 2.0])
    );
    let mut floats = FloatCollection::from_slice(&[1.0])?;
    assert_eq!(kind(floats.resize(usize::MAX)), ErrorKind::Overflow);
    assert_eq!(&*floats.elements()?, [1.0]);
    let mut table = EventTable::new("a,b")?;
    table.add_row(&[1.0, 2.0])?;
    assert_eq!(kind(table.resize(usize::MAX)), ErrorKind::Overflow);
    assert_eq!(&*table.cells()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn indices() -> Result<()> {
    let _driver = crate::common::driver();
    let mut image: VoxImage = VoxImage::new([2, 3, 4])?;
    for index in [24, usize::MAX] {
        assert_eq!(kind(image.value(index)), ErrorKind::Index);
        assert_eq!(kind(image.set_value(index, 0.0)), ErrorKind::Index);
        assert_eq!(kind(image.voxel(index)), ErrorKind::Index);
    }
    assert_eq!(kind(image.value_at([2, 0, 0])), ErrorKind::Index);
    let message = image.set_value_at([0, 3, 0], 1.0).unwrap_err().to_string();
    assert!(message.contains('y') && message.contains('3'), "{message}");

    let mut multi = MultiVoxImage::new([2, 2, 2], 2, 3)?;
    assert_eq!(kind(multi.value(8)), ErrorKind::Index);
    assert_eq!(kind(multi.value_of(0, 2, 0)), ErrorKind::Index);
    assert_eq!(kind(multi.value_of(0, 0, 3)), ErrorKind::Index);
    assert_eq!(kind(multi.set_active(0, 3)), ErrorKind::Index);
    assert_eq!(multi.active(), (0, 0));

    let mut floats = FloatCollection::from_slice(&[1.0])?;
    assert_eq!(kind(floats.get(1)), ErrorKind::Index);
    assert_eq!(kind(floats.set(1, 0.0)), ErrorKind::Index);

    let mut table = EventTable::new("a,b")?;
    table.add_row(&[1.0, 2.0])?;
    assert_eq!(kind(table.cell(1, 0)), ErrorKind::Index);
    assert_eq!(kind(table.cell(0, 2)), ErrorKind::Index);
    assert_eq!(kind(table.set_cell(0, 2, 0.0)), ErrorKind::Index);
    assert_eq!(kind(table.row(1)), ErrorKind::Index);

    let mut events = GeantEventCollection::new();
    assert_eq!(kind(events.get(0)), ErrorKind::Index);
    assert_eq!(kind(events.set(0, GeantEvent::default())), ErrorKind::Index);
    Ok(())
}

#[test]
fn lengths() -> Result<()> {
    let _driver = crate::common::driver();
    let mut image: VoxImage = VoxImage::new([2, 2, 2])?;
    assert_eq!(kind(image.set_values(&[0.0; 7])), ErrorKind::Shape);
    assert_eq!(kind(image.set_voxels(&[])), ErrorKind::Shape);
    assert_eq!(
        kind(image.values()?.copy_to(&mut [0.0; 9])),
        ErrorKind::Shape
    );
    let message = image.set_values(&[0.0; 7]).unwrap_err().to_string();
    assert!(message.contains('8') && message.contains('7'), "{message}");
    let mut multi = MultiVoxImage::new([2, 2, 2], 2, 3)?;
    assert_eq!(kind(multi.set_values(&[0.0; 48])), ErrorKind::Shape);
    let mut floats = FloatCollection::from_slice(&[1.0])?;
    assert_eq!(kind(floats.set_all(&[1.0, 2.0])), ErrorKind::Shape);
    let mut table = EventTable::new("a,b")?;
    assert_eq!(kind(table.add_row(&[1.0])), ErrorKind::Shape);
    assert_eq!(kind(table.add_rows(&[1.0, 2.0, 3.0])), ErrorKind::Shape);
    assert_eq!(kind(table.set_cells(&[1.0])), ErrorKind::Shape);
    assert_eq!(table.rows(), 0);
    Ok(())
}

#[test]
fn names_and_dtypes() -> Result<()> {
    let _driver = crate::common::driver();
    assert_eq!(kind("xyz".parse::<DataOrder>()), ErrorKind::InvalidArgument);
    assert_eq!(kind("".parse::<DataOrder>()), ErrorKind::InvalidArgument);
    let image: VoxImage = VoxImage::new([2, 2, 2])?;
    assert_eq!(kind(image.field_view::<f32>("count")), ErrorKind::Index);
    assert_eq!(kind(image.field_view::<f32>("Count")), ErrorKind::DType);
    let muons = MuonScatterCollection::new()?;
    assert_eq!(kind(muons.field_view::<f32>("LineIn.")), ErrorKind::Index);
    assert_eq!(kind(muons.field_view::<f64>("Momentum")), ErrorKind::DType);
    let table = EventTable::new("a,b")?;
    assert_eq!(kind(table.column("c")), ErrorKind::Index);
    for columns in [",", "a,", ",a", "a,,b", "a, a"] {
        assert_eq!(
            kind(EventTable::new(columns)),
            ErrorKind::InvalidArgument,
            "{columns}"
        );
    }
    Ok(())
}

#[test]
fn channels() {
    assert_eq!(
        kind(MultiVoxImage::new([1; 3], 0, 1)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(MultiVoxImage::new([1; 3], 1, 0)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(MultiVoxImage::new([1; 3], usize::MAX, 2)),
        ErrorKind::Overflow
    );
}

device_storable! {
    #[derive(Debug)]
    struct NoValue { Density: f32 }
}
impl Voxel for NoValue {}

device_storable! {
    #[derive(Debug)]
    struct WideValue { Value: f64 }
}
impl Voxel for WideValue {}

device_storable! {
    #[derive(Debug)]
    struct Liar { Value: f32 }
}
impl Voxel for Liar {
    fn value_field() -> Result<Field, Error> {
        Ok(Field {
            name: "Value",
            dtype: DType::F32,
            offset: usize::MAX - 1,
        })
    }
}

#[test]
fn voxels_that_break_their_contract() {
    assert_eq!(NoValue::fields().len(), 1);
    assert_eq!(kind(VoxImage::<NoValue>::new([1; 3])), ErrorKind::Index);
    assert_eq!(kind(VoxImage::<WideValue>::new([1; 3])), ErrorKind::DType);
    assert_eq!(kind(VoxImage::<Liar>::new([1; 3])), ErrorKind::Layout);
}
