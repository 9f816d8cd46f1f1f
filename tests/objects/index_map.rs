//! Triples to flat indices and back, for all six orders.

use proptest::prelude::*;
use ulib::core::Result;
use ulib::math::{DataOrder, IndexMap};

/// The flat indices of all triples, z outermost and x innermost.
fn flat_by_zyx(map: &IndexMap) -> Vec<usize> {
    let [nx, ny, nz] = map.dims();
    let mut flat = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                flat.push(map.map([x, y, z]).unwrap());
            }
        }
    }
    flat
}

#[test]
fn xyz_counts_up_with_x_innermost() -> Result<()> {
    let map = IndexMap::new([2, 3, 4], DataOrder::Xyz)?;
    assert_eq!(map.increments(), [1, 2, 6]);
    assert_eq!(flat_by_zyx(&map), (0..24).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn yxz_counts_up_with_y_innermost() -> Result<()> {
    // The order of uLib 0.6, whose own test walks z, x, y over 2 x 3 x 4 and finds 0 to 23.
    let map = IndexMap::new([2, 3, 4], DataOrder::Yxz)?;
    let mut expected = 0;
    for z in 0..4 {
        for x in 0..2 {
            for y in 0..3 {
                assert_eq!(map.map([x, y, z])?, expected);
                assert_eq!(map.unmap(expected)?, [x, y, z]);
                expected += 1;
            }
        }
    }
    Ok(())
}

#[test]
fn known_flat_indices() -> Result<()> {
    let map = IndexMap::new([100; 3], DataOrder::Yxz)?;
    assert_eq!(map.map([1, 2, 3])?, 30_102);
    let map = IndexMap::new([100; 3], DataOrder::Xyz)?;
    assert_eq!(map.map([1, 2, 3])?, 30_201);
    let map = IndexMap::new([2; 3], DataOrder::Yxz)?;
    assert_eq!(flat_by_zyx(&map), [0, 2, 1, 3, 4, 6, 5, 7]);
    Ok(())
}

#[test]
fn increments_of_every_order() -> Result<()> {
    let of = |order: DataOrder| order.increments([2, 3, 5]).unwrap();
    assert_eq!(of(DataOrder::Xyz), [1, 2, 6]);
    assert_eq!(of(DataOrder::Xzy), [1, 10, 2]);
    assert_eq!(of(DataOrder::Yxz), [3, 1, 6]);
    assert_eq!(of(DataOrder::Yzx), [15, 1, 3]);
    assert_eq!(of(DataOrder::Zxy), [5, 10, 1]);
    assert_eq!(of(DataOrder::Zyx), [15, 5, 1]);
    Ok(())
}

#[test]
fn every_order_has_one_name() -> Result<()> {
    for order in DataOrder::ALL {
        assert_eq!(order.to_string().parse::<DataOrder>()?, order);
        let letters: String = order
            .axes()
            .map(|axis| ['X', 'Y', 'Z'][axis])
            .iter()
            .collect();
        assert_eq!(letters, order.name());
    }
    Ok(())
}

#[test]
fn the_largest_grid_in_64_bits_maps() -> Result<()> {
    let side = 1 << 20;
    let map = IndexMap::new([side, side, side], DataOrder::Zyx)?;
    let last = map.len() - 1;
    assert_eq!(map.unmap(last)?, [side - 1; 3]);
    assert_eq!(map.map([side - 1; 3])?, last);
    Ok(())
}

fn order() -> impl Strategy<Value = DataOrder> {
    prop::sample::select(DataOrder::ALL.to_vec())
}

proptest! {
    #![proptest_config(crate::cases())]

    #[test]
    fn map_and_unmap_are_inverse(
        dims in prop::array::uniform3(1_usize..9),
        order in order(),
    ) {
        let map = IndexMap::new(dims, order).unwrap();
        for flat in 0..map.len() {
            let index = map.unmap(flat).unwrap();
            prop_assert!(map.contains(index.map(|i| i as i64)));
            prop_assert_eq!(map.map(index).unwrap(), flat);
        }
        let mut all = flat_by_zyx(&map);
        all.sort_unstable();
        prop_assert_eq!(all, (0..map.len()).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_axis_named_is_the_fastest(
        dims in prop::array::uniform3(2_usize..9),
        order in order(),
    ) {
        let map = IndexMap::new(dims, order).unwrap();
        let [fast, middle, slow] = order.axes();
        let steps = map.increments();
        prop_assert_eq!(steps[fast], 1);
        prop_assert_eq!(steps[middle], dims[fast]);
        prop_assert_eq!(steps[slow], dims[fast] * dims[middle]);
    }

    #[test]
    fn the_grid_layout_reaches_what_the_map_says(
        dims in prop::array::uniform3(1_usize..7),
        order in order(),
        step in 1_usize..4,
    ) {
        let map = IndexMap::new(dims, order).unwrap();
        let offset = step - 1;
        let layout = map.grid_layout(offset, step).unwrap();
        let flat = map.flat_layout(offset, step).unwrap();
        for index in 0..map.len() {
            let [x, y, z] = map.unmap(index).unwrap();
            let element = layout.element_offset(&[z, y, x]).unwrap();
            prop_assert_eq!(element, index * step + offset);
            prop_assert_eq!(flat.element_offset(&[index]).unwrap(), element);
        }
    }

    #[test]
    fn outside_is_refused(
        dims in prop::array::uniform3(1_usize..9),
        order in order(),
        axis in 0_usize..3,
        beyond in 0_usize..1000,
    ) {
        let map = IndexMap::new(dims, order).unwrap();
        let mut index = [0; 3];
        index[axis] = dims[axis] + beyond;
        prop_assert!(map.map(index).is_err());
        prop_assert!(map.unmap(map.len() + beyond).is_err());
        let mut negative = [0; 3];
        negative[axis] = -1 - beyond as i64;
        prop_assert!(!map.contains(negative));
    }
}
