//! Moving voxels to where another index map wants them.

use ulib_core::{Layout, Result, byte_count};
use ulib_device::block::Block;

use super::{Grid, IndexMap};
use crate::ops::copy::between_slices;

/// Gives the voxels of `block`, `voxel` bytes each and lying on `grid`, the places of `map`, and
/// gives `grid` that map. Triples that exist in both keep their voxel, new ones are zero. On an error
/// nothing has changed.
pub(crate) fn move_voxels(
    block: &mut Block,
    voxel: usize,
    grid: &mut Grid,
    map: IndexMap,
) -> Result<()> {
    let bytes = byte_count(map.len(), voxel)?;
    if map != *grid.map() {
        if grid.is_empty() {
            block.resize(bytes)?;
        } else {
            // A scratch block, as blocks are zeroed lazily and report when there is no memory.
            let mut moved = Block::zeroed(bytes)?;
            let mut target = moved.write()?;
            copy_common(&block.read()?, grid.map(), &mut target, &map, voxel)?;
            target.commit()?;
            block.replace(&*moved.read()?)?;
        }
    }
    *grid = grid.with_map(map);
    Ok(())
}

/// Copies the voxels whose triples lie in both maps.
fn copy_common(
    source: &[u8],
    from: &IndexMap,
    target: &mut [u8],
    to: &IndexMap,
    voxel: usize,
) -> Result<()> {
    let sides: [usize; 3] = std::array::from_fn(|axis| from.dims()[axis].min(to.dims()[axis]));
    let layout = |map: &IndexMap, scale: usize| {
        let steps = map.increments().map(|step| (step * scale).cast_signed());
        let (mut shape, mut strides) = (sides.to_vec(), steps.to_vec());
        if scale > 1 {
            shape.push(scale);
            strides.push(1);
        }
        Layout::new(shape, strides, 0)
    };
    // Words of the size of a voxel where there are such, else its bytes as a fourth axis.
    match voxel {
        4 => copy_words::<4>(source, &layout(from, 1)?, target, &layout(to, 1)?),
        8 => copy_words::<8>(source, &layout(from, 1)?, target, &layout(to, 1)?),
        16 => copy_words::<16>(source, &layout(from, 1)?, target, &layout(to, 1)?),
        _ => between_slices(source, &layout(from, voxel)?, target, &layout(to, voxel)?),
    }
    Ok(())
}

fn copy_words<const N: usize>(source: &[u8], from: &Layout, target: &mut [u8], to: &Layout) {
    let (words, _) = source.as_chunks::<N>();
    let (target, _) = target.as_chunks_mut::<N>();
    between_slices(words, from, target, to);
}

#[cfg(test)]
mod tests {
    use ulib_core::Result;

    use super::{IndexMap, copy_common};
    use crate::grid::DataOrder;

    fn check(from: &IndexMap, to: &IndexMap, voxel: usize) -> Result<()> {
        let source: Vec<u8> = (0..from.len() * voxel).map(|i| (i % 251) as u8).collect();
        let mut target = vec![255; to.len() * voxel];
        copy_common(&source, from, &mut target, to, voxel)?;
        for flat in 0..to.len() {
            let index = to.unmap(flat)?;
            let inside = (0..3).all(|axis| index[axis] < from.dims()[axis]);
            let expected = if inside {
                let old = from.map(index)? * voxel;
                source[old..old + voxel].to_vec()
            } else {
                vec![255; voxel]
            };
            let found = &target[flat * voxel..(flat + 1) * voxel];
            assert_eq!(
                found, expected,
                "{from:?} to {to:?}, {voxel} bytes, {index:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn every_common_voxel_is_copied_whole() -> Result<()> {
        for voxel in [1, 3, 4, 8, 12, 16] {
            for order in [DataOrder::Xyz, DataOrder::Yxz, DataOrder::Zyx] {
                for dims in [[4, 5, 6], [4, 7, 3], [9, 2, 6], [1, 1, 1]] {
                    check(
                        &IndexMap::new([4, 5, 6], DataOrder::Xyz)?,
                        &IndexMap::new(dims, order)?,
                        voxel,
                    )?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn large_grids_are_copied_in_parallel() -> Result<()> {
        let from = IndexMap::new([50, 41, 40], DataOrder::Xyz)?;
        check(&from, &IndexMap::new([45, 44, 40], DataOrder::Xyz)?, 8)?;
        check(&from, &IndexMap::new([50, 41, 40], DataOrder::Zxy)?, 12)
    }
}
