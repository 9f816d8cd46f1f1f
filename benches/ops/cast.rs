use criterion::Criterion;
use half::f16;
use ulib_core::{DType, Layout};
use ulib_device::block::Block;
use ulib_math::{
    ops::{self, Castable},
    view::{View, ViewMut},
};

use crate::support::{everywhere, sizes};

/// The casts that images and detector data are made of.
pub(crate) fn bench(criterion: &mut Criterion) {
    pair::<f32, f64>(criterion, 1);
    pair::<f64, f32>(criterion, 1);
    pair::<f32, i32>(criterion, 1);
    pair::<u32, f32>(criterion, 1);
    pair::<f32, f16>(criterion, 1);
    pair::<f16, f32>(criterion, 1);
    pair::<u8, f32>(criterion, 1);
    pair::<u16, f32>(criterion, 1);
    pair::<f64, f16>(criterion, 1);
    // The Value of a voxel of two words.
    pair::<f32, f64>(criterion, 2);
}

fn pair<A: Castable, B: Castable>(criterion: &mut Criterion, step: usize) {
    let name = |dtype: DType| dtype.to_string();
    for count in sizes() {
        let (from, to) = (count * step * size_of::<A>(), count * size_of::<B>());
        let spread = Layout::new(vec![count], vec![step.cast_signed()], 0).expect("a line");
        // A target that follows the source to where it is.
        let mut target = Block::from_slice(&vec![B::zeroed(); count]).expect("a block");
        everywhere(
            criterion,
            &format!(
                "cast {} to {}/step {step}/{count}",
                name(A::DTYPE),
                name(B::DTYPE)
            ),
            from,
            (from + to) as u64,
            |source| {
                if target.preferred() != source.preferred() {
                    target.set_preferred(source.preferred()).expect("placement");
                }
                let view = View::<A>::new(source, spread.clone()).expect("a view");
                let out = ViewMut::<B>::flat(&mut target).expect("a view");
                ops::cast_into(&view, out).expect("cast");
            },
        );
    }
}
