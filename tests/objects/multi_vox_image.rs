//! Channels and components that share one block.

use ulib::core::{DType, Result};
use ulib::math::{BulkArray, Compute, DataOrder, MultiVoxImage};

use crate::common;

/// An image in which every number says which one it is.
fn labelled(dims: [usize; 3], channels: usize, components: usize) -> Result<MultiVoxImage> {
    let mut image = MultiVoxImage::new(dims, channels, components)?;
    for (i, number) in image.elements_mut()?.iter_mut().enumerate() {
        *number = i as f32;
    }
    Ok(image)
}

#[test]
fn the_array_is_that_of_the_active_pair() -> Result<()> {
    let _driver = common::driver();
    let mut image = labelled([2, 2, 1], 2, 3)?;
    assert_eq!(image.dtype(), DType::F32);
    for channel in 0..2 {
        for component in 0..3 {
            image.set_active(channel, component)?;
            let layout = image.layout()?;
            assert_eq!((layout.shape(), layout.strides()), (&[4][..], &[6][..]));
            let first = channel * 3 + component;
            assert_eq!(layout.offset(), first);
            let expected: Vec<f32> = (0..4).map(|voxel| (6 * voxel + first) as f32).collect();
            assert_eq!(image.to_values()?, expected);
            assert_eq!(image.sum()?, f64::from(expected.iter().sum::<f32>()));
        }
    }
    assert_eq!(image.full_layout()?.shape(), [4, 2, 3]);
    assert!(image.full_layout()?.is_contiguous());
    assert_eq!(image.full_view()?.layout().len(), 24);
    Ok(())
}

#[test]
fn a_single_channel_is_packed() -> Result<()> {
    let _driver = common::driver();
    let image = MultiVoxImage::new([2, 2, 2], 1, 1)?;
    assert!(image.layout()?.is_contiguous());
    Ok(())
}

#[test]
fn computing_leaves_the_other_pairs_alone() -> Result<()> {
    let _driver = common::driver();
    let mut image = labelled([2, 1, 1], 2, 2)?;
    image.set_active(1, 0)?;
    image.scale(10.0)?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 1.0, 20.0, 3.0, 4.0, 5.0, 60.0, 7.0]
    );
    image.fill(-1.0)?;
    image.set_value_of(1, 0, 1, 50.0)?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 1.0, -1.0, 3.0, 4.0, 50.0, -1.0, 7.0]
    );
    image.set_values(&[8.0, 9.0])?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 1.0, 8.0, 3.0, 4.0, 50.0, 9.0, 7.0]
    );
    assert_eq!((image.value(1)?, image.value_at([0, 0, 0])?), (9.0, 8.0));
    Ok(())
}

#[test]
fn resizing_and_reordering_move_whole_voxels() -> Result<()> {
    let _driver = common::driver();
    let mut image = labelled([2, 2, 1], 1, 2)?;
    image.set_order(DataOrder::Yxz)?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]
    );
    assert_eq!(image.value_of(1, 0, 1)?, 5.0);
    image.resize([1, 2, 2])?;
    assert_eq!(
        &*image.elements()?,
        [0.0, 1.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    );
    image.clear()?;
    assert!(image.is_empty());
    assert_eq!(image.layout()?.shape(), [0]);
    Ok(())
}
