//! World and local coordinates, finding voxels, inside tests.

use proptest::prelude::*;
use ulib::core::{ErrorKind, Result};
use ulib::math::{DataOrder, Grid, MultiVoxImage, VoxImage};

#[test]
fn spacing_alone_scales() -> Result<()> {
    let mut grid = Grid::new([10; 3])?;
    grid.set_spacing([3.0; 3])?;
    assert_eq!(grid.world_from_local([2.0, 0.0, 0.0]), [6.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn position_and_origin_shift() -> Result<()> {
    let mut grid = Grid::new([10; 3])?;
    grid.set_spacing([3.0; 3])?;
    grid.set_position([1.0; 3])?;
    assert_eq!(grid.world_from_local([1.0; 3]), [4.0; 3]);
    assert_eq!(grid.local_from_world([4.0; 3]), [1.0; 3]);
    grid.set_origin([-1.0, 1.0, -1.0])?;
    assert_eq!(grid.world_from_local([1.0; 3]), [3.0, 5.0, 3.0]);
    Ok(())
}

#[test]
fn inside_the_box() -> Result<()> {
    let mut grid = Grid::new([10; 3])?;
    grid.set_spacing([3.0; 3])?;
    grid.set_position([1.0; 3])?;
    assert!(!grid.is_inside_bounds([5.0, 33.0, -5.0]));
    assert!(!grid.is_inside_bounds([0.0; 3]));
    assert!(grid.is_inside_bounds([1.0; 3]));
    // The far faces belong to the box and to no voxel.
    assert!(grid.is_inside_bounds([31.0; 3]));
    assert_eq!(grid.voxel_at([31.0; 3]), None);
    assert_eq!(grid.find([31.0; 3])?, [10; 3]);
    assert!(!grid.is_inside_grid([10; 3]));
    assert!(!grid.is_inside_bounds([f64::NAN, 2.0, 2.0]));
    assert!(!Grid::empty().is_inside_bounds([0.0; 3]));
    Ok(())
}

#[test]
fn there_and_back() -> Result<()> {
    let mut grid = Grid::new([4; 3])?;
    grid.set_spacing([2.0; 3])?;
    grid.set_position([-4.0; 3])?;
    assert_eq!(
        grid.world_from_local(grid.local_from_world([5.0; 3])),
        [5.0; 3]
    );
    Ok(())
}

#[test]
fn finding_rounds_down_on_both_sides_of_zero() -> Result<()> {
    let mut grid = Grid::new([2; 3])?;
    grid.set_spacing([2.0; 3])?;
    grid.set_position([-2.0, 0.0, -2.0])?;
    assert_eq!(grid.find([1.0, 1.0, 1.0])?, [1, 0, 1]);
    assert_eq!(grid.find([-2.5, -0.5, -2.0])?, [-1, -1, 0]);
    assert_eq!(grid.voxel_at([1.0, 1.0, 1.0]), Some([1, 0, 1]));
    assert_eq!(grid.voxel_at([-2.5, 0.0, 0.0]), None);
    assert!(grid.is_inside_grid([1, 0, 1]));
    assert!(!grid.is_inside_grid([-1, 0, 1]));
    Ok(())
}

#[test]
fn what_cannot_be_found_is_refused() -> Result<()> {
    let grid = Grid::new([2; 3])?;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let error = grid.find([0.0, bad, 0.0]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument, "{bad}");
        assert_eq!(grid.voxel_at([0.0, bad, 0.0]), None);
    }
    Ok(())
}

#[test]
fn bad_geometry_is_refused_and_changes_nothing() -> Result<()> {
    let mut image: VoxImage = VoxImage::new([2; 3])?;
    let before = *image.grid();
    for bad in [f64::NAN, f64::INFINITY, 0.0, -0.0, -1.0, 1e-320] {
        let error = image.set_spacing([1.0, bad, 1.0]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument, "{bad}");
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(image.set_origin([bad, 0.0, 0.0]).is_err());
        assert!(image.set_position([0.0, 0.0, bad]).is_err());
    }
    assert_eq!(*image.grid(), before);
    let message = image
        .set_spacing([1.0, f64::NAN, 1.0])
        .unwrap_err()
        .to_string();
    assert!(message.contains("NaN"), "{message}");
    Ok(())
}

/// Every kind of image has the methods of its grid as its own, with no trait in scope.
macro_rules! has_the_methods_of_its_grid {
    ($($name:ident: $make:expr;)*) => {
        $(#[test]
        fn $name() -> Result<()> {
            let mut grid = Grid::with_order([4, 3, 2], DataOrder::ALL[3])?;
            let mut image = $make(grid)?;
            assert_eq!((image.dims(), image.order()), ([4, 3, 2], DataOrder::ALL[3]));
            assert_eq!((image.len(), image.is_empty()), (24, false));
            assert_eq!(image.map().map([3, 1, 1])?, grid.map().map([3, 1, 1])?);
            grid.set_spacing([1.0, 2.0, 3.0])?;
            grid.set_origin([4.0, 5.0, 6.0])?;
            grid.set_position([7.0, 8.0, 9.0])?;
            image.set_spacing([1.0, 2.0, 3.0])?;
            image.set_origin([4.0, 5.0, 6.0])?;
            image.set_position([7.0, 8.0, 9.0])?;
            for refused in [
                image.set_spacing([1.0, 0.0, 1.0]),
                image.set_origin([f64::NAN; 3]),
                image.set_position([f64::INFINITY; 3]),
            ] {
                assert_eq!(*refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
            }
            assert_eq!(*image.grid(), grid);
            assert!($make(Grid::empty())?.is_empty());
            Ok(())
        })*
    };
}

has_the_methods_of_its_grid! {
    a_vox_image_has_the_methods_of_its_grid: VoxImage::<ulib::math::VoxelValue>::with_grid;
    a_multi_vox_image_has_the_methods_of_its_grid: |grid| MultiVoxImage::with_grid(grid, 2, 3);
}

proptest! {
    #![proptest_config(crate::cases())]

    #[test]
    fn the_middle_of_a_voxel_finds_it(
        dims in prop::array::uniform3(1_usize..40),
        spacing in prop::array::uniform3(0.01_f64..50.0),
        origin in prop::array::uniform3(-100.0_f64..100.0),
        position in prop::array::uniform3(-1000.0_f64..1000.0),
        pick in prop::array::uniform3(0.0_f64..1.0),
        order in prop::sample::select(DataOrder::ALL.to_vec()),
    ) {
        let mut grid = Grid::with_order(dims, order).unwrap();
        grid.set_spacing(spacing).unwrap();
        grid.set_origin(origin).unwrap();
        grid.set_position(position).unwrap();
        let index: [usize; 3] = std::array::from_fn(|a| (pick[a] * dims[a] as f64) as usize);
        let centre = grid.voxel_centre(index).unwrap();
        prop_assert_eq!(grid.voxel_at(centre), Some(index));
        prop_assert!(grid.is_inside_bounds(centre));
        let local = grid.local_from_world(centre);
        for axis in 0..3 {
            // One rounding each in the shift, the product and the difference, seen in voxels.
            let size = centre[axis].abs() + origin[axis].abs() + position[axis].abs();
            let tolerance = 8.0 * f64::EPSILON * (size / spacing[axis] + local[axis].abs() + 1.0);
            prop_assert!((local[axis] - (index[axis] as f64 + 0.5)).abs() <= tolerance);
        }
    }
}
