//! Moving voxels to where another index map wants them.

use ulib_core::{Result, byte_count};
use ulib_device::block::Block;

use super::{Grid, IndexMap};

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
            copy_common(&block.read()?, grid.map(), &mut target, &map, voxel);
            target.commit()?;
            block.replace(&*moved.read()?)?;
        }
    }
    *grid = grid.with_map(map);
    Ok(())
}

/// Copies the voxels whose triples lie in both maps.
fn copy_common(source: &[u8], from: &IndexMap, target: &mut [u8], to: &IndexMap, voxel: usize) {
    let sides: [usize; 3] = std::array::from_fn(|axis| from.dims()[axis].min(to.dims()[axis]));
    let (step_from, step_to) = (from.increments(), to.increments());
    // Along an axis that is fastest in both, neighbours stay neighbours: one copy moves the run.
    let [fastest, middle, slowest] = to.order().axes();
    let run = if step_from[fastest] == 1 {
        sides[fastest]
    } else {
        1
    };
    for k in 0..sides[slowest] {
        for j in 0..sides[middle] {
            for i in (0..sides[fastest]).step_by(run.max(1)) {
                let place = |step: [usize; 3]| {
                    (i * step[fastest] + j * step[middle] + k * step[slowest]) * voxel
                };
                let (old, new) = (place(step_from), place(step_to));
                let bytes = run * voxel;
                target[new..new + bytes].copy_from_slice(&source[old..old + bytes]);
            }
        }
    }
}
