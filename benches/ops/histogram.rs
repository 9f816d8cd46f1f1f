use std::hint::black_box;

use criterion::Criterion;
use ulib_core::Layout;
use ulib_device::block::Block;
use ulib_math::{
    ops::{self, Bins},
    view::View,
};

use crate::support::{everywhere, layouts, sizes};

/// Values that look random in 0 .. 256, the same in every run.
pub(crate) fn spread(block: &mut Block) {
    let mut bytes = block.write().expect("the host copy");
    let mut state = 1_u32;
    for word in bytes.chunks_exact_mut(4) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        word.copy_from_slice(&((state >> 8) as f32 / 65536.0).to_ne_bytes());
    }
    bytes.commit().expect("the host copy");
}

/// 256 bins: of values that look random, and of an image of ones, whose threads all count in the same bin.
pub(crate) fn bench(criterion: &mut Criterion) {
    let bins = Bins::uniform(0.0, 256.0, 256).expect("bins");
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            for random in [true, false] {
                let values = if random { "random" } else { "constant" };
                let mut fresh = random;
                everywhere(
                    criterion,
                    &format!("histogram f32/{name}, {values}/{count}"),
                    bytes,
                    bytes as u64,
                    |block| {
                        if std::mem::take(&mut fresh) {
                            spread(block);
                        }
                        black_box(counted(block, &layout, &bins));
                    },
                );
            }
        }
    }
}

fn counted(block: &Block, layout: &Layout, bins: &Bins) -> Vec<u64> {
    let view = View::<f32>::new(block, layout.clone()).expect("a view");
    ops::histogram(&view, bins).expect("histogram")
}
