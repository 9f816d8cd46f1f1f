//! Values, voxels, views, resizing and reordering of an image.

use proptest::prelude::*;
use ulib::core::{DType, Layout, Result, device_storable};
use ulib::math::{
    BulkArray, Compute, DataOrder, Grid, IndexMap, VoxImage, Voxel, VoxelValue, VoxelValueCount,
};

use crate::common;

device_storable! {
    /// The value in the middle, as in reconstruction codes.
    #[derive(Debug, Default, PartialEq)]
    struct Wide { Sum: f64, Value: f32, Count: u32, Weight: f64 }
}
impl Voxel for Wide {}

#[test]
fn the_array_of_each_voxel_type() -> Result<()> {
    let _driver = common::driver();
    let shapes = |layout: Layout| {
        (
            layout.shape().to_vec(),
            layout.strides().to_vec(),
            layout.offset(),
        )
    };
    let eight: VoxImage = VoxImage::new([2, 3, 4])?;
    assert_eq!(eight.dtype(), DType::F32);
    assert_eq!(shapes(eight.layout()?), (vec![24], vec![2], 0));
    assert_eq!(eight.field_names(), ["Value", "Count"]);
    let (dtype, counts) = eight.field("Count")?;
    assert_eq!(
        (dtype, shapes(counts)),
        (DType::U32, (vec![24], vec![2], 1))
    );

    let four = VoxImage::<VoxelValue>::new([2, 3, 4])?;
    assert_eq!(shapes(four.layout()?), (vec![24], vec![1], 0));
    assert!(four.layout()?.is_contiguous());

    let wide = VoxImage::<Wide>::new([2, 3, 4])?;
    assert_eq!(shapes(wide.layout()?), (vec![24], vec![6], 2));
    let (dtype, weights) = wide.field("Weight")?;
    assert_eq!(
        (dtype, shapes(weights)),
        (DType::F64, (vec![24], vec![3], 2))
    );
    Ok(())
}

#[test]
fn a_new_image_is_zero_and_an_empty_one_has_nothing() -> Result<()> {
    let _driver = common::driver();
    let image: VoxImage = VoxImage::new([3, 2, 1])?;
    assert_eq!(image.to_values()?, [0.0; 6]);
    let mut none: VoxImage = VoxImage::empty()?;
    assert!(none.is_empty());
    assert_eq!((none.dims(), none.len()), ([0; 3], 0));
    assert_eq!(none.layout()?.shape(), [0]);
    assert_eq!(none.grid_layout()?.shape(), [0, 0, 0]);
    assert_eq!(none.to_values()?, [0.0; 0]);
    assert_eq!(none.sum()?.to_bits(), 0.0_f64.to_bits());
    none.fill(1.0)?;
    none.set_values(&[])?;
    none.resize([2, 1, 1])?;
    assert_eq!(none.to_values()?, [0.0; 2]);
    none.clear()?;
    assert!(none.is_empty() && none.value(0).is_err());
    Ok(())
}

#[test]
fn values_and_voxels_are_the_same_memory() -> Result<()> {
    let _driver = common::driver();
    let mut image: VoxImage = VoxImage::new([2, 2, 2])?;
    image.set_voxel_at(
        [1, 0, 1],
        VoxelValueCount {
            Value: 2.5,
            Count: 7,
        },
    )?;
    assert_eq!(image.value(5)?, 2.5);
    image.set_value_at([1, 0, 1], 3.5)?;
    assert_eq!(
        image.voxel(5)?,
        VoxelValueCount {
            Value: 3.5,
            Count: 7
        }
    );
    assert_eq!(image.voxel_at([1, 0, 1])?.Count, 7);
    image.set_values(&[1.0; 8])?;
    assert_eq!(
        image.voxel(5)?,
        VoxelValueCount {
            Value: 1.0,
            Count: 7
        }
    );
    image.fill(9.0)?;
    image.scale(2.0)?;
    assert_eq!(
        image.voxel(5)?,
        VoxelValueCount {
            Value: 18.0,
            Count: 7
        }
    );
    image.voxels_mut()?[0].Count = 3;
    assert_eq!(
        image.voxels()?[0],
        VoxelValueCount {
            Value: 18.0,
            Count: 3
        }
    );
    let mut values = image.values_mut()?;
    *values.get_mut(0).unwrap() = -1.0;
    assert_eq!(
        (values.get(0), values.get(8), values.len()),
        (Some(-1.0), None, 8)
    );
    values.commit()?;
    assert_eq!(image.values()?.iter().len(), 8);
    assert_eq!(
        image.voxel(0)?,
        VoxelValueCount {
            Value: -1.0,
            Count: 3
        }
    );
    Ok(())
}

#[test]
fn a_clone_is_independent() -> Result<()> {
    let _driver = common::driver();
    let mut image: VoxImage = VoxImage::with_order([2, 2, 2], DataOrder::Zyx)?;
    image.set_spacing([1.0, 2.0, 3.0])?;
    image.set_value(3, 1.0)?;
    let mut copy = image.try_clone()?;
    copy.set_value(3, 2.0)?;
    assert_eq!((image.value(3)?, copy.value(3)?), (1.0, 2.0));
    assert_eq!(image.grid(), copy.grid());
    Ok(())
}

#[test]
fn profiles_do_not_depend_on_the_data_order() -> Result<()> {
    let _driver = common::driver();
    for order in DataOrder::ALL {
        let mut image: VoxImage = VoxImage::with_order([4, 3, 2], order)?;
        for z in 0..2 {
            for y in 0..3 {
                for x in 0..4 {
                    image.set_value_at([x, y, z], (100 * z + 10 * y + x) as f32)?;
                }
            }
        }
        let along_x = image.sum_axes(&[0, 1])?;
        assert_eq!(
            along_x.as_slice(),
            Some(&[360.0, 366.0, 372.0, 378.0][..]),
            "{order}"
        );
        let along_z = image.sum_axes(&[1, 2])?;
        assert_eq!(along_z.as_slice(), Some(&[138.0, 1338.0][..]), "{order}");
        assert_eq!(image.sum()?, 1476.0);
    }
    Ok(())
}

#[test]
fn the_geometry_survives_a_resize() -> Result<()> {
    let _driver = common::driver();
    let mut image: VoxImage = VoxImage::with_order([2, 2, 2], DataOrder::Yxz)?;
    image.set_spacing([1.0, 2.0, 3.0])?;
    image.set_origin([4.0, 5.0, 6.0])?;
    image.set_position([7.0, 8.0, 9.0])?;
    image.resize([3, 4, 5])?;
    let grid: &Grid = image.grid();
    assert_eq!((grid.dims(), grid.order()), ([3, 4, 5], DataOrder::Yxz));
    assert_eq!(grid.spacing(), [1.0, 2.0, 3.0]);
    assert_eq!(
        (grid.origin(), grid.position()),
        ([4.0, 5.0, 6.0], [7.0, 8.0, 9.0])
    );
    Ok(())
}

/// An image whose voxels say where they are.
fn labelled(dims: [usize; 3], order: DataOrder) -> Result<VoxImage> {
    let mut image: VoxImage = VoxImage::with_order(dims, order)?;
    let map: IndexMap = *image.map();
    for flat in 0..map.len() {
        image.set_voxel(flat, label(map.unmap(flat)?))?;
    }
    Ok(image)
}

fn label([x, y, z]: [usize; 3]) -> VoxelValueCount {
    VoxelValueCount {
        Value: (1 + x + 10 * y + 100 * z) as f32,
        Count: 7,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..crate::cases() })]

    #[test]
    fn resizing_keeps_the_overlap(
        old in prop::array::uniform3(1_usize..6),
        new in prop::array::uniform3(1_usize..6),
        order in prop::sample::select(DataOrder::ALL.to_vec()),
    ) {
        let _driver = common::driver();
        let mut image = labelled(old, order).unwrap();
        image.resize(new).unwrap();
        prop_assert_eq!(image.dims(), new);
        for flat in 0..image.len() {
            let index = image.map().unmap(flat).unwrap();
            let kept = index.iter().zip(&old).all(|(i, side)| i < side);
            let expected = if kept { label(index) } else { VoxelValueCount::default() };
            prop_assert_eq!(image.voxel(flat).unwrap(), expected);
        }
    }

    #[test]
    fn reordering_keeps_every_voxel_at_its_triple(
        dims in prop::array::uniform3(1_usize..6),
        from in prop::sample::select(DataOrder::ALL.to_vec()),
        to in prop::sample::select(DataOrder::ALL.to_vec()),
    ) {
        let _driver = common::driver();
        let mut image = labelled(dims, from).unwrap();
        image.set_order(to).unwrap();
        prop_assert_eq!(image.order(), to);
        for flat in 0..image.len() {
            let index = image.map().unmap(flat).unwrap();
            prop_assert_eq!(image.voxel(flat).unwrap(), label(index));
        }
    }
}

#[test]
fn all_values_of_a_large_image() -> Result<()> {
    let _driver = common::driver();
    let values: Vec<f32> = (0..41 * 40 * 40).map(|i| i as f32).collect();
    let mut image: VoxImage<Wide> = VoxImage::new([41, 40, 40])?;
    image.voxels_mut()?.fill(Wide {
        Sum: 1.0,
        Count: 2,
        Weight: 3.0,
        ..Wide::default()
    });
    image.set_values(&values)?;
    let beside = |voxel: &Wide| (voxel.Sum, voxel.Count, voxel.Weight) == (1.0, 2, 3.0);
    assert!(image.voxels()?.iter().all(beside));
    assert!((0..values.len()).all(|i| image.value(i).is_ok_and(|value| value == i as f32)));
    assert_eq!(image.to_values()?, values);
    Ok(())
}
